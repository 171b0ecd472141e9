"""Way past the input queue: a symbol that finds the queue empty passes on in the same cycle, or waits here in front of
the queue.

The queue's block RAM needs three cycles. The few places here need one cycle, and none if nothing waits: a symbol from
the fiber is written to the next free place at the same time as to the input register. Only symbols outside of commands
come this way, since a command must wait until it is complete. A complete command for this HUB may be taken without
having been in the queue.

Source: ours (``docs/hub.md``, "Timing").
"""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...link.symbol import SYMBOL_BITS
from .entry import is_own

__all__ = ["Bypass", "BYPASS_ROOM"]

#: Symbols that may wait between queue and head.
BYPASS_ROOM = 3
#: One place more than symbols may wait, for the symbol that is coming.
_PLACES = BYPASS_ROOM + 1


class _Signals:
    """What the sections of the bypass share; proofs look into them."""

    def __init__(self):
        self.pushed = Signal(range(_PLACES))  # the next free place
        self.popped = Signal(range(_PLACES))  # the place of the oldest entry
        self.next_popped = Signal(range(_PLACES))  # if a symbol leaves
        self.some = Signal()  # something is here
        # The symbol in the input register stands in the next free place, too. ``fresh`` is 0 where this does not hold:
        # an entry of the queue was written in the cycle in which the symbol came, or the port was reset.
        self.fresh = Signal()
        # The queue's entry comes late in a cycle, so all other values are ready before it.
        self.arrives = Signal(SYMBOL_BITS, attrs={"keep": 1})
        self.owns = Signal(_PLACES, reset_less=True)  # whether the entry in each place begins a command


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
        """What comes; what the head sees; the places; which entries begin commands."""
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=_PLACES, init=[])
        s = _Signals()
        self._open(m, s)
        self._show(m, s, storage.read_port(domain="comb"))
        written = self._write(m, s, storage.write_port())
        self._count(m, s)
        self._mark(m, s, written)
        if platform == "formal":
            look = storage.read_port(domain="comb")
            s.address, s.data = look.addr, look.data
            self.probes = s
            m.d.comb += [
                Assert((s.pushed - s.popped)[: len(s.pushed)] <= BYPASS_ROOM, "no symbol is written over another"),
                Assert(~(self.divert & self.pop_queue), "one symbol at a time comes in"),
                Assert(Mux(s.some, self.own == s.owns.bit_select(s.popped, 1), ~self.own | ~s.fresh)),
            ]
        return m

    def _open(self, m, s):
        """Whether a symbol past the queue comes in this cycle, or the queue's oldest entry: one of them, and only if
        there is room."""
        full = Signal()
        m.d.comb += [
            s.arrives.eq(Mux(self.pop_queue, 0, self.coming)),
            full.eq((s.pushed - s.popped)[: len(s.pushed)] == BYPASS_ROOM),
            self.open.eq(self.empty & s.fresh & ~full),
            self.divert.eq(self.plain & self.open),
            self.pop_queue.eq(self.oldest_valid & ~full),
        ]

    def _show(self, m, s, read_port):
        """What the head sees: the oldest entry here, or the symbol in the input register if nothing is here."""
        m.d.comb += [
            self.valid.eq(s.some | self.plain & self.empty & s.fresh),
            self.entry.eq(read_port.data),
            self.clean.eq(self.empty & ~s.some & s.fresh),
            self.busy.eq(s.some),
            read_port.addr.eq(s.popped),
        ]

    def _write(self, m, s, write_port):
        """Writes the next free place in every cycle: the queue's oldest entry, or else the symbol that comes to the
        input register. The symbol counts in the next cycle, if it goes past the queue then. Returns the place."""
        m.d.comb += [
            write_port.addr.eq(s.pushed + self.divert),
            write_port.data.eq(s.arrives | self.oldest & self.pop_queue.replicate(SYMBOL_BITS)),
            write_port.en.eq(1),
        ]
        return write_port.addr

    def _count(self, m, s):
        """The entries that have come and gone, from the next cycle on. ``pop`` is known last in a cycle; both cases are
        ready before it."""
        next_pushed = Signal.like(s.pushed)  # counting the symbol that comes in
        more = Signal()  # if a symbol leaves, there is more
        stay = Signal()  # if no symbol leaves, there is something
        m.d.comb += [
            next_pushed.eq(s.pushed + (self.pop_queue | self.divert)),
            s.next_popped.eq(s.popped + 1),
            more.eq(~self.clear & (next_pushed != s.next_popped)),
            stay.eq(~self.clear & (next_pushed != s.popped)),
        ]
        m.d.sync += [
            s.some.eq(more & self.pop | stay & ~self.pop),
            s.fresh.eq(~self.pop_queue),
            s.pushed.eq(next_pushed),
            s.popped.eq(Mux(self.clear, next_pushed, Mux(self.pop, s.next_popped, s.popped))),
        ]

    def _mark(self, m, s, written):
        """Whether the next entry begins a command. The head needs to know this first. Therefore registers hold the bit
        of each entry, not the memory. ``written``: the place that is written in this cycle."""
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
            s.owns.bit_select(written, 1).eq(comes_own),
            came_own.eq(comes_own),
        ]
        here, behind = (written == place for place in (s.popped, s.next_popped))
        own_here, own_behind = (s.owns.bit_select(place, 1) for place in (s.popped, s.next_popped))
        m.d.sync += [
            newest.eq(behind & self.pop | here),
            was_own.eq(~self.clear & (own_behind & ~behind & self.pop | own_here & ~here & ~self.pop)),
        ]
