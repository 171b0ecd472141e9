"""The Direct-Connect router: routing elements, origin, outgoing channels, sink port, status switch.

Source: Nugent, "The iPSC/2 Direct-Connect Communications Technology" (1988), "Router Architecture", figures 2 and 3.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .element import Element, check_dimensions
from .formats import CHANNELS, EXTERNAL, channels, users
from .origin import Origin
from .outgoing import Outgoing
from .signatures import Channel, NodeSink, NodeSource
from .sink_port import SinkPort

__all__ = ["Router"]


class Router(wiring.Component):
    """A router of a cube.

    Parameters
    ----------
    dimensions : int
        Dimensions of the cube, 1 to 7.

    Members
    -------
    channel_0, … : Out(Channel())
        A channel for each dimension.
    channel_7 : Out(Channel())
        The channel to a device outside of the cube.
    source : In(NodeSource())
        The node source.
    sink : Out(NodeSink())
        The node sink.
    busy : Out(8)
        Bit k: channel k outward has an owner.
    held : Out(8)
        Bit k: channel k inward has a message.
    violation : Out(8)
        Bit k: in this cycle channel k inward has what the formats do not allow.

    Timing
    ------
    ``docs/ipsc2.md``, "Circuits": 9 or 10 cycles for a probe, 2 for all else, from pins to pins.

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
                **{f"channel_{n}": Out(Channel()) for n in channels(dimensions)},
                "source": In(NodeSource()),
                "sink": Out(NodeSink()),
                "busy": Out(CHANNELS),
                "held": Out(CHANNELS),
                "violation": Out(CHANNELS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numbers = channels(self.dimensions)
        m.submodules.origin = origin = Origin(self.dimensions)
        wiring.connect(m, wiring.flipped(self.source), origin.source)
        elements, outgoing = {}, {}
        for n in numbers:
            m.submodules[f"element_{n}"] = elements[n] = Element(0 if n == EXTERNAL else n + 1, self.dimensions)
            m.d.comb += [
                elements[n].rx.data.eq(getattr(self, f"channel_{n}").rx.data),
                elements[n].rx.strobe.eq(getattr(self, f"channel_{n}").rx.strobe),
                self.held[n].eq(elements[n].held),
                self.violation[n].eq(elements[n].violation),
            ]

        # Who may use what: None is the node source.
        grants = {n: [] for n in (None, *numbers)}
        statuses = {n: [] for n in (None, *numbers)}
        owned = {}  # (who, what): whether it has it

        def offer(port, who, bit, ready):
            for place, n in enumerate(who):
                user = origin if n is None else elements[n]
                m.d.comb += [
                    port.asks[place].eq(user.asks[bit]),
                    *(
                        getattr(port.lanes[place], name).eq(getattr(user.lane, name))
                        for name in port.lanes[place].signature.members
                    ),
                ]
                owned[n, bit] = port.owner[place]
                grants[n].append(port.owner[place])
                statuses[n].append(port.owner[place] & ready)

        for k in numbers:
            who = users(self.dimensions, k)
            m.submodules[f"outgoing_{k}"] = outgoing[k] = Outgoing(len(who))
            offer(outgoing[k], who, k, outgoing[k].ready)
            m.d.comb += [
                getattr(self, f"channel_{k}").tx.data.eq(outgoing[k].tx.data),
                getattr(self, f"channel_{k}").tx.strobe.eq(outgoing[k].tx.strobe),
                outgoing[k].rdy.eq(elements[k].rdy),
                outgoing[k].rdy_valid.eq(elements[k].rdy_valid),
                self.busy[k].eq(outgoing[k].owner.any()),
            ]
        m.submodules.sink_port = port = SinkPort(len(numbers))
        offer(port, users(self.dimensions, CHANNELS), CHANNELS, port.ready)
        wiring.connect(m, wiring.flipped(self.sink), port.sink)

        # The status switch.
        m.d.comb += [origin.granted.eq(Cat(grants[None]).any()), origin.allow.eq(reduce(or_, statuses[None]))]
        for n in numbers:
            status = Signal(name=f"status_{n}")
            m.d.comb += [
                elements[n].granted.eq(Cat(grants[n]).any()),
                status.eq(reduce(or_, statuses[n]) & ~elements[n].ending),
                outgoing[n].status.eq(status),
            ]
        if platform == "formal":
            self.probes = SimpleNamespace(elements=elements, owned=owned)
        return m
