"""Executes the host's requests, lets time go on or stand still, and answers.

Source: docs/cable.md, which is ours.
"""

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .framer import LastWord
from .numbers import (
    ANSWER,
    BUFFER_WORDS,
    FRAME_WORDS,
    MAX_CABS,
    QUIET_EDGES,
    REQUEST,
    RESET_EDGES,
    VERSION,
    Answer,
    Item,
    Reason,
    Request,
    Turn,
)
from .processor import HostPort

__all__ = ["HostController", "check_cabs"]

_EDGE_BITS = 64
_LIMIT_BITS = 32
#: Where the CAB's number and the flags are in the first word of a turn.
_CAB, _FLAGS = 20, 25


def check_cabs(cabs):
    """Raises TypeError or ValueError if a cluster cannot have that many CABs."""
    if not isinstance(cabs, int):
        raise TypeError(f"the number of CABs must be an integer, not {cabs!r}")
    if not 1 <= cabs <= MAX_CABS:
        raise ValueError(f"a cluster has 1 to {MAX_CABS} CABs, not {cabs}")


class HostController(wiring.Component):
    """Master of the processors and of their boards' time.

    Parameters
    ----------
    cabs : int
        Number of processors, 1 to 16.
    identity : list of int
        Words of the answer that tells who is there.

    Members
    -------
    frame : In(1), length : In
        A request has come: that many words, the last of which is a checksum.
    address : Out(range(FRAME_WORDS)), word : In(32)
        The buffer that it is in; a word comes in the cycle after its address.
    hold : Out(1)
        The buffer is being read.
    words : Out(stream.Signature(LastWord))
        The answer.
    host_0, host_1, ... : In(HostPort())
        The processors.
    stall : In(cabs), asleep : In(cabs)
        Of the processors.
    halt : Out(cabs)
        Resets a processor.
    quiet : In(1)
        Nothing happens on the boards and on their fibers, and no timer runs.
    reset : Out(1), tick : Out(1)
        The boards' reset; their clock has an edge at the end of this cycle.
    busy : Out(1)
        A request is being executed.

    Timing
    ------
    While a run lasts there is a tick in each cycle in which no processor stalls. What comes during a run stops time
    until it is answered. ``tick``, ``stall`` to ``tick`` included, is the only output that depends on an input in the
    same cycle, ``hold`` and ``address`` excepted.

    Raises
    ------
    TypeError, ValueError
        If there cannot be that many CABs.
    """

    def __init__(self, cabs, identity):
        check_cabs(cabs)
        self.cabs = cabs
        self.identity = list(identity)
        super().__init__(
            {
                "frame": In(1),
                "length": In(range(FRAME_WORDS + 1)),
                "address": Out(range(FRAME_WORDS)),
                "word": In(32),
                "hold": Out(1),
                "words": Out(stream.Signature(LastWord)),
                **{f"host_{n}": In(HostPort()) for n in range(cabs)},
                "stall": In(cabs),
                "asleep": In(cabs),
                "halt": Out(cabs),
                "quiet": In(1),
                "reset": Out(1, init=1),
                "tick": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        """Processors; time; requests; answers."""
        m = Module()
        hosts = [getattr(self, f"host_{n}") for n in range(self.cabs)]
        word = self.word

        # 1. The processor at work with a request or an answer.
        cab = Signal(range(max(2, self.cabs)))
        index = Signal(exact_log2(BUFFER_WORDS))
        write, commit, wake, halt = (Signal(name=name) for name in ("write", "commit", "wake", "halt"))
        attached = Signal()
        final = Signal()
        count = Signal(exact_log2(BUFFER_WORDS) + 1)
        named = Signal(range(MAX_CABS))  # the CAB of the item
        turns = Signal(self.cabs)
        m.d.comb += named.eq(word[24:28])
        for n, host in enumerate(hosts):
            mine = cab == n
            m.d.comb += [
                host.address.eq(index),
                host.data.eq(word),
                host.write.eq(write & mine),
                host.commit.eq(commit & mine),
                host.count.eq(count),
                host.attached.eq(attached),
                host.final.eq(final),
                host.wake.eq(wake & (named == n)),
                self.halt[n].eq(self.reset | (halt & (named == n))),
                turns[n].eq(host.turn != Turn.NONE),
            ]

        # 2. Time.
        edges = Signal(_EDGE_BITS)
        limit = Signal(_LIMIT_BITS)
        still = Signal(range(QUIET_EDGES + 1))  # edges for which nothing has happened
        running = Signal()
        settled = Signal()  # what the processors had to do at the edge before is done
        going = Signal()
        m.d.comb += settled.eq((self.stall & ~turns) == 0)
        with m.If(self.tick):
            m.d.sync += [edges.eq(edges + 1), limit.eq(limit - 1)]
            with m.If(self.quiet & self.asleep.all()):
                m.d.sync += still.eq(still + 1)
            with m.Else():
                m.d.sync += still.eq(0)
        over = Signal()
        m.d.comb += over.eq((limit == 0) | (still == QUIET_EDGES))

        # 3. Requests.
        place = Signal(range(2 * FRAME_WORDS))
        number = Signal(8)
        kind = Signal(8)
        reason = Signal(Reason, init=Reason.LIMIT)
        resets = Signal(range(RESET_EDGES))
        left = Signal(exact_log2(BUFFER_WORDS) + 1)  # words of a LOAD that have not come
        pending = Signal(self.cabs)  # CABs whose turns are to be told

        def advance():
            m.d.comb += self.address.eq(place + 1)
            m.d.sync += place.eq(place + 1)

        def back():
            with m.If(running):
                m.next = "run"
            with m.Else():
                m.next = "idle"

        m.d.comb += [self.address.eq(place), self.hold.eq(1), self.busy.eq(1)]
        with m.FSM(name="state"):
            with m.State("idle"):
                m.d.comb += [self.hold.eq(self.frame), self.busy.eq(self.frame), self.address.eq(0)]
                m.d.sync += place.eq(0)
                with m.If(self.frame):
                    m.next = "header"
            with m.State("header"):
                back()
                with m.If(word[24:32] != REQUEST):
                    pass
                with m.Elif(word[:8] == Request.IDENTIFY):
                    m.d.sync += [number.eq(word[8:16]), kind.eq(word[:8]), running.eq(0)]
                    m.next = "identity"
                with m.Elif(word[16:24] != VERSION):
                    pass
                with m.Elif((word[8:16] == number) & (word[:8] == kind)):
                    m.next = "status"
                    with m.If(running):
                        m.next = "busy"
                with m.Elif((word[8:16] == (number + 1)[:8]) & ~running):
                    with m.If(word[:8] == Request.RESET):
                        m.d.sync += [
                            number.eq(word[8:16]),
                            kind.eq(word[:8]),
                            self.reset.eq(1),
                            resets.eq(RESET_EDGES - 1),
                        ]
                        m.next = "reset"
                    with m.If(word[:8] == Request.GO):
                        m.d.sync += [number.eq(word[8:16]), kind.eq(word[:8])]
                        advance()
                        m.next = "limit"
            with m.State("reset"):
                m.d.comb += self.tick.eq(1)
                m.d.sync += [resets.eq(resets - 1), reason.eq(Reason.LIMIT)]
                with m.If(resets == 0):
                    m.d.sync += [self.reset.eq(0), edges.eq(0), still.eq(0)]
                    m.next = "status"
            with m.State("limit"):
                m.d.sync += limit.eq(word)
                advance()
                m.next = "item"
            with m.State("item"):
                m.d.sync += [
                    cab.eq(named),
                    index.eq(0),
                    left.eq(word),
                    count.eq(word),
                    attached.eq(word[20]),
                    final.eq(word[21]),
                ]
                with m.If(place + 1 >= self.length):
                    m.d.sync += running.eq(1)
                    m.next = "run"
                with m.Else():
                    m.d.sync += still.eq(0)
                    advance()
                    with m.Switch(word[28:32]):
                        with m.Case(Item.LOAD):
                            m.next = "load"
                        with m.Case(Item.WAKE):
                            m.d.comb += wake.eq(1)
                        with m.Case(Item.HALT):
                            m.d.comb += halt.eq(1)
            with m.State("load"):
                with m.If(left == 0):
                    m.d.comb += commit.eq(1)
                    m.next = "item"
                with m.Else():
                    m.d.comb += write.eq(1)
                    m.d.sync += [index.eq(index + 1), left.eq(left - 1)]
                    advance()
            with m.State("run"):
                m.d.comb += [self.hold.eq(self.frame), self.address.eq(0), going.eq(~over & (self.stall == 0))]
                m.d.comb += self.tick.eq(going)
                m.d.sync += place.eq(0)
                with m.If(self.frame):
                    m.next = "header"
                with m.Elif(settled & ~going):
                    m.d.sync += [
                        running.eq(0),
                        reason.eq(Mux(turns != 0, Reason.TURN, Mux(limit == 0, Reason.LIMIT, Reason.QUIET))),
                    ]
                    m.next = "status"

            # 4. Answers.
            with m.State("busy"):
                self._say(m, self._header(number, Answer.BUSY), True, back)
            with m.State("identity"):
                self._say(m, self._header(number, Answer.IDENTITY), False, "identity_0")
            for n, value in enumerate(self.identity):
                last = n == len(self.identity) - 1
                with m.State(f"identity_{n}"):
                    self._say(m, value, last, "idle" if last else f"identity_{n + 1}")
            with m.State("status"):
                m.d.sync += pending.eq(turns)
                self._say(m, self._header(number, Answer.STATUS), False, "reason")
            with m.State("reason"):
                self._say(m, reason, False, "edges_high")
            with m.State("edges_high"):
                self._say(m, edges[32:], False, "edges_low")
            with m.State("edges_low"):
                self._say(m, edges[:32], pending == 0, "next")
            with m.State("next"):  # the lowest of those that are left
                m.d.sync += index.eq(0)
                for n in reversed(range(self.cabs)):
                    with m.If(pending[n]):
                        m.d.sync += cab.eq(n)
                m.next = "turn"
                with m.If(pending == 0):
                    m.next = "idle"
            of = {
                name: Array(getattr(host, name) for host in hosts)[cab]
                for name in ("turn", "level", "failed", "error_write", "error_address", "results", "result")
            }
            others = Signal(self.cabs)
            m.d.comb += others.eq(pending & ~(1 << cab))
            with m.State("turn"):
                self._say(
                    m,
                    Cat(
                        of["results"],
                        C(0, _CAB - len(of["results"])),
                        cab,
                        C(0, _FLAGS - _CAB - len(cab)),
                        of["error_write"],
                        of["failed"],
                        of["level"],
                        of["turn"],
                    ),
                    False,
                    "error",
                )
            with m.State("error"):

                def then():
                    m.next = "read"
                    with m.If(of["results"] == 0):
                        m.d.sync += pending.eq(others)
                        m.next = "next"

                self._say(m, of["error_address"], (of["results"] == 0) & (others == 0), then)
            with m.State("read"):
                m.next = "result"
            with m.State("result"):
                final_one = Signal()
                m.d.comb += final_one.eq(index + 1 == of["results"])

                def then():
                    m.d.sync += index.eq(index + 1)
                    m.next = "read"
                    with m.If(final_one):
                        m.d.sync += pending.eq(others)
                        m.next = "next"

                self._say(m, of["result"], final_one & (others == 0), then)
        return m

    def _header(self, number, kind):
        """First word of an answer."""
        return Cat(C(kind, 8), number, C(ANSWER << 8 | VERSION, 16))

    def _say(self, m, value, last, then):
        """Offers a word; once it is taken the next state is ``then``, or what that does."""
        m.d.comb += [self.words.valid.eq(1), self.words.payload.word.eq(value), self.words.payload.last.eq(last)]
        with m.If(self.words.ready):
            if callable(then):
                then()
            else:
                m.next = then
