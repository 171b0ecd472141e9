"""Output side of a port: the register in front of the fiber, and what is inserted there.

Source: "The Design of Nectar" (1989), sections 4.1, 4.2.1 and 4.2.3; ``docs/hub.md``, "Output side of a port".
"""

from amaranth.hdl import Array, Assert, Module, Signal
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from .close_all import CloseAllDetector
from .messages import Reply

__all__ = ["OutputPort", "REPLY_ROOM", "READY_LIMIT"]

#: Replies that wait for an output register, the one that is being sent included.
REPLY_ROOM = 4
#: Ready signals that wait for an output register; more than that say nothing new.
READY_LIMIT = 15


class OutputPort(wiring.Component):
    """Puts ready signals, replies and the crossbar's symbols on the fiber, in this order of precedence.

    Members
    -------
    symbol, push : In(9), In(1)
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
        A close all entered the output register in the cycle before: the connection leading here ends.
    tx : Out(stream.Signature(9))
        The fiber.
    busy : Out(1)
        Something waits to be sent or to be closed.

    Timing
    ------
    A symbol that comes in cycle t is at ``tx`` in cycle t + 2 if nothing is in its way: a register behind the crossbar and the
    output register. The register behind the crossbar has a second place, so that ``space`` depends on registers only and
    a stream flows without gaps.
    """

    def __init__(self):
        super().__init__({
            "symbol": In(SYMBOL_BITS), "push": In(1), "space": Out(1, init=1),
            "send_ready": In(1), "ready_arrived": In(1),
            "reply": In(Reply), "reply_push": In(1), "reply_full": Out(1),
            "ready": Out(1), "closed": Out(1),
            "tx": Out(stream.Signature(SYMBOL_BITS)), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        # Two places behind the crossbar; the symbol in `front` is the older one.
        front, back = Signal(SYMBOL_BITS), Signal(SYMBOL_BITS)
        level, next_level = Signal(range(3)), Signal(range(3))
        take = Signal()
        m.d.comb += next_level.eq(level + self.push - take)
        m.d.sync += [level.eq(next_level), self.space.eq(next_level != 2)]
        with m.If(self.push & ((level == 0) | take)):
            m.d.sync += front.eq(self.symbol)
        with m.Elif(take):
            m.d.sync += front.eq(back)
        with m.If(self.push):
            m.d.sync += back.eq(self.symbol)

        # Ready signals to send.
        readies = Signal(range(READY_LIMIT + 1))
        take_ready = Signal()
        with m.If(take_ready & ~self.send_ready):
            m.d.sync += readies.eq(readies - 1)
        with m.Elif(self.send_ready & ~take_ready & (readies != READY_LIMIT)):
            m.d.sync += readies.eq(readies + 1)

        # Replies to send; `place` counts the symbols of the first one that have been sent.
        m.submodules.replies = replies = fifo.SyncFIFO(width=len(self.reply.as_value()), depth=REPLY_ROOM)
        reply = Reply(replies.r_data)
        place = Signal(range(COMMAND_LENGTH))
        take_reply = Signal()
        reply_symbol = Signal(SYMBOL_BITS)
        m.d.comb += [
            replies.w_data.eq(self.reply),
            replies.w_en.eq(self.reply_push),
            self.reply_full.eq(~replies.w_rdy),
            replies.r_en.eq(take_reply & (place == COMMAND_LENGTH - 1)),
            reply_symbol.eq(Array([Control.REPLY, reply.op, reply.hub, reply.value])[place]),
        ]
        with m.If(take_reply):
            m.d.sync += place.eq(place + 1)

        # The output register.
        load = Signal()
        m.d.comb += load.eq(~self.tx.valid | self.tx.ready)
        with m.If(load):
            m.d.sync += self.tx.valid.eq(1)
            with m.If(readies != 0):
                m.d.comb += take_ready.eq(1)
                m.d.sync += self.tx.payload.eq(Control.READY)
            with m.Elif(replies.r_rdy):
                m.d.comb += take_reply.eq(1)
                m.d.sync += self.tx.payload.eq(reply_symbol)
            with m.Elif(level != 0):
                m.d.comb += take.eq(1)
                m.d.sync += self.tx.payload.eq(front)
            with m.Else():
                m.d.sync += self.tx.valid.eq(0)

        # What the symbols that enter it from the crossbar do.
        m.submodules.close_all = close_all = CloseAllDetector()
        ready_bit = Signal(init=1)
        m.d.comb += [
            close_all.symbol.eq(front),
            close_all.strobe.eq(take),
            self.ready.eq(ready_bit & ~((level != 0) & (front == Control.START)) & ~((level == 2) & (back == Control.START))),
        ]
        m.d.sync += self.closed.eq(close_all.last)
        with m.If(take & (front == Control.START)):
            m.d.sync += ready_bit.eq(0)
        with m.Elif(self.ready_arrived):
            m.d.sync += ready_bit.eq(1)

        m.d.comb += self.busy.eq(self.tx.valid | (level != 0) | (readies != 0) | replies.r_rdy | self.closed)

        if platform == "formal":
            m.d.comb += [
                Assert(self.space == (level != 2), "space tells that a place is free"),
                Assert(~(self.push & ~self.space), "the crossbar pushes only into a free place"),
            ]
        return m
