"""Who has an outgoing channel, or the node sink.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Message Paths" (an arbitration mechanism
for each channel), "Routing Operation" (round robin; released as the checksum passes). The cycles are ours:
``docs/ipsc2.md``, "Circuits".
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hub.control.arbiter import Arbiter
from .signatures import Lane

__all__ = ["Selected"]


class Selected(wiring.Component):
    """Who has a channel or the sink: one at a time, for a message, in turns.

    Parameters
    ----------
    count : int
        So many may ask, at least 1.
    status : bool
        Pairs with RDY are marked: as in Lane.

    Members
    -------
    asks : In(count)
        Who asks.
    open : In(1)
        A grant may be decided in this cycle, if there is no owner.
    lanes : In(Lane(status)).array(count)
        What each of them sends.
    owner : Out(count)
        One-hot: whose pairs are taken in this cycle; 0 if there is none.
    lane : Out(Lane(status))
        The owner's; all 0 without one.

    Timing
    ------
    An owner is there from the cycle behind the decision on, to the cycle of the last pair of its message.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is not an int of at least 1.
    """

    def __init__(self, count, status=True):
        self.arbiter = Arbiter(count)
        self.count = count
        super().__init__(
            {
                "asks": In(count),
                "open": In(1),
                "lanes": In(Lane(status)).array(count),
                "owner": Out(count),
                "lane": Out(Lane(status)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        with m.If(self.open & (self.owner == 0)):
            m.d.comb += arbiter.asks.eq(self.asks)
        for name in self.lane.signature.members:
            values = [getattr(lane, name) for lane in self.lanes]
            those = [value & own.replicate(len(value)) for value, own in zip(values, self.owner, strict=True)]
            m.d.comb += getattr(self.lane, name).eq(reduce(or_, those))
        with m.If(self.owner == 0):
            m.d.sync += self.owner.eq(arbiter.pick)
        with m.Elif(self.lane.strobe & self.lane.last):
            m.d.sync += self.owner.eq(0)
        m.d.comb += Assert((self.owner & (self.owner - 1))[: self.count] == 0, "no channel has two owners")
        return m
