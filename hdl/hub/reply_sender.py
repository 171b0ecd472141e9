"""Replies of a port that wait for its output register, and the symbols of the oldest of them one by one.

Source: "The Design of Nectar" (1989), section 4.2.1; the room for four is ours (``docs/hub.md``, "Replies").
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from .messages import Reply

__all__ = ["ReplySender", "REPLY_ROOM"]

#: Replies that wait for an output register, the one that is being sent included.
REPLY_ROOM = 4


class ReplySender(wiring.Component):
    """FIFO of replies that is written by the reply and read by the symbol.

    Members
    -------
    reply, push : In(Reply), In(1)
        A reply to send; only when not ``full``.
    full : Out(1)
        There is no room. The room of a reply is free when its last symbol has been taken.
    symbol, waiting : Out(9), Out(1)
        The next symbol, and that there is one.
    take : In(1)
        The symbol is taken; only when ``waiting``.

    Timing
    ------
    A reply that is pushed in cycle t is ``waiting`` from cycle t + 1 on; ``full`` follows what is pushed and taken in the
    next cycle.
    """

    def __init__(self):
        super().__init__({"reply": In(Reply), "push": In(1), "full": Out(1),
                          "symbol": Out(SYMBOL_BITS), "waiting": Out(1), "take": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=Reply, depth=REPLY_ROOM, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        # Both count modulo twice the room; `sent` counts symbols.
        pushed = Signal(range(2 * REPLY_ROOM))
        sent = Signal(range(2 * REPLY_ROOM * COMMAND_LENGTH))
        place, done = sent[:exact_log2(COMMAND_LENGTH)], sent[exact_log2(COMMAND_LENGTH):]
        m.d.comb += [
            write_port.addr.eq(pushed),
            write_port.data.eq(self.reply),
            write_port.en.eq(self.push),
            read_port.addr.eq(done),
            self.waiting.eq((pushed != done) | (place != 0)),
            self.full.eq((pushed - done)[:len(pushed)] == REPLY_ROOM),
            self.symbol.eq(Array([Control.REPLY, read_port.data.op, read_port.data.hub, read_port.data.value])[place]),
        ]
        with m.If(self.push):
            m.d.sync += pushed.eq(pushed + 1)
        with m.If(self.take):
            m.d.sync += sent.eq(sent + 1)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, pushed=pushed, sent=sent)
            m.d.comb += Assert(((pushed << len(place)) - sent)[:len(sent)] <= REPLY_ROOM * COMMAND_LENGTH,
                                 "no reply is written over another")
        return m
