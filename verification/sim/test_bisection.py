"""The bisection of topologies: against what is known of their shapes, and against all halves of small networks."""

import itertools

import pytest

from nectar.sim.bisection import bisection, separating
from nectar.sim.topology import Topology, load


@pytest.mark.parametrize(
    "name, pairs",
    [
        ("hub:16", 8),  # the fibers of one half
        ("hub:5", 2),
        ("hub:1", 0),
        ("chain:8", 1),
        ("mesh:4x4", 4),
        ("mesh:4x6", 4),
        ("mesh:6x10x4", 6),
        ("torus:4x4", 8),
        ("torus:6x4", 8),
        ("torus:8x8x3", 16),
        ("hypercube:3", 4),
        ("hypercube:5", 16),
        ("tree:4x2", 1),
        ("tree:3x3x2", 3),
    ],
)
def test_the_bisection_of_known_shapes(name, pairs):
    """A mesh of even size is cut along its shorter side, a torus twice, a hypercube through one dimension."""
    assert bisection(load(name)) == pairs


def reached(topology, half, without):
    """The CABs that ``half`` can reach when the fibers ``without`` (their places in the list) are cut."""
    fibers = [fiber for place, fiber in enumerate(topology.fibers) if place not in without]
    seen = set(half)
    while True:
        more = {b for f in fibers for a, b in ((f.a.board, f.b.board), (f.b.board, f.a.board)) if a in seen} - seen
        if not more:
            return seen & topology.cabs.keys()
        seen |= more


@pytest.mark.parametrize("name", ["figure7", "mesh:2x2", "random:4x3x5", "random:8x4x4"])
def test_the_fewest_fibers_that_separate_are_found(name):
    """Against all sets of fibers."""
    topology = load(name)
    cabs = list(topology.cabs)
    for half in itertools.combinations(cabs, len(cabs) // 2):
        count = separating(topology, half)
        places = range(len(topology.fibers))
        assert any(reached(topology, half, set(cut)) == set(half) for cut in itertools.combinations(places, count))
        if count:
            assert not any(
                reached(topology, half, set(cut)) == set(half) for cut in itertools.combinations(places, count - 1)
            )


@pytest.mark.parametrize("name", [f"random:{seed}x4x6" for seed in range(6)])
def test_the_bisection_of_small_networks_is_that_of_the_best_half(name):
    topology = load(name)
    halves = itertools.combinations(topology.cabs, len(topology.cabs) // 2)
    assert bisection(topology) == min(separating(topology, half) for half in halves)


def test_cabs_that_are_joined_without_a_hub():
    assert bisection(Topology("pair").cab("A").cab("B").fiber("A", "B")) == 1
