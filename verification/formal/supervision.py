"""Proof of the HUB's centre: a user command never changes supervisor state, and neither does a supervisor command from
a port that may not give any.

Statement: docs/hub.md, "Controller and status table", Supervisor commands.
"""

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import WATCHDOG_DEFAULT
from ...hdl.hub.control.central import Central
from ...hdl.hub.control.controller import Controller
from ...hdl.hub.control.response_unit import ResponseUnit
from .commanding import commanding_ports, of_all_ports
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "SupervisionProof"]


class SupervisionProof(wiring.Component):
    """A centre of which only port 0 may give supervisor commands, and gives none. It gives all other commands, and the
    other ports give all commands, at any time when they have been answered."""

    def __init__(self, ports):
        self.central = Central(ports, 0, supervisors=1)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut, ports = self.central, self.ports
        m.submodules.central = look_into(dut, platform)
        controller, answers, supervisor = dut.probes.controller, dut.probes.answers, dut.probes.supervisor

        outstanding, commands = commanding_ports(m, dut)
        now, before = commands[0]
        m.d.comb += [Assume(~now[15]), Assert(~before[15])]

        all_ports = (1 << ports) - 1
        changed = Cat(
            dut.enabled != all_ports,
            dut.looped != 0,
            supervisor.allowed != 1,
            dut.watchdog_log != WATCHDOG_DEFAULT,
            dut.select != 0,
        )
        m.d.comb += [
            Assert(changed == 0, "ports, rights, watchdog and monitor stay as they are"),
            Assert(
                ~Cat(dut.reset_queue, dut.pop, dut.clear_valid, dut.watchdog_restart, dut.reset_hub).any(),
                "nothing is reset or cleared",
            ),
            Assert(
                ~Cat(
                    supervisor.close_mine,
                    supervisor.closed,
                    supervisor.release,
                    supervisor.lock,
                    supervisor.enter,
                    supervisor.ready_set,
                    supervisor.ready_clear,
                ).any(),
                "nothing is forced",
            ),
            Assert(~answers.command_valid & ~supervisor.busy, "no supervisor command is ever carried out"),
            Assert(~(controller.decided.any() & controller.order.supervisor)),
            Assert(((controller.decided | controller.probes.waiting) & ~outstanding) == 0),
            Assert((controller.probes.waiting & controller.decided) == 0),
        ]
        stages = [controller.decided, *(Signal(ports, name=f"decided_{n}") for n in (1, 2, 3))]
        m.d.sync += [later.eq(now) for now, later in zip(stages, stages[1:])]
        m.d.comb += [
            Assert(of_all_ports(dut, "response_valid") == stages[-1], "each decision is answered three cycles later"),
            Assert(answers.probes.giver == Mux(stages[1].any(), stages[1], answers.probes.giver)),
            Assert(answers.probes.asker == stages[2]),
            Assert(answers.probes.valid == stages[1].any()),
        ]
        for n, stage in enumerate(stages):
            m.d.comb += [
                Assert((stage & (controller.probes.waiting | ~outstanding)) == 0),
                *(Assert((stage & other) == 0) for other in stages[:n]),
            ]
        return m


PROOFS = [
    Proof(
        "supervision",
        "a user command never changes supervisor state",
        'docs/hub.md, "Controller and status table"',
        holds={
            "2 ports": Attempt(lambda: SupervisionProof(2), depth=3),
            "4 ports": Attempt(lambda: SupervisionProof(4), depth=3, nightly=True),
        },
        search=Attempt(lambda: SupervisionProof(2), mode="bmc", depth=8),
        everyday=0,
        faults={
            "a port that may not supervises": Fault(
                Controller,
                "supervising",
                lambda was, s: s["turns.pick"] & Cat(s[f"request__{n}"].op[7] for n in range(len(was))),
            ),
            "any command of a port that may supervises": Fault(
                Controller, "supervising", lambda was, s: s["turns.pick"] & s.allowed
            ),
            "refused commands are carried out": Fault(ResponseUnit, "command_valid", lambda was, s: s.valid),
        },
    )
]
