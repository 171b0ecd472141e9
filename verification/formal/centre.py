"""A search in hdl/hub/central.py: whatever commands come, supervisor commands included, an output never has two inputs, and every command gets
exactly one response.

Statements: H10; docs/hub.md, "Controller and status table". The first cycles after a reset are searched; nothing is claimed beyond.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ...hdl.hub.commands import Op
from .prove import look_into

__all__ = ["CentreProof"]


class CentreProof(wiring.Component):
    """A centre of class ``Central`` to which ports give any command, though none that resets the HUB, at any time when they have been answered."""

    def __init__(self, Central, ports, backplane):
        self.central = Central(ports, backplane)
        self.ports = ports
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut, ports = self.central, self.ports
        m.submodules.central = look_into(dut, platform)

        outstanding = Signal(ports)
        m.d.sync += outstanding.eq((outstanding | dut.request_valid) & ~dut.response_valid)
        for signal in (dut.give_up, dut.expired, dut.closed, dut.close_mine, dut.ready, dut.ready_bit, dut.neighbour_id,
                       dut.neighbour_kind, dut.byte):
            m.d.comb += signal.eq(AnySeq(signal.shape()))
        m.d.comb += [
            dut.request_valid.eq(AnySeq(ports) & ~outstanding),
            dut.close_one.eq(AnySeq(ports) & ~outstanding & ~dut.request_valid & dut.mine),
        ]
        for n in range(ports):
            kept, now = Signal(16), Signal(16, name=f"request_{n}")
            m.d.comb += [
                now.eq(Mux(outstanding[n], kept, AnySeq(16))),
                dut.request[n].eq(now),
                dut.errors[n].eq(AnySeq(9)),
                dut.level[n].eq(AnySeq(10)),
                Assume(now[8:] != Op.RESET_HUB),
            ]
            m.d.sync += kept.eq(now)
        for o in range(ports):
            listeners = Signal(ports, name=f"listeners_{o}")
            m.d.comb += [
                listeners.eq(Cat(targets[o] for targets in dut.targets)),
                Assert((listeners & (listeners - 1))[:ports] == 0, "an output has one input at most"),
                Assert(~listeners[o], "nobody is connected to itself"),
            ]
        m.d.comb += [
            Assert((dut.response_valid & ~outstanding) == 0, "a response belongs to a command"),
            Assert((dut.response_valid & (dut.response_valid - 1))[:ports] == 0, "one response a cycle"),
            Assert((dut.resume & ~outstanding) == 0),
            Assert((outstanding == 0) | dut.busy, "no command is forgotten"),
        ]
        return m
