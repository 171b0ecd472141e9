"""Round-robin arbiter.

It is made for speed: those that ask are taken in groups of four, and while one part finds the group another finds the one
within each group.

Source: "The Design of Nectar" (1989), section 4.1 (a central controller serialises); the rule of turns is ours.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Arbiter"]

_GROUP = 4


def _first(mask):
    """One-hot: the lowest bit that is set."""
    return Cat(bit & ~mask[:n].any() if n else bit for n, bit in enumerate(mask))


def _behind(one_hot):
    """The bits above the one that is set; none if none is."""
    return Cat(one_hot[:n].any() if n else 0 for n in range(len(one_hot)))


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
    pick : Out(count)
        One-hot: the first that asks, counted upwards from behind the one picked last; 0 if nobody does.

    Timing
    ------
    ``pick`` in the same cycle. Every pick counts as a turn. Who asks without pause waits for at most count - 1 others.

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
        super().__init__({"asks": In(count), "pick": Out(count)})

    def elaborate(self, platform):
        m = Module()
        last = Signal(self.count)  # the one picked last
        groups = [range(n, min(n + _GROUP, self.count)) for n in range(0, self.count, _GROUP)]
        asking, turn = Signal(len(groups)), Signal(len(groups))  # groups in which somebody asks; the group picked last
        rest = Signal(len(groups))     # somebody behind the last asks in its group
        following = Signal(len(groups))  # one-hot: the next group of the others, the last one's again if there is no other
        ahead = Signal(len(groups))
        m.d.comb += [
            ahead.eq(asking & _behind(turn)),
            following.eq(Mux(ahead.any(), _first(ahead), _first(asking))),
        ]
        for g, group in enumerate(groups):
            asks, before = self.asks[group.start:group.stop], last[group.start:group.stop]
            behind = Signal(len(group), name=f"behind_{g}")
            m.d.comb += [
                asking[g].eq(asks.any()),
                turn[g].eq(before.any()),
                behind.eq(asks & _behind(before)),
                rest[g].eq(behind.any()),
                self.pick[group.start:group.stop].eq(
                    Mux(rest.any(), _first(behind), _first(asks) & following[g].replicate(len(group)))),
            ]
        with m.If(self.asks.any()):
            m.d.sync += last.eq(self.pick)

        if platform == "formal":
            self.spy = SimpleNamespace(last=last)
            m.d.comb += [
                Assert((last & (last - 1))[:self.count] == 0, "at most one was picked last"),
                Assert((self.pick & (self.pick - 1))[:self.count] == 0, "at most one is picked"),
                Assert((self.pick & ~self.asks) == 0, "only who asks is picked"),
                Assert((self.asks == 0) == (self.pick == 0), "if somebody asks somebody is picked"),
            ]
        return m
