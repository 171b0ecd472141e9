"""Input queue of a port: a kilobyte and room for framing. A command becomes visible only when it is complete.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.3. The extra room and the commit are ours (``docs/hub.md``).
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from ..messages import LEVEL_BITS

__all__ = ["InputQueue"]

#: In a queue of less, four entries that come at once would make it tight before one of them has been read.
_LEAST = 9


def _sum(low, place):
    """``low``, two bits, and a ``place`` of 1 to 4, without a carry chain."""
    zero, one = low
    sums = (Cat(~zero, zero ^ one, zero & one), Cat(zero, ~one, one), Cat(~zero, ~(zero ^ one), zero | one))
    return Mux(place[2], Cat(low, 1), Mux(place[1], Mux(place[0], sums[2], sums[1]), sums[0]))


class InputQueue(wiring.Component):
    """FIFO of symbols. The symbols of a command are added together.

    Parameters
    ----------
    capacity : int
        Entries that the queue holds, at least 9.

    Members
    -------
    write, entry, place : In(1), In(9), In(range(1, 5))
        Writes an entry, the ``place``-th behind the committed entries, even without room.
    commit : In(1)
        Only with ``write``: commits this entry and all places before it, 1, 2 or 4 in all. One entry only when not
        ``full``. More entries only if the queue has not been ``tight`` since the last commit.
    amount : In(range(1, 5))
        With ``commit`` the same as ``place``. It may come earlier in the cycle than ``place``.
    full, tight : Out(1), Out(1)
        ``full``: there is no room for an entry. ``tight``: there is no room for a whole command.
    clear : In(1)
        All entries committed before this cycle are thrown away, except an entry that is taken in this cycle. At most
        two entries are committed in the same cycle; they stay, and have room.
    oldest, valid : Out(9), Out(1)
        The oldest committed entry.
    empty : Out(1)
        No entry is committed, whether ``valid`` yet or not.
    pop : In(1)
        The oldest entry is taken. Only when ``valid``.
    level : Out(LEVEL_BITS)
        Number of committed entries, without the oldest if it is ``valid``. In a queue of 2048 entries or more the
        highest bit tells that there are 1024 or more.

    Timing
    ------
    An entry that is committed in cycle t is the oldest in cycle t + 2 if the queue is empty. One entry in and one out
    in every cycle. ``full``, ``tight`` and ``level`` follow the commits and the pops at once. In the cycle after a
    ``clear`` nothing is valid.

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
        # An entry that is read in the cycle in which it is written is not valid. Synthesis need not keep its value.
        m.submodules.memory = storage = memory.Memory(
            shape=SYMBOL_BITS, depth=1 << bits, init=[], attrs={"no_rw_check": 1}
        )
        write_port, read_port = storage.write_port(), storage.read_port()

        committed = Signal(bits)  # address of the last committed entry
        first = Signal(bits, init=1)  # address of the first entry that has not been read from the memory
        unread = Signal(range(self.capacity + 1))  # number of committed entries that have not been read
        some = Signal()  # there are such entries
        address = Signal(bits)
        # An address is made of two parts without a long carry chain: ``place`` comes late in the cycle.
        above = Signal(bits - 2, init=1)  # the high part of the next four addresses
        low = Signal(3)
        commits = Signal()
        reads = Signal()
        level = unread
        if len(unread) > LEVEL_BITS:
            level = Cat(unread[: LEVEL_BITS - 1], unread[LEVEL_BITS - 1 :].any())
        m.d.comb += [
            low.eq(_sum(committed[:2], self.place)),
            address.eq(Cat(low[:2], Mux(low[2], above, committed[2:]))),
            write_port.addr.eq(address),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
            commits.eq(self.commit),
            read_port.addr.eq(first),
            read_port.en.eq(~self.valid | self.pop),
            reads.eq(read_port.en & some),
            self.oldest.eq(read_port.data),
            self.empty.eq(~self.valid & ~some),
            self.level.eq(level),
            # When room is short, one entry has been read already.
            self.full.eq(unread == self.capacity - 1),
            self.tight.eq(unread >= self.capacity - COMMAND_LENGTH),
        ]
        with m.If(commits):
            m.d.sync += committed.eq(address)
            with m.If(low[2]):
                m.d.sync += above.eq(above + 1)
        # Whether something is committed is known late in the cycle.
        step = Signal.like(self.amount)  # amount - reads
        one, two, four = self.amount
        m.d.comb += step.eq(Cat(one ^ reads, Mux(reads, four, two), four & ~reads))
        more = Mux(self.clear, self.amount, unread + step)
        rest = Mux(self.clear, 0, unread - reads)
        m.d.sync += [
            unread.eq(Mux(commits, more, rest)),
            some.eq(commits | ~self.clear & (unread[1:].any() | unread[0] & ~reads)),
        ]
        with m.If(self.clear):
            m.d.sync += [self.valid.eq(0), first.eq(committed + 1)]
        with m.Else():
            m.d.sync += first.eq(first + reads)
            with m.If(read_port.en):
                m.d.sync += self.valid.eq(reads)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            inside = Signal(bits)
            m.d.comb += inside.eq(unread + self.valid)
            self.probes = SimpleNamespace(
                address=look.addr, data=look.data, level=inside, committed=committed, unread=unread
            )
            m.d.comb += [
                Assert(inside <= self.capacity, "the queue holds no more than its capacity"),
                Assert(self.empty == (inside == 0), "empty is told at once"),
                Assert(some == (unread != 0)),
                Assert(above == (committed[2:] + 1)[: bits - 2]),
                Assert((committed - first)[:bits] == (unread - 1)[:bits], "what is unread stands behind what is read"),
            ]
        return m
