"""The input queue of a port: a FIFO that takes a symbol in every cycle and drops what finds it full.

Source: "The Design of Nectar" (1989), sections 4.1 and 5.2 (HUB and CAB have the same fiber circuit) and 4.2.3 (1
kbyte). ``docs/hub.md`` gives the room for framing on top of the kilobyte.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .symbol import MAX_PACKET, SYMBOL_BITS

__all__ = ["QUEUE_DEPTH", "SymbolQueue"]

#: Symbols that a port's input queue holds: a packet, and room for its framing and its commands.
QUEUE_DEPTH = MAX_PACKET + 128


class SymbolQueue(wiring.Component):
    """A queue that cannot refuse.

    Parameters
    ----------
    depth : int
        Symbols that it holds, 2 or more.
    width : int
        Bits of what it holds, 1 or more; a symbol, and marks that travel with it if wanted.

    Members
    -------
    push : In
        ``payload`` enters in a cycle in which ``valid`` is 1, or is lost.
    output : Out(stream.Signature(width))
        The oldest entry.
    level : Out(range(depth + 1))
        Entries inside, ``output`` included.
    overflow : Out(1)
        What ``push`` offers in this cycle is lost: the queue is full.
    clear : In(1)
        Empties the queue; what is pushed in the same cycle is thrown away too.

    Timing
    ------
    One entry in and one out in every cycle. An entry that is pushed in cycle t into an empty queue is at ``output`` in
    cycle t + 3. In a full queue an entry that leaves does not yet make room in the same cycle.

    Raises
    ------
    TypeError, ValueError
        If ``depth`` or ``width`` is not an integer, or too small.
    """

    def __init__(self, depth=QUEUE_DEPTH, width=SYMBOL_BITS):
        for name, value, least in (("depth", depth, 2), ("width", width, 1)):
            if not isinstance(value, int):
                raise TypeError(f"a queue's {name} must be an integer, not {value!r}")
            if value < least:
                raise ValueError(f"a queue's {name} must be at least {least}, not {value}")
        self.depth = depth
        self.width = width
        super().__init__(
            {
                "push": In(wiring.Signature({"payload": Out(width), "valid": Out(1)})),
                "output": Out(stream.Signature(width)),
                "level": Out(range(depth + 1)),
                "overflow": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        """A memory of a power of two, so that pointers wrap by themselves; it is read ahead."""
        m = Module()
        # One word more than fits would make a full queue look like an empty one.
        size = 1 << ceil_log2(self.depth + 1)
        # What it reads at the place that is being written is not used: the queue is empty, and what comes is read a
        # cycle later. If synthesis did not know that, the queue would take 99 LUTs instead of 76.
        m.submodules.memory = data = memory.Memory(shape=self.width, depth=size, init=[], attrs={"no_rw_check": 1})
        write = data.write_port()
        read = data.read_port()

        written = Signal(range(size))
        taken = Signal(range(size))
        head = Signal(range(size))
        store = Signal()
        ahead = Signal()  # what is read out of the memory is an entry
        load = Signal()
        pop = Signal()
        m.d.comb += [
            self.overflow.eq(self.push.valid & (self.level == self.depth)),
            store.eq(self.push.valid & ~self.overflow),
            write.addr.eq(written),
            write.data.eq(self.push.payload),
            write.en.eq(store),
            pop.eq(self.output.valid & self.output.ready),
            # The memory is slow: an entry leaves out of a register.
            load.eq(ahead & (~self.output.valid | self.output.ready)),
            head.eq(taken + load),
            read.addr.eq(head),
        ]
        m.d.sync += [
            written.eq(written + store),
            taken.eq(head),
            ahead.eq(head != written),
            self.level.eq(self.level + store - pop),
        ]
        with m.If(load):
            m.d.sync += [self.output.payload.eq(read.data), self.output.valid.eq(1)]
        with m.Elif(pop):
            m.d.sync += self.output.valid.eq(0)
        with m.If(self.clear):
            m.d.sync += [written.eq(taken), taken.eq(taken), ahead.eq(0), self.output.valid.eq(0), self.level.eq(0)]

        if platform == "formal":
            look = data.read_port(domain="comb")
            self.probes = SimpleNamespace(address=look.addr, data=look.data, taken=taken, ahead=ahead)
            count = Signal(range(size))
            m.d.comb += [
                count.eq(written - taken),
                Assert(
                    count == self.level - self.output.valid,
                    "the level is the distance of the pointers, and what is in the register",
                ),
                Assert(self.level <= self.depth, "no more entries than there is room for"),
            ]
        return m
