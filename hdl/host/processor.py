"""A CAB's CPU as the host plays it: executes the operations of its software at the edges of the CAB's clock.

Source: docs/door.md, which rules what happens at each edge, and docs/cable.md, both ours.
"""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import enum, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..cab.addresses import ADDRESS_BITS
from ..cab.bus_ports import CpuPort
from .numbers import BUFFER_WORDS, COUNT_BITS, SPEND_BITS, OperationKind, Turn

__all__ = ["HostPort", "Processor"]

_LEVELS = 2


class _Kind(enum.Enum, shape=4):
    """Kinds of operation, as wide as in an operation's first word."""

    MODE = OperationKind.MODE
    WRITE = OperationKind.WRITE
    WRITE_BLOCK = OperationKind.WRITE_BLOCK
    SPEND = OperationKind.SPEND
    MASK = OperationKind.MASK
    READ = OperationKind.READ
    READ_BLOCK = OperationKind.READ_BLOCK
    NOW = OperationKind.NOW
    WAIT = OperationKind.WAIT
    RETURN = OperationKind.RETURN


class _Doing(enum.Enum, shape=2):
    """What a level does that is not in an access."""

    FETCH = 0
    SPEND = 1
    WAIT = 2


class HostPort(wiring.Signature):
    """What the host sees of a processor, seen from the processor.

    Members
    -------
    write : In(1), address : In, data : In(32)
        Puts an operation's word into the buffer of the level that has a turn. Only during a turn, or before the start.
    commit : In(1), count : In, attached : In(1), final : In(1)
        The turn is over: that many words are in the buffer. ``attached``: there is an interrupt handler. ``final``: the
        software has ended, nothing will follow. The first one starts the processor.
    wake : In(1)
        A wait of level 0 ends, now or when it comes.
    turn : Out(Turn), level : Out(1)
        What the host must do, and for which level.
    failed : Out(1), error_write : Out(1), error_address : Out(24)
        The first access that the board has refused, and that level has not heard of yet.
    results : Out
        Words that have been read: in the buffer from its beginning on.
    result : Out(32)
        Result number ``address``, in the cycle after.
    """

    def __init__(self):
        words = exact_log2(BUFFER_WORDS)
        super().__init__(
            {
                "write": In(1),
                "address": In(words),
                "data": In(32),
                "commit": In(1),
                "count": In(words + 1),
                "attached": In(1),
                "final": In(1),
                "wake": In(1),
                "turn": Out(Turn),
                "level": Out(1),
                "failed": Out(1),
                "error_write": Out(1),
                "error_address": Out(ADDRESS_BITS),
                "results": Out(words + 1),
                "result": Out(32),
            }
        )


class _Signals:
    """What the states of the processor share."""

    def __init__(self):
        # The buffer; of each level.
        size = exact_log2(BUFFER_WORDS)
        self.level = Signal()
        self.place = Array(Signal(size + 1, name=f"place_{n}") for n in range(_LEVELS))  # of the next word
        self.end = Array(Signal(size + 1, name=f"end_{n}") for n in range(_LEVELS))
        self.results = Signal(size + 1)
        self.empty = Signal()
        self.in_turn = Signal()

        # What each level knows of itself.
        self.failed = Array(Signal(name=f"failed_{n}") for n in range(_LEVELS))
        self.error_write = Array(Signal(name=f"error_write_{n}") for n in range(_LEVELS))
        self.error_address = Array(Signal(ADDRESS_BITS, name=f"error_address_{n}") for n in range(_LEVELS))
        self.doing = Signal(_Doing)  # of the level that runs
        self.saved = Signal(_Doing)  # of level 0 while level 1 runs
        self.left = Signal(SPEND_BITS)
        self.saved_left = Signal(SPEND_BITS)
        self.attached = Signal()
        self.masked = Signal()
        self.supervisor = Signal()
        self.final = Signal()
        self.handled = Signal()  # a handler has run since level 0 was last resumed
        self.irq = Signal()  # the line as sampled, until it has been looked at
        self.is_open = Signal()
        self.interrupted = Signal()

        # The access under way.
        self.base = Signal(ADDRESS_BITS)  # of the word to be answered next
        self.to_take = Signal(COUNT_BITS)  # words not yet taken
        self.to_answer = Signal(COUNT_BITS)  # words not yet answered
        self.first = Signal(4)  # bytes of the first word
        self.last = Signal(4)  # bytes of the last word
        self.begun = Signal()  # the first word has been driven
        self.accessing = Signal()  # it has not ended


