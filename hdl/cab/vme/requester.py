"""VME requester: gets the bus for the master, keeps it until somebody else wants it.

Source: ANSI/IEEE 1014, chapter 3 (requester, release on request, the BGIN*/BGOUT* daisy chains).
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .numbers import PERIOD_PS, Ns, check_period, cycles
from .sync import SEEN_AFTER, StrobeWatch, Synchroniser

__all__ = ["Requester"]

#: Bus request lines, and grant daisy chains.
_LINES = 4


class Requester(wiring.Component):
    """Requests the bus at one of the four levels.

    Parameters
    ----------
    period_ps : int
        Period of the clock.

    Members
    -------
    br_n (4), bgin_n (4), bclr_n : In
    br_pull (4), bbsy_pull, bgout_n (4) : Out
    level : In(2)
        Level of its requests. A switch: it stays.
    want : In(1)
        The master needs the bus, or is using it.
    owner : Out(1)
        The bus is ours. Stays 1 while ``want`` is 1.

    Timing
    ------
    BBSY* is asserted 3 cycles at most after BGIN*, and ``owner`` when BGIN* is high, and late enough for 90 ns of
    BBSY*. When ``want`` is 0 and another request, or BCLR*, is seen, the bus is given up in the next cycle. A grant
    that is not for us goes on in 3 cycles, at other levels at once.

    Raises
    ------
    TypeError, ValueError
        If the period is not one that is possible.
    """

    def __init__(self, period_ps=PERIOD_PS):
        check_period(period_ps)
        self.period_ps = period_ps
        super().__init__(
            {
                "br_n": In(_LINES, init=15),
                "bgin_n": In(_LINES, init=15),
                "bclr_n": In(1, init=1),
                "br_pull": Out(_LINES),
                "bbsy_pull": Out(1),
                "bgout_n": Out(_LINES, init=15),
                "level": In(2),
                "want": In(1),
                "owner": Out(1),
            }
        )

    def elaborate(self, platform):
        """One request at a time; a grant is taken or passed on, once."""
        m = Module()
        m.submodules.lines = lines = Synchroniser(2 * _LINES + 1)
        br = Signal(_LINES)
        bgin = Signal(_LINES)
        bclr = Signal()
        m.d.comb += [
            lines.lines_n.eq(Cat(self.br_n, self.bgin_n, self.bclr_n)),
            Cat(br, bgin, bclr).eq(lines.value),
        ]
        m.submodules.onward = onward = StrobeWatch()  # a grant goes on, until BGIN* rises
        requesting = Signal()
        granted = Signal()
        ours = Signal(_LINES)
        m.d.comb += [
            ours.eq(1 << self.level),
            granted.eq((bgin & ours).any()),
            self.br_pull.eq(Mux(requesting, ours, 0)),
            onward.as_n.eq((self.bgin_n & ours).any()),
            self.bgout_n.eq(self.bgin_n | Mux(onward.now, 0, ours)),
        ]
        least = max(cycles(Ns.BUSY, self.period_ps) - 2, 0)  # BBSY* stays for two cycles more
        busy = Signal(range(least + 1), name="busy", reset_less=True) if least else Const(0)
        unseen = Signal(SEEN_AFTER, reset_less=True)
        with m.FSM(name="requester"):
            with m.State("IDLE"):
                m.d.sync += unseen.eq(unseen[1:])
                with m.If(~unseen[0] & ~onward.seen):
                    with m.If(granted):
                        m.d.comb += onward.set.eq(1)
                        m.d.sync += unseen.eq(~0)
                    with m.Elif(self.want):
                        m.d.sync += requesting.eq(1)
                        m.next = "REQUEST"
            with m.State("REQUEST"):
                if least:
                    m.d.sync += busy.eq(least)
                with m.If(granted):
                    m.d.sync += self.bbsy_pull.eq(1)
                    m.next = "TAKE"
            with m.State("TAKE"):
                # 90 ns of BBSY*, or two cycles, are more than the 30 ns that it must stay after BR* was let go, one
                # cycle from here.
                m.d.sync += requesting.eq(0)
                if least:
                    m.d.sync += busy.eq(busy - (busy != 0))
                with m.If((busy == 0) & ~granted):
                    m.d.sync += self.owner.eq(1)
                    m.next = "OWN"
            with m.State("OWN"):
                with m.If(~self.want & (br.any() | bclr)):
                    m.d.sync += [self.owner.eq(0), self.bbsy_pull.eq(0)]
                    m.next = "IDLE"
        return m
