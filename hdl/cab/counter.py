"""A counter of events.

Source: docs/cab.md, which is ours.
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Counter"]


class Counter(wiring.Component):
    """Counts events, modulo a power of two.

    Parameters
    ----------
    bits : int
        Bits of the count.

    Members
    -------
    event : In(1)
        There is one in this cycle.
    value : Out(bits)
        How many there have been since the reset.

    Timing
    ------
    An event counts from the next cycle on.
    """

    def __init__(self, bits):
        super().__init__({"event": In(1), "value": Out(bits)})

    def elaborate(self, platform):
        """One adder."""
        m = Module()
        m.d.sync += self.value.eq(self.value + self.event)
        return m
