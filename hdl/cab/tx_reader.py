"""Fiber out, first half: works on the list's entries and reads their areas, a word at a time, ahead of the fiber.

Source: "The Design of Nectar" (1989), sections 5.2 (DMA controller) and 6.2.1 (a packet is gathered as it is sent).
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from .addresses import LENGTH_BITS, REGIONS
from .memory import LANES, FetchPort, check_data_bytes
from .registers import WORD_BITS

__all__ = ["Entry", "TxReader", "Item", "EntryKind"]

_COMMAND_BITS = 8 * (COMMAND_LENGTH - 1)
_LANE_BITS = exact_log2(LANES)


class EntryKind(enum.Enum, shape=2):
    """Kinds of entry."""

    AREA = 0
    COMMAND = 1
    SYMBOL = 2


class Entry(data.Struct):
    """An entry of the fiber-out list.

    ``value``: a command's three bytes, a symbol, or an area's length, and ``bytes`` if that is not 0; ``address``: an
    area's first byte, counted from the start of data memory. The other members are the fields of TX_COMMAND and
    TX_AREA."""

    kind: EntryKind
    value: _COMMAND_BITS
    bytes: 1
    address: LENGTH_BITS
    start: 1
    crc: 1
    internet: 1
    end: 1
    notify: 1
    wait_ready: 1


class Item(data.Struct):
    """What one word of work puts on the fiber, in this order; each part may be missing.

    ``symbol`` if ``prefix``; lanes ``first`` to ``last`` of ``word`` if ``lanes``; the packet's checksum if ``crc``,
    the Internet checksum if ``internet`` too, else the CRC-32; an end of packet if ``end``. ``command``: these symbols
    are a command, no part of a packet. ``notify``: tell when all has left. ``wait_ready``: not before the ready bit is
    1.
    """

    wait_ready: 1
    prefix: 1
    symbol: SYMBOL_BITS
    lanes: 1
    word: WORD_BITS
    first: _LANE_BITS
    last: _LANE_BITS
    crc: 1
    internet: 1
    end: 1
    notify: 1
    command: 1


class _Signals:
    """The area at work, which lies in data memory; it is set anew until there is one. Proofs look into them."""

    def __init__(self, data_bytes):
        self.address = Signal(exact_log2(data_bytes // LANES), reset_less=True)
        self.first = Signal(_LANE_BITS, reset_less=True)
        self.remaining = Signal(min(LENGTH_BITS, exact_log2(data_bytes) + 1), reset_less=True)
        self.start = Signal(reset_less=True)
        self.crc = Signal(reset_less=True)
        self.internet = Signal(reset_less=True)
        self.end = Signal(reset_less=True)
        self.notify = Signal(reset_less=True)


class TxReader(wiring.Component):
    """Turns entries into items.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    entries : In(stream.Signature(Entry))
        The list's head; an entry is taken when it is begun.
    items : Out(stream.Signature(Item))
        What comes of it. ``ready`` must not fall unless something has come: a word is read once there is room for it.
    memory : Out(FetchPort(data_bytes))
    memory_data : In(32)
        What was read, in the cycle after.
    busy : Out(1)
        An area is being read.

    Timing
    ------
    An entry without bytes makes its item in one cycle; an area takes one cycle, and two more for each of its words if
    the memory is free. So the memory is never asked in two cycles in a row.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        super().__init__(
            {
                "entries": In(stream.Signature(Entry)),
                "items": Out(stream.Signature(Item)),
                "memory": Out(FetchPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        """Entry, then read and pass on word by word."""
        m = Module()
        s = _Signals(self.data_bytes)
        item = self.items.payload
        # Bytes left that lie in this word or, counted from its start, before the end of the area.
        reach = Signal(exact_log2(self.data_bytes) + 1)
        final = Signal()
        value = self.entries.payload.value
        m.d.comb += [
            self.memory.address.eq(s.address),
            reach.eq(s.remaining + s.first),
            final.eq(reach <= LANES),
            # What does not count in an item is as it comes.
            item.symbol.eq(Control.START),
            item.word.eq(Cat(value, self.memory_data[len(value) :])),
            item.first.eq(LANES - (COMMAND_LENGTH - 1)),
            item.last.eq(LANES - 1),
        ]

        with m.FSM(name="gather") as fsm:
            with m.State("NEXT"):
                self._take_entry(m, s)
            with m.State("READ"):
                m.d.comb += self.memory.valid.eq(self.items.ready)
                with m.If(self.items.ready & self.memory.ready):
                    m.next = "PASS_ON"
            with m.State("PASS_ON"):
                self._pass_on(m, s, reach, final)
            m.d.comb += self.busy.eq(~fsm.ongoing("NEXT"))
        if platform == "formal":
            s.reads, s.passes = fsm.ongoing("READ"), fsm.ongoing("PASS_ON")
            self.probes = s
        return m

    def _take_entry(self, m, s):
        """An entry makes its item at once, but for an area that has bytes."""
        entry, item = self.entries.payload, self.items.payload
        symbol = entry.value[:SYMBOL_BITS]
        m.d.comb += [self.entries.ready.eq(self.items.ready), item.notify.eq(entry.notify)]
        m.d.sync += [
            s.address.eq(entry.address[_LANE_BITS:]),
            s.first.eq(entry.address[:_LANE_BITS]),
            s.remaining.eq(entry.value),
            s.start.eq(entry.start),
            s.crc.eq(entry.crc),
            s.internet.eq(entry.internet),
            s.end.eq(entry.end),
            s.notify.eq(entry.notify),
        ]
        with m.Switch(entry.kind):
            with m.Case(EntryKind.COMMAND):
                m.d.comb += [
                    self.items.valid.eq(self.entries.valid),
                    item.prefix.eq(1),
                    item.symbol.eq(Control.COMMAND),
                    item.lanes.eq(1),
                    item.wait_ready.eq(entry.wait_ready),
                    item.command.eq(1),
                ]
            with m.Case(EntryKind.SYMBOL):
                m.d.comb += [
                    self.items.valid.eq(self.entries.valid),
                    item.symbol.eq(symbol),
                    item.prefix.eq(symbol != Control.IDLE),
                ]
            with m.Case(EntryKind.AREA):
                m.d.comb += [
                    self.items.valid.eq(self.entries.valid & ~entry.bytes),
                    item.prefix.eq(entry.start),
                    item.crc.eq(entry.crc),
                    item.internet.eq(entry.internet),
                    item.end.eq(entry.end),
                ]
                with m.If(entry.bytes):
                    m.d.comb += self.entries.ready.eq(1)
                    with m.If(self.entries.valid):
                        m.next = "READ"

    def _pass_on(self, m, s, reach, final):
        """A word of the area, the ``final`` one or not, makes an item."""
        item = self.items.payload
        m.d.comb += [
            self.items.valid.eq(1),
            item.prefix.eq(s.start),
            item.lanes.eq(1),
            item.word.eq(self.memory_data),
            item.first.eq(s.first),
            item.last.eq(Mux(final, reach - 1, LANES - 1)),
            item.crc.eq(final & s.crc),
            item.internet.eq(s.internet),
            item.end.eq(final & s.end),
            item.notify.eq(final & s.notify),
            Assert(self.items.ready, "there is room for every word that was read"),
        ]
        m.d.sync += [
            s.start.eq(0),
            s.address.eq(s.address + 1),
            s.first.eq(0),
            s.remaining.eq(reach - LANES),
        ]
        with m.If(final):
            m.next = "NEXT"
        with m.Else():
            m.next = "READ"
