"""The CAB's fiber out: the list of things to send, and its registers.

Source: "The Design of Nectar" (1989), sections 4.2.3 (ready bit), 5.2 and 6.2.1 (the datalink gathers a packet as it
sends it); the list and its registers are ours (docs/cab.md).
"""

from amaranth.hdl import Module, ResetInserter, Shape, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..link.port import FiberPort
from .addresses import ADDRESS_BITS, REG, REGIONS, TX_LIST_DEPTH
from .counter import Counter
from .memory import FetchPort, area_inside, check_data_bytes
from .output import OutputRegister
from .registers import WORD_BITS, RegisterPort
from .tx_reader import Entry, EntryKind, Item, TxReader
from .tx_serializer import TxSerializer

__all__ = ["FiberOut"]

#: Items that are made ahead. While CPU and fiber in want the memory, too, a word may come no sooner than it is sent, in
#: which case the cycles that seams of areas cost are never made up for: this bridges some six of them. A LUT RAM has as
#: many places.
#: places.
_ITEMS = 16


class FiberOut(wiring.Component):
    """Sends commands, symbols and packets, and keeps the ready bit.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    tx_status, tx_command, tx_address, tx_area, tx_symbol, tx_ready, tx_control, tx_progress, tx_threshold, tx_count :
    In(RegisterPort)
        Its registers.
    memory, memory_data
        As in ``TxReader``.
    tx : Out
        The pins.
    ready : In(1)
        A ready signal has arrived.
    sent : Out(1)
        An entry marked *notify* has left in the cycle before.
    threshold : Out(1)
        TX_PROGRESS reaches TX_THRESHOLD.
    idle : Out(1)
        Nothing is left to do, or nothing can be done before the ready bit is 1.

    Timing
    ------
    A symbol in each cycle in a steady stream. From the cycle in which an entry is written into an empty list to the
    one in which its first symbol is at the pins: 4 cycles, for an area 6.

    Raises
    ------
    TypeError, ValueError
        If the size is not one of those of ``DataMemory``.
    """

    def __init__(self, data_bytes=REGIONS["data"].size):
        check_data_bytes(data_bytes)
        self.data_bytes = data_bytes
        names = (
            "TX_STATUS",
            "TX_COMMAND",
            "TX_ADDRESS",
            "TX_AREA",
            "TX_SYMBOL",
            "TX_READY",
            "TX_CONTROL",
            "TX_PROGRESS",
            "TX_THRESHOLD",
            "TX_COUNT",
        )
        super().__init__(
            {
                **{name.lower(): In(RegisterPort(REG[name])) for name in names},
                "memory": Out(FetchPort(data_bytes)),
                "memory_data": In(WORD_BITS),
                "tx": Out(FiberPort().members["tx"].signature),
                "ready": In(1),
                "sent": Out(1),
                "threshold": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        """Registers, list, gathering, items made ahead, emitter, output register."""
        m = Module()
        # What stops the channel empties the list at once, which the next access may fill again, and the rest a cycle
        # later.
        reset = Signal()
        stops = Signal()
        m.d.comb += reset.eq(self.tx_control.write & self.tx_control.data.reset)
        m.d.sync += stops.eq(reset)
        entries, address, entry = self._list(m, reset)
        self._fill_entry(m, address, entry)
        gather, items = self._gather(m, entries, ResetInserter(stops))
        emitter, output = self._emit(m, items, stops)
        ready = self._ready_bit(m, emitter, output)
        self._tell(m, entries, gather, items, emitter, output, ready, stops)
        return m

    def _list(self, m, reset):
        """The list and who may enter something; returns it, TX_ADDRESS, and what is entered."""
        entries = fifo.SyncFIFO(width=Shape.cast(Entry).width, depth=TX_LIST_DEPTH)
        m.submodules.entries = ResetInserter(reset)(entries)
        address = Signal(ADDRESS_BITS)
        full = Signal()
        entry = Signal(Entry)
        m.d.comb += [
            full.eq(~entries.w_rdy),
            self.tx_command.refuse.eq(full),
            self.tx_symbol.refuse.eq(full),
            self.tx_area.refuse.eq(full | ~area_inside(address, self.tx_area.data.length, self.data_bytes)),
            self.tx_address.value.eq(address),
            self.tx_area.area_address.eq(address),
            entries.w_en.eq(self.tx_command.write | self.tx_symbol.write | self.tx_area.write),
            entries.w_data.eq(entry),
        ]
        with m.If(self.tx_address.write):
            m.d.sync += address.eq(self.tx_address.data)
        return entries, address, entry

    def _fill_entry(self, m, address, entry):
        """What is entered. What means something for areas or commands only is there in every entry."""
        area, command = self.tx_area.data, self.tx_command.data
        m.d.comb += [
            entry.bytes.eq(area.length != 0),
            entry.address.eq(address),
            entry.start.eq(area.start),
            entry.crc.eq(area.crc),
            entry.internet.eq(area.internet),
            entry.end.eq(area.end),
            entry.wait_ready.eq(command.wait_ready),
        ]
        with m.If(self.tx_command.write):
            m.d.comb += [
                entry.kind.eq(EntryKind.COMMAND),
                entry.value.eq(command.as_value()),
                entry.notify.eq(command.notify),
            ]
        with m.Elif(self.tx_symbol.write):
            m.d.comb += [entry.kind.eq(EntryKind.SYMBOL), entry.value.eq(self.tx_symbol.data.symbol)]
        with m.Else():
            m.d.comb += [entry.kind.eq(EntryKind.AREA), entry.value.eq(area.length), entry.notify.eq(area.notify)]

    def _gather(self, m, entries, whole):
        """From entries to items, some ahead of the fiber."""
        gather = TxReader(self.data_bytes)
        m.submodules.gather = whole(gather)
        items = fifo.SyncFIFO(width=Shape.cast(Item).width, depth=_ITEMS)
        m.submodules.items = whole(items)
        m.d.comb += [
            gather.entries.payload.eq(entries.r_data),
            gather.entries.valid.eq(entries.r_rdy),
            entries.r_en.eq(gather.entries.ready),
            items.w_data.eq(gather.items.payload),
            items.w_en.eq(gather.items.valid),
            gather.items.ready.eq(~items.level[exact_log2(_ITEMS)]),
            gather.memory_data.eq(self.memory_data),
        ]
        connect(m, gather.memory, flipped(self.memory))
        return gather, items

    def _emit(self, m, items, stops):
        """From items to symbols."""
        m.submodules.emitter = emitter = TxSerializer()
        m.submodules.output = output = OutputRegister()
        m.d.comb += [
            emitter.items.payload.eq(items.r_data),
            emitter.items.valid.eq(items.r_rdy),
            items.r_en.eq(emitter.items.ready),
            emitter.room.eq(output.room),
            emitter.empty.eq(output.empty),
            emitter.send_ready.eq(self.tx_ready.write),
            emitter.reset.eq(stops),
            output.push.payload.eq(emitter.push.payload),
            output.push.valid.eq(emitter.push.valid),
        ]
        connect(m, output.tx, flipped(self.tx))
        return emitter, output

    def _ready_bit(self, m, emitter, output):
        """The ready bit: the start of packet that leaves wins over the ready signal that comes."""
        ready = Signal(init=1)
        with m.If(output.start_left):
            m.d.sync += ready.eq(0)
        with m.Elif(self.ready | (self.tx_control.write & self.tx_control.data.set_ready)):
            m.d.sync += ready.eq(1)
        m.d.comb += emitter.ready.eq(ready & ~output.start_inside)
        return ready

    def _tell(self, m, entries, gather, items, emitter, output, ready, stops):
        """What software is told."""
        m.submodules.sent = sent = Counter(len(self.tx_status.value.sent))
        m.submodules.count = count = Counter(WORD_BITS)
        threshold = Signal.like(self.tx_threshold.data.bytes)
        moves = Signal()
        m.d.comb += [
            self.sent.eq(output.left | emitter.nothing_left),
            self.tx_status.value.free.eq(TX_LIST_DEPTH - entries.level),
            self.tx_status.value.busy.eq(((gather.busy | items.r_rdy) & ~stops) | emitter.busy | ~output.empty),
            self.tx_status.value.ready.eq(ready),
            self.tx_status.value.waiting.eq(emitter.waiting),
            sent.event.eq(self.sent),
            self.tx_status.value.sent.eq(sent.value),
            count.event.eq(output.taken),
            self.tx_count.value.eq(count.value),
            self.tx_progress.value.bytes.eq(emitter.progress),
            self.tx_threshold.value.bytes.eq(threshold),
            self.threshold.eq(emitter.counts & (emitter.progress + 1 == threshold)),
            moves.eq(stops | (entries.r_rdy & entries.r_en) | (items.w_en & items.w_rdy) | gather.memory.valid),
            self.idle.eq(
                ~moves
                & ~emitter.unsent
                & output.empty
                & ~output.taken
                & (emitter.waiting | ~(emitter.busy | items.r_rdy))
            ),
        ]
        with m.If(self.tx_threshold.write):
            m.d.sync += threshold.eq(self.tx_threshold.data.bytes)
