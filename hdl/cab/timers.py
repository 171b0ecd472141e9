"""The CAB's timers: one count of clock cycles, which also counts those slept through, and eight alarms.

Source: "The Design of Nectar" (1989), section 5.2 (hardware timers with low overhead); the registers and the stand-by
are ours (docs/cab.md).
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .addresses import REG, TIMERS
from .registers import RegisterPort

__all__ = ["TIMER_BITS", "TIMER_REGISTERS", "Timers"]

#: Bits of TIMER_NOW, of the times at which alarms go off, and of periods.
TIMER_BITS = 32

_COMPARES = "timer_compare", *(f"timer{n}_compare" for n in range(1, TIMERS))
_PERIODS = tuple(f"timer{n}_period" for n in range(TIMERS))
#: Its registers, in lower case.
TIMER_REGISTERS = "timer_now", "timer_stop", "timer_fired", "timer_armed", *_COMPARES, *_PERIODS


class Timers(wiring.Component):
    """Counts cycles; each alarm goes off after its time has been reached, once or again and again.

    Members
    -------
    timer_now, timer_stop, timer_fired, timer_armed, timer_compare, timer1_compare, ..., timer0_period, ... : In(RegisterPort)
        Its registers.
    slept : In(32)
        Clock edges left out before the one that began this cycle (the pin, registered); they count at once.
    wake_in : Out(32)
        Clock edges that may be left out before the next one without missing an alarm; all ones if none is armed. 0 while it
        is being found out: for 8 cycles behind one in which an alarm is armed, stopped or goes off.
    clear : In(1)
        Disarm all, forget all that have fired. The count goes on.
    fired : Out(1)
        An alarm goes off in this cycle.

    Timing
    ------
    An alarm goes off in the first cycle in which it is armed and TIMER_NOW is its compare value or up to 2**31 - 1 more;
    one with a period is then armed for so much later. Left out edges change nothing in that. A write to its compare
    register arms it anew, whatever else happens in that cycle.
    """

    def __init__(self):
        super().__init__({
            **{name: In(RegisterPort(REG[name.upper()])) for name in TIMER_REGISTERS},
            "slept": In(TIMER_BITS),
            "wake_in": Out(TIMER_BITS),
            "clear": In(1),
            "fired": Out(1),
        })

    def elaborate(self, platform):
        """The count of the cycle before, plus what was slept; then each alarm by itself; then a search for the first of them, one
        a cycle."""
        m = Module()
        count = Signal(TIMER_BITS)
        now = Signal(TIMER_BITS)
        m.d.comb += [now.eq(count + self.slept), self.timer_now.value.eq(now)]
        m.d.sync += count.eq(now + 1)

        fires, armed, changes = Signal(TIMERS), Signal(TIMERS), Signal(TIMERS)
        compares = []
        for n in range(TIMERS):
            compare, period, since = (Signal(TIMER_BITS, name=f"{name}{n}") for name in ("compare", "period", "since"))
            stops = Signal(name=f"stops{n}")
            compare_port, period_port = getattr(self, _COMPARES[n]), getattr(self, _PERIODS[n])
            m.d.comb += [
                since.eq(now - compare),
                fires[n].eq(armed[n] & ~since[-1]),
                stops.eq(self.clear | (self.timer_stop.write & self.timer_stop.data.timers[n])),
                changes[n].eq(fires[n] | stops | compare_port.write),
                compare_port.value.eq(compare),
                period_port.value.eq(period),
            ]
            compares.append(compare)
            with m.If(period_port.write):
                m.d.sync += period.eq(period_port.data)
            with m.If(fires[n]):
                m.d.sync += [compare.eq(compare + period), armed[n].eq(period != 0)]
            with m.If(stops):
                m.d.sync += armed[n].eq(0)
            with m.If(compare_port.write):
                m.d.sync += [compare.eq(compare_port.data), armed[n].eq(1)]

        # The first of those armed; all are at most 2**31 ahead. Whatever changes begins the search anew.
        changed, searching, place = Signal(TIMERS), Signal(), Signal(range(TIMERS))
        eligible, last = Signal(), Signal()      # the candidate is armed; it is that of the last timer
        found, first = Signal(), Signal(TIMER_BITS)
        candidate, sooner, lead = Signal(TIMER_BITS), Signal(TIMER_BITS), Signal(TIMER_BITS)
        m.d.comb += [
            sooner.eq(candidate - first),
            lead.eq(now - first),
            self.fired.eq(fires.any()),
        ]
        m.d.sync += [
            changed.eq(changes),
            candidate.eq(Array(compares)[place]),
            eligible.eq(searching & armed.bit_select(place, 1)),
            last.eq(searching & (place == TIMERS - 1)),
        ]
        with m.If(changed.any()):
            m.d.sync += [searching.eq(1), place.eq(0), found.eq(0), eligible.eq(0), last.eq(0)]
        with m.Elif(searching):
            with m.If(eligible & (~found | sooner[-1])):
                m.d.sync += [found.eq(1), first.eq(candidate)]
            m.d.sync += [place.eq(place + 1), searching.eq(~last)]
        searched = ~searching & ~changed.any()
        with m.If(searched & found):
            # Up to the edge before the one at which it goes off: first - now - 1 edges, the inverse of now - first.
            m.d.comb += self.wake_in.eq(~(lead | ~lead[-1].replicate(TIMER_BITS)))
        with m.Elif(searched):
            m.d.comb += self.wake_in.eq(~0)

        seen = Signal(TIMERS)
        gone = Mux(self.timer_fired.write, self.timer_fired.data.timers, self.clear.replicate(TIMERS))
        m.d.sync += seen.eq((seen & ~gone) | fires)
        m.d.comb += [self.timer_fired.value.timers.eq(seen), self.timer_armed.value.timers.eq(Cat(armed))]
        return m
