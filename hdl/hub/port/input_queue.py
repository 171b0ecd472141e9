"""Input queue of a port: a kilobyte and room for framing. A command becomes visible only when it is complete.

Source: "The Design of Nectar" (1989), sections 4.1 and 4.2.3. The extra room and the commit are ours (``docs/hub.md``).
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import COMMAND_LENGTH, SYMBOL_BITS
from ..messages import LEVEL_BITS

__all__ = ["InputQueue"]

#: In a queue of less, four entries that come at once would make it tight before one of them has been read.
_LEAST = 9


def _sum(low, number):
    """``low``, two bits, and a ``number`` of 0 to 4, by LUTs. A carry chain over the whole address would be 6 LUTs and
    9 flip-flops less, but with it a HUB of 8 ports ran at 107 MHz, and without it at 124."""
    return Array(Const(n % 4 + min(n // 4, 4), 3) for n in range(4 << len(number)))[Cat(low, number)]


class InputQueue(wiring.Component):
    """FIFO of symbols. The symbols of a command are added together.

    Parameters
    ----------
    capacity : int
        Entries that the queue holds, at least 9.

    Members
    -------
    write, entry, offset, first : In(1), In(9), In(range(4)), In(1)
        Writes an entry, even without room: if ``first`` the next behind the committed entries, otherwise the one that
        is ``offset`` behind the next. ``first`` may come later in the cycle than ``offset``.
    commit : In(1)
        Only with ``write``: commits this entry and all places before it, 1, 2 or 4 in all. One entry only when not
        ``full``. More entries only when not ``tight``, or, two of them, with ``clear``.
    amount : In(range(1, 5))
        With ``commit`` 1 if ``first``, otherwise ``offset`` + 1. It may come earlier in the cycle than ``first``.
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
                "offset": In(range(COMMAND_LENGTH)),
                "first": In(1),
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

        # The address behind the last committed entry, in two parts, so no long carry chain stands behind ``offset``.
        low = Signal(2, init=1)
        high = Signal(bits - 2)
        above = Signal(bits - 2, init=1)  # ``high`` + 1
        # The low part and the carry, of ``address`` and behind a commit.
        at = Signal(3)
        behind = Signal(3)
        next_read = Signal(bits, init=1)  # address of the first entry that has not been read from the memory
        unread = Signal(range(self.capacity + 1))  # number of committed entries that have not been read
        some = Signal()  # there are such entries
        address = Signal(bits)
        commits = Signal()
        reads = Signal()
        short = [unread == self.capacity - 1 - n for n in range(1, COMMAND_LENGTH + 1)]  # the room is n entries
        level = unread
        if len(unread) > LEVEL_BITS:
            level = Cat(unread[: LEVEL_BITS - 1], unread[LEVEL_BITS - 1 :].any())
        m.d.comb += [
            at.eq(_sum(low, self.offset)),
            behind.eq(_sum(low, self.amount)),
            # ``first`` is known last, and the block RAM is far away.
            address.eq(Mux(self.first, Cat(low, high), Cat(at[:2], Mux(at[2], above, high)))),
            write_port.addr.eq(address),
            write_port.data.eq(self.entry),
            write_port.en.eq(self.write),
            commits.eq(self.commit),
            read_port.addr.eq(next_read),
            read_port.en.eq(~self.valid | self.pop),
            reads.eq(read_port.en & some),
            self.oldest.eq(read_port.data),
            self.empty.eq(~self.valid & ~some),
            self.level.eq(level),
            # When room is short, one entry has been read already.
            self.tight.eq(self.full | Cat(short[:-1]).any()),
        ]
        with m.If(commits):
            m.d.sync += low.eq(behind)
            with m.If(behind[2]):
                m.d.sync += [high.eq(above), above.eq(above + 1)]
        # Whether something is committed is known late in the cycle.
        step = Signal.like(self.amount)  # amount - reads
        one, two, four = self.amount
        m.d.comb += step.eq(Cat(one ^ reads, Mux(reads, four, two), four & ~reads))
        m.d.sync += [
            unread.eq(Mux(commits, unread + step, unread - reads)),
            some.eq(commits | ~self.clear & (unread[1:].any() | unread[0] & ~reads)),
            # It gets full by one entry or by four, since two are committed only where there is room for four. A
            # comparison behind the register would be 2 levels of logic more in front of what becomes of a symbol.
            self.full.eq(~self.clear & ~reads & Mux(commits, Mux(four, short[3], short[0]), self.full)),
        ]
        with m.If(self.clear):
            m.d.sync += [unread.eq(Mux(commits, self.amount[:2], 0)), self.valid.eq(0), next_read.eq(Cat(low, high))]
        with m.Else():
            m.d.sync += next_read.eq(next_read + reads)
            with m.If(read_port.en):
                m.d.sync += self.valid.eq(reads)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            inside = Signal(bits)
            end = Signal(bits)
            m.d.comb += [inside.eq(unread + self.valid), end.eq(Cat(low, high))]
            self.probes = SimpleNamespace(address=look.addr, data=look.data, level=inside, end=end, unread=unread)
            m.d.comb += [
                Assert(inside <= self.capacity, "the queue holds no more than its capacity"),
                Assert(self.empty == (inside == 0), "empty is told at once"),
                Assert(some == (unread != 0)),
                Assert(self.full == (unread == self.capacity - 1)),
                Assert(unread < self.capacity, "when room is short, one entry has been read"),
                Assert(above == (high + 1)[: bits - 2]),
                Assert((end - next_read)[:bits] == unread, "what is unread stands behind what is read"),
            ]
        return m
