"""Way past the input queue: a symbol that finds the queue empty passes on in the same cycle, or waits here in front of
it.

The queue's block RAM needs three cycles; the few places here need one, and none if nothing waits: what comes from the
fiber is written to the next free place at the same time as to the input register. Only symbols outside of commands come
this way, since a command must wait until it is complete; a command for this HUB that is complete may be taken without
having been in the queue.

Source: ours (``docs/hub.md``, "Timing").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from .entry import is_own

__all__ = ["Bypass", "BYPASS_ROOM"]

#: Symbols that may wait between queue and head.
BYPASS_ROOM = 3


class Bypass(wiring.Component):
    """FIFO between queue and head that falls through.

    Members
    -------
    coming : In(9)
        What the port's input register holds in the next cycle.
    plain : In(1)
        The input register holds a symbol that belongs to no command.
    open, divert : Out(1), Out(1)
        Such a symbol comes this way, and must not be written to the queue; there is one, and it does.
    oldest, oldest_valid, pop_queue, empty : In(9), In(1), Out(1), In(1)
        The queue.
    clear : In(1)
        What is here, and what comes in this cycle, is thrown away, save what is taken.
    entry, own, valid, pop : Out(9), Out(1), Out(1), In(1)
        For the head. ``own`` of what is valid: it is the first entry of a command for this HUB, which always comes from
        the queue.
    clean : Out(1)
        Nothing is here nor in the queue; what is in the input register is at ``entry``, valid or not.
    busy : Out(1)
        Something is here.

    Timing
    ------
    A symbol in the input register is ``valid`` in the same cycle if it finds the places here and the queue ``clean``.
    One symbol in and one out in every cycle. From the queue's ``oldest`` to ``entry`` one cycle. A stream flows without
    gaps: while the head takes a symbol in every cycle, one is written to the queue only when all places here are taken,
    and those take longer to leave than the queue needs.
    """

    def __init__(self):
        super().__init__(
            {
                "coming": In(SYMBOL_BITS),
                "plain": In(1),
                "open": Out(1),
                "divert": Out(1),
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
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # One place more than may wait, for what is coming.
        places = BYPASS_ROOM + 1
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=places, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        pushed = Signal(range(places))
        popped = Signal(range(places))
        next_pushed = Signal.like(pushed)  # with what comes in
        next_popped = Signal.like(popped)  # if something leaves
        some = Signal()
        full = Signal()
        # What is in the input register stands in the next free place; what came while the reset moved that place does
        # not.
        fresh = Signal()
        # What the queue gives comes late in a cycle, so all else is ready before it.
        arrives = Signal(SYMBOL_BITS, attrs={"keep": 1})
        m.d.comb += [
            arrives.eq(Mux(self.pop_queue, 0, self.coming)),
            full.eq((pushed - popped)[: len(pushed)] == BYPASS_ROOM),
            self.open.eq(self.empty & fresh & ~full),
            self.divert.eq(self.plain & self.open),
            self.pop_queue.eq(self.oldest_valid & ~full),
            self.valid.eq(some | self.plain & self.empty & fresh),
            self.entry.eq(read_port.data),
            self.clean.eq(self.empty & ~some & fresh),
            self.busy.eq(some),
            read_port.addr.eq(popped),
            write_port.addr.eq(pushed + self.divert),
            write_port.data.eq(arrives | self.oldest & self.pop_queue.replicate(SYMBOL_BITS)),
            write_port.en.eq(1),
        ]
        # ``pop`` is known last; both cases are ready before it.
        # if something leaves there is more; if nothing leaves there is something
        more = Signal()
        stay = Signal()
        m.d.comb += [
            next_pushed.eq(pushed + (self.pop_queue | self.divert)),
            next_popped.eq(popped + 1),
            more.eq(~self.clear & (next_pushed != next_popped)),
            stay.eq(~self.clear & (next_pushed != popped)),
        ]
        m.d.sync += [
            some.eq(more & self.pop | stay & ~self.pop),
            fresh.eq(~self.pop_queue),
            pushed.eq(next_pushed),
            popped.eq(Mux(self.clear, next_pushed, Mux(self.pop, next_popped, popped))),
        ]

        # The head asks first of all whether the entry begins a command: registers know it, and not the memory.
        owns = Signal(places, reset_less=True)  # of each place
        comes_own = Signal()
        came_own = Signal(reset_less=True)
        # The next entry is what was written last; if not, whether it begins a command. Behind a reset there is none.
        newest = Signal(reset_less=True)
        was_own = Signal(reset_less=True)
        m.d.comb += [
            comes_own.eq(self.pop_queue & is_own(self.oldest)),
            self.own.eq(newest & came_own | was_own),
        ]
        m.d.sync += [
            owns.bit_select(write_port.addr, 1).eq(comes_own),
            came_own.eq(comes_own),
        ]
        here, behind = (write_port.addr == place for place in (popped, next_popped))
        own_here, own_behind = (owns.bit_select(place, 1) for place in (popped, next_popped))
        m.d.sync += [
            newest.eq(behind & self.pop | here),
            was_own.eq(~self.clear & (own_behind & ~behind & self.pop | own_here & ~here & ~self.pop)),
        ]

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.probes = SimpleNamespace(address=look.addr, data=look.data, pushed=pushed, popped=popped, owns=owns)
            m.d.comb += [
                Assert((pushed - popped)[: len(pushed)] <= BYPASS_ROOM, "no symbol is written over another"),
                Assert(~(self.divert & self.pop_queue), "one symbol at a time comes in"),
                Assert(Mux(some, self.own == owns.bit_select(popped, 1), ~self.own | ~fresh)),
            ]
        return m
