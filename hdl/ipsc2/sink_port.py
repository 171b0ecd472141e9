"""Sink port: who may use the node sink.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Message Paths": all routing elements may
request the node sink channel. The signals are ours: ``docs/ipsc2.md``, "Node sink".
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .formats import PAIR_BITS
from .selected import Selected
from .signatures import Lane, NodeSink

__all__ = ["SinkPort"]


class SinkPort(wiring.Component):
    """The node sink, with the arbiter in front of it.

    Parameters
    ----------
    count : int
        So many may ask for it, at least 1.

    Members
    -------
    asks, lanes, owner : as in Selected
        Who asks, what they send, who has it.
    ready : Out(1)
        The deserializer is ready for the message that is coming in.
    sink : Out(NodeSink())
        The node sink.

    Timing
    ------
    A pair is at ``sink`` in the cycle behind the one in which it is taken; ``ready`` is of the same cycle as
    ``sink.ready``.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is not an int of at least 1.
    """

    def __init__(self, count):
        self.selected = Selected(count, status=False)
        super().__init__(
            {
                "asks": In(count),
                "lanes": In(Lane(status=False)).array(count),
                "owner": Out(count),
                "ready": Out(1),
                "sink": Out(NodeSink()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.selected = selected = self.selected
        m.d.comb += [selected.asks.eq(self.asks), selected.open.eq(1), self.owner.eq(selected.owner)]
        for mine, its in zip(self.lanes, selected.lanes, strict=True):
            wiring.connect(m, wiring.flipped(mine), its)
        data = Signal(PAIR_BITS, reset_less=True)  # means something with a strobe only
        m.d.sync += [
            self.sink.open.eq(selected.owner.any()),
            data.eq(selected.lane.data),
            self.sink.strobe.eq(selected.lane.strobe),
        ]
        m.d.comb += [self.sink.data.eq(data), self.ready.eq(self.sink.open & self.sink.ready)]
        return m
