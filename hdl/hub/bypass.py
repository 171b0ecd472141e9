"""Way past the input queue: a symbol that finds the queue empty passes on in the same cycle, or waits here in front of it.

The queue's block RAM needs three cycles; the few places here need one, and none if nothing waits. Only symbols outside of
commands come this way, since a command must wait until it is complete; a command for this HUB that is complete may
be taken without having been in the queue.

Source: ours (``docs/hub.md``, "Timing").
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..link.symbol import SYMBOL_BITS

__all__ = ["Bypass", "BYPASS_ROOM"]

#: Symbols that may wait between queue and head.
BYPASS_ROOM = 4


class Bypass(wiring.Component):
    """FIFO between queue and head that falls through.

    Members
    -------
    symbol, plain : In(9), In(1)
        The port's input register, and that it holds a symbol that belongs to no command.
    divert : Out(1)
        The symbol comes this way; it must not be written to the queue.
    oldest, oldest_valid, pop_queue, empty : In(9), In(1), Out(1), In(1)
        The queue.
    clear : In(1)
        What is here is thrown away; nothing comes or goes in this cycle.
    entry, valid, pop : Out(9), Out(1), In(1)
        For the head.
    clean : Out(1)
        Nothing is here nor in the queue, save what is in the input register.
    busy : Out(1)
        Something is here.

    Timing
    ------
    ``plain`` to ``valid`` in the same cycle if ``clean``, else in order. One symbol in and one out in every cycle. From the
    queue's ``oldest`` to ``entry`` one cycle. A stream flows without gaps: a symbol is written to the queue only when all
    places here are taken, and those take longer to leave than the queue needs.
    """

    def __init__(self):
        super().__init__({
            "symbol": In(SYMBOL_BITS), "plain": In(1), "divert": Out(1),
            "oldest": In(SYMBOL_BITS), "oldest_valid": In(1), "pop_queue": Out(1), "empty": In(1), "clear": In(1),
            "entry": Out(SYMBOL_BITS), "valid": Out(1), "pop": In(1), "clean": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=BYPASS_ROOM, init=[])
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")

        pushed, popped = Signal(range(2 * BYPASS_ROOM)), Signal(range(2 * BYPASS_ROOM))
        some, full = Signal(), Signal()
        m.d.comb += [
            some.eq(pushed != popped),
            full.eq((pushed - popped)[:len(pushed)] == BYPASS_ROOM),
            self.divert.eq(self.plain & self.empty & ~full & ~self.clear),
            self.pop_queue.eq(self.oldest_valid & ~full & ~self.clear),
            self.valid.eq(some | self.plain & self.empty),
            self.entry.eq(Mux(some, read_port.data, self.symbol)),
            self.clean.eq(self.empty & ~some),
            self.busy.eq(some),
            read_port.addr.eq(popped),
            write_port.addr.eq(pushed),
            write_port.data.eq(Mux(self.oldest_valid, self.oldest, self.symbol)),
            write_port.en.eq(self.pop_queue | self.divert),
        ]
        with m.If(self.pop_queue | self.divert & (some | ~self.pop)):
            m.d.sync += pushed.eq(pushed + 1)
        with m.If(self.pop & some):
            m.d.sync += popped.eq(popped + 1)
        with m.If(self.clear):
            m.d.sync += popped.eq(pushed)

        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.spy = SimpleNamespace(address=look.addr, data=look.data, pushed=pushed, popped=popped)
            m.d.comb += [
                Assert((pushed - popped)[:len(pushed)] <= BYPASS_ROOM, "no symbol is written over another"),
                Assert(~(self.divert & self.pop_queue), "one symbol at a time comes in"),
            ]
        return m
