"""Latency and throughput against the size of a message: what the figures of the report show.

Every point is a run of simulated boards; times are simulated.
"""

from dataclasses import dataclass

from ...software.packet import MAX_DATA
from ...software.transport.datagram import MAX_MESSAGE
from .facts import quantity
from .runs import PARTS, latency, spread, throughput

__all__ = ["CURVES", "Curve", "Line"]

_SIZES = (1, 16, 64, 256, 512, MAX_DATA)
_LONG = (64, 256, MAX_DATA, 4 * MAX_DATA, 1 << 14, MAX_MESSAGE)
#: Bytes that a run for a throughput carries, at least; and messages at most.
_CARRIED, _MOST = 1 << 17, 100
_RECEIVERS = (1, 2, 4, 8, 15)


@dataclass(frozen=True)
class Line:
    """A line of a figure: ``points``, (x, y) or, if ``parts`` names what y is made of, (x, (y of each part))."""

    name: str
    points: list
    parts: tuple = ()


@dataclass(frozen=True)
class Curve:
    """A figure: ``measure(quick)`` returns its lines, ``says(lines)`` what they show, in words.

    ``x``, ``y``: what the axes show, with units. ``paper``: the papers' figure, (value on the axis y, words), or None.
    """

    id: str
    title: str
    x: str
    y: str
    measure: object
    says: object
    paper: tuple | None = None


def _some(sizes, quick):
    return sizes[:: len(sizes) - 1] if quick else sizes


def _latencies(switching):
    def measure(quick):
        lines = []
        for hubs in (1, 2, 3):
            found = [(size, latency(size, hubs, switching)) for size in _some(_SIZES, quick)]
            points = [(size, tuple(round(parts[name], 4) for name in PARTS)) for size, parts in found]
            lines.append(Line(f"{hubs} HUB{'s' * (hubs > 1)}", points, PARTS))
        return lines

    return measure


def _throughputs(quick):
    lines = []
    for switching in ("packet", "circuit"):
        points = [
            (size, round(throughput(size, min(_MOST, -(-_CARRIED // size)) if not quick else 4, switching), 3))
            for size in _some(_LONG, quick)
        ]
        lines.append(Line(f"{switching} switching", points))
    return lines


def _spreads(quick):
    return [
        Line(name, [(count, round(spread(MAX_DATA, count, multicast), 3)) for count in _some(_RECEIVERS, quick)])
        for name, multicast in (("one multicast", True), ("one message each", False))
    ]


# -- what is found ----------------------------------------------------------------------------------------
def _latencies_say(lines):
    ends = [(line.points[0], line.points[-1]) for line in lines]
    small, large = ([sum(parts) for _, parts in points] for points in zip(*ends, strict=True))
    (least, _), (most, parts) = ends[0]
    at_once = sum(part for name, part in zip(lines[0].parts, parts, strict=True) if name.endswith("at once"))
    text = f"{quantity(least, 'bytes')}: {small[0]:.1f} us over {lines[0].name}"
    if len(lines) > 1:
        text += f", and {(small[-1] - small[0]) / (len(lines) - 1):.1f} us more for each HUB more"
    return (
        f"{text}. The papers have under 30 us, the fiber's delay excluded. {quantity(most, 'bytes')}: "
        f"{large[0]:.1f} us over {lines[0].name}; for {at_once:.1f} us of these the packet still comes in while "
        "the receiving CAB's DMA and software work already (hatched)."
    )


def _throughputs_say(lines):
    best = {line.name: line.points[-1] for line in lines}
    text = "; ".join(
        f"{rate:.1f} Mbit/s by {name} with messages of {quantity(size, 'bytes')}" for name, (size, rate) in best.items()
    )
    packets, circuits = (dict(line.points) for line in lines)
    faster = next((size for size in packets if circuits[size] > packets[size]), None)
    which = f"Circuits are faster from {quantity(faster, 'bytes')} on" if faster else "Circuits are never faster"
    return f"{text}. {which}. Published were 90 Mbit/s of the fiber's 100."


def _spreads_say(lines):
    (few, one), (many, all_at_once) = lines[0].points[0], lines[0].points[-1]
    apart = lines[1].points[-1][1]
    return (
        f"{all_at_once:.0f} us by one multicast to {many} CABs, {one:.0f} us to {few}; "
        f"{apart:.0f} us by one message to each of {many}, {apart / all_at_once:.1f} times as long."
    )


#: Microseconds that a fiber of the papers' 100 Mbit/s (H3) takes for the bytes of a packet.
_ON_FIBER = 8 * MAX_DATA / 100
_UNDER_30 = (30, "paper (S1): under 30 us, smallest message")

CURVES = (
    Curve(
        "latency.packet",
        "Latency under packet switching",
        "bytes of a message",
        "us",
        _latencies("packet"),
        _latencies_say,
        _UNDER_30,
    ),
    Curve(
        "latency.circuit",
        "Latency under circuit switching",
        "bytes of a message",
        "us",
        _latencies("circuit"),
        _latencies_say,
        _UNDER_30,
    ),
    Curve(
        "throughput",
        "Throughput from CAB to CAB over one HUB",
        "bytes of a message",
        "Mbit/s",
        _throughputs,
        _throughputs_say,
        (90, "published (S13): 90 Mbit/s"),
    ),
    Curve(
        "multicast",
        f"Until several CABs have a message of {quantity(MAX_DATA, 'bytes')}",
        "receiving CABs",
        "us",
        _spreads,
        _spreads_say,
        (_ON_FIBER, f"paper (H3): {_ON_FIBER:.0f} us on the fiber alone"),
    ),
)
