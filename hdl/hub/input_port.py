"""Input side of a port: receiver, queue, head, the replies that arrived, and the error counter.

Source: "The Design of Nectar" (1989), section 4.1; ``docs/hub.md``, "Input side of a port" and "Errors".
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.queue import QUEUE_DEPTH
from ..link.symbol import SYMBOL_BITS
from .head import Head
from .messages import Passage, Request, RoutedReply
from .queue import InputQueue
from .receiver import Receiver
from .reply_buffer import ReplyBuffer

__all__ = ["InputPort"]

_MAX_ERRORS = 0xFF


class InputPort(wiring.Component):
    """What a port does with the symbols that arrive.

    Parameters
    ----------
    ports, port : int
        Ports of the HUB; number of this one.
    capacity : int
        Symbols that the queue holds.

    Members
    -------
    rx_symbol, rx_valid : In(9), In(1)
        The input register.
    hub_id, targets, space, passage, move, start_left, request, request_valid, response_valid, done, value, close
        As in Head.
    ready_arrived : Out(1)
        A ready signal has arrived.
    replies : Out(stream.Signature(RoutedReply))
        Replies that arrived, and answers to commands that arrived.
    reply_lost : In(1)
        The reply bus could not deliver a reply of this port.
    errors : Out(8)
        Errors counted; stops at 255.
    busy : Out(1)
        A symbol, a command or a reply is under way.

    Timing
    ------
    A symbol in the input register in cycle t can move in cycle t + 2.

    Raises
    ------
    TypeError, ValueError
        As Head and InputQueue.
    """

    def __init__(self, ports, port, capacity=QUEUE_DEPTH):
        self._head = Head(ports, port)
        self._queue = InputQueue(capacity)
        super().__init__({
            "rx_symbol": In(SYMBOL_BITS), "rx_valid": In(1), "hub_id": In(8),
            "targets": In(ports), "space": In(ports), "passage": Out(Passage), "move": Out(1), "start_left": Out(1),
            "request": Out(Request), "request_valid": Out(1), "response_valid": In(1), "done": In(1), "value": In(8),
            "close": Out(ports), "ready_arrived": Out(1),
            "replies": Out(stream.Signature(RoutedReply)), "reply_lost": In(1),
            "errors": Out(8), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = Receiver()
        m.submodules.queue = queue = self._queue
        m.submodules.head = head = self._head
        m.submodules.replies = replies = ReplyBuffer()

        m.d.comb += [
            receiver.hub_id.eq(self.hub_id),
            receiver.symbol.eq(self.rx_symbol),
            receiver.valid.eq(self.rx_valid),
            receiver.full.eq(queue.full),
            self.ready_arrived.eq(receiver.ready),
            queue.write.eq(receiver.write),
            queue.entry.eq(receiver.entry),
            queue.first.eq(receiver.first),
            queue.commit.eq(receiver.commit),
            queue.cut.eq(receiver.cut),
            head.entry.eq(queue.oldest),
            head.valid.eq(queue.valid),
            queue.pop.eq(head.pop),
            head.hub_id.eq(self.hub_id),
            head.targets.eq(self.targets),
            head.space.eq(self.space),
            head.response_valid.eq(self.response_valid),
            head.done.eq(self.done),
            head.value.eq(self.value),
            self.passage.eq(head.passage),
            self.move.eq(head.move),
            self.start_left.eq(head.start_left),
            self.request.eq(head.request),
            self.request_valid.eq(head.request_valid),
            self.close.eq(head.close),
        ]

        m.d.comb += [
            replies.arrived.eq(receiver.reply),
            replies.arrived_valid.eq(receiver.reply_valid),
        ]
        wiring.connect(m, head.answer, replies.answer)
        wiring.connect(m, replies.output, wiring.flipped(self.replies))

        events = Cat(receiver.reserved, receiver.overrun, receiver.command_cut, receiver.reply_cut, replies.lost,
                     head.error, self.reply_lost)
        total = Signal(9)
        with m.If(events.any()):
            m.d.comb += total.eq(self.errors + sum(events))
            m.d.sync += self.errors.eq(Mux(total > _MAX_ERRORS, _MAX_ERRORS, total))

        m.d.comb += self.busy.eq(self.rx_valid | queue.valid | queue.pending | head.busy | replies.output.valid)
        return m
