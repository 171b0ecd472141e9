"""Replies that wait for a port's output register, symbol by symbol: replies from the reply bus, and the answer of the
port's head.

Source: "The Design of Nectar" (1989), section 4.2.1; the room for four is ours (``docs/hub.md``, "Replies").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import COMMAND_LENGTH, SYMBOL_BITS, Control
from ..messages import Reply

__all__ = ["ReplySender", "REPLY_ROOM"]

#: Replies from the reply bus that wait for an output register, including the reply that is being sent.
REPLY_ROOM = 4


class ReplySender(wiring.Component):
    """FIFO of replies, written and read by the byte. Takes turns with an answer that waits outside.

    Members
    -------
    byte, place, push : In(8), In(2), In(1)
        A byte of a reply from the bus: opcode (1), HUB (2) or value (3), in consecutive cycles. If the opcode comes
        while the FIFO is ``full``, it is not taken, and the other bytes do not come.
    full : Out(1)
        There is no room. The room of a reply is free when its last symbol has been taken.
    answer : In(stream.Signature(Reply))
        The port's own answer; taken with its last symbol.
    symbol, waiting : Out(9), Out(1)
        The next symbol, and that there is a next symbol.
    muted : In(1)
        ``symbol`` is 0.
    take : In(1)
        The symbol is taken. Only when ``waiting``.

    Timing
    ------
    A reply whose last byte is pushed in cycle t is ``waiting`` from cycle t + 1 on, an answer at once. ``full`` follows
    pushes and takes in the next cycle. If a reply and an answer wait, the kind is sent that was not sent last."""

    def __init__(self):
        super().__init__(
            {
                "byte": In(8),
                "place": In(2),
                "push": In(1),
                "full": Out(1),
                "answer": In(stream.Signature(Reply)),
                "symbol": Out(SYMBOL_BITS),
                "waiting": Out(1),
                "muted": In(1),
                "take": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=8, depth=REPLY_ROOM * COMMAND_LENGTH, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        come = Signal(range(2 * REPLY_ROOM))
        sent = Signal(range(2 * REPLY_ROOM))
        m.d.comb += [
            write_port.addr.eq(Cat(self.place, come[:-1])),
            write_port.data.eq(self.byte),
            write_port.en.eq(self.push & ~self.full),
        ]

        at = Signal(range(COMMAND_LENGTH))  # symbol of the reply that is being sent
        # the reply under way is the port's own answer; the next reply would be the answer
        own = Signal()
        turn = Signal()
        last = Signal()
        some = Signal()  # a reply is in the memory
        # the memory gets one more reply; one less
        comes = Signal()
        goes = Signal()
        m.d.comb += [
            turn.eq(self.answer.valid & ~(own & some)),
            self.waiting.eq(some | self.answer.valid),
            last.eq(self.take & (at == COMMAND_LENGTH - 1)),
            self.answer.ready.eq(last & own),
            comes.eq(self.push & (self.place == COMMAND_LENGTH - 1)),
            goes.eq(last & ~own),
        ]
        # ``some`` and ``full`` are needed early in a cycle: therefore they are registers.
        m.d.sync += [
            come.eq(come + comes),
            sent.eq(sent + goes),
            some.eq(comes | some & ~(goes & (come == (sent + 1)[: len(sent)]))),
            self.full.eq(~goes & (self.full | comes & ((come - sent)[: len(come)] == REPLY_ROOM - 1))),
        ]

        # Byte 0 of a reply in the memory is never written, hence 0. So a few gates select the symbol: all terms but one
        # are 0.
        first = Signal()
        second = Signal()
        others = Signal()
        reply = self.answer.payload
        others_byte = Mux(at[1], reply.value, reply.op)
        m.d.comb += [
            first.eq(~self.muted & (at == 0)),
            second.eq(~self.muted & own & (at == 2)),
            others.eq(~self.muted & own & at[0]),
            read_port.addr.eq(Cat(Mux(self.muted | own, 0, at), sent[:-1])),
            self.symbol.eq(
                read_port.data
                | (others_byte & others.replicate(8))
                | (reply.hub & second.replicate(8))
                | Mux(first, Control.REPLY, 0)
            ),
        ]
        with m.If(self.take):
            m.d.sync += at.eq(at + 1)
            with m.If(at == 0):
                m.d.sync += own.eq(turn)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.probes = SimpleNamespace(address=look.addr, data=look.data, come=come, sent=sent, at=at, own=own)
            m.d.comb += [
                Assert((come - sent)[: len(come)] <= REPLY_ROOM, "no reply is written over another"),
                Assert(some == (come != sent)),
                Assert(self.full == ((come - sent)[: len(come)] == REPLY_ROOM)),
                Assert(~self.push | (self.place != 0), "no byte has place 0"),
            ]
            for n in range(REPLY_ROOM):
                unused = storage.read_port(domain="comb")
                m.d.comb += [unused.addr.eq(n * COMMAND_LENGTH), Assert(unused.data == 0, "what is never written is 0")]
        return m
