"""Drawings of topologies: nothing is missing, nothing lies on top of something else."""

import itertools
import math
from xml.etree import ElementTree

import pytest

from nectar.sim.drawing import as_svg, as_text
from nectar.sim.layout import layout
from nectar.sim.topology import Topology, load

SHAPES = ["figure7", "hub:16", "chain:5x3", "mesh:3x4x2", "torus:3x4", "hypercube:4", "tree:3x3x2", "random:3", "hub:1"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", SHAPES)
def test_no_two_boards_lie_on_each_other(name):
    places = layout(load(name))
    for (one, a), (other, b) in itertools.combinations(places.items(), 2):
        assert math.dist(a, b) > 0.1, f"{one} and {other}"


def test_neighbours_in_a_mesh_stand_at_right_angles():
    """HUB1 on the upper left, HUB2 to its right; distances about 1."""
    places = layout(load("mesh:3x5"))
    for row, column in itertools.product(range(3), range(4)):
        (x, y), (right, beside) = (places[f"HUB{5 * row + column + n}"] for n in (1, 2))
        assert 0.7 < right - x < 1.4 and abs(beside - y) < 0.2
    for number in range(1, 11):
        (x, y), (below, down) = places[f"HUB{number}"], places[f"HUB{number + 5}"]
        assert 0.7 < down - y < 1.4 and abs(below - x) < 0.2


@pytest.mark.parametrize("name", SHAPES)
def test_the_svg_shows_every_board_and_every_pair_of_fibers(name):
    topology = load(name)
    root = ElementTree.fromstring(as_svg(topology))
    assert root.find(f"{SVG}title").text.startswith(topology.name)
    assert sorted(text.text for text in root.iter(f"{SVG}text")) == sorted([*topology.hubs, *topology.cabs])
    paths = [path.find(f"{SVG}title").text for path in root.iter(f"{SVG}path")]
    assert paths == [str(fiber) for fiber in topology.fibers]
    drawn = [path.get("d") for path in root.iter(f"{SVG}path")]
    assert len(set(drawn)) == len(drawn), "two lines lie on each other"
    width, height = float(root.get("width")), float(root.get("height"))
    for box in root.iter(f"{SVG}rect"):
        x, y, wide, high = (float(box.get(key)) for key in ("x", "y", "width", "height"))
        assert 0 <= x and 0 <= y and x + wide <= width and y + high <= height


def test_the_same_topology_has_the_same_drawing():
    assert as_svg(load("random:5")) == as_svg(load("random:5"))


def test_text_names_what_hangs_on_each_port():
    lines = as_text(load("figure7"))
    assert lines[0] == "HUB1 (ID 1, 16 ports)"
    assert lines[1].split("  ")[2:] == ["P2 -- CAB2", "P3 == HUB2.P8", "P6 == HUB4.P7", "P8 -- CAB1"]
    assert max(map(len, as_text(load("hub:16")))) <= 100
    assert as_text(Topology("pair").cab("A").cab("B").fiber("A", "B")) == ["A -- B"]
    assert "nothing on its ports" in "".join(as_text(Topology("one").hub("HUB1").cab("A").cab("B").fiber("A", "B")))


def test_a_topology_of_odd_wires_is_drawn():
    """A loop, several fibers between two HUBs, CABs without a HUB."""
    topology = Topology("odd").hub("HUB1").hub("HUB2").cab("A").cab("B").cab("C")
    topology.fiber("HUB1.P0", "HUB1.P1").fiber("HUB1.P2", "HUB2.P0").fiber("HUB2.P1", "HUB1.P3").fiber("C", "HUB1.P5")
    topology.fiber("A", "B")
    assert as_svg(topology).count("<path") == 5


@pytest.mark.parametrize(
    "name", ["torus:3x3x2", "torus:4x4x2", "hypercube:4x2", "mesh:6x10x4", "random:7x20x60", "hub:16", "tree:3x3x3"]
)
def test_no_box_covers_another_one(name):
    """As they are drawn: their corners in pixels."""
    root = ElementTree.fromstring(as_svg(load(name)))
    boxes = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect")]
    for (x, y, width, height), (right, below, wide, high) in itertools.combinations(boxes, 2):
        assert x + width <= right or right + wide <= x or y + height <= below or below + high <= y


@pytest.mark.parametrize("name", ["hypercube:6", "hypercube:7", "random:3x40x80"])
def test_no_hub_covers_another_one(name):
    """Where HUBs have so many neighbours that their distances cannot all be right."""
    topology = load(name)
    root = ElementTree.fromstring(as_svg(topology))
    names = [text.text for text in root.iter(f"{SVG}text")]
    boxes = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect")]
    hubs = [box for name, box in zip(names, boxes, strict=True) if name in topology.hubs]
    assert len(hubs) == len(topology.hubs)
    for (x, y, width, height), (right, below, wide, high) in itertools.combinations(hubs, 2):
        assert x + width <= right or right + wide <= x or y + height <= below or below + high <= y
