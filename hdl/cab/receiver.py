"""Fiber in, at the head of the input queue: opens packets, holds their headers for software, stores the rest.

Source: "The Design of Nectar" (1989), section 6.2.1 (start of packet raises an upcall that names the mailbox, then the
DMA is set up) and 5.2; what the registers look like is ours (docs/cab.md).
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..link.symbol import SYMBOL_BITS, Control
from .addresses import ADDRESS_BITS, CRC_BYTES, HEADER_BYTES, LENGTH_BITS, REG, REGIONS
from .crc32 import Crc32
from .memory import LANES, area_inside, check_data_bytes
from .registers import WORD_BITS, RegisterPort

__all__ = ["RECEIVER_REGISTERS", "Queued", "Receiver", "State"]

_HEADERS = tuple(f"rx_header{number}" for number in range(HEADER_BYTES // LANES))

#: Registers of the receiver, in lower case.
RECEIVER_REGISTERS = "rx_result", *_HEADERS, "rx_address", "rx_start", "rx_release"


class Queued(data.Struct):
    """What the input queue holds: a symbol, and whether others were lost just before it."""

    symbol: SYMBOL_BITS
    lost: 1


class State(enum.Enum, shape=3):
    """Where the receiver is in a packet."""

    CLOSED = 0   # no packet
    HEADER = 1   # gathers the header
    WAIT = 2     # PACKET is pending: software must name a place
    BODY = 3     # stores, or drops, the rest
    FINISH = 4   # the last word is being written


class Receiver(wiring.Component):
    """Takes packets from the input queue.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    queue : In(stream.Signature(Queued))
        Head of the input queue.
    rx_result, rx_header0 to rx_header3, rx_address, rx_start, rx_release : In(RegisterPort)
        Its registers.
    discard : In(1)
        Drop the rest of the packet whose header is here.
    reset : In(1)
        Forget the packet under way. The queue must be emptied in the same cycle.
    begin, address, store, byte, flush : Out
        To ``Store``: ``begin``, ``address``, ``valid``, ``data``, ``flush``.
    packet, received : Out(1)
        States of the interrupts.
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
    A symbol in each cycle, except while software is waited for. A byte is dealt with when the fourth byte behind it
    comes. ``received`` follows the end of packet by two cycles.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        super().__init__({
            "queue": In(stream.Signature(Queued)),
            **{name: In(RegisterPort(REG[name.upper()])) for name in RECEIVER_REGISTERS},
            "discard": In(1),
            "reset": In(1),
            "begin": Out(1),
            "address": Out(exact_log2(data_bytes)),
            "store": Out(1),
            "byte": Out(8),
            "flush": Out(1),
            **{name: Out(1) for name in ("packet", "received", "open", "storing", "stray", "cut", "moves")},
        })

    def elaborate(self, platform):
        """The symbol at the head, the four bytes held back, the five states, the registers."""
        m = Module()
        m.submodules.crc = crc = Crc32()
        state = Signal(State)
        symbol = self.queue.payload.symbol

        # What the packet's result will tell.
        ended = Signal()
        stored = Signal(LENGTH_BITS)
        header_count = Signal(range(HEADER_BYTES + 1))
        crc_bad, too_long, framing, discarded = (Signal(name=n) for n in ("crc_bad", "too_long", "framing", "discarded"))

        # 1. The last bytes are held back: they may be the CRC. What a fifth pushes out belongs to the packet.
        held = Signal(8 * CRC_BYTES)
        held_count = Signal(range(CRC_BYTES + 1))
        takes = Signal()      # symbols of the packet are taken
        emerges = Signal()    # a byte of the packet comes out
        ends = Signal()       # the packet ends with the symbol at the head
        m.d.comb += [
            self.byte.eq(held[-8:]),
            crc.data.eq(self.byte),
            crc.valid.eq(emerges),
        ]
        with m.If(takes & self.queue.valid):
            m.d.comb += self.moves.eq(1)
            with m.If(~symbol[-1]):
                m.d.comb += [self.queue.ready.eq(1), emerges.eq(held_count == CRC_BYTES)]
                m.d.sync += held.eq(held << 8 | symbol[:8])
                with m.If(~emerges):
                    m.d.sync += held_count.eq(held_count + 1)
            with m.Else():
                m.d.comb += ends.eq(1)
                m.d.sync += ended.eq(1)
                # A start of packet stays and opens the next; nothing but start and end is ever queued.
                m.d.comb += [self.queue.ready.eq(symbol != Control.START), self.cut.eq(symbol == Control.START)]
            with m.If(self.queue.payload.lost | self.cut):
                m.d.sync += framing.eq(1)

        # 2. The states.
        in_run = Signal()
        with m.Switch(state):
            with m.Case(State.CLOSED):
                with m.If(self.queue.valid & (symbol != Control.START)):
                    m.d.comb += [self.queue.ready.eq(1), self.stray.eq(~in_run), self.moves.eq(1)]
                    m.d.sync += in_run.eq(1)
                with m.Elif(self.queue.valid & ~self.received):
                    m.d.comb += [self.queue.ready.eq(1), crc.start.eq(1), self.moves.eq(1)]
                    m.d.sync += [
                        in_run.eq(0), ended.eq(0), stored.eq(0), header_count.eq(0), held_count.eq(0),
                        too_long.eq(0), framing.eq(0), discarded.eq(0),
                        *(getattr(self, name).value.eq(0) for name in _HEADERS),
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
                                m.d.sync += word.word_select(LANES - 1 - number % LANES, 8).eq(self.byte)
                with m.If(ends | (emerges & (header_count == HEADER_BYTES - 1))):
                    m.d.sync += state.eq(State.WAIT)
            with m.Case(State.WAIT):
                with m.If(self.rx_start.write | self.discard):
                    m.d.sync += state.eq(State.BODY)
            with m.Case(State.BODY):
                m.d.comb += takes.eq(~ended)
                with m.If(ended):
                    m.d.comb += self.moves.eq(1)
                with m.If(ended | ends):
                    m.d.comb += self.flush.eq(1)
                    m.d.sync += state.eq(State.FINISH)
            with m.Case(State.FINISH):
                m.d.comb += self.moves.eq(1)
                m.d.sync += [
                    crc_bad.eq((held_count != CRC_BYTES) | (held != crc.crc)),
                    state.eq(State.CLOSED),
                ]
        with m.If(self.reset):
            m.d.sync += [state.eq(State.CLOSED), in_run.eq(0)]

        # 3. The place for the rest.
        address = Signal(ADDRESS_BITS)
        limit = Signal(LENGTH_BITS)
        in_body = Signal()
        m.d.comb += [
            in_body.eq(state == State.BODY),
            self.packet.eq(state == State.WAIT),
            self.begin.eq(self.rx_start.write),
            self.address.eq(address),
            self.rx_address.value.eq(address),
            self.rx_start.area_address.eq(address),
            self.rx_start.refuse.eq(~self.packet | ~area_inside(address, self.rx_start.data.limit, self.data_bytes)),
        ]
        with m.If(self.rx_address.write):
            m.d.sync += address.eq(self.rx_address.data)
        with m.If(self.rx_start.write):
            m.d.sync += limit.eq(self.rx_start.data.limit)
        with m.If(self.discard & (self.packet | in_body)):
            m.d.sync += discarded.eq(1)
        with m.If(in_body & emerges & ~discarded):
            with m.If(stored == limit):
                m.d.sync += too_long.eq(1)
            with m.Else():
                m.d.comb += self.store.eq(1)
                m.d.sync += stored.eq(stored + 1)

        # 4. The result.
        result = Signal.like(self.rx_result.value)
        with m.If(state == State.FINISH):
            m.d.sync += self.received.eq(~self.reset)
        with m.Elif(self.rx_release.write):
            m.d.sync += self.received.eq(0)
        m.d.comb += [
            result.length.eq(stored), result.header.eq(header_count), result.crc_bad.eq(crc_bad),
            result.too_long.eq(too_long), result.framing.eq(framing), result.discarded.eq(discarded),
            self.rx_result.value.eq(Mux(self.received, result, 0)),
            self.open.eq((takes | self.packet) & ~ended),
            self.storing.eq(in_body & ~discarded),
        ]
        return m
