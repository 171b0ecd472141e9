"""Brings lines of the bus, which change at any time, into the board's clock.

Source: ANSI/IEEE 1014, chapter 2 (the bus is asynchronous). Two flip-flops for each line are ours, as are the ways to
notice that a strobe was high for less than a cycle.
"""

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["EdgeWatch", "SEEN_AFTER", "StrobeWatch", "Synchroniser"]

#: Cycles in which a StrobeWatch that was set holds and is not seen yet.
SEEN_AFTER = 2


class Synchroniser(wiring.Component):
    """Lines that are asserted when low, as bits that are 1 when asserted.

    Parameters
    ----------
    width : int
        Lines.

    Members
    -------
    lines_n : In(width)
    value : Out(width)

    Timing
    ------
    A change is seen after one to two cycles. Each line is seen for itself: of two that change together one may come a
    cycle later.
    """

    def __init__(self, width=1):
        self.width = width
        super().__init__({"lines_n": In(width, init=(1 << width) - 1), "value": Out(width)})

    def elaborate(self, platform):
        """Two flip-flops."""
        m = Module()
        m.submodules.synchroniser = FFSynchronizer(~self.lines_n, self.value)
        return m


class StrobeWatch(wiring.Component):
    """Remembers something for as long as AS* stays low, however shortly it is high.

    Members
    -------
    as_n : In(1)
        The line itself.
    set : In(1)
        From the next cycle on it holds.
    now : Out(1)
        It holds; ends with AS* at once, in the midst of a cycle.
    seen : Out(1)
        The same, in the board's clock.

    Timing
    ------
    ``seen`` follows ``now`` by one to two cycles, as a ``Synchroniser`` does. Nothing is remembered while AS* is high.
    """

    as_n: In(1, init=1)
    set: In(1)
    now: Out(1)
    seen: Out(1)

    def elaborate(self, platform):
        """A flip-flop that AS* resets."""
        m = Module()
        m.domains.strobe = strobe = ClockDomain("strobe", async_reset=True, local=True)
        m.d.comb += [strobe.clk.eq(ClockSignal()), strobe.rst.eq(self.as_n)]
        with m.If(self.set):
            m.d.strobe += self.now.eq(1)
        m.submodules.synchroniser = FFSynchronizer(self.now, self.seen)
        return m


class EdgeWatch(wiring.Component):
    """Changes its mind whenever a line is asserted, however shortly it was high before.

    Members
    -------
    asserted : In(1)
        The line, 1 when asserted.
    turn : Out(1)
        Not what it was before: the line has been asserted anew.

    Timing
    ------
    ``turn`` follows the line by one to two cycles. Two assertions within a cycle would be missed.
    """

    asserted: In(1)
    turn: Out(1)

    def elaborate(self, platform):
        """A flip-flop that the line clocks."""
        m = Module()
        m.domains.line = line = ClockDomain("line", reset_less=True, local=True)
        count = Signal()
        m.d.comb += line.clk.eq(self.asserted)
        m.d.line += count.eq(~count)
        m.submodules.synchroniser = FFSynchronizer(count, self.turn)
        return m
