"""Output side of a port: the register in front of the fiber, and the ready signals and replies inserted there.

Source: "The Design of Nectar" (1989), sections 4.1, 4.2.1 and 4.2.3; ``docs/hub.md``, "Output side of a port".
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS, Control
from ..messages import CrossbarBeat, Reply
from ..part import give
from .entry import is_start
from .reply_sender import ReplySender
from .skid_buffer import SkidBuffer

__all__ = ["OutputPort", "READY_LIMIT"]

#: Ready signals that wait for an output register. More ready signals would say nothing new.
READY_LIMIT = 15


class _Signals:
    """What the sections of the output side share; proofs look into them. ``register``: as in OutputPort."""

    def __init__(self, register):
        # Symbols from the crossbar.
        self.behind = SkidBuffer(late=not register)
        self.oldest = Signal(CrossbarBeat)  # the symbol that waits longest behind the crossbar
        self.falls = Signal()  # nothing waits: the symbol that comes may enter the output register
        self.start_behind = Signal()  # a start waits behind the crossbar
        self.waits_behind = Signal()

        # Ready signals and replies to send.
        self.replies = ReplySender()
        self.readies = Signal(range(READY_LIMIT + 1))  # as many as waited in the cycle before
        # In the cycle before one more was to be sent: ``send_ready``, ``repair``; and one was sent.
        self.came = Signal()
        self.mended = Signal()
        self.went = Signal()
        self.some = Signal()  # one waits that has not come in the cycle before
        self.pends = Signal()  # one waits

        # The place beside the output register.
        self.beside = Signal(CrossbarBeat, reset_less=True)
        self.taken = Signal()
        self.free = Signal()  # it is empty

        # The output register.
        self.load = Signal()  # it takes a symbol, if there is one
        self.fresh = Signal()  # it was loaded in the cycle before
        self.sent = Signal(CrossbarBeat, reset_less=True)
        self.valid = Signal()


class OutputPort(wiring.Component):
    """Puts ready signals, replies and symbols from the crossbar on the fiber, in this order of precedence.

    Parameters
    ----------
    register : bool
        All symbols go through the skid buffer behind the crossbar; otherwise it is for those that must wait.

    Members
    -------
    beat, push, space : as in SkidBuffer
        A symbol from the crossbar, and room for one.
    send_ready, repair : In(1), In(1)
        A ready signal is to be sent, one for each of these signals.
    ready_arrived : In(1)
        A ready signal has arrived at this port.
    ready_set, ready_clear : In(1), In(1)
        The ready bit is to be set; to be cleared. ``ready_clear`` wins.
    reply_byte, reply_place, reply_push, reply_full, answer
        As in ReplySender.
    ended : In(1)
        The connection that leads here ends in this cycle. A *close all* of this connection that is on its way closes
        nothing any more.
    ready : Out(1)
        The ready bit is 1 and no start of packet is on its way to the output register.
    ready_bit : Out(1)
        The ready bit.
    closed : Out(1)
        The last symbol of a close all entered the output register in the cycle before: the connection that leads here
        ends.
    looped : In(1)
        Loop back: the fiber is idle, and a symbol for the fiber is taken at once, by ``loop_symbol``.
    tx : Out(stream.Signature(9))
        The fiber.
    loop_symbol, loop_valid : Out(9), Out(1)
        The symbol that leaves in loop back.
    busy : Out(1)
        Something waits to be sent or to be closed.

    Timing
    ------
    A symbol that comes in cycle t is at ``tx`` in cycle t + 1, with ``register`` in t + 2, if nothing is in its way.

    There is one place beside the output register. It is for an inserted symbol (of a ready signal or a reply), which
    comes there when the output register is loaded; and, with ``register``, for a symbol that finds the output register
    taken. ``space`` depends on registers only; a stream flows without gaps.

    A start that is first at ``tx`` in cycle t clears the ready bit, which is 0 from t + 1 on; ``ready`` is 0 in t, too.
    A ready signal that arrives in cycle t, or in the cycle of a ``ready_clear``, loses.

    Raises
    ------
    TypeError
        If ``register`` is not a bool.
    """

    def __init__(self, register=True):
        if not isinstance(register, bool):
            raise TypeError(f"whether there is a register must be True or False, not {register!r}")
        self.register = register
        super().__init__(
            {
                "beat": In(CrossbarBeat),
                "push": In(1),
                "space": Out(1),
                "send_ready": In(1),
                "repair": In(1),
                "ready_arrived": In(1),
                "ready_set": In(1),
                "ready_clear": In(1),
                "reply_byte": In(8),
                "reply_place": In(2),
                "reply_push": In(1),
                "reply_full": Out(1),
                "answer": In(stream.Signature(Reply)),
                "ended": In(1),
                "ready": Out(1),
                "ready_bit": Out(1, init=1),
                "closed": Out(1),
                "looped": In(1),
                "tx": Out(stream.Signature(SYMBOL_BITS)),
                "loop_symbol": Out(SYMBOL_BITS),
                "loop_valid": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        """Symbols from the crossbar; what is inserted; the place beside the register; the register; the ready bit."""
        m = Module()
        s = _Signals(self.register)
        self._take_symbol(m, s)
        self._insert(m, s)
        self._count_readies(m, s)
        self._load(m, s)
        self._fill_beside(m, s)
        self._send(m, s)
        self._keep_ready_bit(m, s)
        m.d.comb += self.busy.eq(s.valid | s.taken | s.waits_behind | s.pends | s.replies.waiting | self.closed)
        if platform == "formal":
            self.probes = s
        return m

    def _take_symbol(self, m, s):
        """A symbol from the crossbar. With ``register`` it comes from the skid buffer when the place beside the output
        register is free. Otherwise it comes from the skid buffer, or past it, when it can enter the output register."""
        m.submodules.behind = behind = s.behind
        give(m, behind, self, "beat", "push", "ended")
        give(m, self, behind, "space")
        m.d.comb += [
            s.start_behind.eq(behind.start),
            s.oldest.eq(behind.oldest),
            s.waits_behind.eq(behind.waits),
        ]
        if self.register:
            m.d.comb += behind.pop.eq(s.free & s.waits_behind)
        else:
            m.d.comb += [behind.pop.eq(s.free & s.load), s.falls.eq(s.free & ~s.waits_behind)]

    def _insert(self, m, s):
        """Replies to send, and what is inserted when the output register is loaded: a ready signal, else a symbol of a
        reply."""
        m.submodules.replies = replies = s.replies
        wiring.connect(m, wiring.flipped(self.answer), replies.answer)
        m.d.comb += [
            replies.byte.eq(self.reply_byte),
            replies.place.eq(self.reply_place),
            replies.push.eq(self.reply_push),
            self.reply_full.eq(replies.full),
            s.pends.eq(s.came | s.some),
            replies.take.eq(s.load & ~s.pends & replies.waiting),
            replies.muted.eq(s.pends),
        ]

    def _count_readies(self, m, s):
        """The number of ready signals to send as it was in the cycle before, and whether there are any, without
        those that have just come. The limit is what the bits hold, so a carry tells that it is passed. A table for each
        bit would be 30 LUTs instead of 15.

        ``send_ready``, and whether the output register is loaded, are known last in a cycle. So what they change is
        counted in the next, from registers alone."""
        less = Signal()
        total = Signal(5)  # the number in this cycle, the limit aside
        m.d.comb += [
            less.eq(s.went & ~s.came & ~s.mended),
            total.eq(s.readies + Cat(s.went ^ s.came ^ s.mended, s.came & s.mended & ~s.went | less, *[less] * 3)),
        ]
        m.d.sync += [
            s.came.eq(self.send_ready),
            s.mended.eq(self.repair),
            s.went.eq(s.load & s.pends),
            s.readies.eq(Mux(total[-1], READY_LIMIT, total)),
            s.some.eq(self.repair | total[1:].any() | s.pends & ~s.load),
        ]

    def _load(self, m, s):
        """Whether the output register is loaded in this cycle, and whether the place beside it is taken in the
        next."""
        stays = Signal()
        m.d.comb += [
            s.load.eq(~s.valid | self.tx.ready | self.looped),
            s.free.eq(~s.taken),
            stays.eq(Mux(s.load, s.pends | s.replies.waiting, s.taken)),
        ]
        m.d.sync += s.taken.eq(stays | (~s.load & s.waits_behind if self.register else 0))

    def _fill_beside(self, m, s):
        """The place beside the output register takes an inserted symbol when the output register is loaded. At other
        times it takes, with ``register``, a symbol that comes from the skid buffer."""
        with m.If(s.load):
            m.d.sync += [
                s.beside.symbol.eq(s.replies.symbol | Mux(s.pends, Control.READY, 0)),
                s.beside.closes.eq(0),
            ]
        if self.register:
            with m.Elif(s.free):
                m.d.sync += [s.beside.symbol.eq(s.oldest.symbol), s.beside.closes.eq(s.oldest.closes & ~self.ended)]
        with m.Elif(self.ended):
            m.d.sync += s.beside.closes.eq(0)

    def _send(self, m, s):
        """The output register takes the symbol beside it, or else the symbol that comes. It is at ``tx``, or in loop
        back at ``loop_symbol``, from the next cycle on; in the first of these cycles the last symbol of a close all
        closes.

        The symbol from the crossbar is known last in a cycle: what waits is chosen before."""
        waiting = Signal(CrossbarBeat, attrs={"keep": 1})
        m.d.comb += waiting.eq(Mux(s.taken, s.beside, s.oldest))
        m.d.sync += s.fresh.eq(s.load)
        with m.If(s.load):
            m.d.sync += [
                s.valid.eq(s.taken | s.waits_behind | s.falls & self.push),
                s.sent.eq(Mux(s.falls, self.beat, waiting)),
            ]
            with m.If(self.ended):
                m.d.sync += s.sent.closes.eq(0)
        m.d.comb += [
            self.closed.eq(s.fresh & s.valid & s.sent.closes),
            self.tx.payload.eq(s.sent.symbol),
            self.tx.valid.eq(s.valid & ~self.looped),
            self.loop_symbol.eq(s.sent.symbol),
            self.loop_valid.eq(s.valid & self.looped),
        ]

    def _keep_ready_bit(self, m, s):
        """The ready bit, which a start clears in the cycle in which the start is first in the output register."""
        start_enters = Signal()
        m.d.comb += [
            start_enters.eq(s.fresh & s.valid & is_start(s.sent.symbol)),
            self.ready.eq(self.ready_bit & ~start_enters & ~(s.taken & is_start(s.beside.symbol)) & ~s.start_behind),
        ]
        with m.If(start_enters | self.ready_clear):
            m.d.sync += self.ready_bit.eq(0)
        with m.Elif(self.ready_set | self.ready_arrived):
            m.d.sync += self.ready_bit.eq(1)
