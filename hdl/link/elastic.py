"""The elastic buffer: takes symbols at the pace of a distant clock, gives them at the pace of this one.

Source: ``docs/serial.md``, "Elastic buffer". Ours; the prototype had TAXI chips.
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .symbol import SYMBOL_BITS

__all__ = ["ElasticBuffer", "DEPTH", "HEAD_START"]

#: Symbols that an elastic buffer holds.
DEPTH = 8
#: Symbols of a run that have come when its first one leaves, unless it has fewer.
HEAD_START = 2


class ElasticBuffer(wiring.Component):
    """Stores no idles, and gives one symbol in each slot.

    A *run* are symbols that come without an idle between them. Its first one waits until ``HEAD_START`` of them are
    there or the run is over, so that no idle stands between them when they leave, though they come somewhat more slowly
    than they leave.

    Members
    -------
    push : In
        ``payload``, which is not idle, comes in a cycle in which ``valid`` is 1.
    idle : In(1)
        An idle comes, or nothing does: the run is over.
    slot : In(1)
        A symbol's time begins on this side.
    output : Out
        ``payload`` leaves in a cycle in which ``valid`` is 1.
    overflow : Out(1)
        What ``push`` offers in this cycle is lost: there is no room.

    Timing
    ------
    ``output`` is valid in the cycle after a slot, or not at all for this slot. What comes in the cycle of a slot leaves
    in a later slot. If ``idle`` and ``push`` come in one cycle, the run is over behind the symbol.
    """

    def __init__(self):
        link = wiring.Signature({"payload": Out(SYMBOL_BITS), "valid": Out(1)})
        super().__init__({"push": In(link), "idle": In(1), "slot": In(1), "output": Out(link), "overflow": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = memory.Memory(shape=SYMBOL_BITS, depth=DEPTH, init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        pushed, popped, level = (Signal(range(2 * DEPTH), name=name) for name in ("pushed", "popped", "level"))
        newest_first = Signal()  # the newest symbol is the first of a run: it matters only while there is no other
        over = Signal(init=1)  # the run is over: what comes next is the first of another
        store = Signal()
        leaves = Signal()
        m.d.comb += [
            level.eq((pushed - popped)[: len(level)]),
            self.overflow.eq(self.push.valid & (level == DEPTH)),
            store.eq(self.push.valid & ~self.overflow),
            write.addr.eq(pushed[:-1]),
            write.data.eq(self.push.payload),
            write.en.eq(store),
            read.addr.eq(popped[:-1]),
            leaves.eq(self.slot & (level != 0) & (~newest_first | over | (level >= HEAD_START))),
        ]
        m.d.sync += [
            pushed.eq(pushed + store),
            popped.eq(popped + leaves),
            self.output.valid.eq(leaves),
            self.output.payload.eq(read.data),
        ]
        with m.If(store):
            m.d.sync += newest_first.eq(over)
        with m.If(self.idle):
            m.d.sync += over.eq(1)
        with m.Elif(store):
            m.d.sync += over.eq(0)
        if platform == "formal":
            look = storage.read_port(domain="comb")
            self.probes = SimpleNamespace(
                level=level,
                over=over,
                newest_first=newest_first,
                leaves=leaves,
                address=look.addr,
                data=look.data,
                popped=popped,
            )
            m.d.comb += Assert(level <= DEPTH, "no more symbols than there is room for")
        return m
