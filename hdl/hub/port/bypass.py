"""Way past the input queue: a symbol that finds the queue empty passes on in the same cycle, or waits here in front of
the queue.

The queue's block RAM needs three cycles. The few places here need one cycle, and none if nothing waits: a symbol from
the fiber is written to the next free place at the same time as to the input register. Only symbols outside of commands
come this way, since a command must wait until it is complete. A complete command for this HUB may be taken without
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
        The symbol that the port's input register holds in the next cycle.
    plain : In(1)
        The input register holds a symbol that belongs to no command.
    open, divert : Out(1), Out(1)
        ``open``: a ``plain`` symbol comes this way, and must not be written to the queue. ``divert``: ``open`` and
        ``plain``.
    oldest, oldest_valid, pop_queue, empty : In(9), In(1), Out(1), In(1)
        The queue.
    clear : In(1)
        The symbols here, and the symbol that comes in this cycle, are thrown away, except a symbol that is taken.
    entry, own, valid, pop : Out(9), Out(1), Out(1), In(1)
        For the head. ``own``: the valid entry is the first of a command for this HUB. Such an entry always comes from
        the queue.
    clean : Out(1)
        Nothing is here nor in the queue. The symbol in the input register is at ``entry``, valid or not.
    busy : Out(1)
        Something is here.

    Timing
    ------
    A symbol in the input register is ``valid`` in the same cycle if the places here and the queue are ``clean``. One
    symbol in and one out in every cycle. From the queue's ``oldest`` to ``entry`` one cycle.

    A stream flows without gaps. While the head takes a symbol in every cycle, a symbol is written to the queue only
    when all places here are taken. The symbols in these places take longer to leave than the queue needs.
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
        # One place more than symbols may wait, for the symbol that is coming.
        places = BYPASS_ROOM + 1
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=places, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        pushed = Signal(range(places))
        popped = Signal(range(places))
        next_pushed = Signal.like(pushed)  # counting the symbol that comes in
        next_popped = Signal.like(popped)  # if a symbol leaves
        some = Signal()
        full = Signal()
        # The symbol in the input register stands in the next free place, too. ``fresh`` is 0 where this does not hold:
        # an entry of the queue was written in the cycle in which the symbol came, or the port was reset.
        fresh = Signal()
        # The queue's entry comes late in a cycle, so all other values are ready before it.
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
        # if a symbol leaves, there is more; if no symbol leaves, there is something
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

        # The head first needs to know whether the entry begins a command. Therefore registers hold this bit, not the
        # memory.
        owns = Signal(places, reset_less=True)  # the bit of each place
        comes_own = Signal()
        came_own = Signal(reset_less=True)
        # ``newest``: the next entry is the one written last. ``was_own``: it is another one, and begins a command.
        # Behind a reset there is no entry.
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
