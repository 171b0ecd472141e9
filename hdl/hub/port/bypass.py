"""Way past the input queue: a symbol that finds the queue empty waits in registers in front of the head.

The queue's block RAM needs three cycles, a register here one. Only symbols outside of commands come this way, since a
command must wait until it is complete. Source: ours (``docs/hub.md``, "Timing").
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from .entry import is_own
from .places import Places

__all__ = ["Bypass", "BYPASS_ROOM"]

#: Symbols that may wait between queue and head: as many as leave while the next symbol comes through the queue.
BYPASS_ROOM = 3


class Bypass(wiring.Component):
    """FIFO between queue and head.

    Members
    -------
    symbol, plain : In(9), In(1)
        The symbol in the port's input register; it is there, and belongs to no command.
    open : Out(1)
        A ``plain`` symbol comes this way, and must not be written to the queue.
    oldest, oldest_valid, pop_queue, empty : In(9), In(1), Out(1), In(1)
        The queue.
    clear : In(1)
        The symbols here, and the symbol that comes in this cycle, are thrown away, except a symbol that is taken.
    entry, own, valid, pop : Out(9), Out(1), Out(1), In(1)
        For the head. ``own``: the entry is the first of a command for this HUB.
    clean : Out(1)
        Nothing is here nor in the queue.

    Timing
    ------
    One cycle; one symbol in and one out in every cycle. All outputs depend on registers only. A stream that was held
    up goes on without gaps.
    """

    def __init__(self):
        super().__init__(
            {
                "symbol": In(SYMBOL_BITS),
                "plain": In(1),
                "open": Out(1),
                "oldest": In(SYMBOL_BITS),
                "oldest_valid": In(1),
                "pop_queue": Out(1),
                "empty": In(1),
                "clear": In(1),
                "entry": Out(SYMBOL_BITS),
                "own": Out(1),
                "valid": Out(1),
                "pop": In(1),
                "clean": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Whether an entry begins a command is kept beside it: the head needs to know it early in a cycle.
        places = Places(SYMBOL_BITS + 1, BYPASS_ROOM)
        coming = Mux(self.oldest_valid, Cat(self.oldest, is_own(self.oldest)), self.symbol)
        room = Signal()
        m.d.comb += [
            room.eq(~places.some[-1]),
            self.open.eq(self.empty & room),
            self.pop_queue.eq(self.oldest_valid & room),
            Cat(self.entry, self.own).eq(places.entries[0]),
            self.valid.eq(places.some[0]),
            self.clean.eq(self.empty & ~self.valid),
        ]
        places.connect(m, coming, self.pop_queue | self.plain & self.open, self.pop, self.clear)

        if platform == "formal":
            self.probes = places
            m.d.comb += [
                Assert((places.some & (places.some + 1)) == 0, "the places are taken from the first on"),
                Assert(~(self.open & self.pop_queue), "one symbol at a time comes in"),
            ]
        return m
