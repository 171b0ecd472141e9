"""Input queue of a port: a kilobyte and room for framing; a command becomes visible only when it is complete.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.3. The extra room and the commit are ours (``docs/hub.md``).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Const, Module, Signal, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from ..messages import LEVEL_BITS

__all__ = ["InputQueue"]

#: In a queue of less, four entries that come at once would make it tight before one of them has been read.
_LEAST = 9


class InputQueue(wiring.Component):
    """FIFO of symbols to which a command is added as a whole.

    Parameters
    ----------
    capacity : int
        Entries that it holds, at least 9.

    Members
    -------
    write, entry, place : In(1), In(9), In(range(1, 5))
        Writes an entry, the ``place``-th behind those that are committed, be there room or not.
    commit : In(1)
        Only with ``write``: this entry and all places before it are committed; 1, 2 or 4 of them, one only when not
        ``full``, more only when it has not been ``tight`` since the last commit.
    amount : In(range(1, 5))
        With ``commit`` the same as ``place``; it may come earlier in the cycle than that.
    full, tight : Out(1), Out(1)
        There is no room for an entry, for a whole command.
    clear : In(1)
        All that was committed before this cycle is thrown away, save what is taken in it. At most two entries are
        committed in the same cycle, and these have room, and at most one in the next.
    oldest, valid : Out(9), Out(1)
        The oldest entry that is committed.
    empty : Out(1)
        Nothing is committed, be it ``valid`` yet or not.
    pop : In(1)
        The oldest entry is taken; only when ``valid``.
    level : Out(10)
        One less the entries that are committed, not counting the oldest if that is ``valid``: nine bits of it, signed,
        and whether there are more entries than these can tell.

    Timing
    ------
    An entry that is committed in cycle t is the oldest in cycle t + 2 if the queue is empty. One entry in and one out
    in every cycle. ``full``, ``tight`` and ``level`` follow the commits and the pops at once, save that two entries
    which are committed in the cycle of a ``clear`` are valid a cycle later, and ``level`` counts the second of them a
    cycle later. In the cycle after a ``clear`` nothing is valid.

    Raises
    ------
    TypeError, ValueError
        If ``capacity`` is not an int of at least 9.
    """

    def __init__(self, capacity):
        if not isinstance(capacity, int) or isinstance(capacity, bool):
            raise TypeError(f"capacity of a queue must be an int, not {capacity!r}")
        if capacity < _LEAST:
            raise ValueError(f"a queue must hold {_LEAST} symbols or more, not {capacity}")
        self.capacity = capacity
        super().__init__(
            {
                "write": In(1),
                "entry": In(SYMBOL_BITS),
                "place": In(range(1, COMMAND_LENGTH + 1)),
                "commit": In(1),
                "amount": In(range(1, COMMAND_LENGTH + 1)),
                "full": Out(1),
                "tight": Out(1),
                "clear": In(1),
                "oldest": Out(SYMBOL_BITS),
                "valid": Out(1),
                "empty": Out(1),
                "pop": In(1),
                "level": Out(LEVEL_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = (self.capacity + COMMAND_LENGTH).bit_length()
        # What is read in the cycle in which it is written is not valid; synthesis need not care what it is.
        m.submodules.memory = storage = memory.Memory(
            shape=SYMBOL_BITS, depth=1 << bits, init=[], attrs={"no_rw_check": 1}
        )
        write_port, read_port = storage.write_port(), storage.read_port()

        # Carry chains are what costs most here; there are three. ``committed`` is where the last committed entry
        # stands. Those that have not been read from the memory are counted downwards from 1, so that their address
        # takes no more than an addition.
        committed = Signal(bits)
        address = Signal(bits)
        count = Signal(signed(bits + 1), init=1)
        late = Signal()  # one more, of two that were committed in the cycle of a clearing, is still to be counted
        commits = Signal()
        reads = Signal()
        some = Signal()
        negative = count[-1]
        m.d.comb += [
            address.eq(committed + self.place),
            write_port.addr.eq(address),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
            commits.eq(self.commit),
            read_port.addr.eq(committed + count[:bits]),
            read_port.en.eq(~self.valid | self.pop),
            some.eq(negative | ~count[0]),
            reads.eq(read_port.en & some & ~late),
            self.oldest.eq(read_port.data),
            self.empty.eq(~self.valid & ~some),
        ]
        with m.If(commits):
            m.d.sync += committed.eq(address)
        with m.If(read_port.en):
            m.d.sync += self.valid.eq(some & ~late)

        # Minus 0, 1, 2 or 4, plus 1 if one is read, which enters as a carry.
        change = Signal(bits + 1)
        total = Signal(bits + 2)
        m.d.comb += [
            change.eq(
                Cat(
                    (commits & self.amount[0]) ^ late,
                    commits & ~self.amount[2] | late,
                    (commits | late).replicate(bits - 1),
                )
            ),
            total.eq(Cat(Const(1, 1), count) + Cat(reads, change)),
        ]
        # The lowest bit needs no chain, and alone is not 0 behind a clearing.
        m.d.sync += [
            count.eq(Cat(count[0] ^ change[0] ^ reads, total[2:])),
            late.eq(self.clear & commits & self.amount[1]),
        ]
        with m.If(self.clear):
            m.d.sync += [self.valid.eq(0), count.eq(~commits)]

        # When room is short one entry has been read, so the count tells of one less.
        least = 2 - self.capacity
        shown = Signal(signed(max(bits + 1, LEVEL_BITS - 1)))
        m.d.comb += shown.eq(count)
        m.d.comb += [
            self.full.eq(count == least),
            self.tight.eq(Cat(count == least + n for n in range(COMMAND_LENGTH)).any()),
            self.level.eq(Cat(shown[: LEVEL_BITS - 1], negative & ~shown[LEVEL_BITS - 2 :].all())),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            level = Signal(bits)
            m.d.comb += level.eq(1 - count + late + self.valid)
            self.probes = SimpleNamespace(
                address=look.addr, data=look.data, level=level, committed=committed, count=count, late=late
            )
            m.d.comb += [
                Assert(level <= self.capacity, "the queue holds no more than its capacity"),
                Assert(self.empty == (level == 0), "empty is told at once"),
            ]
        return m
