"""Outgoing channel: arbiter, selector, status generator, DESTINATION READY.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Status Paths". The
cycles are ours: ``docs/ipsc2.md``, "Circuits".
"""

from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .formats import NIBBLE_START, PAIR_BITS
from .selected import Selected
from .signatures import Lane, Lines

__all__ = ["Outgoing"]


class Outgoing(wiring.Component):
    """An outgoing channel.

    Parameters
    ----------
    count : int
        So many may ask for it, at least 1.

    Members
    -------
    asks, lanes, owner : as in Selected
        Who asks, what they send, who has it.
    status : In(1)
        SEND STATUS: the RDY bit for the message that comes in on the channel of this number.
    rdy, rdy_valid : In(1)
        An RDY bit has arrived on the channel of this number.
    ready : Out(1)
        DESTINATION READY of the owner's message.
    tx : Out(Lines())
        The channel.

    Timing
    ------
    A pair is on ``tx`` in the cycle behind the one in which it is taken. ``status`` is looked at in the cycle in which
    the pair with RDY is taken. ``ready`` follows ``rdy`` in the next cycle.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is not an int of at least 1.
    """

    def __init__(self, count):
        self.selected = Selected(count)
        super().__init__(
            {
                "asks": In(count),
                "lanes": In(Lane()).array(count),
                "owner": Out(count),
                "status": In(1),
                "rdy": In(1),
                "rdy_valid": In(1),
                "ready": Out(1),
                "tx": Out(Lines()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.selected = selected = self.selected
        second = Signal()  # of the nibbles of an idle channel
        owned = Signal()
        pair = Signal(PAIR_BITS)
        m.d.comb += [
            selected.asks.eq(self.asks),
            selected.open.eq(second),
            self.owner.eq(selected.owner),
            owned.eq(selected.owner.any()),
        ]
        for mine, its in zip(self.lanes, selected.lanes, strict=True):
            wiring.connect(m, wiring.flipped(mine), its)

        with m.If(owned):
            m.d.comb += pair.eq(selected.lane.data)
            with m.If(selected.lane.status):
                m.d.comb += pair[0].eq(self.status)
            m.d.sync += self.tx.strobe.eq(selected.lane.strobe)
        with m.Else():
            with m.If(second):
                m.d.comb += pair.eq(Cat(self.status, 1))
            with m.Else():
                m.d.comb += pair.eq(NIBBLE_START)
            m.d.sync += self.tx.strobe.eq(1)
        data = Signal(PAIR_BITS, reset_less=True)  # means something with a strobe only
        m.d.sync += [second.eq(~owned & ~second), data.eq(pair)]
        m.d.comb += self.tx.data.eq(data)

        with m.If(~owned):
            m.d.sync += self.ready.eq(0)
        with m.Elif(self.rdy_valid):
            m.d.sync += self.ready.eq(self.rdy)
        if platform == "formal":
            self.probes = SimpleNamespace(second=second, owned=owned)
        m.d.comb += Assert(~owned | ~second, "a grant takes effect behind a whole nibble")
        return m
