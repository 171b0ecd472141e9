"""Proof of the HUB's centre: a user command never changes supervisor state, and neither does a supervisor command from
a port that may not give any.

Statement: docs/hub.md, "Controller and status table", Supervisor commands.
"""

from amaranth.hdl import Assert, Assume, Cat, Module, Signal
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
        self.central = Central(ports, supervisors=1)
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
            Assert(~controller.probes.supervisor.any()),
            Assert(~answers.probes.supervises & ~(answers.probes.early_giver.any() & answers.probes.early.supervisor)),
            Assert((controller.probes.asking & ~outstanding) == 0),
            Assert((controller.probes.picked & ~controller.probes.asking) == 0),
        ]
        stages = [controller.decided, *(Signal(ports, name=f"decided_{n}") for n in range(1, 6))]
        m.d.sync += [later.eq(now) for now, later in zip(stages, stages[1:])]
        of_answers = answers.probes
        m.d.comb += [
            Assert(of_all_ports(dut, "response_valid") == stages[5], "each decision is answered five cycles later"),
            Assert((of_answers.early_giver == stages[1]) & (of_answers.valid == stages[2].any())),
            Assert(~stages[2].any() | (of_answers.giver == stages[2])),
            Assert((of_answers.asker == stages[3]) & (of_answers.responding == stages[3].any())),
            Assert((of_answers.answered == stages[4]) & (of_answers.answers == stages[4].any())),
        ]
        for n, stage in enumerate(stages[1:]):
            m.d.comb += [
                Assert((stage & (controller.probes.asking | ~outstanding)) == 0),
                *(Assert((stage & other) == 0) for other in stages[1 : 1 + n]),
            ]
        return m


PROOFS = [
    Proof(
        "supervision",
        "a user command never changes supervisor state",
        'docs/hub.md, "Controller and status table"',
        holds={
            "2 ports": Attempt(lambda: SupervisionProof(2), depth=3),
            "4 ports": Attempt(lambda: SupervisionProof(4), depth=6, nightly=True),
        },
        search=Attempt(lambda: SupervisionProof(2), mode="bmc", depth=10),
        everyday=0,
        faults={
            "a port that may not supervises": Fault(
                Controller,
                "supervisor",
                lambda was, s: Cat(s[f"request__{n}"].op[7] for n in range(len(was))),
            ),
            "any command of a port that may supervises": Fault(Controller, "supervisor", lambda was, s: s.allowed),
            "refused commands are carried out": Fault(ResponseUnit, "command_valid", lambda was, s: s.valid),
        },
    )
]
