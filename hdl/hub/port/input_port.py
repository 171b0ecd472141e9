"""Input side of a port: decoder, queue, head, the replies that arrived, and the events to count.

Source: "The Design of Nectar" (1989), section 4.1; ``docs/hub.md``, "Input side of a port" and "Errors".
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...link.queue import QUEUE_DEPTH
from ...link.symbol import SYMBOL_BITS
from ..bundles import ControlPort, CrossbarPort
from ..messages import FAULTS, LEVEL_BITS, Reply
from ..monitor_map import CounterId
from ..part import give
from .bypass import Bypass
from .entry import is_control_code, is_own
from .head import Head
from .input_queue import InputQueue
from .input_register import SymbolKind
from .reply_buffer import ReplyBuffer, ReplySource
from .symbol_decoder import SymbolDecoder

__all__ = ["InputPort", "ERROR_BITS"]

#: Bits of the sum of errors. One more bit tells that the sum is greater.
ERROR_BITS = 8


class _Signals:
    """What the sections of the input side share."""

    def __init__(self):
        self.clear = Signal()  # the queue is emptied
        self.halt = Signal()  # it was emptied in the cycle before
        self.waits = Signal()  # something waits in front of the head


class InputPort(wiring.Component):
    """The way of symbols from a port's input register to the crossbar, and of commands to the controller.

    Parameters
    ----------
    ports, port : int
        Ports of the HUB; number of this port.
    capacity : int
        Symbols that the queue holds.
    bypass : bool
        A symbol or a command that finds the queue empty need not go through the queue.

    Members
    -------
    coming, rx_symbol, rx_kind : In(9), In(9), In(SymbolKind)
        ``coming``: the symbol that enters the input register. ``rx_symbol``, ``rx_kind``: the symbol in it.
    enabled : In(1)
        The port is in use.
    hub_id, crossbar, control, named, answer
        As in Head.
    reset_queue : In(1)
        The queue is emptied, a command that waits is given up, and a ready signal is sent.
    expired : In(1)
        The watchdog has expired: a command that waits is given up, and a part of a command is taken back.
    send_ready : Out(1)
        A ready signal is to be sent.
    ready_arrived : Out(1)
        A ready signal has arrived.
    reply_source : Out(ReplySource())
        Replies that have arrived.
    no_route, reply_lost : In(1), In(1)
        The reply bus could not deliver a reply of this port: there was no connection, or no room.
    moved : Out(1)
        Something leaves the head.
    held : Out(1)
        There is something in the queue or at its head, or a part of a command.
    errors : Out(9)
        Sum of errors. With bit 8 set there have been more than 255.
    level : Out(LEVEL_BITS)
        As in InputQueue.
    events : Out(len(CounterId))
        Events to count in this cycle, by CounterId. The bit of OPENED is 0: the controller counts it.
    busy : Out(1)
        A symbol, a command or a reply is under way.

    Timing
    ------
    A symbol in the input register in cycle t can move in cycle t + 2; with ``bypass`` in t + 1, if the queue is empty.
    A command for this HUB whose last symbol is in the input register in cycle t stands in the request register in
    t + 4; with ``bypass`` in t + 1, if the queue is empty. ``errors`` follows two cycles after the error.

    Raises
    ------
    TypeError, ValueError
        As Head and InputQueue; TypeError if ``bypass`` is not a bool.
    """

    def __init__(self, ports, port, capacity=QUEUE_DEPTH, bypass=False):
        if not isinstance(bypass, bool):
            raise TypeError(f"whether there is a bypass must be True or False, not {bypass!r}")
        self._head = Head(ports, port)
        self._queue = InputQueue(capacity)
        self._bypass = bypass
        super().__init__(
            {
                "coming": In(SYMBOL_BITS),
                "rx_symbol": In(SYMBOL_BITS),
                "rx_kind": In(SymbolKind),
                "enabled": In(1),
                "hub_id": In(8),
                "crossbar": Out(CrossbarPort()),
                "control": Out(ControlPort()),
                "named": Out(ports),
                "answer": Out(stream.Signature(Reply)),
                "reset_queue": In(1),
                "expired": In(1),
                "send_ready": Out(1),
                "ready_arrived": Out(1),
                "reply_source": Out(ReplySource()),
                "no_route": In(1),
                "reply_lost": In(1),
                "moved": Out(1),
                "held": Out(1),
                "errors": Out(ERROR_BITS + 1),
                "level": Out(LEVEL_BITS),
                "events": Out(len(CounterId)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        """The parts, in the order in which symbols come to them; the events to count; the sum of errors."""
        m = Module()
        m.submodules.decoder = SymbolDecoder()
        m.submodules.queue = self._queue
        m.submodules.head = self._head
        m.submodules.replies = ReplyBuffer()
        s = _Signals()
        self._wire_decoder(m, s)
        self._wire_queue(m, s)
        self._wire_head(m, s)
        if self._bypass:
            self._feed_past_queue(m, s)
        else:
            self._feed(m)
        self._wire_replies(m)
        self._tell_events(m, s)
        fresh = self._sum_errors(m)
        self._tell_state(m, s, fresh)
        return m

    def _wire_decoder(self, m, s):
        """The decoder sorts the symbol in the input register, in the same cycle."""
        decoder, queue = m.submodules.decoder, m.submodules.queue
        give(m, decoder, self, "hub_id", "enabled", "coming")
        give(m, decoder, queue, "full", "tight")
        m.d.comb += [
            s.clear.eq(decoder.flush | self.reset_queue),
            decoder.symbol.eq(self.rx_symbol),
            decoder.kind.eq(self.rx_kind),
            decoder.discard.eq(self.reset_queue | self.expired),
            self.ready_arrived.eq(decoder.ready),
        ]
        m.d.sync += s.halt.eq(s.clear)

    def _wire_queue(self, m, s):
        """The queue takes what the decoder gives, in the same cycle."""
        decoder, queue = m.submodules.decoder, m.submodules.queue
        give(m, queue, decoder, "entry", "offset", "first", "amount", "write", "commit")
        give(m, queue, s, "clear")
        give(m, self, queue, "level")

    def _wire_head(self, m, s):
        """The head, and its way to the crossbar, to the controller and to the fiber. When the queue has been emptied, a
        ready signal is sent in the next cycle."""
        head = m.submodules.head
        give(m, head, self, "hub_id", "expired")
        give(m, head, s, "halt")
        give(m, self, head, "named", "moved")
        m.d.comb += self.send_ready.eq(head.start_left | s.halt)
        wiring.connect(m, head.control, wiring.flipped(self.control))
        wiring.connect(m, head.crossbar, wiring.flipped(self.crossbar))
        wiring.connect(m, head.answer, wiring.flipped(self.answer))

    def _feed(self, m):
        """Without a bypass: from the queue to the head, in the same cycle."""
        queue, head = m.submodules.queue, m.submodules.head
        give(m, queue, head, "pop")
        give(m, head, queue, "valid")
        entry = queue.oldest
        m.d.comb += Cat(head.entry, head.own, head.control_code).eq(Cat(entry, is_own(entry), is_control_code(entry)))

    def _feed_past_queue(self, m, s):
        """With a bypass: from the queue, or past it, to the head. It takes one cycle.

        A complete command goes past the queue if the head is willing and nothing is in the way."""
        decoder, queue, head = m.submodules.decoder, m.submodules.queue, m.submodules.head
        m.submodules.bypass = bypass = Bypass()
        give(m, bypass, queue, "oldest", "empty")
        give(m, bypass, s, "clear")
        give(m, bypass, head, "pop")
        give(m, bypass, decoder, "plain")
        give(m, head, bypass, "clean", "entry", "own", "control_code", "valid")
        m.d.comb += [
            bypass.symbol.eq(self.rx_symbol),
            bypass.oldest_valid.eq(queue.valid),
            queue.pop.eq(bypass.pop_queue),
            decoder.past.eq(bypass.open),
            decoder.taken.eq(head.way),
            head.offer.eq(decoder.own),
            head.offered.op.eq(decoder.op),
            head.offered.param.eq(self.rx_symbol),
            s.waits.eq(~bypass.clean),
        ]

    def _wire_replies(self, m):
        """The bytes of replies that arrive, to their buffer in the same cycle."""
        decoder, replies = m.submodules.decoder, m.submodules.replies
        m.d.comb += [
            replies.byte.eq(self.rx_symbol),
            replies.place.eq(decoder.reply_place),
            replies.strobe.eq(decoder.reply_strobe),
        ]
        wiring.connect(m, replies.source, wiring.flipped(self.reply_source))

    def _tell_events(self, m, s):
        """The events to count, in the cycle in which they happen."""
        decoder, head, replies = m.submodules.decoder, m.submodules.head, m.submodules.replies
        events = {
            CounterId.PACKETS: head.start_left,
            CounterId.RESERVED: decoder.reserved,
            CounterId.OVERRUN: decoder.overrun,
            CounterId.COMMAND_CUT: decoder.command_cut,
            CounterId.REPLY_CUT: decoder.reply_cut,
            CounterId.NO_CONNECTION: head.dropped,
            CounterId.NO_ROUTE: self.no_route,
            CounterId.REPLY_LOST: self.reply_lost | replies.lost,
            CounterId.TIMED_OUT: self.expired,
            CounterId.FLUSHED: s.halt,
        }
        events |= {CounterId[error.name]: getattr(head, name) for error, name in FAULTS.items()}
        events[CounterId.DISABLED] |= decoder.refused
        m.d.comb += self.events.eq(Cat(events.get(counter, 0) for counter in sorted(CounterId)))

    def _sum_errors(self, m):
        """The sum of errors. The errors of a cycle are in registers in the next cycle, and in the sum in the cycle
        after. Returns these registers."""
        decoder, head, replies = m.submodules.decoder, m.submodules.head, m.submodules.replies
        errors = (  # at most one of each line in a cycle
            decoder.reserved | decoder.overrun | decoder.refused | replies.lost,
            decoder.command_cut,
            decoder.reply_cut,
            head.dropped,
            Cat(getattr(head, name) for name in FAULTS.values()).any(),
            self.no_route | self.reply_lost,
            self.expired,
        )
        fresh = Signal(len(errors))
        total = Signal(ERROR_BITS + 1)
        m.d.comb += total.eq(self.errors[:ERROR_BITS] + sum(fresh))
        m.d.sync += [
            fresh.eq(Cat(errors)),
            self.errors.eq(Cat(total[:ERROR_BITS], total[ERROR_BITS] | self.errors[ERROR_BITS])),
        ]
        return fresh

    def _tell_state(self, m, s, fresh):
        """What the port holds, for the watchdog, and whether anything is under way."""
        decoder, queue = m.submodules.decoder, m.submodules.queue
        head, replies = m.submodules.head, m.submodules.replies
        m.d.comb += [
            self.held.eq(~queue.empty | s.waits | decoder.partial | head.holds),
            self.busy.eq(
                self.rx_kind.as_value().any()
                | ~queue.empty
                | s.waits
                | head.busy
                | s.halt
                | replies.source.valid
                | (fresh != 0)
            ),
        ]
