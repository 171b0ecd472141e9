"""Latency and throughput against the size of a message: what the figures of the report show.

Every point is a run of simulated boards; times are simulated.
"""

from dataclasses import dataclass

from ...software.packet import MAX_DATA
from ...software.transport.datagram import MAX_MESSAGE
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
    """A figure: ``measure(quick)`` returns its lines. ``x``, ``y``: what the axes show, with units."""

    id: str
    title: str
    x: str
    y: str
    measure: object


def _some(sizes, quick):
    return sizes[::len(sizes) - 1] if quick else sizes


def _latencies(switching):
    def measure(quick):
        lines = []
        for hubs in (1, 2, 3):
            found = [(size, latency(size, hubs, switching)) for size in _some(_SIZES, quick)]
            lines.append(Line(f"{hubs} HUB{'s' * (hubs > 1)}", [(size, tuple(round(parts[name], 4) for name in PARTS)) for size, parts in found], PARTS))
        return lines
    return measure


def _throughputs(quick):
    lines = []
    for switching in ("packet", "circuit"):
        points = [(size, round(throughput(size, min(_MOST, -(-_CARRIED // size)) if not quick else 4, switching), 3)) for size in _some(_LONG, quick)]
        lines.append(Line(f"{switching} switching", points))
    return lines


def _spreads(quick):
    return [Line(name, [(count, round(spread(MAX_DATA, count, multicast), 3)) for count in _some(_RECEIVERS, quick)])
            for name, multicast in (("one multicast", True), ("one message each", False))]


CURVES = (
    Curve("latency.packet", "Latency under packet switching", "bytes", "us", _latencies("packet")),
    Curve("latency.circuit", "Latency under circuit switching", "bytes", "us", _latencies("circuit")),
    Curve("throughput", "Throughput from CAB to CAB over one HUB", "bytes of a message", "Mbit/s", _throughputs),
    Curve("multicast", f"Until several CABs have a message of {MAX_DATA} bytes", "receiving CABs", "us", _spreads),
)
