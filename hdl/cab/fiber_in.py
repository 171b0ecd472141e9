"""The CAB's fiber in: from the pins through the input queue to data memory, and its registers.

Source: "The Design of Nectar" (1989), sections 4.1 and 5.2 (the CAB has the HUB's fiber circuit) and 6.2.1; registers
ours.
"""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..link.port import FiberPort
from ..link.queue import SymbolQueue
from ..link.symbol import SYMBOL_BITS, Control
from .addresses import REG, REGIONS
from .demux import Demux, ReplyWord
from .errors import EVENT_BITS
from .memory import StorePort, check_data_bytes
from .packet_receiver import RECEIVER_REGISTERS, PacketReceiver, Queued
from .registers import WORD_BITS, RegisterPort
from .rx_writer import RxWriter
from .scatter import SCATTER_REGISTERS, Scatter

__all__ = ["REPLIES", "FiberIn"]

#: Replies that can wait for software.
REPLIES = 8


class FiberIn(wiring.Component):
    """Receives.

    Parameters
    ----------
    data_bytes : int
        Size of the data memory, as in ``DataMemory``.

    Members
    -------
    rx : Out
        The pins; registered before anything else.
    rx_control, rx_status, reply, rx_count, those of ``PacketReceiver`` and ``Scatter`` : In(RegisterPort)
        Its registers.
    memory : Out(StorePort(data_bytes))
    ready : Out(1)
        A ready signal has arrived.
    packet, received, reply_waits, input : Out(1)
        States of the interrupts.
    start, threshold : Out(1)
        Events of the interrupts.
    overrun, stray, framing, reply_lost : Out
        Numbers of errors in this cycle.
    idle : Out(1)
        Nothing can change before a symbol arrives or software writes a register.

    Timing
    ------
    A symbol in each cycle. A symbol at the pins in cycle t is sorted in t + 1 and at the queue's head in t + 4.

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
                "rx": Out(FiberPort().members["rx"].signature),
                **{
                    name: In(RegisterPort(REG[name.upper()]))
                    for name in (
                        *RECEIVER_REGISTERS,
                        *SCATTER_REGISTERS,
                        "rx_control",
                        "rx_status",
                        "reply",
                        "rx_count",
                    )
                },
                "memory": Out(StorePort(data_bytes)),
                **{
                    name: Out(1)
                    for name in ("ready", "packet", "received", "reply_waits", "input", "start", "threshold", "idle")
                },
                **{field.name: Out(EVENT_BITS) for field in REG["ERRORS"].fields},
            }
        )

    def elaborate(self, platform):
        """Input register, demux, replies; queue, receiver, store; status."""
        m = Module()
        reset = Signal()
        m.d.comb += reset.eq(self.rx_control.write & self.rx_control.data.reset)
        symbol, valid = self._take_in(m)
        self._keep_replies(m)
        self._queue(m, reset)
        self._receive(m, reset)
        self._tell(m, symbol, valid)
        return m

    def _take_in(self, m):
        """The input register, which this returns, and who gets the symbol."""
        m.submodules.demux = demux = Demux()
        symbol = Signal(SYMBOL_BITS, reset_less=True)
        valid = Signal(reset_less=True)
        m.d.sync += [symbol.eq(self.rx.payload), valid.eq(self.rx.valid)]
        m.d.comb += [demux.rx.payload.eq(symbol), demux.rx.valid.eq(valid), self.ready.eq(demux.ready)]
        return symbol, valid

    def _keep_replies(self, m):
        """Replies wait for software."""
        demux = m.submodules.demux
        m.submodules.replies = replies = fifo.SyncFIFO(width=Shape.cast(ReplyWord).width, depth=REPLIES)
        m.d.comb += [
            replies.w_data.eq(demux.reply.payload),
            replies.w_en.eq(demux.reply.valid),
            replies.r_en.eq(self.reply.read),
            self.reply_waits.eq(replies.r_rdy),
        ]
        word = Signal.like(self.reply.value)
        oldest = data.View(ReplyWord, replies.r_data)
        m.d.comb += [
            word.valid.eq(1),
            word.opcode.eq(oldest.opcode),
            word.hub.eq(oldest.hub),
            word.value.eq(oldest.value),
            self.reply.value.eq(Mux(replies.r_rdy, word, 0)),
        ]

    def _queue(self, m, reset):
        """The input queue. What follows lost symbols is marked."""
        demux = m.submodules.demux
        m.submodules.queue = queue = SymbolQueue(width=Shape.cast(Queued).width)
        entry = Signal(Queued)
        lost = Signal()
        m.d.comb += [
            entry.symbol.eq(demux.queue.payload),
            entry.lost.eq(lost),
            queue.push.payload.eq(entry),
            queue.push.valid.eq(demux.queue.valid),
            queue.clear.eq(reset),
        ]
        with m.If(reset):
            m.d.sync += lost.eq(0)
        with m.Elif(demux.queue.valid):
            m.d.sync += lost.eq(queue.overflow)

    def _receive(self, m, reset):
        """Packets."""
        queue = m.submodules.queue
        m.submodules.receiver = receiver = PacketReceiver()
        m.submodules.scatter = scatter = Scatter(self.data_bytes)
        m.submodules.store = store = RxWriter(self.data_bytes)
        for name in RECEIVER_REGISTERS:
            connect(m, flipped(getattr(self, name)), getattr(receiver, name))
        for name in SCATTER_REGISTERS:
            connect(m, flipped(getattr(self, name)), getattr(scatter, name))
        connect(m, scatter.areas, store.areas)
        connect(m, store.memory, flipped(self.memory))
        m.d.comb += [
            receiver.queue.payload.eq(queue.output.payload),
            receiver.queue.valid.eq(queue.output.valid),
            queue.output.ready.eq(receiver.queue.ready),
            receiver.discard.eq(self.rx_control.write & self.rx_control.data.discard),
            receiver.reset.eq(reset),
            receiver.start.eq(self.rx_start.write),
            receiver.store_ready.eq(store.ready),
            receiver.exhausted.eq(store.exhausted),
            receiver.store_empty.eq(store.empty),
            scatter.waits.eq(receiver.packet),
            scatter.clear.eq(receiver.over),
            store.valid.eq(receiver.store),
            store.data.eq(receiver.store_byte),
            store.flush.eq(receiver.flush),
            store.forget.eq(receiver.over),
        ]

    def _tell(self, m, symbol, valid):
        """What software is told."""
        demux, replies, queue = m.submodules.demux, m.submodules.replies, m.submodules.queue
        receiver, scatter, store = m.submodules.receiver, m.submodules.scatter, m.submodules.store
        count = Signal(WORD_BITS)
        m.d.sync += count.eq(count + (valid & (symbol != Control.IDLE)))
        m.d.comb += [
            self.packet.eq(receiver.packet),
            self.received.eq(receiver.received),
            self.input.eq(receiver.input),
            self.threshold.eq(receiver.threshold),
            self.start.eq(demux.queue.valid & (demux.queue.payload == Control.START)),
            self.rx_count.value.eq(count),
            self.rx_status.value.areas.eq(scatter.free),
            self.rx_status.value.level.eq(queue.level),
            self.rx_status.value.open.eq(receiver.open),
            self.rx_status.value.dma.eq(receiver.storing),
            self.overrun.eq(queue.overflow),
            self.stray.eq(demux.reserved + receiver.stray),
            self.framing.eq(demux.cut + receiver.cut),
            self.reply_lost.eq(demux.reply.valid & ~replies.w_rdy),
            self.idle.eq(
                ~valid & ~receiver.moves & ~store.moves & ~scatter.moves & ((queue.level == 0) | queue.output.valid)
            ),
        ]
