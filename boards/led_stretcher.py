"""A light that shows short events.

Source: ours.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LedStretcher"]


class LedStretcher(wiring.Component):
    """A light that stays on long enough to be seen.

    Parameters
    ----------
    bits : int
        It stays on for 2**bits cycles, 1 to 32.

    Members
    -------
    event : In(1)
        Something happens.
    light : Out(1)
        It has happened in the last 2**bits cycles.

    Timing
    ------
    ``light`` is 1 from the second cycle behind the event on.

    Raises
    ------
    ValueError
        If ``bits`` is out of range.
    """

    def __init__(self, bits=20):
        if not 1 <= bits <= 32:
            raise ValueError(f"a light glows for 2**1 to 2**32 cycles, not 2**{bits}")
        self.bits = bits
        super().__init__({"event": In(1), "light": Out(1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(self.bits)
        # What happens may be known late in a cycle, and the counter has many bits.
        happened = Signal()
        m.d.sync += happened.eq(self.event)
        with m.If(happened):
            m.d.sync += [self.light.eq(1), left.eq(-1)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += self.light.eq(0)
        return m
