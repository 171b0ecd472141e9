"""Proof of hdl/ipsc2: in a cube of routers no circle of messages waits.

Statement: docs/ipsc2.md, "Routes". D1.
"""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cat, Module, Mux
from amaranth.lib import wiring

from ...hdl.ipsc2.element import Element
from ...hdl.ipsc2.origin import Origin
from ...hdl.ipsc2.router import Router
from .faults import Fault
from .proof import Attempt, Proof
from .prove import look_into
from .routes import closing_ends

__all__ = ["PROOFS", "WaitingProof", "circles"]

_DIMENSIONS = 2


def circles(dimensions):
    """All circles of channels in a cube, each a list of (node, channel), of which one leads to the next one's node: a
    channel leads to the other end of its wire, and no channel is in a circle twice."""
    found = []

    def follow(way):
        node, channel = way[-1]
        there = node ^ 1 << channel
        for onward in range(dimensions):
            step = there, onward
            if step == way[0] and len(way) > 1:
                found.append(way)
            elif step > way[0] and step not in way:
                follow([*way, step])

    for node in range(1 << dimensions):
        for channel in range(dimensions):
            follow([(node, channel)])
    return found


class WaitingProof(wiring.Component):
    """A cube of 2 dimensions with wires that do not delay; node sources, node sinks and channels 7 do what they like.

    A message that has come by a channel waits for another one, or for the sink, if its routing element asks for it; it
    has it if this element is its owner.
    """

    def __init__(self):
        self.routers = [Router(_DIMENSIONS) for _ in range(1 << _DIMENSIONS)]
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        for n, router in enumerate(self.routers):
            m.submodules[f"router_{n}"] = look_into(router, platform)
            m.d.comb += [
                router.source.request.eq(AnySeq(1)),
                router.source.probe.eq(AnySeq(len(router.source.probe))),
                router.source.data.eq(AnySeq(2)),
                router.sink.ready.eq(AnySeq(1)),
                router.channel_7.rx.data.eq(AnySeq(2)),
                router.channel_7.rx.strobe.eq(AnySeq(1)),
            ]
            for element in router.probes.elements.values():
                m.d.comb += closing_ends(element)
            for k in range(_DIMENSIONS):
                tx = getattr(self.routers[n ^ 1 << k], f"channel_{k}").tx
                rx = getattr(router, f"channel_{k}").rx
                m.d.comb += [rx.data.eq(tx.data), rx.strobe.eq(tx.strobe)]

        def goes_on(node, came, onward):
            """Whether the message that has come to ``node`` by a channel waits for another one, or has it."""
            probes = self.routers[node].probes
            return probes.elements[came].asks[onward] | probes.owned.get((came, onward), 0)

        for node in range(len(self.routers)):
            for came in range(_DIMENSIONS):
                lower = Cat(goes_on(node, came, onward) for onward in range(came + 1))
                m.d.comb += Assert(lower == 0, "a message waits for a higher channel, or the sink")
        for circle in circles(_DIMENSIONS):
            around = [
                goes_on(node ^ 1 << channel, channel, onward)
                for (node, channel), (_, onward) in zip(circle, [*circle[1:], circle[0]], strict=True)
            ]
            m.d.comb += Assert(~Cat(around).all(), "no circle of messages waits")
        return m


PROOFS = [
    Proof(
        "waiting",
        "D1: e-cube never waits in a circle, in the RTL of a cube of 2 dimensions",
        'docs/ipsc2.md, "Routes"',
        holds={"2 dimensions": Attempt(WaitingProof, nightly=True)},
        search=Attempt(WaitingProof, mode="bmc", depth=26),
        faults={
            "sources and elements take the highest bit": (
                Fault(Origin, "asks", lambda was, s: Mux(was[0] & s.source__probe[1], 0b10, was)),
                Fault(Element, "above", lambda was, s: s.address),
            ),
            "elements turn back": Fault(Element, "above", lambda was, s: was | 1 << s.address[0]),
        },
        everyday=0,
    ),
]
