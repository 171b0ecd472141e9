"""The other end of channel 7: a node source and a node sink for a device outside of the cube.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Message Paths": channel 7 is a
repeater for an external node source and sink. How it is done is ours: ``docs/ipsc2.md``, "Routes".
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .element import Element, check_dimensions
from .formats import CHANNELS, EXTERNAL, WORD_BITS, channels
from .origin import Origin
from .outgoing import Outgoing
from .signatures import Channel, NodeSink, NodeSource
from .sink_port import SinkPort

__all__ = ["Remote"]


class Remote(wiring.Component):
    """What a device has instead of a router.

    Parameters
    ----------
    dimensions : int
        Dimensions of the cube, 1 to 7.

    Members
    -------
    channel : Out(Channel())
        To channel 7 of a router.
    source, sink : In(NodeSource()), Out(NodeSink())
        As of a router. A probe of 0 is for the node of this router.
    violation : Out(1)
        In this cycle what comes is not what the formats allow.

    Timing
    ------
    As a router.

    Raises
    ------
    TypeError, ValueError
        If ``dimensions`` is not an int from 1 to 7.
    """

    def __init__(self, dimensions=7):
        check_dimensions(dimensions)
        self.dimensions = dimensions
        super().__init__(
            {
                "channel": Out(Channel()),
                "source": In(NodeSource()),
                "sink": Out(NodeSink()),
                "violation": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.origin = origin = Origin(self.dimensions, remote=True)
        m.submodules.element = element = Element(CHANNELS, self.dimensions)
        m.submodules.outgoing = outgoing = Outgoing(1)
        m.submodules.sink_port = port = SinkPort(1)
        # All messages go one way: of the probe only what cannot be is looked at.
        absent = [n for n in range(WORD_BITS) if n not in channels(self.dimensions)]
        m.d.comb += [
            *(origin.source.probe[n].eq(self.source.probe[n]) for n in absent),
            origin.source.request.eq(self.source.request),
            origin.source.data.eq(self.source.data),
            self.source.grant.eq(origin.source.grant),
            self.source.allow.eq(origin.source.allow),
            self.source.refused.eq(origin.source.refused),
        ]
        wiring.connect(m, wiring.flipped(self.sink), port.sink)
        wiring.connect(m, origin.lane, outgoing.lanes[0])
        m.d.comb += [
            *(getattr(port.lanes[0], name).eq(getattr(element.lane, name)) for name in port.lanes[0].signature.members),
            element.rx.data.eq(self.channel.rx.data),
            element.rx.strobe.eq(self.channel.rx.strobe),
            self.channel.tx.data.eq(outgoing.tx.data),
            self.channel.tx.strobe.eq(outgoing.tx.strobe),
            self.violation.eq(element.violation),
            outgoing.asks.eq(origin.asks[EXTERNAL]),
            origin.granted.eq(outgoing.owner),
            origin.allow.eq(outgoing.ready),
            outgoing.rdy.eq(element.rdy),
            outgoing.rdy_valid.eq(element.rdy_valid),
            port.asks.eq(element.asks[CHANNELS]),
            element.granted.eq(port.owner),
            outgoing.status.eq(port.owner & port.ready & ~element.ending),
        ]
        return m
