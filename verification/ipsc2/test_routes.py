"""The routing function of the iPSC/2's router, for cubes of all sizes: every message arrives, and no circle of waiting
can close. ``verification/formal/routes.py`` shows that a routing element asks for what this function says."""

import graphlib
import itertools

import pytest

from nectar.hdl.ipsc2.formats import (
    DIMENSIONS,
    EXTERNAL,
    MOST_WIRE,
    channels,
    flight,
    nibble,
    probe,
    route,
    short,
    short_probe,
    word,
)

SIZES = range(DIMENSIONS[0], DIMENSIONS[1] + 1)


def way(source, destination, external, device):
    """The channels of a circuit, (node, channel) each, the sink last; ``device``: it begins at the one of ``source``,
    whose channel is (node, "in")."""
    sent = short(probe(source, destination, external))
    node, arrived = source, EXTERNAL if device else None
    taken = [(node, "in")] if device else []
    while (channel := route(sent, arrived)) is not None:
        taken.append((node, channel))
        if channel == EXTERNAL:
            return taken, (node, "device")
        node, arrived = node ^ 1 << channel, channel
    return [*taken, (node, "sink")], (node, "node")


def dependencies(dimensions):
    """{channel: channels that who holds it may wait for}, from every end to every other, with all ways looked at."""
    found = {}
    for source, destination in itertools.product(range(1 << dimensions), repeat=2):
        for external, device in itertools.product((False, True), repeat=2):
            if source == destination and not device and not external:
                continue
            taken, end = way(source, destination, external, device)
            assert end == (destination, "device" if external else "node")
            hops = [channel for _, channel in taken if channel in channels(dimensions) and channel != EXTERNAL]
            assert hops == sorted(hops) and len(hops) == (source ^ destination).bit_count()
            for held, wanted in itertools.pairwise(taken):
                found.setdefault(held, set()).add(wanted)
    return found


@pytest.mark.parametrize("dimensions", SIZES)
def test_every_message_arrives_and_no_circle_of_waiting_can_close(dimensions):
    """D1; docs/ipsc2.md, "Routes": e-cube, all pairs of ends of the cube."""
    order = list(graphlib.TopologicalSorter(dependencies(dimensions)).static_order())
    assert len(order) > 1 << dimensions


def test_the_search_finds_a_circle():
    """If messages from every other node took the highest channel first there would be one."""

    graph = {}
    for source, destination in itertools.permutations(range(4), 2):
        node, taken, left = source, [], source ^ destination
        while left:
            channel = (max if source.bit_count() & 1 else min)(n for n in range(2) if left >> n & 1)
            taken.append((node, channel))
            node, left = node ^ 1 << channel, left & ~(1 << channel)
        for held, wanted in itertools.pairwise(taken):
            graph.setdefault(held, set()).add(wanted)
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter(graph).static_order())


def test_the_example_of_the_paper():
    """Channels 0, 2 and 3, from node 0 through nodes 1 and 5 to node 13."""
    taken, end = way(0, 13, False, False)
    assert taken == [(0, 0), (1, 2), (5, 3), (13, "sink")] and end == (13, "node")


def test_the_frames_are_those_of_the_paper():
    """D2: start bits first, then RDY, EOM, data from bit 0 on; 20 and 4 bits."""
    assert [len(frame) for frame in (nibble(1), word(0), short_probe(0))] == [2, 10, 6]
    assert nibble(1) == [0b11, 0b11] and nibble(0) == [0b11, 0b10]
    assert word(0x8005, ready=True, end=True) == [0, 0b11, 1, 1, 0, 0, 0, 0, 0, 2]
    assert word(0, end=True)[1] == 0b10 and word(0, ready=True)[1] == 1
    assert short_probe(0x81, ready=True) == [0, 1, 1, 0, 0, 2]


def test_a_node_that_is_none_is_refused():
    with pytest.raises(ValueError, match="there is no node 128 in a cube of 7 dimensions"):
        probe(0, 128)
    with pytest.raises(ValueError, match="there is no node -1"):
        probe(-1, 0)


def test_the_bound_of_what_is_in_flight():
    """docs/ipsc2.md, "Node sink"."""
    assert (flight(7), flight(7, MOST_WIRE), flight(1)) == (11, 16, 3)
