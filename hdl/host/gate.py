"""A clock that can stand still: what lets the time of a cluster wait for its host.

Source: ours; the usual clock gate.
"""

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ClockGate"]


class ClockGate(wiring.Component):
    """Passes on the rising edges of the clock that are wanted.

    Members
    -------
    enable : In(1)
        The edge at the end of this cycle is wanted.
    clock : Out(1)
        The clock ``sync`` with these edges only.

    Timing
    ------
    ``enable`` must be there half a cycle before the edge. ``clock`` has no pulse that is shorter than those of
    ``sync``, and no edge of it comes before that of ``sync``."""

    enable: In(1)
    clock: Out(1)

    def elaborate(self, platform):
        """The wish is held while the clock is high, so that no change of it makes an edge."""
        m = Module()
        m.domains.falling = ClockDomain("falling", local=True, clk_edge="neg", reset_less=True)
        held = Signal()
        m.d.falling += held.eq(self.enable)
        m.d.comb += [ClockSignal("falling").eq(ClockSignal()), self.clock.eq(ClockSignal() & held)]
        return m
