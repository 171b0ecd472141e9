"""Round-robin arbiter.

It is made for speed: those that ask are taken in groups of four, and while one part finds the group another finds the
one within each group. Whoever needs something that belongs to the one picked need not wait for ``pick``: see
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
    """Picks one of those that ask, in turns by number.

    Parameters
    ----------
    count : int
        Number of those that may ask, at least 1.

    Members
    -------
    asks : In(count)
        Who asks.
    keep : In(1)
        The pick of this cycle is in vain: it is no turn, and the next pick is counted from where this one was.
    pick : Out(count)
        One-hot: the first that asks, counted upwards from behind the one picked last; 0 if nobody does.
    inner, group : Out(count), Out(groups)
        The same in two parts: within each group of four the one that would be picked, and the group, one-hot.

    Timing
    ------
    ``pick`` in the same cycle, whatever ``keep`` is. Every other pick counts as a turn. Who asks without pause waits
    for at most count - 1 turns of others.

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
            {"asks": In(count), "keep": In(1), "pick": Out(count), "inner": Out(count), "group": Out(len(self._groups))}
        )

    def chosen(self, values):
        """The one of ``values`` (of the same shape, one for each that may ask) that belongs to the one picked; 0 if
        nobody is."""
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
        behind = Signal(self.count)  # those behind the one picked last; none if that is the last of all
        after = Signal(self.count)  # those behind the one that is picked
        # groups in which somebody asks; in which somebody behind the last does
        asking = Signal(len(groups))
        first = Signal(len(groups))
        for g, group in enumerate(groups):
            asks, mask = self.asks[group.start : group.stop], behind[group.start : group.stop]
            inner = self.inner[group.start : group.stop]
            early, late = _first(asks & mask), _first(asks)
            # the group's turn, with and without regard to the last
            sooner = Signal(name=f"sooner_{g}")
            later = Signal(name=f"later_{g}")
            m.d.comb += [
                asking[g].eq(asks.any()),
                first[g].eq((asks & mask).any()),
                sooner.eq(~first[:g].any()),
                # Whoever is behind the last in a lower group asks there, too.
                later.eq(~asking[:g].any() & ~first[g:].any()),
                inner.eq(early | late & ~first[g].replicate(len(group))),
                self.group[g].eq(first[g] & sooner | asking[g] & later),
                self.pick[group.start : group.stop].eq(
                    early & sooner.replicate(len(group)) | late & later.replicate(len(group))
                ),
                after[group.start : group.stop].eq(
                    Cat(self.group[:g].any() | self.group[g] & inner[:n].any() for n in range(len(group)))
                ),
            ]
        with m.If(self.asks.any() & ~self.keep):
            m.d.sync += behind.eq(after)

        if platform == "formal":
            last = Signal(self.count)  # the one picked last; none after a reset, as if it were the last of all
            with m.If(self.asks.any() & ~self.keep):
                m.d.sync += last.eq(self.pick)
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
