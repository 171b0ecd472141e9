"""Round-robin arbiter.

It is made for speed. The asking members are taken in groups of four: one part finds the group, while another part finds
the member within each group.

Source: "The Design of Nectar" (1989), section 4.1 (a central controller serialises); the rule of turns is ours.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
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
    keep : In(1)
        The pick of this cycle is in vain. It is no turn: the next pick is counted from the same place as this pick.
    pick : Out(count)
        One-hot: the first member that asks, counted upwards from behind the last turn; 0 if no member asks.

    Timing
    ------
    ``pick`` in the same cycle, for any ``keep``. Every pick without ``keep`` counts as a turn. A member that asks
    without pause waits for at most count - 1 turns of others.

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
        super().__init__({"asks": In(count), "keep": In(1), "pick": Out(count)})

    def elaborate(self, platform):
        m = Module()
        groups = self._groups
        behind = Signal(self.count)  # members behind the last turn; none if the last turn was the highest member's
        after = Signal(self.count)  # members behind the picked member
        inner = Signal(self.count)  # within each group of four the member that would be picked
        picked = Signal(len(groups))  # the group of the one that is picked
        # groups in which a member asks; in which a member behind the last turn asks
        asking = Signal(len(groups))
        first = Signal(len(groups))
        for g, group in enumerate(groups):
            asks, mask = self.asks[group.start : group.stop], behind[group.start : group.stop]
            own = inner[group.start : group.stop]
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
                own.eq(early | late & ~first[g].replicate(len(group))),
                picked[g].eq(first[g] & sooner | asking[g] & later),
                self.pick[group.start : group.stop].eq(
                    early & sooner.replicate(len(group)) | late & later.replicate(len(group))
                ),
                after[group.start : group.stop].eq(
                    Cat(picked[:g].any() | picked[g] & own[:n].any() for n in range(len(group)))
                ),
            ]
        with m.If(self.asks.any() & ~self.keep):
            m.d.sync += behind.eq(after)

        if platform == "formal":
            last = Signal(self.count)  # the last turn; none after a reset, which counts as a turn of the highest member
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
                    self.pick == Cat(inner[n] & picked[n // _GROUP] for n in range(self.count)),
                    "both forms name the same one",
                ),
            ]
        return m
