"""A search in hdl/hub/control/central.py: whatever commands come, supervisor commands included, an output never has two
inputs, and every command gets exactly one response.

Statements: H10; docs/hub.md, "Controller and status table". The first cycles after a reset are searched; nothing is
claimed beyond."""

from amaranth.hdl import Assert, Assume, Cat, Module, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import Op
from ...hdl.hub.control.central import Central
from ...hdl.hub.control.supervisor import Supervisor
from .commanding import commanding_ports, of_all_ports
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into

__all__ = ["PROOFS", "CentreProof"]


class CentreProof(wiring.Component):
    """A centre to which ports give any command, though none that resets the HUB, at any time when they have been
    answered."""

    def __init__(self, ports):
        self.central = Central(ports)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut, ports = self.central, self.ports
        m.submodules.central = look_into(dut, platform)

        outstanding, commands = commanding_ports(m, dut)
        m.d.comb += [
            *(Assume(now[8:] != Op.RESET_HUB) for now, _ in commands),
        ]
        for o in range(ports):
            listeners = Signal(ports, name=f"listeners_{o}")
            m.d.comb += [
                listeners.eq(Cat(targets[o] for targets in dut.targets)),
                Assert((listeners & (listeners - 1))[:ports] == 0, "an output has one input at most"),
                Assert(~listeners[o], "nobody is connected to itself"),
            ]
        response_valid, resume = of_all_ports(dut, "response_valid"), of_all_ports(dut, "resume")
        m.d.comb += [
            Assert((response_valid & ~outstanding) == 0, "a response belongs to a command"),
            Assert((response_valid & (response_valid - 1))[:ports] == 0, "one response a cycle"),
            Assert((resume & ~outstanding) == 0),
            Assert((outstanding == 0) | dut.busy, "no command is forgotten"),
        ]
        return m


PROOFS = [
    Proof(
        "centre",
        "an output has one input whatever is forced, and each command one response, in the first cycles after a reset",
        "H10",
        holds={
            "12 cycles": Attempt(lambda: CentreProof(3), mode="bmc", depth=12),
            "26 cycles": Attempt(lambda: CentreProof(3), mode="bmc", depth=26, nightly=True),
        },
        search=Attempt(lambda: CentreProof(3), mode="bmc", depth=26),
        everyday=0,
        faults={
            "two supervisor commands in a row get one response": Fault(
                Supervisor, "begins", lambda was, s: was & ~s.step.any()
            ),
            "a connection is forced beside another": Fault(
                Supervisor, "does_closed", lambda was, s: was & ~(s.is_force_connection_reply & s.force)
            ),
        },
    )
]
