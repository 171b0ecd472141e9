"""Round-robin arbiter.

Source: "The Design of Nectar" (1989), section 4.1 (a central controller serialises); the rule of turns is ours.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Arbiter"]


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
        behind = Signal(self.count)  # those behind the one picked last
        preferred, pool = Signal(self.count), Signal(self.count)
        m.d.comb += [
            preferred.eq(self.asks & behind),
            pool.eq(Mux(preferred != 0, preferred, self.asks)),
            self.pick.eq(pool & -pool),
        ]
        with m.If(self.asks != 0):
            m.d.sync += behind.eq(~(self.pick | (self.pick - 1)))

        if platform == "formal":
            self.spy = SimpleNamespace(behind=behind)
            m.d.comb += [
                Assert((~behind & (~behind + 1))[:self.count] == 0, "those behind are the upper ones"),
                Assert(~behind[0], "nobody is behind all"),
                Assert((self.pick & (self.pick - 1))[:self.count] == 0, "at most one is picked"),
                Assert((self.pick & ~self.asks) == 0, "only who asks is picked"),
                Assert((self.asks == 0) == (self.pick == 0), "if somebody asks somebody is picked"),
            ]
        return m
