"""Input queue of a port: a kilobyte and room for framing; a command becomes visible only when it is complete.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.3. The extra room and the commit are ours (``docs/hub.md``).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import COMMAND_LENGTH, SYMBOL_BITS

__all__ = ["InputQueue", "LEVEL_BITS"]

#: Bits of a fill as it is read; one bit more tells that it is greater.
LEVEL_BITS = 8


class InputQueue(wiring.Component):
    """FIFO of symbols to which a command is added as a whole.

    Parameters
    ----------
    capacity : int
        Entries that it holds, at least 4.

    Members
    -------
    write, entry, place : In(1), In(9), In(range(4))
        Writes an entry ``place`` places behind those that are committed; 0 only when not ``full``, and more only when it has not been
        ``tight`` since the last commit.
    commit : In(1)
        With ``write``: this entry and all places before it are committed.
    full, tight : Out(1), Out(1)
        There is no room for an entry, for a whole command.
    clear : In(1)
        All that was committed before this cycle is thrown away, save what is taken in it.
    oldest, valid : Out(9), Out(1)
        The oldest entry that is committed.
    empty : Out(1)
        Nothing is committed, be it ``valid`` yet or not.
    pop : In(1)
        The oldest entry is taken; only when ``valid``.
    level : Out(9)
        Entries that are committed; with bit 8 set there are more than 255.

    Timing
    ------
    An entry that is committed in cycle t is the oldest in cycle t + 2 if the queue is empty. One entry in and one out in every
    cycle. ``full``, ``tight`` and ``level`` follow the commits and the pops at once. In the cycle after a ``clear`` nothing is valid.

    Raises
    ------
    TypeError, ValueError
        If ``capacity`` is not an int of at least 4.
    """

    def __init__(self, capacity):
        if not isinstance(capacity, int) or isinstance(capacity, bool):
            raise TypeError(f"capacity of a queue must be an int, not {capacity!r}")
        if capacity < COMMAND_LENGTH:
            raise ValueError(f"a queue must hold a command of {COMMAND_LENGTH} symbols, not {capacity}")
        self.capacity = capacity
        super().__init__({
            "write": In(1), "entry": In(SYMBOL_BITS), "place": In(range(COMMAND_LENGTH)), "commit": In(1),
            "full": Out(1), "tight": Out(1), "clear": In(1),
            "oldest": Out(SYMBOL_BITS), "valid": Out(1), "empty": Out(1, init=1), "pop": In(1), "level": Out(LEVEL_BITS + 1),
        })

    def elaborate(self, platform):
        m = Module()
        depth = 1 << self.capacity.bit_length()
        # What is read in the cycle in which it is written is not valid; synthesis need not care what it is.
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=depth, init=[], attrs={"no_rw_check": 1})
        write_port, read_port = storage.write_port(), storage.read_port()

        committed = Signal(range(depth))  # end of what the head may see
        taken = Signal(range(depth))      # where the head stands
        address, commits = Signal(range(depth)), Signal()
        m.d.comb += [
            address.eq(committed + self.place),
            write_port.addr.eq(address),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
            commits.eq(self.write & self.commit),
        ]
        with m.If(commits):
            m.d.sync += committed.eq(address + 1)

        inside = Signal(range(depth))
        m.d.comb += [
            inside.eq(committed - taken),
            self.full.eq(inside == self.capacity),
            self.tight.eq(Cat(inside == self.capacity - n for n in range(COMMAND_LENGTH)).any()),
            self.level.eq(Cat(inside[:LEVEL_BITS], inside[LEVEL_BITS:].any())),
        ]

        next_taken = Signal(range(depth))
        remains = Signal()
        m.d.comb += [
            next_taken.eq(Mux(self.clear, committed, taken + self.pop)),
            remains.eq(~self.clear & (inside[1:].any() | (inside[0] & ~self.pop))),
            read_port.addr.eq(next_taken),
            self.oldest.eq(read_port.data),
        ]
        m.d.sync += [
            taken.eq(next_taken),
            self.valid.eq(remains),
            self.empty.eq(~remains & ~commits),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, taken=taken, committed=committed)
            m.d.comb += [
                Assert(inside <= self.capacity, "the queue holds no more than its capacity"),
                Assert(self.empty == (inside == 0), "empty is told at once"),
                Assert(~self.valid | ~self.empty, "only what is there is valid"),
            ]
        return m
