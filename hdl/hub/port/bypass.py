"""Way past the input queue: a symbol that finds the queue empty waits in registers in front of the head.

The way through the queue's block RAM takes four cycles, a register here one. Only symbols outside of commands come this
way, since a command must wait until it is complete. Source: ours (``docs/hub.md``, "Timing").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from .entry import is_control_code, is_own
from .places import Places

__all__ = ["Bypass", "BYPASS_ROOM"]

#: Symbols that may wait between queue and head: as many as leave while the next symbol comes through the queue.
BYPASS_ROOM = 4


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
    entry, own, control_code, valid, pop : Out(9), Out(1), Out(1), Out(1), In(1)
        For the head, as there.
    clean : Out(1)
        Nothing is here nor in the queue.

    Timing
    ------
    One cycle, and one more from the queue: its block RAM takes most of a cycle. One symbol in and one out in every
    cycle. All outputs depend on registers only. A stream that was held up goes on without gaps.
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
                "control_code": Out(1),
                "valid": Out(1),
                "pop": In(1),
                "clean": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Whether an entry begins a command, and bit 8 of the symbol that it passes on, are kept beside it (4
        # flip-flops each): head and crossbar need to know them early in a cycle.
        places = Places(SYMBOL_BITS + 2, BYPASS_ROOM)
        fetched = Signal(SYMBOL_BITS, reset_less=True)  # what the block RAM has given
        fetched_valid = Signal()
        kinds = Cat(is_own(fetched), is_control_code(fetched))
        coming = Mux(fetched_valid, Cat(fetched, kinds), Cat(self.symbol, 0, self.symbol[8]))
        room = Signal()
        enters = Signal()  # the entry from the block RAM goes on to the places
        m.d.comb += [
            room.eq(~places.some[-1]),
            enters.eq(fetched_valid & room),
            self.open.eq(self.empty & ~fetched_valid & room),
            self.pop_queue.eq(self.oldest_valid & (~fetched_valid | room)),
            Cat(self.entry, self.own, self.control_code).eq(places.entries[0]),
            self.valid.eq(places.some[0]),
            self.clean.eq(self.empty & ~fetched_valid & ~self.valid),
        ]
        with m.If(~fetched_valid | room):
            m.d.sync += [fetched.eq(self.oldest), fetched_valid.eq(self.oldest_valid)]
        with m.If(self.clear):
            m.d.sync += fetched_valid.eq(0)
        places.connect(m, coming, enters | self.plain & self.open, self.pop, self.clear)

        if platform == "formal":
            self.probes = SimpleNamespace(places=places, fetched=fetched, fetched_valid=fetched_valid)
            m.d.comb += [
                Assert((places.some & (places.some + 1)) == 0, "the places are taken from the first on"),
                Assert(~(self.open & enters), "one symbol at a time comes in"),
            ]
        return m
