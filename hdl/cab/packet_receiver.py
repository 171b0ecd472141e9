"""Fiber in, at the head of the input queue: opens packets, holds their headers for software, stores the rest, checks
it.

Source: "The Design of Nectar" (1989), section 6.2.1 (start of packet raises an upcall that names the mailbox, then the
DMA is set up) and 5.2; what the registers look like is ours (docs/cab.md).
"""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS, Control
from .addresses import CRC_BYTES, HEADER_BYTES, LENGTH_BITS, REG, Check
from .crc32 import Crc32
from .internet import SUM_BITS, SUM_BYTES, InternetSum
from .memory import LANES
from .registers import RegisterPort

__all__ = ["RECEIVER_REGISTERS", "Queued", "PacketReceiver", "State"]

_HEADERS = tuple(f"rx_header{number}" for number in range(HEADER_BYTES // LANES))

#: Registers of the receiver, in lower case.
RECEIVER_REGISTERS = (
    "rx_result",
    *_HEADERS,
    "rx_release",
    "rx_mode",
    "rx_sum",
    "rx_queue",
    "rx_progress",
    "rx_threshold",
)


class Queued(data.Struct):
    """What the input queue holds: a symbol, and whether others were lost just before it."""

    symbol: SYMBOL_BITS
    lost: 1


class State(enum.Enum, shape=3):
    """Where the receiver is in a packet."""

    CLOSED = 0  # no packet
    HEADER = 1  # gathers the header
    WAIT = 2  # PACKET is pending: software must name a place
    BODY = 3  # stores, or drops, the rest
    FINISH = 4  # the last words are being written


class PacketReceiver(wiring.Component):
    """Takes packets from the input queue.

    Members
    -------
    queue : In(stream.Signature(Queued))
        Head of the input queue.
    rx_result, rx_header0 to rx_header3, rx_release, rx_mode, rx_sum, rx_queue, rx_progress, rx_threshold :
    In(RegisterPort)
        Its registers.
    start : In(1)
        RX_START is written: store the rest of the packet whose header is here.
    discard : In(1)
        Drop the rest of the packet whose header is here.
    reset : In(1)
        Forget the packet under way. The queue must be emptied in the same cycle.
    store, store_byte, flush : Out; store_ready, exhausted, store_empty : In(1)
        ``valid``, ``data``, ``flush``, ``ready``, ``exhausted``, ``empty`` of ``Store``.
    over : Out(1)
        The packet is over, or forgotten: its areas are wanted no more.
    packet, received, input : Out(1)
        States of the interrupts.
    threshold : Out(1)
        RX_PROGRESS reaches RX_THRESHOLD.
    open : Out(1)
        A packet has begun and not yet ended.
    storing : Out(1)
        What comes is stored.
    stray, cut : Out(1)
        A run of symbols outside packets has begun; a packet was cut short by a start of packet.
    moves : Out(1)
        Something changes in this cycle.

    Timing
    ------
    A symbol in each cycle, except while software or the store is waited for. A byte is dealt with when it can no more
    be of the checksum: with a CRC-32, when the fourth byte behind it comes; it is given to the store in the cycle
    after. ``received`` follows the end of packet by two cycles if the store is empty, and by one more if the last
    symbol before it has brought the store a byte.
    """

    def __init__(self):
        super().__init__(
            {
                "queue": In(stream.Signature(Queued)),
                **{name: In(RegisterPort(REG[name.upper()])) for name in RECEIVER_REGISTERS},
                **{name: In(1) for name in ("start", "discard", "reset", "store_ready", "exhausted", "store_empty")},
                "store_byte": Out(8),
                **{
                    name: Out(1)
                    for name in (
                        "store",
                        "flush",
                        "over",
                        "packet",
                        "received",
                        "input",
                        "threshold",
                        "open",
                        "storing",
                        "stray",
                        "cut",
                        "moves",
                    )
                },
            }
        )

    def elaborate(self, platform):
        """The symbol at the head, the bytes held back, the five states, the registers."""
        m = Module()
        m.submodules.crc = crc = Crc32()
        m.submodules.internet = internet = InternetSum()
        state = Signal(State)
        symbol = self.queue.payload.symbol

        # What the packet's result will tell.
        ended = Signal()
        stored = Signal(LENGTH_BITS)
        header_count = Signal(range(HEADER_BYTES + 1))
        crc_bad, too_long, framing, discarded = (
            Signal(name=n) for n in ("crc_bad", "too_long", "framing", "discarded")
        )

        # 1. The last bytes are held back: they may be the checksum. What pushes them out belongs to the packet.
        mode = Signal.like(self.rx_mode.data)  # as software has set it
        check = Signal(Check)  # of this packet
        held = Signal(8 * CRC_BYTES)
        held_count = Signal(range(CRC_BYTES + 1))
        full = Signal()  # as many as may be the checksum
        takes = Signal()  # symbols of the packet are taken
        emerges = Signal()  # a byte of the packet comes out
        ends = Signal()  # the packet ends with the symbol at the head
        byte = Signal(8)  # that byte
        most = Signal.like(held_count)
        m.d.comb += [
            crc.data.eq(byte),
            crc.valid.eq(emerges),
            internet.data.eq(byte),
            Assert(
                (state == State.CLOSED) | (full == (held_count == most)), "whether it is full is known a cycle before"
            ),
        ]
        with m.Switch(check):
            with m.Case(Check.CRC32):
                m.d.comb += [byte.eq(held[-8:]), most.eq(CRC_BYTES)]
            with m.Case(Check.INTERNET):
                m.d.comb += [byte.eq(held[8:]), most.eq(SUM_BYTES)]
            with m.Default():
                m.d.comb += byte.eq(symbol)
        with m.If(takes & self.queue.valid):
            m.d.comb += self.moves.eq(1)
            with m.If(~symbol[-1]):
                m.d.comb += [self.queue.ready.eq(1), emerges.eq(full)]
                m.d.sync += held.eq(held << 8 | symbol[:8])
                with m.If(~emerges):
                    m.d.sync += [held_count.eq(held_count + 1), full.eq(held_count + 1 == most)]
            with m.Else():
                m.d.comb += ends.eq(1)
                m.d.sync += ended.eq(1)
                # A start of packet stays and opens the next; nothing but start and end is ever queued.
                m.d.comb += [self.queue.ready.eq(symbol != Control.START), self.cut.eq(symbol == Control.START)]
            with m.If(self.queue.payload.lost | self.cut):
                m.d.sync += framing.eq(1)

        # 2. The states. What emerges in the body waits in two places in a row for the store: whether that takes a byte
        # is known late and decides about these places alone.
        front_valid = Signal()
        spare_valid = Signal()
        in_run = Signal()
        skip = Signal.like(self.rx_mode.data.skip)
        with m.Switch(state):
            with m.Case(State.CLOSED):
                with m.If(mode.direct):
                    m.d.comb += [
                        self.input.eq(self.queue.valid),
                        self.queue.ready.eq(self.rx_queue.read),
                        self.moves.eq(self.rx_queue.read & self.queue.valid),
                    ]
                with m.Elif(self.queue.valid & (symbol != Control.START)):
                    m.d.comb += [self.queue.ready.eq(1), self.stray.eq(~in_run), self.moves.eq(1)]
                    m.d.sync += in_run.eq(1)
                with m.Elif(self.queue.valid & ~self.received):
                    m.d.comb += [self.queue.ready.eq(1), crc.start.eq(1), internet.start.eq(1), self.moves.eq(1)]
                    m.d.sync += [
                        in_run.eq(0),
                        ended.eq(0),
                        stored.eq(0),
                        header_count.eq(0),
                        held_count.eq(0),
                        full.eq((mode.check != Check.CRC32) & (mode.check != Check.INTERNET)),
                        too_long.eq(0),
                        framing.eq(0),
                        discarded.eq(0),
                        *(getattr(self, name).value.eq(0) for name in _HEADERS),
                        check.eq(mode.check),
                        skip.eq(mode.skip),
                        state.eq(State.HEADER),
                    ]
            with m.Case(State.HEADER):
                m.d.comb += takes.eq(1)
                with m.If(emerges):
                    m.d.sync += header_count.eq(header_count + 1)
                    with m.Switch(header_count):
                        for number in range(HEADER_BYTES):
                            with m.Case(number):
                                word = getattr(self, _HEADERS[number // LANES]).value
                                m.d.sync += word.word_select(LANES - 1 - number % LANES, 8).eq(byte)
                with m.If(ends | (emerges & (header_count == HEADER_BYTES - 1))):
                    m.d.sync += state.eq(State.WAIT)
            with m.Case(State.WAIT):
                with m.If(self.start | self.discard):
                    m.d.sync += state.eq(State.BODY)
            with m.Case(State.BODY):
                m.d.comb += takes.eq(~ended & (~full | ~spare_valid))
                with m.If(ended | front_valid):
                    m.d.comb += self.moves.eq(1)
                with m.If((ended | ends) & ~front_valid):
                    m.d.sync += state.eq(State.FINISH)
            with m.Case(State.FINISH):
                m.d.comb += [self.flush.eq(1), self.moves.eq(1)]
                with m.If(self.store_empty):
                    m.d.comb += self.over.eq(1)
                    m.d.sync += state.eq(State.CLOSED)
                    with m.Switch(check):
                        with m.Case(Check.CRC32):
                            m.d.sync += crc_bad.eq(~full | (held != crc.crc))
                        with m.Case(Check.INTERNET):
                            m.d.sync += crc_bad.eq(~full | (held[:SUM_BITS] != internet.checksum))
                        with m.Default():
                            m.d.sync += crc_bad.eq(0)
        with m.If(self.reset):
            m.d.comb += self.over.eq(1)
            m.d.sync += [state.eq(State.CLOSED), in_run.eq(0)]

        # 3. Where the rest goes. The Internet checksum covers all but the first bytes, as software wants it.
        in_body = Signal()
        leaves = Signal()
        front = Signal(8)
        spare = Signal(8)
        threshold = Signal.like(self.rx_threshold.data.bytes)
        m.d.comb += [
            in_body.eq(state == State.BODY),
            self.packet.eq(state == State.WAIT),
            internet.valid.eq(emerges & (header_count >= skip)),
            self.rx_progress.value.bytes.eq(stored),
            self.rx_threshold.value.bytes.eq(threshold),
            self.threshold.eq(self.store & self.store_ready & (stored + 1 == threshold)),
            self.store.eq(front_valid & ~discarded),
            self.store_byte.eq(front),
            leaves.eq(self.store_ready | self.exhausted | discarded),
            Assert(~spare_valid | front_valid, "the front is filled first"),
            Assert(~front_valid | in_body, "nothing waits for the store but in the body"),
        ]
        with m.If(self.discard & (self.packet | in_body)):
            m.d.sync += discarded.eq(1)
        with m.If(~front_valid | leaves):
            m.d.sync += [
                front.eq(Mux(spare_valid, spare, byte)),
                front_valid.eq(spare_valid | (in_body & emerges)),
                spare_valid.eq(0),
            ]
        with m.Elif(emerges):
            m.d.sync += [spare.eq(byte), spare_valid.eq(1)]
        with m.If(self.store & self.store_ready):
            m.d.sync += stored.eq(stored + 1)
        with m.If(self.store & self.exhausted):
            m.d.sync += too_long.eq(1)
        with m.If(self.reset):
            m.d.sync += [front_valid.eq(0), spare_valid.eq(0)]
        with m.If(self.rx_threshold.write):
            m.d.sync += threshold.eq(self.rx_threshold.data.bytes)

        # 4. The result.
        result = Signal.like(self.rx_result.value)
        with m.If((state == State.FINISH) & self.store_empty):
            m.d.sync += self.received.eq(~self.reset)
        with m.Elif(self.rx_release.write):
            m.d.sync += self.received.eq(0)
        m.d.comb += [
            result.length.eq(stored),
            result.header.eq(header_count),
            result.crc_bad.eq(crc_bad),
            result.too_long.eq(too_long),
            result.framing.eq(framing),
            result.discarded.eq(discarded),
            self.rx_result.value.eq(Mux(self.received, result, 0)),
            self.open.eq(((state == State.HEADER) | self.packet | in_body) & ~ended),
            self.storing.eq(in_body & ~discarded),
        ]

        # 5. The mode, and what software takes out of the queue itself.
        m.d.comb += [
            self.rx_mode.refuse.eq((self.rx_mode.data.check > max(Check)) | (self.rx_mode.data.skip > HEADER_BYTES)),
            self.rx_mode.value.eq(mode),
            self.rx_sum.value.sum.eq(internet.checksum),
        ]
        with m.If(self.rx_mode.write):
            m.d.sync += [
                mode.check.eq(self.rx_mode.data.check),
                mode.skip.eq(self.rx_mode.data.skip),
                mode.direct.eq(self.rx_mode.data.direct),
            ]
        with m.If(self.input):
            m.d.comb += [
                self.rx_queue.value.valid.eq(1),
                self.rx_queue.value.symbol.eq(symbol),
                self.rx_queue.value.lost.eq(self.queue.payload.lost),
            ]
        return m
