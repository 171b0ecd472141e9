"""The CAB's timers: one count of clock cycles, which also counts those slept through, and eight alarms.

Source: "The Design of Nectar" (1989), section 5.2 (hardware timers with low overhead); the registers and the stand-by
are ours (docs/cab.md).
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .addresses import REG
from .registers import BankPort, RegisterPort
from .timer_registers import TIMER_BANK, TIMERS

__all__ = ["TIMER_BITS", "TIMER_REGISTERS", "Timers"]

#: Bits of TIMER_NOW, of the times at which alarms go off, and of periods.
TIMER_BITS = 32
#: Its registers that are in no bank, in lower case.
TIMER_REGISTERS = "timer_now", "timer_stop", "timer_fired", "timer_armed"


class _Signals:
    """What the sections of the timers share."""

    def __init__(self):
        self.now = Signal(TIMER_BITS)
        self.turn = Signal(range(TIMERS))
        self.skips = Signal()  # a turn was slept through
        self.known = Signal(2 * TIMERS)  # words of the bank
        self.armed = Signal(TIMERS)
        self.stops = Signal(TIMERS)
        self.fires = Signal(TIMERS)
        self.again = Signal()  # timer 0 has gone off and waits for its turn
        self.due = Signal()
        self.steps = Signal()
        self.periodic = Signal()
        self.arms = Signal()


class Timers(wiring.Component):
    """Counts cycles; each alarm goes off after its time has been reached, once or again and again.

    Members
    -------
    timer_now, timer_stop, timer_fired, timer_armed : In(RegisterPort)
        Its registers.
    timer_times : In(BankPort)
        The compare values and periods: ``TIMER_BANK``.
    slept : In(32)
        Clock edges left out before the one that ends this cycle; they count from the next on.
    wake_in : Out(32)
        Clock edges that may be left out before the next one without delaying an alarm; all ones if none is armed. 0
        while it is being found out: for 10 cycles behind one in which an alarm is armed or stopped, goes off, or has
        its turn when its time is reached; and for 9 behind one of these before which edges were left out, if not by
        eights.
    clear : In(1)
        Disarm all, forget all that have fired, and all times and periods. The count goes on.
    fired : Out(1)
        An alarm goes off in this cycle.

    Timing
    ------
    Timer n has its turn in the cycles in which TIMER_NOW is n modulo 8. The alarms of timers 1 to 7 go off in the first
    turn in which they are armed and TIMER_NOW is the compare value or up to 2**31 - 1 more; that of timer 0 goes off in
    the first cycle, in turn or not. One with a period is armed for so much later: at once, that of timer 0 in its next
    turn, until when it cannot go off. A turn in which any compare value or period is written is void. Left out edges
    change nothing in all that. A write to its compare register arms a timer anew, whatever else happens in that cycle.
    """

    def __init__(self):
        super().__init__(
            {
                **{name: In(RegisterPort(REG[name.upper()])) for name in TIMER_REGISTERS},
                TIMER_BANK: In(BankPort(2 * TIMERS)),
                "slept": In(TIMER_BITS),
                "wake_in": Out(TIMER_BITS),
                "clear": In(1),
                "fired": Out(1),
            }
        )

    def elaborate(self, platform):
        """The count, to which a cycle and what was slept are added; then the alarm whose turn it is, and that of
        timer 0; then a search for the first of them, one a cycle."""
        m = Module()
        s = _Signals()
        bank = getattr(self, TIMER_BANK)
        m.d.comb += self.timer_now.value.eq(s.now)
        m.d.sync += [
            s.now.eq(s.now + 1 + self.slept),  # the edges slept through count
            s.skips.eq(self.slept[: exact_log2(TIMERS)].any()),
        ]
        store, compare, period = self._times(m, s, bank)
        self._fire(m, s, bank, store, compare, period)
        self._arm(m, s, bank)
        self._search(m, s, compare)
        self._tell(m, s)
        return m

    def _times(self, m, s, bank):
        """The times, in a memory that is read in the same cycle.

        A reset leaves it as it is: words that are not known are 0. Returns the ports that write, and that read the
        compare value and the period of the timer whose turn it is."""
        m.submodules.times = times = memory.Memory(shape=TIMER_BITS, depth=2 * TIMERS, init=[])
        store, asked, compare, period = times.write_port(), *(times.read_port(domain="comb") for _ in range(3))
        m.d.comb += [
            s.turn.eq(s.now[: exact_log2(TIMERS)]),
            asked.addr.eq(bank.index),
            bank.value.eq(Mux(s.known.bit_select(bank.index, 1), asked.data, 0)),
            compare.addr.eq(Cat(0, s.turn)),
            period.addr.eq(Cat(1, s.turn)),
        ]
        return store, compare, period

    def _fire(self, m, s, bank, store, compare, period):
        """Which timers fire. Timer 0 has its compare value in a register too."""
        exact, exact_since, since = (Signal(TIMER_BITS, name=name) for name in ("exact", "exact_since", "since"))
        m.d.comb += [
            exact_since.eq(s.now - exact),
            since.eq(s.now - compare.data),
            s.stops.eq(Mux(self.timer_stop.write, self.timer_stop.data.timers, 0) | self.clear.replicate(TIMERS)),
            s.arms.eq(bank.write & ~bank.index[0]),
            s.due.eq(s.armed.bit_select(s.turn, 1) & Mux(s.turn == 0, s.again, ~since[-1])),
            s.steps.eq(s.due & ~bank.write),
            s.periodic.eq(s.known.bit_select(period.addr, 1)),
            s.fires[0].eq(s.armed[0] & ~s.again & ~exact_since[-1]),
            *(s.fires[n].eq(s.steps & (s.turn == n)) for n in range(1, TIMERS)),
            self.fired.eq(s.fires.any()),
            store.en.eq(bank.write | (s.steps & s.periodic)),
            store.addr.eq(Mux(bank.write, bank.index, compare.addr)),
            store.data.eq(Mux(bank.write, bank.data, compare.data + period.data)),
        ]
        with m.If(store.en & (store.addr == 0)):
            m.d.sync += exact.eq(store.data)

    def _arm(self, m, s, bank):
        """Which timers are armed: a write arms one, whatever else happens to it."""
        with m.If(s.fires[0]):
            m.d.sync += [s.armed[0].eq(s.known[1]), s.again.eq(s.known[1])]
        with m.If(s.steps):
            m.d.sync += s.armed.bit_select(s.turn, 1).eq(s.periodic)
            with m.If(s.turn == 0):
                m.d.sync += s.again.eq(0)
        for n in range(TIMERS):
            with m.If(s.stops[n]):
                m.d.sync += s.armed[n].eq(0)
        with m.If(s.stops[0]):
            m.d.sync += s.again.eq(0)
        with m.If(self.clear):
            m.d.sync += s.known.eq(0)
        with m.If(bank.write):
            # A period of 0 is none.
            m.d.sync += s.known.bit_select(bank.index, 1).eq(s.arms | bank.data.any())
        with m.If(s.arms):
            m.d.sync += s.armed.bit_select(bank.index[1:], 1).eq(1)
            with m.If(bank.index == 0):
                m.d.sync += s.again.eq(0)

    def _search(self, m, s, compare):
        """The first of those armed; all that are seen are at most 2**31 ahead, and none is due.

        Whatever changes begins the search anew; a turn that was slept through, too."""
        changed = Signal()
        searching = Signal()
        left = Signal(range(TIMERS))
        eligible = Signal()  # the candidate is armed
        last = Signal()  # the candidate is the last
        found = Signal()
        first = Signal(TIMER_BITS)
        candidate, sooner, lead = (Signal(TIMER_BITS, name=name) for name in ("candidate", "sooner", "lead"))
        m.d.comb += [
            sooner.eq(candidate - first),
            lead.eq(s.now - first),
        ]
        m.d.sync += [
            changed.eq(s.fires[0] | s.due | s.arms | self.timer_stop.write | self.clear),
            candidate.eq(compare.data),
            eligible.eq(searching & s.armed.bit_select(s.turn, 1)),
            last.eq(searching & (left == 0)),
        ]
        with m.If(changed | (searching & s.skips)):
            m.d.sync += [searching.eq(1), left.eq(TIMERS - 1), found.eq(0), eligible.eq(0), last.eq(0)]
        with m.Elif(searching):
            with m.If(eligible & (~found | sooner[-1])):
                m.d.sync += [found.eq(1), first.eq(candidate)]
            m.d.sync += [left.eq(left - 1), searching.eq(~last)]
        searched = ~searching & ~changed
        with m.If(searched & found):
            # Up to the edge before the one at which its time is reached: first - now - 1 edges, the inverse of now -
            # first.
            m.d.comb += self.wake_in.eq(~(lead | ~lead[-1].replicate(TIMER_BITS)))
        with m.Elif(searched):
            m.d.comb += self.wake_in.eq(~0)

    def _tell(self, m, s):
        """The timers that have fired, and those that are armed."""
        seen = Signal(TIMERS)
        gone = Mux(self.timer_fired.write, self.timer_fired.data.timers, self.clear.replicate(TIMERS))
        m.d.sync += seen.eq((seen & ~gone) | s.fires)
        m.d.comb += [self.timer_fired.value.timers.eq(seen), self.timer_armed.value.timers.eq(s.armed)]
