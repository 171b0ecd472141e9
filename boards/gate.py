"""The clock gate of a cluster, made of what the FPGA has for it.

Source: Lattice FPGA-TN-02200, ECP5 sysCLOCK guide: the primitive DCCA, a global clock with an enable.
"""

from amaranth.hdl import ClockSignal, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hdl.host.gate import ClockGate

__all__ = ["BoardGate"]


class BoardGate(wiring.Component):
    """Passes on the rising edges of the clock that are wanted.

    Members
    -------
    enable : In(1)
        The edge at the end of this cycle is wanted.
    clock : Out(1)
        The clock ``sync`` with these edges only.

    Timing
    ------
    As ``ClockGate``, which it is where the FPGA has nothing better. On an ECP5 ``clock`` is a global clock, with the
    delay of that of ``sync``."""

    enable: In(1)
    clock: Out(1)

    def elaborate(self, platform):
        m = Module()
        if getattr(platform, "family", None) == "ecp5":
            m.submodules.dcca = Instance("DCCA", i_CLKI=ClockSignal(), i_CE=self.enable, o_CLKO=self.clock)
        else:
            m.submodules.gate = gate = ClockGate()
            m.d.comb += [gate.enable.eq(self.enable), self.clock.eq(gate.clock)]
        return m
