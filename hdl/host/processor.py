"""A CAB's CPU as the host plays it: executes the operations of its software at the edges of the CAB's clock.

Source: docs/door.md, which rules what happens at each edge, and docs/cable.md, both ours.
"""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import enum, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..cab.addresses import ADDRESS_BITS
from ..cab.bus import CpuPort
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
        """The buffer; the access; then what each state does."""
        m = Module()
        host, bus = self.host, self.bus
        size = exact_log2(BUFFER_WORDS)

        # 1. The buffer: operations of both levels. Results take the place of operations that are done.
        m.submodules.buffer = buffer = memory.Memory(shape=32, depth=_LEVELS * BUFFER_WORDS, init=[])
        reading, writing = buffer.read_port(), buffer.write_port()
        level = Signal()
        place = Array(Signal(size + 1, name=f"place_{n}") for n in range(_LEVELS))  # of the next word
        end = Array(Signal(size + 1, name=f"end_{n}") for n in range(_LEVELS))
        results = Signal(size + 1)
        word = reading.data
        empty = Signal()
        in_turn = Signal()
        m.d.comb += [
            empty.eq(place[level] == end[level]),
            reading.addr.eq(Mux(in_turn, host.address, place[level][:size]) | level << size),
            writing.addr.eq(Mux(host.write, host.address, results[:size]) | level << size),
            writing.data.eq(Mux(host.write, host.data, bus.read_data)),
            writing.en.eq(host.write),
            host.level.eq(level),
            host.results.eq(results),
            host.result.eq(word),
        ]

        # 2. What each level knows of itself.
        failed = Array(Signal(name=f"failed_{n}") for n in range(_LEVELS))
        error_write = Array(Signal(name=f"error_write_{n}") for n in range(_LEVELS))
        error_address = Array(Signal(ADDRESS_BITS, name=f"error_address_{n}") for n in range(_LEVELS))
        m.d.comb += [
            host.failed.eq(failed[level]),
            host.error_write.eq(error_write[level]),
            host.error_address.eq(error_address[level]),
        ]
        doing, saved = Signal(_Doing), Signal(_Doing)  # of the level that runs; of level 0 while level 1 runs
        left, saved_left = Signal(SPEND_BITS), Signal(SPEND_BITS)
        attached, masked, supervisor, final = (
            Signal(name=name) for name in ("attached", "masked", "supervisor", "final")
        )
        handled = Signal()  # a handler has run since level 0 was last resumed
        irq = Signal()  # the line as sampled, until it has been looked at
        is_open, interrupted = Signal(), Signal()
        m.d.comb += [
            is_open.eq((level == 0) & attached & ~masked),
            interrupted.eq(is_open & irq),
        ]

        # 3. The access under way.
        base = Signal(ADDRESS_BITS)  # of the word to be answered next
        to_take, to_answer = Signal(COUNT_BITS), Signal(COUNT_BITS)  # words not yet taken, not yet answered
        first, last = Signal(4), Signal(4)  # bytes of the first and of the last word
        begun = Signal()  # the first word has been driven
        accessing = Signal()  # it has not ended
        m.d.comb += [bus.execute.eq(0), bus.kernel.eq((level == 1) | supervisor)]

        def turn(what, *, resumes=False):
            m.d.sync += host.turn.eq(what)
            if resumes:
                m.d.sync += doing.eq(_Doing.FETCH)
                with m.If(level == 0):
                    m.d.sync += handled.eq(0)
            m.next = "turn"

        def take_word():
            m.d.sync += place[level].eq(place[level] + 1)

        with m.If(self.tick):
            m.d.sync += irq.eq(self.irq)
        with m.FSM(name="state"):
            with m.State("off"):
                m.d.comb += self.asleep.eq(1)
                with m.If(host.commit & ~final):
                    m.next = "begin"
            with m.State("begin"):  # the software starts at the next edge
                with m.If(self.tick):
                    m.next = "check"
            with m.State("check"):  # after an edge: an interrupt, or what was being done, or the next operation
                m.d.comb += self.stall.eq(1)
                with m.If(interrupted):
                    m.d.sync += [saved.eq(doing), saved_left.eq(left), level.eq(1), doing.eq(_Doing.FETCH), irq.eq(0)]
                    turn(Turn.INTERRUPT)
                with m.Elif(doing == _Doing.SPEND):
                    m.next = "spend"
                with m.Elif(doing == _Doing.WAIT):
                    m.next = "wait"
                with m.Elif(~empty):
                    m.next = "decode"
                with m.Elif((level == 1) | ~final):
                    turn(Turn.MORE)
                with m.Elif(failed[level]):
                    turn(Turn.UNHANDLED)
                with m.Else():
                    m.next = "off"
            with m.State("decode"):
                m.d.comb += self.stall.eq(1)
                kind = _Kind(word[28:32])
                take_word()
                m.d.sync += [
                    results.eq(0),
                    base.eq(word),
                    first.eq(word[24:28]),
                    last.eq(0xF),
                    begun.eq(0),
                    to_take.eq(1),
                    to_answer.eq(1),
                    bus.write.eq((kind == _Kind.WRITE) | (kind == _Kind.WRITE_BLOCK)),
                ]
                m.next = "check"
                with m.Switch(kind):
                    with m.Case(_Kind.MODE):
                        m.d.sync += supervisor.eq(word[0])
                    with m.Case(_Kind.MASK):
                        m.d.sync += masked.eq(word[0])
                    with m.Case(_Kind.SPEND):
                        m.d.sync += left.eq(word)
                        with m.If(word[:SPEND_BITS] != 0):
                            m.d.sync += doing.eq(_Doing.SPEND)
                            m.next = "spend"
                    with m.Case(_Kind.WRITE):
                        m.next = "settle"
                    with m.Case(_Kind.WRITE_BLOCK):
                        m.next = "second"
                    with m.Case(_Kind.READ, _Kind.READ_BLOCK, _Kind.NOW, _Kind.WAIT):
                        with m.If(failed[level] | (kind == _Kind.NOW) | ((kind == _Kind.WAIT) & handled)):
                            turn(Turn.RESUME, resumes=True)
                        with m.Elif(kind == _Kind.WAIT):
                            m.d.sync += doing.eq(_Doing.WAIT)
                            m.next = "wait"
                        with m.Elif(kind == _Kind.READ):
                            m.next = "settle"
                        with m.Else():
                            m.next = "second"
                    with m.Case(_Kind.RETURN):
                        with m.If(failed[1]):
                            m.d.sync += place[level].eq(place[level])  # it is done when that has been told
                            turn(Turn.UNHANDLED)
                        with m.Else():
                            m.d.sync += [level.eq(0), handled.eq(1), irq.eq(0), doing.eq(saved), left.eq(saved_left)]
                            with m.If(saved == _Doing.WAIT):
                                m.d.sync += [doing.eq(_Doing.FETCH), handled.eq(0)]
                                turn(Turn.RESUME)
            with m.State("second"):  # the buffer is being read
                m.d.comb += self.stall.eq(1)
                m.next = "length"
            with m.State("length"):
                m.d.comb += self.stall.eq(1)
                take_word()
                m.d.sync += [last.eq(word[28:32]), to_take.eq(word), to_answer.eq(word)]
                m.next = "settle"
            with m.State("settle"):  # after an edge of an access, or before its first
                m.d.comb += self.stall.eq(1)
                m.d.sync += accessing.eq(to_answer != 0)
                with m.If(to_answer == 0):
                    m.next = "check"
                    with m.If(~bus.write):
                        turn(Turn.RESUME, resumes=True)
                with m.Elif(results[size]):
                    turn(Turn.RESULTS)
                with m.Elif(bus.valid | (to_take == 0)):
                    m.next = "access"
                with m.Elif(bus.write & empty):
                    turn(Turn.MORE)
                with m.Else():
                    m.next = "drive"
            with m.State("drive"):
                m.d.comb += self.stall.eq(1)
                m.d.sync += [
                    bus.valid.eq(1),
                    begun.eq(1),
                    bus.address.eq(Mux(begun, bus.address + 4, base & ~3)),
                    bus.select.eq(Mux(begun, 0xF, first) & Mux(to_take == 1, last, 0xF)),
                    bus.write_data.eq(Mux(bus.write, word, 0)),
                ]
                with m.If(bus.write):
                    take_word()
                m.next = "access"
            with m.State("access"):
                with m.If(self.tick & bus.done):
                    m.d.sync += [to_answer.eq(to_answer - 1), base.eq((base & ~3) + 4)]
                    with m.If(~bus.write):
                        m.d.comb += writing.en.eq(1)
                        m.d.sync += results.eq(results + 1)
                    with m.If(bus.error & ~failed[level]):
                        m.d.sync += [
                            failed[level].eq(1),
                            error_write[level].eq(bus.write),
                            error_address[level].eq(base),
                        ]
                    m.next = "settle"
                with m.If(self.tick & bus.valid & bus.ready):
                    m.d.sync += [to_take.eq(to_take - 1), bus.valid.eq(0)]
                    m.next = "settle"
            with m.State("spend"):
                with m.If(self.tick):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.sync += doing.eq(_Doing.FETCH)
                    with m.If((left == 1) | (is_open & self.irq)):
                        m.next = "check"
            with m.State("wait"):
                m.d.comb += self.asleep.eq(~handled)
                with m.If(self.tick):
                    with m.If(handled):
                        turn(Turn.RESUME, resumes=True)
                    with m.Elif(is_open & self.irq):
                        m.next = "check"
            with m.State("turn"):  # until the host has answered
                m.d.comb += [self.stall.eq(1), in_turn.eq(1)]
                with m.If(host.commit):
                    with m.If((host.turn == Turn.RESUME) | (host.turn == Turn.UNHANDLED)):
                        m.d.sync += failed[level].eq(0)
                    with m.If(host.turn != Turn.UNHANDLED):
                        m.d.sync += results.eq(0)
                    m.d.sync += host.turn.eq(Turn.NONE)
                    m.next = "check"
                    with m.If((host.turn == Turn.RESULTS) | ((host.turn == Turn.MORE) & accessing)):
                        m.next = "settle"
        with m.If(host.commit):
            m.d.sync += [attached.eq(host.attached), final.eq(host.final | final)]
            with m.If(~((host.turn == Turn.UNHANDLED) | (host.turn == Turn.RESULTS))):
                m.d.sync += [place[level].eq(0), end[level].eq(host.count)]
        with m.If(host.wake):
            m.d.sync += handled.eq(1)
        return m
