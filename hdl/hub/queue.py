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
    """FIFO of symbols whose end can be taken back.

    Parameters
    ----------
    capacity : int
        Entries that it holds, at least 4.

    Members
    -------
    write, entry : In(1), In(9)
        Writes an entry; only when not ``full``.
    first : In(1)
        With ``write``: the entry replaces all that is not committed.
    commit : In(1)
        With ``write``: all that was written is committed.
    cut : In(1)
        What is not committed is taken back before the write of this cycle.
    full : Out(1)
        No place is free.
    clear : In(1)
        All that was committed before this cycle is thrown away.
    flush : In(1)
        All that was committed before the last commit, which brought more than one entry, is thrown away. ``clear`` wins.
    oldest, valid : Out(9), Out(1)
        The oldest entry that is committed.
    empty : Out(1)
        Nothing is committed, be it ``valid`` yet or not.
    pop : In(1)
        The oldest entry is taken; only when ``valid``, and not together with ``clear`` or ``flush``.
    level : Out(9)
        Entries inside, those that are not committed included; with bit 8 set there are more than 255.

    Timing
    ------
    An entry that is written in cycle t and committed at once is the oldest in cycle t + 2 if the queue is empty. One entry in
    and one out in every cycle. ``full`` and ``level`` follow the writes and the pops at once. In the cycle after a ``clear`` nothing is
    valid, in the cycle after a ``flush`` what is left is.

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
            "write": In(1), "entry": In(SYMBOL_BITS), "first": In(1), "commit": In(1), "cut": In(1), "full": Out(1),
            "clear": In(1), "flush": In(1),
            "oldest": Out(SYMBOL_BITS), "valid": Out(1), "empty": Out(1, init=1), "pop": In(1), "level": Out(LEVEL_BITS + 1),
        })

    def elaborate(self, platform):
        m = Module()
        depth = 1 << self.capacity.bit_length()
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=depth, init=[])
        write_port, read_port = storage.write_port(), storage.read_port()

        written = Signal(range(depth))    # end of what is written
        committed = Signal(range(depth))  # end of what the head may see
        before = Signal(range(depth), reset_less=True)  # the same before the last commit
        taken = Signal(range(depth))      # where the head stands
        end, after = Signal(range(depth)), Signal(range(depth))
        m.d.comb += [
            end.eq(Mux(self.cut | self.write & self.first, committed, written)),
            after.eq(end + self.write),
            write_port.addr.eq(end),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
        ]
        m.d.sync += written.eq(after)
        with m.If(self.write & self.commit):
            m.d.sync += [committed.eq(after), before.eq(committed)]

        inside = Signal(range(depth))
        m.d.comb += [
            inside.eq(written - taken),
            self.full.eq(inside == self.capacity),
            self.level.eq(Cat(inside[:LEVEL_BITS], inside[LEVEL_BITS:].any())),
        ]

        next_taken = Signal(range(depth))
        pending = Signal()
        with m.If(self.clear):
            m.d.comb += next_taken.eq(committed)
        with m.Elif(self.flush):
            m.d.comb += next_taken.eq(before)
        with m.Else():
            m.d.comb += next_taken.eq(taken + self.pop)
        m.d.comb += [
            pending.eq(committed != next_taken),
            read_port.addr.eq(next_taken),
            self.oldest.eq(read_port.data),
        ]
        m.d.sync += [
            taken.eq(next_taken),
            self.valid.eq(pending),
            self.empty.eq(~pending & ~(self.write & self.commit)),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, taken=taken, committed=committed, written=written)
            m.d.comb += [
                Assert(inside <= self.capacity, "the queue holds no more than its capacity"),
                Assert((committed - taken)[:len(taken)] <= inside, "the head sees no more than was written"),
                Assert(self.empty == (committed == taken), "empty is told at once"),
            ]
        return m
