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


class _Signals:
    """What the sections of the controller of so many ``cabs`` share."""

    def __init__(self, cabs):
        words = exact_log2(BUFFER_WORDS)

        # The processor at work with a request or an answer.
        self.cab = Signal(range(max(2, cabs)))
        self.index = Signal(words)
        self.write = Signal()
        self.commit = Signal()
        self.wake = Signal()
        self.halt = Signal()
        self.attached = Signal()
        self.final = Signal()
        self.count = Signal(words + 1)
        self.named = Signal(range(MAX_CABS))  # the CAB of the item
        self.turns = Signal(cabs)

        # Time.
        self.edges = Signal(_EDGE_BITS)
        self.limit = Signal(_LIMIT_BITS)
        self.still = Signal(range(QUIET_EDGES + 1))  # edges for which nothing has happened
        self.running = Signal()
        self.settled = Signal()  # what the processors had to do at the edge before is done
        self.over = Signal()

        # Requests.
        self.place = Signal(range(2 * FRAME_WORDS))
        self.number = Signal(8)
        self.kind = Signal(8)
        self.reason = Signal(Reason, init=Reason.LIMIT)
        self.resets = Signal(range(RESET_EDGES))
        self.left = Signal(words + 1)  # words of a LOAD that have not come

        # Answers.
        self.pending = Signal(cabs)  # CABs whose turns are to be told
        self.others = Signal(cabs)


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
        s = _Signals(self.cabs)
        hosts = [getattr(self, f"host_{n}") for n in range(self.cabs)]
        self._processors(m, s, hosts)
        self._time(m, s)
        m.d.comb += [self.address.eq(s.place), self.hold.eq(1), self.busy.eq(1)]
        with m.FSM(name="state"):
            with m.State("idle"):
                m.d.comb += [self.hold.eq(self.frame), self.busy.eq(self.frame), self.address.eq(0)]
                m.d.sync += s.place.eq(0)
                with m.If(self.frame):
                    m.next = "header"
            with m.State("header"):
                self._take_header(m, s)
            with m.State("reset"):
                m.d.comb += self.tick.eq(1)
                m.d.sync += [s.resets.eq(s.resets - 1), s.reason.eq(Reason.LIMIT)]
                with m.If(s.resets == 0):
                    m.d.sync += [self.reset.eq(0), s.edges.eq(0), s.still.eq(0)]
                    m.next = "status"
            with m.State("limit"):
                m.d.sync += s.limit.eq(self.word)
                self._advance(m, s)
                m.next = "item"
            with m.State("item"):
                self._take_item(m, s)
            with m.State("load"):
                self._load(m, s)
            with m.State("run"):
                self._run(m, s)
            self._say_who(m, s)
            self._say_status(m, s)
            self._say_turns(m, s, hosts)
        return m

    def _processors(self, m, s, hosts):
        """The processor at work with a request or an answer."""
        m.d.comb += s.named.eq(self.word[24:28])
        for n, host in enumerate(hosts):
            mine = s.cab == n
            m.d.comb += [
                host.address.eq(s.index),
                host.data.eq(self.word),
                host.write.eq(s.write & mine),
                host.commit.eq(s.commit & mine),
                host.count.eq(s.count),
                host.attached.eq(s.attached),
                host.final.eq(s.final),
                host.wake.eq(s.wake & (s.named == n)),
                self.halt[n].eq(self.reset | (s.halt & (s.named == n))),
                s.turns[n].eq(host.turn != Turn.NONE),
            ]

    def _time(self, m, s):
        """Edges, those that are left of a run, and those at which nothing has happened."""
        m.d.comb += s.settled.eq((self.stall & ~s.turns) == 0)
        with m.If(self.tick):
            m.d.sync += [s.edges.eq(s.edges + 1), s.limit.eq(s.limit - 1)]
            with m.If(self.quiet & self.asleep.all()):
                m.d.sync += s.still.eq(s.still + 1)
            with m.Else():
                m.d.sync += s.still.eq(0)
        m.d.comb += s.over.eq((s.limit == 0) | (s.still == QUIET_EDGES))

    def _advance(self, m, s):
        """The next word of the request comes in the next cycle."""
        m.d.comb += self.address.eq(s.place + 1)
        m.d.sync += s.place.eq(s.place + 1)

    def _back(self, m, s):
        """To the run that goes on, or to rest."""
        with m.If(s.running):
            m.next = "run"
        with m.Else():
            m.next = "idle"

    def _take_header(self, m, s):
        """The request's first word; what is no request, or none that may come now, is passed over."""
        word = self.word
        self._back(m, s)
        with m.If(word[24:32] != REQUEST):
            pass
        with m.Elif(word[:8] == Request.IDENTIFY):
            m.d.sync += [s.number.eq(word[8:16]), s.kind.eq(word[:8]), s.running.eq(0)]
            m.next = "identity"
        with m.Elif(word[16:24] != VERSION):
            pass
        with m.Elif((word[8:16] == s.number) & (word[:8] == s.kind)):
            m.next = "status"
            with m.If(s.running):
                m.next = "busy"
        with m.Elif((word[8:16] == (s.number + 1)[:8]) & ~s.running):
            with m.If(word[:8] == Request.RESET):
                m.d.sync += [
                    s.number.eq(word[8:16]),
                    s.kind.eq(word[:8]),
                    self.reset.eq(1),
                    s.resets.eq(RESET_EDGES - 1),
                ]
                m.next = "reset"
            with m.If(word[:8] == Request.GO):
                m.d.sync += [s.number.eq(word[8:16]), s.kind.eq(word[:8])]
                self._advance(m, s)
                m.next = "limit"

    def _take_item(self, m, s):
        """The first word of an item, or the end of the request: then time runs."""
        word = self.word
        m.d.sync += [
            s.cab.eq(s.named),
            s.index.eq(0),
            s.left.eq(word),
            s.count.eq(word),
            s.attached.eq(word[20]),
            s.final.eq(word[21]),
        ]
        with m.If(s.place + 1 >= self.length):
            m.d.sync += s.running.eq(1)
            m.next = "run"
        with m.Else():
            m.d.sync += s.still.eq(0)
            self._advance(m, s)
            with m.Switch(word[28:32]):
                with m.Case(Item.LOAD):
                    m.next = "load"
                with m.Case(Item.WAKE):
                    m.d.comb += s.wake.eq(1)
                with m.Case(Item.HALT):
                    m.d.comb += s.halt.eq(1)

    def _load(self, m, s):
        """The words of a LOAD go into the processor's buffer."""
        with m.If(s.left == 0):
            m.d.comb += s.commit.eq(1)
            m.next = "item"
        with m.Else():
            m.d.comb += s.write.eq(1)
            m.d.sync += [s.index.eq(s.index + 1), s.left.eq(s.left - 1)]
            self._advance(m, s)

    def _run(self, m, s):
        """Time runs until a request comes, a processor needs the host, or the run is over."""
        going = Signal()
        m.d.comb += [self.hold.eq(self.frame), self.address.eq(0), going.eq(~s.over & (self.stall == 0))]
        m.d.comb += self.tick.eq(going)
        m.d.sync += s.place.eq(0)
        with m.If(self.frame):
            m.next = "header"
        with m.Elif(s.settled & ~going):
            m.d.sync += [
                s.running.eq(0),
                s.reason.eq(Mux(s.turns != 0, Reason.TURN, Mux(s.limit == 0, Reason.LIMIT, Reason.QUIET))),
            ]
            m.next = "status"

    def _say_who(self, m, s):
        """The states that answer at once: BUSY, and the words of the identity."""
        with m.State("busy"):
            self._say(m, self._header(s.number, Answer.BUSY), True, lambda: self._back(m, s))
        with m.State("identity"):
            self._say(m, self._header(s.number, Answer.IDENTITY), False, "identity_0")
        for n, value in enumerate(self.identity):
            last = n == len(self.identity) - 1
            with m.State(f"identity_{n}"):
                self._say(m, value, last, "idle" if last else f"identity_{n + 1}")

    def _say_status(self, m, s):
        """The states that tell why time stands still, and since when; then come the turns, the lowest CAB first."""
        with m.State("status"):
            m.d.sync += s.pending.eq(s.turns)
            self._say(m, self._header(s.number, Answer.STATUS), False, "reason")
        with m.State("reason"):
            self._say(m, s.reason, False, "edges_high")
        with m.State("edges_high"):
            self._say(m, s.edges[32:], False, "edges_low")
        with m.State("edges_low"):
            self._say(m, s.edges[:32], s.pending == 0, "next")
        with m.State("next"):  # the lowest of those that are left
            m.d.sync += s.index.eq(0)
            for n in reversed(range(self.cabs)):
                with m.If(s.pending[n]):
                    m.d.sync += s.cab.eq(n)
            m.next = "turn"
            with m.If(s.pending == 0):
                m.next = "idle"

    def _say_turns(self, m, s, hosts):
        """The states that tell a processor's turn: its flags, its error, its results."""
        of = {
            name: Array(getattr(host, name) for host in hosts)[s.cab]
            for name in ("turn", "level", "failed", "error_write", "error_address", "results", "result")
        }
        m.d.comb += s.others.eq(s.pending & ~(1 << s.cab))

        def next_cab():
            m.d.sync += s.pending.eq(s.others)
            m.next = "next"

        def behind_error():
            m.next = "read"
            with m.If(of["results"] == 0):
                next_cab()

        def behind_result():
            m.d.sync += s.index.eq(s.index + 1)
            m.next = "read"
            with m.If(final_one):
                next_cab()

        with m.State("turn"):
            flags = Cat(of["error_write"], of["failed"], of["level"], of["turn"])
            results = Cat(of["results"], C(0, _CAB - len(of["results"])))
            self._say(m, Cat(results, s.cab, C(0, _FLAGS - _CAB - len(s.cab)), flags), False, "error")
        with m.State("error"):
            self._say(m, of["error_address"], (of["results"] == 0) & (s.others == 0), behind_error)
        with m.State("read"):
            m.next = "result"
        with m.State("result"):
            final_one = Signal()
            m.d.comb += final_one.eq(s.index + 1 == of["results"])
            self._say(m, of["result"], final_one & (s.others == 0), behind_result)

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
