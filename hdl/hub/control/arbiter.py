"""Round-robin arbiter.

It is made for speed. The asking members are taken in groups of four: one part finds the group, while another part finds
the member within each group. A user of a value that belongs to the picked member need not wait for ``pick``: see
``chosen``.

Source: "The Design of Nectar" (1989), section 4.1 (a central controller serialises); the rule of turns is ours.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Arbiter"]

_GROUP = 4


def _first(mask):
    """One-hot: the lowest bit that is set."""
    return Cat(bit & ~mask[:n].any() if n else bit for n, bit in enumerate(mask))


class Arbiter(wiring.Component):
    """Picks one of the members that ask, in turns by number.

    Parameters
    ----------
    count : int
        Number of members that may ask, at least 1.

    Members
    -------
    asks : In(count)
        The members that ask.
    turn : In(count)
        One-hot: the member whose turn counts, if any. Picks of later cycles are counted from behind it.
    pick : Out(count)
        One-hot: the first member that asks, counted upwards from behind the last turn; 0 if no member asks.
    inner, group : Out(count), Out(groups)
        The same in two parts, each one-hot. ``inner``: within each group of four the member that would be picked.
        ``group``: the group.

    Timing
    ------
    ``pick`` in the same cycle, behind the turns of the cycles before. If every pick counts as a turn at once, a member
    that asks without pause waits for at most count - 1 turns of others.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is not an int of at least 1.
    """

    def __init__(self, count):
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"count of an arbiter must be an int, not {count!r}")
        if count < 1:
            raise ValueError(f"an arbiter needs at least 1 to choose from, not {count}")
        self.count = count
        self._groups = [range(n, min(n + _GROUP, count)) for n in range(0, count, _GROUP)]
        super().__init__(
            {
                "asks": In(count),
                "turn": In(count),
                "pick": Out(count),
                "inner": Out(count),
                "group": Out(len(self._groups)),
            }
        )

    def chosen(self, values):
        """The value that belongs to the picked member; 0 if no member is picked.

        ``values`` has one value for each member, all of the same shape."""
        shape = Value.cast(values[0]).shape()

        def those(mask, from_):
            return reduce(or_, (Value.cast(value) & bit.replicate(shape.width) for bit, value in zip(mask, from_)))

        return those(
            self.group,
            [those(self.inner[group.start : group.stop], values[group.start : group.stop]) for group in self._groups],
        )

    def elaborate(self, platform):
        m = Module()
        groups = self._groups
        behind = Signal(self.count)  # members behind the last turn; none if the last turn was the highest member's
        # groups in which a member asks; in which a member behind the last turn asks
        asking = Signal(len(groups))
        first = Signal(len(groups))
        for g, group in enumerate(groups):
            asks, mask = self.asks[group.start : group.stop], behind[group.start : group.stop]
            inner = self.inner[group.start : group.stop]
            early, late = _first(asks & mask), _first(asks)
            # the group's turn, among members behind the last turn; among all members
            sooner = Signal(name=f"sooner_{g}")
            later = Signal(name=f"later_{g}")
            m.d.comb += [
                asking[g].eq(asks.any()),
                first[g].eq((asks & mask).any()),
                sooner.eq(~first[:g].any()),
                # A member behind the last turn in a lower group counts in ``asking`` there, too.
                later.eq(~asking[:g].any() & ~first[g:].any()),
                inner.eq(early | late & ~first[g].replicate(len(group))),
                self.group[g].eq(first[g] & sooner | asking[g] & later),
                self.pick[group.start : group.stop].eq(
                    early & sooner.replicate(len(group)) | late & later.replicate(len(group))
                ),
            ]
        with m.If(self.turn.any()):
            m.d.sync += behind.eq(Cat(self.turn[:n].any() if n else 0 for n in range(self.count)))

        if platform == "formal":
            last = Signal(self.count)  # the last turn; none after a reset, which counts as a turn of the highest member
            with m.If(self.turn.any()):
                m.d.sync += last.eq(self.turn)
            self.probes = SimpleNamespace(last=last)
            m.d.comb += [
                Assert((last & (last - 1))[: self.count] == 0, "at most one was picked last"),
                Assert(
                    behind == Cat(last[:n].any() if n else 0 for n in range(self.count)),
                    "those behind the last are known",
                ),
                Assert((self.pick & (self.pick - 1))[: self.count] == 0, "at most one is picked"),
                Assert((self.pick & ~self.asks) == 0, "only who asks is picked"),
                Assert((self.asks == 0) == (self.pick == 0), "if somebody asks somebody is picked"),
                Assert(
                    self.pick == Cat(self.inner[n] & self.group[n // _GROUP] for n in range(self.count)),
                    "both forms name the same one",
                ),
            ]
        return m
