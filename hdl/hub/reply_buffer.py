"""Replies of a port that wait for the reply bus: those that arrived, and the answers to commands that arrived.

Source: "The Design of Nectar" (1989), section 4.2.1; the room for four is ours (``docs/hub.md``, "Replies").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .messages import Reply, RoutedReply

__all__ = ["ReplyBuffer", "ARRIVED_ROOM"]

#: Replies that wait at a port for the reply bus.
ARRIVED_ROOM = 4


class ReplyBuffer(wiring.Component):
    """FIFO with two ways in.

    Members
    -------
    arrived, arrived_valid : In(Reply), In(1)
        A reply that has arrived; it cannot wait.
    lost : Out(1)
        The reply that arrives in this cycle finds no room.
    answer : In(stream.Signature(Reply))
        An answer; it waits when there is no room, or when a reply arrives in the same cycle.
    output : Out(stream.Signature(RoutedReply))
        The oldest.

    Timing
    ------
    What comes in in cycle t is at ``output`` in cycle t + 1 if nothing is before it. One in and one out in every cycle; room
    that becomes free in a cycle can be used in the next.
    """

    def __init__(self):
        super().__init__({"arrived": In(Reply), "arrived_valid": In(1), "lost": Out(1),
                          "answer": In(stream.Signature(Reply)), "output": Out(stream.Signature(RoutedReply))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=RoutedReply, depth=ARRIVED_ROOM, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        pushed, popped = Signal(range(2 * ARRIVED_ROOM)), Signal(range(2 * ARRIVED_ROOM))
        full = Signal()
        m.d.comb += [
            full.eq((pushed - popped)[:len(pushed)] == ARRIVED_ROOM),
            self.lost.eq(self.arrived_valid & full),
            self.answer.ready.eq(~self.arrived_valid & ~full),
            write_port.addr.eq(pushed),
            write_port.data.own.eq(~self.arrived_valid),
            write_port.en.eq((self.arrived_valid | self.answer.valid) & ~full),
            read_port.addr.eq(popped),
            self.output.payload.eq(read_port.data),
            self.output.valid.eq(pushed != popped),
        ]
        with m.If(self.arrived_valid):
            m.d.comb += write_port.data.reply.eq(self.arrived)
        with m.Else():
            m.d.comb += write_port.data.reply.eq(self.answer.payload)
        with m.If(write_port.en):
            m.d.sync += pushed.eq(pushed + 1)
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += popped.eq(popped + 1)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, pushed=pushed, popped=popped)
            m.d.comb += Assert((pushed - popped)[:len(pushed)] <= ARRIVED_ROOM, "no reply is written over another")
        return m
