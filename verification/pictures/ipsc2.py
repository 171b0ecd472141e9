"""Block diagram of the iPSC/2's router, checked against the elaborated RTL."""

from ...hdl.ipsc2.router import Router
from .blocks import Arrow, Block, check, draw
from .netlist import open_component

__all__ = ["router"]


def router():
    """docs/ipsc2.md, "Parts"."""
    parts, links = open_component(Router(2))
    blocks = {
        "in": Block(".channel", "channel\nin", 16, 190, 70, 60, "pin"),
        "element": Block("element", "routing element\nprobe, route, EOM", 150, 186, 150, 68, "many"),
        "outgoing": Block("outgoing", "outgoing channel\narbiter, nibbles, RDY", 480, 186, 170, 68, "many"),
        "out": Block(".channel", "channel\nout", 740, 190, 70, 60, "pin"),
        "source": Block(".source", "node\nsource", 16, 60, 70, 60, "pin"),
        "origin": Block("origin", "origin\nprobe, refusal", 150, 60, 150, 60),
        "sink_port": Block("sink_port", "sink port\narbiter", 480, 330, 170, 60),
        "sink": Block(".sink", "node\nsink", 740, 330, 70, 60, "pin"),
    }
    arrows = [
        Arrow("in", "element", "h"),
        Arrow("element", "outgoing", "h", "pairs, grants, ready", both=True),
        Arrow("outgoing", "out", "h"),
        Arrow("source", "origin", "h", both=True),
        Arrow("outgoing", "origin", "vh", "pairs, grants, ready", 565, 90, both=True),
        Arrow("element", "sink_port", "vh", "pairs, grants", 225, 360, both=True),
        Arrow("sink_port", "sink", "h", both=False),
        Arrow("sink_port", "outgoing", "v", "ready"),
    ]
    check("router", blocks, arrows, parts, links)
    return draw(
        "block-router",
        "Router of the iPSC/2",
        "A routing element for each incoming channel takes the probe and asks an outgoing channel or the sink port, "
        "which grant in turns and then take the pairs of the message. The origin does the same for the node source. "
        "The sink port's ready goes back by the outgoing channels. Boxes with a shadow are there for each channel.",
        826,
        blocks,
        arrows,
    )
