"""Output side of a port: the register in front of the fiber, and what is inserted there.

Source: "The Design of Nectar" (1989), sections 4.1, 4.2.1 and 4.2.3; ``docs/hub.md``, "Output side of a port".
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS, Control
from .messages import Passage, Reply
from .reply_sender import ReplySender

__all__ = ["OutputPort", "READY_LIMIT"]

#: Ready signals that wait for an output register; more than that say nothing new.
READY_LIMIT = 15

#: Symbols that wait behind the crossbar.
_PLACES = 2


class OutputPort(wiring.Component):
    """Puts ready signals, replies and what comes through the crossbar on the fiber, in this order of precedence.

    Members
    -------
    passage, push : In(Passage), In(1)
        A symbol from the crossbar; only when there is ``space``.
    space : Out(1)
        A symbol may come in this cycle.
    send_ready : In(1)
        A ready signal is to be sent.
    ready_arrived : In(1)
        A ready signal has arrived at this port.
    reply, reply_push : In(Reply), In(1)
        A reply to send; only when not ``reply_full``.
    reply_full : Out(1)
        There is no room for a reply.
    ready : Out(1)
        The ready bit is 1 and no start of packet is on its way to the output register.
    closed : Out(1)
        The last symbol of a close all entered the output register in the cycle before: the connection that leads here ends.
    tx : Out(stream.Signature(9))
        The fiber.
    busy : Out(1)
        Something waits to be sent or to be closed.

    Timing
    ------
    A symbol that comes in cycle t is at ``tx`` in cycle t + 2 if nothing is in its way: a register behind the crossbar and the
    output register. There are two registers behind the crossbar, used in turns, so that ``space`` depends on registers only
    and a stream flows without gaps.
    """

    def __init__(self):
        super().__init__({
            "passage": In(Passage), "push": In(1), "space": Out(1),
            "send_ready": In(1), "ready_arrived": In(1),
            "reply": In(Reply), "reply_push": In(1), "reply_full": Out(1),
            "ready": Out(1), "closed": Out(1),
            "tx": Out(stream.Signature(SYMBOL_BITS)), "busy": Out(1),
        })

    def elaborate(self, platform):
        """What depends on ``tx.ready`` is kept small: a simulator evaluates it whenever an input changes."""
        m = Module()

        # Registers behind the crossbar. All counters count modulo twice of what can be under way.
        places = [Signal(Passage, name=f"place_{n}", reset_less=True) for n in range(_PLACES)]
        pushed, taken = Signal(range(2 * _PLACES)), Signal(range(2 * _PLACES))
        starts_pushed, starts_taken = Signal(range(2 * _PLACES)), Signal(range(2 * _PLACES))
        front, front_start = Signal(Passage), Signal()
        m.d.comb += [
            self.space.eq((pushed - taken)[:len(pushed)] != _PLACES),
            front.eq(Array([place.as_value() for place in places])[taken[0]]),
            front_start.eq(front.symbol == Control.START),
        ]
        with m.If(self.push):
            m.d.sync += pushed.eq(pushed + 1)
            for n, place in enumerate(places):
                with m.If(pushed[0] == n):
                    m.d.sync += place.eq(self.passage)
            with m.If(self.passage.symbol == Control.START):
                m.d.sync += starts_pushed.eq(starts_pushed + 1)

        # Ready signals and replies to send.
        readies, readies_sent = Signal(range(READY_LIMIT + 1)), Signal(range(READY_LIMIT + 1))
        with m.If(self.send_ready & ((readies - readies_sent)[:len(readies)] != READY_LIMIT)):
            m.d.sync += readies.eq(readies + 1)
        m.submodules.replies = replies = ReplySender()
        m.d.comb += [
            replies.reply.eq(self.reply),
            replies.push.eq(self.reply_push),
            self.reply_full.eq(replies.full),
        ]

        # What is next.
        offers_ready, offers_reply, offers_passage = Signal(), Signal(), Signal()
        symbol = Signal(SYMBOL_BITS)
        m.d.comb += [
            offers_ready.eq(readies != readies_sent),
            offers_reply.eq(~offers_ready & replies.waiting),
            offers_passage.eq(~offers_ready & ~replies.waiting & (pushed != taken)),
        ]
        with m.If(offers_ready):
            m.d.comb += symbol.eq(Control.READY)
        with m.Elif(replies.waiting):
            m.d.comb += symbol.eq(replies.symbol)
        with m.Else():
            m.d.comb += symbol.eq(front.symbol)

        # The output register, and the ready bit, which hears of what enters it.
        load = Signal()
        payload = Signal(SYMBOL_BITS, reset_less=True)
        ready_bit = Signal(init=1)
        m.d.comb += [
            load.eq(~self.tx.valid | self.tx.ready),
            replies.take.eq(load & offers_reply),
            self.tx.payload.eq(payload),
            self.ready.eq(ready_bit & (starts_pushed == starts_taken)),
        ]
        m.d.sync += self.closed.eq(load & offers_passage & front.closes)
        with m.If(load):
            m.d.sync += [
                self.tx.valid.eq(offers_ready | offers_reply | offers_passage),
                payload.eq(symbol),
                readies_sent.eq(readies_sent + offers_ready),
                taken.eq(taken + offers_passage),
            ]
        with m.If(self.ready_arrived):
            m.d.sync += ready_bit.eq(1)
        with m.If(load & offers_passage & front_start):
            m.d.sync += [ready_bit.eq(0), starts_taken.eq(starts_taken + 1)]

        m.d.comb += self.busy.eq(self.tx.valid | self.closed | offers_ready | replies.waiting | (pushed != taken))

        if platform == "formal":
            self.spy = SimpleNamespace(places=places, pushed=pushed, taken=taken, starts_pushed=starts_pushed,
                                       starts_taken=starts_taken, readies=readies, readies_sent=readies_sent,
                                       ready_bit=ready_bit, replies=replies)
            m.d.comb += [
                Assert((pushed - taken)[:len(pushed)] <= _PLACES, "no symbol is written over another"),
                Assert(~(self.push & ~self.space), "the crossbar pushes only into a free place"),
            ]
        return m
