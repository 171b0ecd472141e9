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


class _Signals:
    """What the sections of the receiver of packets share. ``rx_mode``: the value of that register."""

    def __init__(self, rx_mode):
        self.state = Signal(State)
        self.mode = Signal.like(rx_mode)  # as software has set it

        # What the packet's result will tell.
        self.ended = Signal()
        self.stored = Signal(LENGTH_BITS)
        self.header_count = Signal(range(HEADER_BYTES + 1))
        self.crc_bad = Signal()
        self.too_long = Signal()
        self.framing = Signal()
        self.discarded = Signal()

        # The last bytes.
        self.check = Signal(Check)  # of this packet
        self.held = Signal(8 * CRC_BYTES)
        self.held_count = Signal(range(CRC_BYTES + 1))
        self.full = Signal()  # as many as may be the checksum
        self.takes = Signal()  # symbols of the packet are taken
        self.emerges = Signal()  # a byte of the packet comes out
        self.ends = Signal()  # the packet ends with the symbol at the head
        self.byte = Signal(8)  # that comes out

        # The body.
        self.in_run = Signal()
        self.in_body = Signal()
        self.front_valid = Signal()
        self.spare_valid = Signal()
        self.skip = Signal.like(rx_mode.skip)


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
        m.submodules.crc = Crc32()
        m.submodules.internet = InternetSum()
        s = _Signals(self.rx_mode.data)
        self._hold_back(m, s)
        with m.Switch(s.state):
            with m.Case(State.CLOSED):
                self._closed(m, s)
            with m.Case(State.HEADER):
                self._header(m, s)
            with m.Case(State.WAIT):
                with m.If(self.start | self.discard):
                    m.d.sync += s.state.eq(State.BODY)
            with m.Case(State.BODY):
                m.d.comb += s.takes.eq(~s.ended & (~s.full | ~s.spare_valid))
                with m.If(s.ended | s.front_valid):
                    m.d.comb += self.moves.eq(1)
                with m.If((s.ended | s.ends) & ~s.front_valid):
                    m.d.sync += s.state.eq(State.FINISH)
            with m.Case(State.FINISH):
                self._finish(m, s)
        with m.If(self.reset):
            m.d.comb += self.over.eq(1)
            m.d.sync += [s.state.eq(State.CLOSED), s.in_run.eq(0)]
        self._pass_on(m, s)
        self._tell(m, s)
        self._set_mode(m, s)
        return m

    def _hold_back(self, m, s):
        """The last bytes are held back: they may be the checksum. What pushes them out belongs to the packet."""
        crc, internet, symbol = m.submodules.crc, m.submodules.internet, self.queue.payload.symbol
        most = Signal.like(s.held_count)
        m.d.comb += [
            crc.data.eq(s.byte),
            crc.valid.eq(s.emerges),
            internet.data.eq(s.byte),
            Assert(
                (s.state == State.CLOSED) | (s.full == (s.held_count == most)),
                "whether it is full is known a cycle before",
            ),
        ]
        with m.Switch(s.check):
            with m.Case(Check.CRC32):
                m.d.comb += [s.byte.eq(s.held[-8:]), most.eq(CRC_BYTES)]
            with m.Case(Check.INTERNET):
                m.d.comb += [s.byte.eq(s.held[8:]), most.eq(SUM_BYTES)]
            with m.Default():
                m.d.comb += s.byte.eq(symbol)
        with m.If(s.takes & self.queue.valid):
            m.d.comb += self.moves.eq(1)
            with m.If(~symbol[-1]):
                m.d.comb += [self.queue.ready.eq(1), s.emerges.eq(s.full)]
                m.d.sync += s.held.eq(s.held << 8 | symbol[:8])
                with m.If(~s.emerges):
                    m.d.sync += [s.held_count.eq(s.held_count + 1), s.full.eq(s.held_count + 1 == most)]
            with m.Else():
                m.d.comb += s.ends.eq(1)
                m.d.sync += s.ended.eq(1)
                # A start of packet stays and opens the next; nothing but start and end is ever queued.
                m.d.comb += [self.queue.ready.eq(symbol != Control.START), self.cut.eq(symbol == Control.START)]
            with m.If(self.queue.payload.lost | self.cut):
                m.d.sync += s.framing.eq(1)

    def _closed(self, m, s):
        """Between packets: software takes the symbols itself, or the next start of packet opens one."""
        crc, internet, symbol = m.submodules.crc, m.submodules.internet, self.queue.payload.symbol
        with m.If(s.mode.direct):
            m.d.comb += [
                self.input.eq(self.queue.valid),
                self.queue.ready.eq(self.rx_queue.read),
                self.moves.eq(self.rx_queue.read & self.queue.valid),
            ]
        with m.Elif(self.queue.valid & (symbol != Control.START)):
            m.d.comb += [self.queue.ready.eq(1), self.stray.eq(~s.in_run), self.moves.eq(1)]
            m.d.sync += s.in_run.eq(1)
        with m.Elif(self.queue.valid & ~self.received):
            m.d.comb += [self.queue.ready.eq(1), crc.start.eq(1), internet.start.eq(1), self.moves.eq(1)]
            m.d.sync += [
                s.in_run.eq(0),
                s.ended.eq(0),
                s.stored.eq(0),
                s.header_count.eq(0),
                s.held_count.eq(0),
                s.full.eq((s.mode.check != Check.CRC32) & (s.mode.check != Check.INTERNET)),
                s.too_long.eq(0),
                s.framing.eq(0),
                s.discarded.eq(0),
                *(getattr(self, name).value.eq(0) for name in _HEADERS),
                s.check.eq(s.mode.check),
                s.skip.eq(s.mode.skip),
                s.state.eq(State.HEADER),
            ]

    def _header(self, m, s):
        """The first bytes go into registers."""
        m.d.comb += s.takes.eq(1)
        with m.If(s.emerges):
            m.d.sync += s.header_count.eq(s.header_count + 1)
            with m.Switch(s.header_count):
                for number in range(HEADER_BYTES):
                    with m.Case(number):
                        word = getattr(self, _HEADERS[number // LANES]).value
                        m.d.sync += word.word_select(LANES - 1 - number % LANES, 8).eq(s.byte)
        with m.If(s.ends | (s.emerges & (s.header_count == HEADER_BYTES - 1))):
            m.d.sync += s.state.eq(State.WAIT)

    def _finish(self, m, s):
        """When the store is empty the packet is over, and its checksum is compared."""
        m.d.comb += [self.flush.eq(1), self.moves.eq(1)]
        with m.If(self.store_empty):
            m.d.comb += self.over.eq(1)
            m.d.sync += s.state.eq(State.CLOSED)
            with m.Switch(s.check):
                with m.Case(Check.CRC32):
                    m.d.sync += s.crc_bad.eq(~s.full | (s.held != m.submodules.crc.crc))
                with m.Case(Check.INTERNET):
                    m.d.sync += s.crc_bad.eq(~s.full | (s.held[:SUM_BITS] != m.submodules.internet.checksum))
                with m.Default():
                    m.d.sync += s.crc_bad.eq(0)

    def _pass_on(self, m, s):
        """Where the rest goes. The Internet checksum covers all but the first bytes, as software wants it.

        What emerges in the body waits in two places in a row for the store: whether that takes a byte is known late and
        decides about these places alone."""
        leaves = Signal()
        front = Signal(8)
        spare = Signal(8)
        threshold = Signal.like(self.rx_threshold.data.bytes)
        m.d.comb += [
            s.in_body.eq(s.state == State.BODY),
            self.packet.eq(s.state == State.WAIT),
            m.submodules.internet.valid.eq(s.emerges & (s.header_count >= s.skip)),
            self.rx_progress.value.bytes.eq(s.stored),
            self.rx_threshold.value.bytes.eq(threshold),
            self.threshold.eq(self.store & self.store_ready & (s.stored + 1 == threshold)),
            self.store.eq(s.front_valid & ~s.discarded),
            self.store_byte.eq(front),
            leaves.eq(self.store_ready | self.exhausted | s.discarded),
            Assert(~s.spare_valid | s.front_valid, "the front is filled first"),
            Assert(~s.front_valid | s.in_body, "nothing waits for the store but in the body"),
        ]
        with m.If(self.discard & (self.packet | s.in_body)):
            m.d.sync += s.discarded.eq(1)
        with m.If(~s.front_valid | leaves):
            m.d.sync += [
                front.eq(Mux(s.spare_valid, spare, s.byte)),
                s.front_valid.eq(s.spare_valid | (s.in_body & s.emerges)),
                s.spare_valid.eq(0),
            ]
        with m.Elif(s.emerges):
            m.d.sync += [spare.eq(s.byte), s.spare_valid.eq(1)]
        with m.If(self.store & self.store_ready):
            m.d.sync += s.stored.eq(s.stored + 1)
        with m.If(self.store & self.exhausted):
            m.d.sync += s.too_long.eq(1)
        with m.If(self.reset):
            m.d.sync += [s.front_valid.eq(0), s.spare_valid.eq(0)]
        with m.If(self.rx_threshold.write):
            m.d.sync += threshold.eq(self.rx_threshold.data.bytes)

    def _tell(self, m, s):
        """The result."""
        result = Signal.like(self.rx_result.value)
        with m.If((s.state == State.FINISH) & self.store_empty):
            m.d.sync += self.received.eq(~self.reset)
        with m.Elif(self.rx_release.write):
            m.d.sync += self.received.eq(0)
        m.d.comb += [
            result.length.eq(s.stored),
            result.header.eq(s.header_count),
            result.crc_bad.eq(s.crc_bad),
            result.too_long.eq(s.too_long),
            result.framing.eq(s.framing),
            result.discarded.eq(s.discarded),
            self.rx_result.value.eq(Mux(self.received, result, 0)),
            self.open.eq(((s.state == State.HEADER) | self.packet | s.in_body) & ~s.ended),
            self.storing.eq(s.in_body & ~s.discarded),
        ]

    def _set_mode(self, m, s):
        """The mode, and what software takes out of the queue itself."""
        mode = self.rx_mode.data
        m.d.comb += [
            self.rx_mode.refuse.eq((mode.check > max(Check)) | (mode.skip > HEADER_BYTES)),
            self.rx_mode.value.eq(s.mode),
            self.rx_sum.value.sum.eq(m.submodules.internet.checksum),
        ]
        with m.If(self.rx_mode.write):
            m.d.sync += [s.mode.check.eq(mode.check), s.mode.skip.eq(mode.skip), s.mode.direct.eq(mode.direct)]
        with m.If(self.input):
            m.d.comb += [
                self.rx_queue.value.valid.eq(1),
                self.rx_queue.value.symbol.eq(self.queue.payload.symbol),
                self.rx_queue.value.lost.eq(self.queue.payload.lost),
            ]
