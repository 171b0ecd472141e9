"""Replies that have arrived at a port and wait for the reply bus, byte by byte.

Source: "The Design of Nectar" (1989), section 4.2.1; the room for four is ours (``docs/hub.md``, "Replies").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import COMMAND_LENGTH

__all__ = ["ReplyBuffer", "ReplySource", "ARRIVED_ROOM"]

#: Replies that wait at a port for the reply bus.
ARRIVED_ROOM = 4


class ReplySource(wiring.Signature):
    """Replies of a port, as the reply bus takes them.

    Members
    -------
    valid : Out(1)
        A reply waits.
    place, byte : In(2), Out(8)
        The byte at this place of the oldest reply: opcode (1), HUB (2) or value (3).
    pop : In(1)
        The oldest reply is taken out.
    """

    def __init__(self):
        super().__init__({"valid": Out(1), "place": In(2), "byte": Out(8), "pop": In(1)})


class ReplyBuffer(wiring.Component):
    """FIFO of replies, written and read by the byte.

    Members
    -------
    byte, place, strobe : In(8), In(2), In(1)
        A byte of a reply that arrives: opcode (1), HUB (2) or value (3). The value completes the reply. A reply that is
        not completed is replaced by the next.
    lost : Out(1)
        The reply that is completed in this cycle found no room when its opcode arrived.
    source : Out(ReplySource)
        The oldest reply.

    Timing
    ------
    A reply that is completed in cycle t is ``valid`` in cycle t + 1 if no reply is before it. Room that becomes free in
    a cycle can be used in the next.
    """

    def __init__(self):
        super().__init__({"byte": In(8), "place": In(2), "strobe": In(1), "lost": Out(1), "source": Out(ReplySource())})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=8, depth=ARRIVED_ROOM * COMMAND_LENGTH, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        pushed = Signal(range(2 * ARRIVED_ROOM))
        popped = Signal(range(2 * ARRIVED_ROOM))
        full = Signal()
        comes = Signal()
        some = Signal()  # a reply is here; a register, since the reply bus needs it early in a cycle
        no_room = Signal()  # the reply that arrives found no room
        m.d.comb += [
            # There are never more replies than the room. The next reply is written over one that found no room.
            full.eq((pushed - popped)[len(pushed) - 1]),
            write_port.addr.eq(Cat(self.place, pushed[:-1])),
            write_port.data.eq(self.byte),
            write_port.en.eq(self.strobe & ~full),
            self.lost.eq(self.strobe & (self.place == COMMAND_LENGTH - 1) & no_room),
            read_port.addr.eq(Cat(self.source.place, popped[:-1])),
            self.source.byte.eq(read_port.data),
            self.source.valid.eq(some),
            comes.eq(self.strobe & (self.place == COMMAND_LENGTH - 1) & ~no_room),
        ]
        with m.If(self.strobe & (self.place == 1)):
            m.d.sync += no_room.eq(full)
        m.d.sync += [
            pushed.eq(pushed + comes),
            popped.eq(popped + self.source.pop),
            some.eq(comes | some & ~(self.source.pop & (pushed == (popped + 1)[: len(popped)]))),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.probes = SimpleNamespace(
                address=look.addr, data=look.data, pushed=pushed, popped=popped, no_room=no_room
            )
            m.d.comb += [
                Assert((pushed - popped)[: len(pushed)] <= ARRIVED_ROOM, "no reply is written over another"),
                Assert(some == (pushed != popped)),
            ]
        return m
