"""How few pairs of fibers join two halves of the CABs of a topology.

To find the fewest is NP-hard. ``bisection`` tries many ways to halve the CABs and finds for each the fewest pairs of
fibers that separate the halves, by maximum flow (Ford and Fulkerson; Edmonds and Karp). So its result is a bound from
above; for meshes, tori and hypercubes of even size it is exact (``verification/sim/test_bisection.py``).
"""

import math
from collections import Counter

from .layout import distances, layout

__all__ = ["bisection", "separating"]

#: Directions in which the drawing is cut into halves.
_DIRECTIONS = 36


def bisection(topology):
    """The least number found of pairs of fibers that join two halves of the CABs; with an odd number of CABs one half
    has one more. 0 for one CAB."""
    cabs = list(topology.cabs)
    half = len(cabs) // 2
    if not half:
        return 0
    halves = {frozenset(order[:half]) for order in _orders(topology, cabs)}
    return min(separating(topology, each) for each in halves)


def _orders(topology, cabs):
    """Orders of the CABs, whose first halves are tried: by number, by distance from each HUB, along each direction of
    the drawing."""
    yield cabs
    home = {cab: topology.neighbours(cab)[0][1].board for cab in cabs}
    for hub in topology.hubs:
        far = distances(topology, hub)
        yield sorted(cabs, key=lambda cab: far.get(home[cab], math.inf))
    places = layout(topology)
    for direction in range(_DIRECTIONS):
        angle = math.pi * direction / _DIRECTIONS
        x, y = math.cos(angle), math.sin(angle)
        yield sorted(cabs, key=lambda cab: round(x * places[home[cab]][0] + y * places[home[cab]][1], 6))


def separating(topology, half):
    """The fewest pairs of fibers without which no CAB of ``half`` (names) reaches a CAB that is not in it."""
    room = {board: Counter() for board in (*topology.hubs, *topology.cabs)}
    for fiber in topology.fibers:
        room[fiber.a.board][fiber.b.board] += 1
        room[fiber.b.board][fiber.a.board] += 1
    count = 0
    while way := _way(topology, room, half):
        count += 1
        for here, there in zip(way, way[1:]):
            room[here][there] -= 1
            room[there][here] += 1
    return count


def _way(topology, room, half):
    """A shortest way with room from a CAB of ``half`` to another CAB: boards in order, or None."""
    before = dict.fromkeys(half)
    for here in (wave := list(half)):
        for there, free in room[here].items():
            if free > 0 and there not in before:
                before[there] = here
                if there in topology.cabs:
                    way = [there]
                    while (here := before[way[-1]]) is not None:
                        way.append(here)
                    return way[::-1]
                wave.append(there)
    return None
