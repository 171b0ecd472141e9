"""Fiber out, second half: makes symbols of items, with framing, CRC and flow control.

Source: "The Design of Nectar" (1989), sections 4.2.1 (framing), 4.2.3 (ready bit) and 5.2; *Network-Based
Multicomputers*, section 5.3.1 (the ready signal is sent by software).
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS, Control
from .addresses import LENGTH_BITS
from .crc32 import Crc32
from .internet import SUM_BYTES, InternetSum
from .output import Outgoing
from .tx_reader import Item

__all__ = ["CRC_BYTES_LAST", "TxSerializer", "READY_LIMIT"]

#: Ready signals that can wait at once.
READY_LIMIT = 255
#: Number of the last byte of a CRC.
CRC_BYTES_LAST = 3


class _Signals:
    """What the sections of the serialiser share."""

    def __init__(self):
        # The item at work.
        self.item = Signal(Item, reset_less=True)
        self.valid = Signal()
        self.starting = Signal()  # its first symbol is a start of packet
        self.ending = Signal()  # its first symbol is an end of packet
        self.byte_number = Signal(range(CRC_BYTES_LAST + 1))
        # What follows the byte of the checksum that is sent; the first byte sets it.
        self.rest_of_crc = Signal(8 * CRC_BYTES_LAST, reset_less=True)
        self.last = Signal()  # nothing of the item is left after its next symbol
        self.done = Signal()

        # Its next symbol.
        self.own = Signal(SYMBOL_BITS)
        self.may_send = Signal()
        self.sends = Signal()  # a symbol of the item goes to the output register
        self.is_data = Signal()
        self.starts = Signal()  # a start of packet goes to the output register
        self.stops = Signal()  # an end of packet goes to the output register

        # Around the item.
        self.sends_ready = Signal()
        self.packet_open = Signal()
        self.command_begun = Signal()


class TxSerializer(wiring.Component):
    """Sends the parts of each item, one symbol a cycle, and ready signals between any two symbols.

    Members
    -------
    items : In(stream.Signature(Item))
        What to send, in order.
    push : Out
        ``payload`` goes to the output register in a cycle in which ``valid`` is 1.
    room : In(1)
        The output register takes a symbol in this cycle.
    empty : In(1)
        The output register has nothing.
    ready : In(1)
        The ready bit, and no start of packet waits in the output register.
    send_ready : In(1)
        Send one more ready signal; 255 can wait.
    reset : In(1)
        Forget all items. A command of which a part is out is completed; a packet that is open is ended. ``items`` must
        be emptied in the same cycle.
    waiting : Out(1)
        An item waits for ``ready``.
    busy : Out(1)
        An item is here; with ``reset``, something is still to be sent because of it.
    unsent : Out(1)
        A ready signal is here.
    progress : Out(20)
        Data bytes since the last start of packet, commands not counted; checksums are data too.
    counts : Out(1)
        ``progress`` is about to go up by one.
    nothing_left : Out(1)
        An item marked ``notify`` is done that put nothing on the fiber; all before it has left.

    Timing
    ------
    A symbol in each cycle, across items too, while there are items and room. The first symbol of an item follows two
    cycles after it came when nothing was here.
    """

    items: In(stream.Signature(Item))
    push: Out(wiring.Signature({"payload": Out(Outgoing), "valid": Out(1)}))
    room: In(1)
    empty: In(1)
    ready: In(1)
    send_ready: In(1)
    reset: In(1)
    waiting: Out(1)
    busy: Out(1)
    unsent: Out(1)
    progress: Out(LENGTH_BITS)
    counts: Out(1)
    nothing_left: Out(1)

    def elaborate(self, platform):
        """The item at work loses its parts one by one; with the last one the next item comes."""
        m = Module()
        m.submodules.crc = Crc32()
        m.submodules.internet = InternetSum()
        s = _Signals()
        self._send_ready(m, s)
        self._connect(m, s)
        self._next_symbol(m, s)
        self._go_on(m, s)
        self._packet(m, s)
        self._next_item(m, s)
        return m

    def _send_ready(self, m, s):
        """Ready signals go first."""
        unsent = Signal(range(READY_LIMIT + 1))
        m.d.comb += [
            s.sends_ready.eq(self.unsent & self.room & ~self.reset),
        ]
        with m.If(self.send_ready & ~s.sends_ready & (unsent != READY_LIMIT)):
            m.d.sync += [unsent.eq(unsent + 1), self.unsent.eq(1)]
        with m.Elif(s.sends_ready & ~self.send_ready):
            m.d.sync += [unsent.eq(unsent - 1), self.unsent.eq(unsent != 1)]
        m.d.comb += Assert(self.unsent == (unsent != 0), "whether a ready signal is here is known a cycle before")

    def _connect(self, m, s):
        """What the item at work may do, and what others see of it."""
        item = s.item
        m.d.comb += [
            s.command_begun.eq(s.valid & item.command & item.lanes & ~item.prefix),
            self.busy.eq(Mux(self.reset, s.packet_open | s.command_begun, s.valid)),
            self.waiting.eq(s.valid & item.wait_ready & ~self.ready & ~self.reset),
            s.may_send.eq(s.valid & ~(item.wait_ready & ~self.ready) & self.room & ~self.unsent & ~self.reset),
            self.items.ready.eq((~s.valid | s.done) & ~self.reset),
            self.push.valid.eq(s.sends | s.sends_ready),
            self.push.payload.symbol.eq(Mux(s.sends_ready, Control.READY, s.own)),
        ]

    def _next_symbol(self, m, s):
        """The item's next symbol, and what of it is data of a packet."""
        item = s.item
        with m.If(item.prefix):
            m.d.comb += [
                s.own.eq(item.symbol),
                s.is_data.eq(~item.symbol[-1] & ~item.command),
                s.starts.eq(s.may_send & s.starting),
                s.stops.eq(s.may_send & s.ending),
                s.last.eq(~(item.lanes | item.crc | item.end)),
                s.sends.eq(s.may_send),
            ]
            with m.If(s.sends):
                m.d.sync += [item.prefix.eq(0), item.wait_ready.eq(0)]
        with m.Elif(item.lanes):
            in_last_lane = Signal()
            m.d.comb += [
                s.own.eq(item.word.word_select(~item.first, 8)),
                s.is_data.eq(~item.command),
                in_last_lane.eq(item.first == item.last),
                s.last.eq(in_last_lane & ~(item.crc | item.end)),
                s.sends.eq(s.may_send),
            ]
            with m.If(s.sends):
                m.d.sync += [item.first.eq(item.first + 1), item.lanes.eq(~in_last_lane)]
        with m.Elif(item.crc):
            self._next_checksum(m, s)
        with m.Elif(item.end):
            m.d.comb += [s.own.eq(Control.END), s.stops.eq(s.may_send), s.last.eq(1), s.sends.eq(s.may_send)]
            with m.If(s.sends):
                m.d.sync += item.end.eq(0)
        with m.Else():
            # An item without symbols; one that is to be told of waits until all before it has left.
            m.d.comb += [
                self.nothing_left.eq(s.valid & item.notify & self.empty & ~self.reset),
                s.done.eq(s.valid & (~item.notify | self.empty)),
            ]

    def _next_checksum(self, m, s):
        """The next byte of the checksum."""
        item = s.item
        in_last_byte = Signal()
        m.d.comb += [
            s.own.eq(s.rest_of_crc[-8:]),
            s.is_data.eq(1),
            in_last_byte.eq(s.byte_number == Mux(item.internet, SUM_BYTES - 1, CRC_BYTES_LAST)),
            s.last.eq(in_last_byte & ~item.end),
            s.sends.eq(s.may_send),
        ]
        with m.If(s.byte_number == 0):
            m.d.comb += s.own.eq(Mux(item.internet, m.submodules.internet.checksum[8:], m.submodules.crc.crc[-8:]))
        with m.If(s.sends):
            m.d.sync += [s.byte_number.eq(s.byte_number + 1), item.crc.eq(~in_last_byte)]

    def _go_on(self, m, s):
        """Behind each symbol: the item may be done, and the rest of its checksum moves up."""
        crc, checksum, rest = m.submodules.crc.crc, m.submodules.internet.checksum, s.rest_of_crc
        with m.If(s.sends):
            m.d.comb += [self.push.payload.notify.eq(s.item.notify & s.last), s.done.eq(s.last)]
            m.d.sync += rest.eq(rest << 8)
            with m.If(s.byte_number == 0):
                m.d.sync += rest.eq(Cat(crc[:16], Mux(s.item.internet, checksum[:8], crc[16:24])))

    def _packet(self, m, s):
        """The packet around it."""
        crc, internet = m.submodules.crc, m.submodules.internet
        m.d.comb += [
            self.push.payload.start.eq(s.starts),
            crc.start.eq(s.starts),
            crc.valid.eq(s.sends & s.is_data),
            crc.data.eq(s.own[:8]),
            internet.start.eq(s.starts),
            internet.valid.eq(crc.valid),
            internet.data.eq(crc.data),
            self.counts.eq(crc.valid),
        ]
        with m.If(s.starts):
            m.d.sync += self.progress.eq(0)
        with m.Elif(crc.valid):
            m.d.sync += self.progress.eq(self.progress + 1)
        with m.If(s.starts):
            m.d.sync += s.packet_open.eq(1)
        with m.Elif(s.stops):
            m.d.sync += s.packet_open.eq(0)

    def _next_item(self, m, s):
        """The next item; behind a reset, what ends the packet and the command that have begun."""
        item = s.item
        with m.If(self.items.ready):
            first = self.items.payload.symbol
            m.d.sync += [
                s.valid.eq(self.items.valid),
                item.eq(self.items.payload),
                s.byte_number.eq(0),
                s.starting.eq(first == Control.START),
                s.ending.eq(first == Control.END),
            ]
        with m.If(self.reset):
            m.d.sync += [
                s.valid.eq(s.packet_open | s.command_begun),
                item.wait_ready.eq(0),
                item.prefix.eq(0),
                item.lanes.eq(s.command_begun),
                item.crc.eq(0),
                item.end.eq(s.packet_open),
                item.notify.eq(0),
            ]