class Processor(wiring.Component):
    """A CPU that gets its operations from a buffer for each of its two levels.

    Members
    -------
    bus : In(CpuPort()), irq : In(1)
        The CAB, which has a clock that can be stopped.
    tick : In(1)
        The CAB's clock has an edge at the end of this cycle.
    stall : Out(1)
        The CAB's clock must stand still: there is something to do before its next edge.
    asleep : Out(1)
        Only an interrupt, or the host, can make this processor do anything more.
    host : Out(HostPort())

    Timing
    ------
    ``bus`` and ``irq`` are sampled at a tick; what is driven changes before the next one, as docs/door.md says.
    Whatever takes no time there is done in as many cycles as it needs, while ``stall`` is 1. It is also 1 during a
    turn; it never depends on an input in the same cycle."""

    bus: In(CpuPort())
    irq: In(1)
    tick: In(1)
    stall: Out(1)
    asleep: Out(1)
    host: Out(HostPort())

    def elaborate(self, platform):
        """The buffer; what the levels know; what each state does; what the host's answer changes."""
        m = Module()
        s = _Signals()
        word, stores = self._buffer(m, s)
        self._levels(m, s)
        m.d.comb += [self.bus.execute.eq(0), self.bus.kernel.eq((s.level == 1) | s.supervisor)]
        with m.If(self.tick):
            m.d.sync += s.irq.eq(self.irq)
        with m.FSM(name="state"):
            with m.State("off"):
                m.d.comb += self.asleep.eq(1)
                with m.If(self.host.commit & ~s.final):
                    m.next = "begin"
            with m.State("begin"):  # the software starts at the next edge
                with m.If(self.tick):
                    m.next = "check"
            with m.State("check"):
                self._check(m, s)
            with m.State("decode"):
                self._decode(m, s, word)
            with m.State("second"):  # the buffer is being read
                m.d.comb += self.stall.eq(1)
                m.next = "length"
            with m.State("length"):
                m.d.comb += self.stall.eq(1)
                self._take_word(m, s)
                m.d.sync += [s.last.eq(word[28:32]), s.to_take.eq(word), s.to_answer.eq(word)]
                m.next = "settle"
            with m.State("settle"):
                self._settle(m, s)
            with m.State("drive"):
                self._drive(m, s, word)
            with m.State("access"):
                self._access(m, s, stores)
            with m.State("spend"):
                self._spend(m, s)
            with m.State("wait"):
                self._wait(m, s)
            with m.State("turn"):
                self._end_turn(m, s)
        self._commit(m, s)
        return m

    def _buffer(self, m, s):
        """The buffer: operations of both levels. Results take the place of operations that are done.

        Returns the word that is read, and what makes it store the word that the bus gives."""
        host, size = self.host, exact_log2(BUFFER_WORDS)
        m.submodules.buffer = buffer = memory.Memory(shape=32, depth=_LEVELS * BUFFER_WORDS, init=[])
        reading, writing = buffer.read_port(), buffer.write_port()
        m.d.comb += [
            s.empty.eq(s.place[s.level] == s.end[s.level]),
            reading.addr.eq(Mux(s.in_turn, host.address, s.place[s.level][:size]) | s.level << size),
            writing.addr.eq(Mux(host.write, host.address, s.results[:size]) | s.level << size),
            writing.data.eq(Mux(host.write, host.data, self.bus.read_data)),
            writing.en.eq(host.write),
            host.level.eq(s.level),
            host.results.eq(s.results),
            host.result.eq(reading.data),
        ]
        return reading.data, writing.en

    def _levels(self, m, s):
        """What each level knows of itself."""
        host = self.host
        m.d.comb += [
            host.failed.eq(s.failed[s.level]),
            host.error_write.eq(s.error_write[s.level]),
            host.error_address.eq(s.error_address[s.level]),
        ]
        m.d.comb += [
            s.is_open.eq((s.level == 0) & s.attached & ~s.masked),
            s.interrupted.eq(s.is_open & s.irq),
        ]

    def _turn(self, m, s, what, *, resumes=False):
        """The host has a turn next, for which it is told ``what``; ``resumes``: the level's software goes on in it."""
        m.d.sync += self.host.turn.eq(what)
        if resumes:
            m.d.sync += s.doing.eq(_Doing.FETCH)
            with m.If(s.level == 0):
                m.d.sync += s.handled.eq(0)
        m.next = "turn"

    def _take_word(self, m, s):
        """The word that is read is taken out of the buffer."""
        m.d.sync += s.place[s.level].eq(s.place[s.level] + 1)

    def _check(self, m, s):
        """After an edge: an interrupt, or what was being done, or the next operation."""
        m.d.comb += self.stall.eq(1)
        with m.If(s.interrupted):
            m.d.sync += [
                s.saved.eq(s.doing),
                s.saved_left.eq(s.left),
                s.level.eq(1),
                s.doing.eq(_Doing.FETCH),
                s.irq.eq(0),
            ]
            self._turn(m, s, Turn.INTERRUPT)
        with m.Elif(s.doing == _Doing.SPEND):
            m.next = "spend"
        with m.Elif(s.doing == _Doing.WAIT):
            m.next = "wait"
        with m.Elif(~s.empty):
            m.next = "decode"
        with m.Elif((s.level == 1) | ~s.final):
            self._turn(m, s, Turn.MORE)
        with m.Elif(s.failed[s.level]):
            self._turn(m, s, Turn.UNHANDLED)
        with m.Else():
            m.next = "off"

    def _decode(self, m, s, word):
        """The next operation, whose first word is ``word``."""
        m.d.comb += self.stall.eq(1)
        kind = _Kind(word[28:32])
        self._take_word(m, s)
        m.d.sync += [
            s.results.eq(0),
            s.base.eq(word),
            s.first.eq(word[24:28]),
            s.last.eq(0xF),
            s.begun.eq(0),
            s.to_take.eq(1),
            s.to_answer.eq(1),
            self.bus.write.eq((kind == _Kind.WRITE) | (kind == _Kind.WRITE_BLOCK)),
        ]
        m.next = "check"
        with m.Switch(kind):
            with m.Case(_Kind.MODE):
                m.d.sync += s.supervisor.eq(word[0])
            with m.Case(_Kind.MASK):
                m.d.sync += s.masked.eq(word[0])
            with m.Case(_Kind.SPEND):
                m.d.sync += s.left.eq(word)
                with m.If(word[:SPEND_BITS] != 0):
                    m.d.sync += s.doing.eq(_Doing.SPEND)
                    m.next = "spend"
            with m.Case(_Kind.WRITE):
                m.next = "settle"
            with m.Case(_Kind.WRITE_BLOCK):
                m.next = "second"
            with m.Case(_Kind.READ, _Kind.READ_BLOCK, _Kind.NOW, _Kind.WAIT):
                self._ask(m, s, kind)
            with m.Case(_Kind.RETURN):
                self._return(m, s)

    def _ask(self, m, s, kind):
        """An operation that the software waits for: it goes on at once if there is nothing to wait for."""
        with m.If(s.failed[s.level] | (kind == _Kind.NOW) | ((kind == _Kind.WAIT) & s.handled)):
            self._turn(m, s, Turn.RESUME, resumes=True)
        with m.Elif(kind == _Kind.WAIT):
            m.d.sync += s.doing.eq(_Doing.WAIT)
            m.next = "wait"
        with m.Elif(kind == _Kind.READ):
            m.next = "settle"
        with m.Else():
            m.next = "second"

    def _return(self, m, s):
        """From the interrupt handler to what level 0 was doing."""
        with m.If(s.failed[1]):
            m.d.sync += s.place[s.level].eq(s.place[s.level])  # it is done when that has been told
            self._turn(m, s, Turn.UNHANDLED)
        with m.Else():
            m.d.sync += [s.level.eq(0), s.handled.eq(1), s.irq.eq(0), s.doing.eq(s.saved), s.left.eq(s.saved_left)]
            with m.If(s.saved == _Doing.WAIT):
                m.d.sync += [s.doing.eq(_Doing.FETCH), s.handled.eq(0)]
                self._turn(m, s, Turn.RESUME)

    def _settle(self, m, s):
        """After an edge of an access, or before its first."""
        bus = self.bus
        m.d.comb += self.stall.eq(1)
        m.d.sync += s.accessing.eq(s.to_answer != 0)
        with m.If(s.to_answer == 0):
            m.next = "check"
            with m.If(~bus.write):
                self._turn(m, s, Turn.RESUME, resumes=True)
        with m.Elif(s.results[-1]):
            self._turn(m, s, Turn.RESULTS)
        with m.Elif(bus.valid | (s.to_take == 0)):
            m.next = "access"
        with m.Elif(bus.write & s.empty):
            self._turn(m, s, Turn.MORE)
        with m.Else():
            m.next = "drive"

    def _drive(self, m, s, word):
        """The next word of an access is put on the bus."""
        bus = self.bus
        m.d.comb += self.stall.eq(1)
        m.d.sync += [
            bus.valid.eq(1),
            s.begun.eq(1),
            bus.address.eq(Mux(s.begun, bus.address + 4, s.base & ~3)),
            bus.select.eq(Mux(s.begun, 0xF, s.first) & Mux(s.to_take == 1, s.last, 0xF)),
            bus.write_data.eq(Mux(bus.write, word, 0)),
        ]
        with m.If(bus.write):
            self._take_word(m, s)
        m.next = "access"

    def _access(self, m, s, stores):
        """Until a word is taken, or answered; ``stores``: the buffer stores what was read."""
        bus = self.bus
        with m.If(self.tick & bus.done):
            m.d.sync += [s.to_answer.eq(s.to_answer - 1), s.base.eq((s.base & ~3) + 4)]
            with m.If(~bus.write):
                m.d.comb += stores.eq(1)
                m.d.sync += s.results.eq(s.results + 1)
            with m.If(bus.error & ~s.failed[s.level]):
                m.d.sync += [
                    s.failed[s.level].eq(1),
                    s.error_write[s.level].eq(bus.write),
                    s.error_address[s.level].eq(s.base),
                ]
            m.next = "settle"
        with m.If(self.tick & bus.valid & bus.ready):
            m.d.sync += [s.to_take.eq(s.to_take - 1), bus.valid.eq(0)]
            m.next = "settle"

    def _spend(self, m, s):
        """Edges go by until the time is spent, or an interrupt comes."""
        with m.If(self.tick):
            m.d.sync += s.left.eq(s.left - 1)
            with m.If(s.left == 1):
                m.d.sync += s.doing.eq(_Doing.FETCH)
            with m.If((s.left == 1) | (s.is_open & self.irq)):
                m.next = "check"

    def _wait(self, m, s):
        """For an interrupt, or the host."""
        m.d.comb += self.asleep.eq(~s.handled)
        with m.If(self.tick):
            with m.If(s.handled):
                self._turn(m, s, Turn.RESUME, resumes=True)
            with m.Elif(s.is_open & self.irq):
                m.next = "check"

    def _end_turn(self, m, s):
        """A turn, until the host has answered."""
        host = self.host
        m.d.comb += [self.stall.eq(1), s.in_turn.eq(1)]
        with m.If(host.commit):
            with m.If((host.turn == Turn.RESUME) | (host.turn == Turn.UNHANDLED)):
                m.d.sync += s.failed[s.level].eq(0)
            with m.If(host.turn != Turn.UNHANDLED):
                m.d.sync += s.results.eq(0)
            m.d.sync += host.turn.eq(Turn.NONE)
            m.next = "check"
            with m.If((host.turn == Turn.RESULTS) | ((host.turn == Turn.MORE) & s.accessing)):
                m.next = "settle"

    def _commit(self, m, s):
        """What the host says with its answer, and at any time."""
        host = self.host
        with m.If(host.commit):
            m.d.sync += [s.attached.eq(host.attached), s.final.eq(host.final | s.final)]
            with m.If(~((host.turn == Turn.UNHANDLED) | (host.turn == Turn.RESULTS))):
                m.d.sync += [s.place[s.level].eq(0), s.end[s.level].eq(host.count)]
        with m.If(host.wake):
            m.d.sync += s.handled.eq(1)
