"""The CAB's timer: a count of clock cycles that also counts those slept through, and an alarm.

Source: "The Design of Nectar" (1989), section 5.2 (hardware timers with low overhead); the registers and the stand-by
are ours (docs/cab.md).
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .addresses import REG
from .registers import RegisterPort

__all__ = ["TIMER_BITS", "Timer"]

#: Bits of TIMER_NOW and TIMER_COMPARE.
TIMER_BITS = 32


class Timer(wiring.Component):
    """Counts cycles and fires once after TIMER_COMPARE has been reached.

    Members
    -------
    timer_now, timer_compare, timer_stop : In(RegisterPort)
        Its registers.
    slept : In(32)
        Clock edges left out before the one that began this cycle (the pin, registered); they count at once.
    wake_in : Out(32)
        Clock edges that may be left out before the next one without missing the alarm; all ones if it is not armed.
    fired : Out(1)
        The count has reached the compare value; for one cycle, then the timer is no more armed.

    Timing
    ------
    ``fired`` is 1 in the first cycle in which the timer is armed and TIMER_NOW is TIMER_COMPARE or up to 2**31 - 1
    more. Left out edges change nothing in that.
    """

    timer_now: In(RegisterPort(REG["TIMER_NOW"]))
    timer_compare: In(RegisterPort(REG["TIMER_COMPARE"]))
    timer_stop: In(RegisterPort(REG["TIMER_STOP"]))
    slept: In(TIMER_BITS)
    wake_in: Out(TIMER_BITS)
    fired: Out(1)

    def elaborate(self, platform):
        """The count of the cycle before, plus what was slept."""
        m = Module()
        count = Signal(TIMER_BITS)
        now = Signal(TIMER_BITS)
        compare = Signal(TIMER_BITS)
        armed = Signal()
        since = Signal(TIMER_BITS)
        due = Signal()
        m.d.comb += [
            now.eq(count + self.slept),
            since.eq(now - compare),
            due.eq(~since[-1]),
            self.fired.eq(armed & due),
            self.timer_now.value.eq(now),
            self.timer_compare.value.eq(compare),
        ]
        # Up to the edge before the one at which it fires: compare - now - 1 edges, the inverse of now - compare.
        with m.If(~armed):
            m.d.comb += self.wake_in.eq(~0)
        with m.Elif(~due):
            m.d.comb += self.wake_in.eq(~since)

        m.d.sync += count.eq(now + 1)
        with m.If(self.fired | self.timer_stop.write):
            m.d.sync += armed.eq(0)
        with m.If(self.timer_compare.write):
            m.d.sync += [compare.eq(self.timer_compare.data), armed.eq(1)]
        return m
