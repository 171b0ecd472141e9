"""Output side of a port: the register in front of the fiber, and the ready signals and replies inserted there.

Source: "The Design of Nectar" (1989), sections 4.1, 4.2.1 and 4.2.3; ``docs/hub.md``, "Output side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS, Control
from ..messages import CrossbarBeat, Reply
from .crossbar_register import CrossbarRegister
from .entry import is_start
from .reply_sender import ReplySender

__all__ = ["OutputPort", "READY_LIMIT"]

#: Ready signals that wait for an output register. More ready signals would say nothing new.
READY_LIMIT = 15


def _stepped(number, steps, down):
    """``number``; with ``steps`` one more, or with ``steps`` and ``down`` one less."""
    return Cat(bit ^ Cat(steps, *(lower ^ down for lower in number[:n])).all() for n, bit in enumerate(number))


class OutputPort(wiring.Component):
    """Puts ready signals, replies and symbols from the crossbar on the fiber, in this order of precedence.

    Parameters
    ----------
    register : bool
        There is a register behind the crossbar.

    Members
    -------
    beat, push : In(CrossbarBeat), In(1)
        A symbol from the crossbar. Only when there is ``space``.
    space : Out(1)
        A symbol may come in this cycle.
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

    There is one place beside the output register. It is for a symbol that finds the output register taken, and for an
    inserted symbol (of a ready signal or a reply). An inserted symbol comes there when the output register is loaded.
    ``space`` depends on registers only; a stream flows without gaps.

    A start clears the ready bit in the cycle in which the start is first at ``tx``. A ready signal that arrives in this
    cycle, or in the cycle of a ``ready_clear``, loses.

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
        m = Module()

        # Symbols from the crossbar.
        came = Signal(CrossbarBeat)
        comes = Signal()
        free = Signal()  # the place beside the output register is empty
        start_behind = Signal()  # a start waits behind the crossbar
        waits_behind = Signal()
        if self.register:
            m.submodules.behind = behind = CrossbarRegister()
            m.d.comb += [
                behind.beat.eq(self.beat),
                behind.push.eq(self.push),
                behind.ended.eq(self.ended),
                behind.output.ready.eq(free),
                self.space.eq(behind.space),
                came.eq(behind.output.payload),
                comes.eq(behind.output.valid & free),
                start_behind.eq(behind.start),
                waits_behind.eq(behind.output.valid),
            ]
        else:
            m.d.comb += [
                self.space.eq(free),
                came.eq(self.beat),
                comes.eq(self.push),
            ]

        # Ready signals and replies to send.
        m.submodules.replies = replies = ReplySender()
        readies = Signal(range(READY_LIMIT + 1))
        load = Signal()
        ready_goes = Signal()
        wiring.connect(m, wiring.flipped(self.answer), replies.answer)
        m.d.comb += [
            replies.byte.eq(self.reply_byte),
            replies.place.eq(self.reply_place),
            replies.push.eq(self.reply_push),
            self.reply_full.eq(replies.full),
            ready_goes.eq(load & (readies != 0)),
            replies.take.eq(load & (readies == 0) & replies.waiting),
            replies.muted.eq(readies != 0),
        ]
        # A ready signal that is sent and a repair cancel each other. The head's ready signal comes last in the cycle. A
        # carry chain would be slower, and no smaller.
        rest = Signal.like(readies)
        ready_moves = Signal()
        m.d.comb += [
            ready_moves.eq((self.repair ^ ready_goes) & ~(self.repair & readies.all())),
            rest.eq(_stepped(readies, ready_moves, ready_goes)),
        ]
        m.d.sync += readies.eq(_stepped(rest, self.send_ready & ~rest.all(), 0))

        # The place beside the output register takes an inserted symbol when the output register is loaded. At other
        # times it takes a symbol that comes.
        payload = Signal(SYMBOL_BITS, reset_less=True)
        beside = Signal(CrossbarBeat, reset_less=True)
        valid = Signal()
        taken = Signal()
        m.d.comb += [
            load.eq(~valid | self.tx.ready | self.looped),
            free.eq(~taken),
        ]
        # The symbol from the crossbar is known last in a cycle; all other values are ready before it.
        stays = Signal()
        closes_beside = Signal()
        closes_here = Signal()
        m.d.comb += [
            stays.eq(Mux(load, (readies != 0) | replies.waiting, taken)),
            closes_beside.eq(load & taken & beside.closes & ~self.ended),
            closes_here.eq(load & ~taken & came.closes & ~self.ended),
        ]
        m.d.sync += [taken.eq(stays | ~load & comes), self.closed.eq(closes_beside | closes_here & comes)]
        with m.If(load):
            m.d.sync += [
                beside.symbol.eq(replies.symbol | Mux(readies != 0, Control.READY, 0)),
                beside.closes.eq(0),
            ]
        with m.Elif(free):
            m.d.sync += [beside.symbol.eq(came.symbol), beside.closes.eq(came.closes & ~self.ended)]
        with m.Elif(self.ended):
            m.d.sync += beside.closes.eq(0)

        # The output register.
        fresh = Signal()
        m.d.sync += fresh.eq(load)
        with m.If(load):
            m.d.sync += [
                valid.eq(taken | comes),
                payload.eq(Mux(taken, beside.symbol, came.symbol)),
            ]
        m.d.comb += [
            self.tx.payload.eq(payload),
            self.tx.valid.eq(valid & ~self.looped),
            self.loop_symbol.eq(payload),
            self.loop_valid.eq(valid & self.looped),
        ]

        # The ready bit.
        start_enters = Signal()
        m.d.comb += [
            start_enters.eq(fresh & valid & is_start(payload)),
            self.ready.eq(self.ready_bit & ~start_enters & ~(taken & is_start(beside.symbol)) & ~start_behind),
        ]
        with m.If(start_enters | self.ready_clear):
            m.d.sync += self.ready_bit.eq(0)
        with m.Elif(self.ready_set | self.ready_arrived):
            m.d.sync += self.ready_bit.eq(1)

        m.d.comb += self.busy.eq(valid | taken | waits_behind | (readies != 0) | replies.waiting | self.closed)

        if platform == "formal":
            self.probes = SimpleNamespace(
                beside=beside,
                taken=taken,
                readies=readies,
                fresh=fresh,
                replies=replies,
                payload=payload,
                valid=valid,
                behind=behind if self.register else None,
            )
            m.d.comb += Assert(~(self.push & ~self.space), "the crossbar pushes only into a free place")
        return m
