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
        m.submodules.crc = crc = Crc32()
        m.submodules.internet = internet = InternetSum()

        item = Signal(Item, reset_less=True)
        valid = Signal()
        packet_open = Signal()
        symbol = self.push.payload.symbol
        starting = Signal()  # its first symbol is a start of packet
        ending = Signal()  # its first symbol is an end of packet
        may_send = Signal()
        sends = Signal()  # a symbol of the item goes to the output register
        last = Signal()  # nothing of the item is left after that
        done = Signal()

        # Ready signals go first.
        unsent = Signal(range(READY_LIMIT + 1))
        sends_ready = Signal()
        m.d.comb += [
            sends_ready.eq(self.unsent & self.room & ~self.reset),
        ]
        with m.If(self.send_ready & ~sends_ready & (unsent != READY_LIMIT)):
            m.d.sync += [unsent.eq(unsent + 1), self.unsent.eq(1)]
        with m.Elif(sends_ready & ~self.send_ready):
            m.d.sync += [unsent.eq(unsent - 1), self.unsent.eq(unsent != 1)]

        command_begun = Signal()
        m.d.comb += [
            Assert(self.unsent == (unsent != 0), "whether a ready signal is here is known a cycle before"),
            command_begun.eq(valid & item.command & item.lanes & ~item.prefix),
            self.busy.eq(Mux(self.reset, packet_open | command_begun, valid)),
            self.waiting.eq(valid & item.wait_ready & ~self.ready & ~self.reset),
            may_send.eq(valid & ~(item.wait_ready & ~self.ready) & self.room & ~self.unsent & ~self.reset),
            self.items.ready.eq((~valid | done) & ~self.reset),
            self.push.valid.eq(sends | sends_ready),
        ]

        # The item's next symbol, and what of it is data of a packet.
        own = Signal(SYMBOL_BITS)
        is_data = Signal()
        starts = Signal()  # a start of packet goes to the output register
        stops = Signal()  # an end of packet goes to the output register
        byte_number = Signal(range(CRC_BYTES_LAST + 1))
        rest_of_crc = Signal(
            8 * CRC_BYTES_LAST, reset_less=True
        )  # what follows the byte that is sent; the first sets it
        m.d.comb += symbol.eq(Mux(sends_ready, Control.READY, own))
        with m.If(item.prefix):
            m.d.comb += [
                own.eq(item.symbol),
                is_data.eq(~item.symbol[-1] & ~item.command),
                starts.eq(may_send & starting),
                stops.eq(may_send & ending),
                last.eq(~(item.lanes | item.crc | item.end)),
                sends.eq(may_send),
            ]
            with m.If(sends):
                m.d.sync += [item.prefix.eq(0), item.wait_ready.eq(0)]
        with m.Elif(item.lanes):
            in_last_lane = Signal()
            m.d.comb += [
                own.eq(item.word.word_select(~item.first, 8)),
                is_data.eq(~item.command),
                in_last_lane.eq(item.first == item.last),
                last.eq(in_last_lane & ~(item.crc | item.end)),
                sends.eq(may_send),
            ]
            with m.If(sends):
                m.d.sync += [item.first.eq(item.first + 1), item.lanes.eq(~in_last_lane)]
        with m.Elif(item.crc):
            in_last_byte = Signal()
            m.d.comb += [
                own.eq(rest_of_crc[-8:]),
                is_data.eq(1),
                in_last_byte.eq(byte_number == Mux(item.internet, SUM_BYTES - 1, CRC_BYTES_LAST)),
                last.eq(in_last_byte & ~item.end),
                sends.eq(may_send),
            ]
            with m.If(byte_number == 0):
                m.d.comb += own.eq(Mux(item.internet, internet.checksum[8:], crc.crc[-8:]))
            with m.If(sends):
                m.d.sync += [byte_number.eq(byte_number + 1), item.crc.eq(~in_last_byte)]
        with m.Elif(item.end):
            m.d.comb += [own.eq(Control.END), stops.eq(may_send), last.eq(1), sends.eq(may_send)]
            with m.If(sends):
                m.d.sync += item.end.eq(0)
        with m.Else():
            # An item without symbols; one that is to be told of waits until all before it has left.
            m.d.comb += [
                self.nothing_left.eq(valid & item.notify & self.empty & ~self.reset),
                done.eq(valid & (~item.notify | self.empty)),
            ]
        with m.If(sends):
            m.d.comb += [self.push.payload.notify.eq(item.notify & last), done.eq(last)]
            m.d.sync += rest_of_crc.eq(rest_of_crc << 8)
            with m.If(byte_number == 0):
                m.d.sync += rest_of_crc.eq(Cat(crc.crc[:16], Mux(item.internet, internet.checksum[:8], crc.crc[16:24])))

        # The packet around it.
        m.d.comb += [
            self.push.payload.start.eq(starts),
            crc.start.eq(starts),
            crc.valid.eq(sends & is_data),
            crc.data.eq(own[:8]),
            internet.start.eq(starts),
            internet.valid.eq(crc.valid),
            internet.data.eq(crc.data),
            self.counts.eq(crc.valid),
        ]
        with m.If(starts):
            m.d.sync += self.progress.eq(0)
        with m.Elif(crc.valid):
            m.d.sync += self.progress.eq(self.progress + 1)
        with m.If(starts):
            m.d.sync += packet_open.eq(1)
        with m.Elif(stops):
            m.d.sync += packet_open.eq(0)

        with m.If(self.items.ready):
            first = self.items.payload.symbol
            m.d.sync += [
                valid.eq(self.items.valid),
                item.eq(self.items.payload),
                byte_number.eq(0),
                starting.eq(first == Control.START),
                ending.eq(first == Control.END),
            ]
        with m.If(self.reset):
            m.d.sync += [
                valid.eq(packet_open | command_begun),
                item.wait_ready.eq(0),
                item.prefix.eq(0),
                item.lanes.eq(command_begun),
                item.crc.eq(0),
                item.end.eq(packet_open),
                item.notify.eq(0),
            ]
        return m
