"""``nectar topology``: what it tells of a network, and the drawing that it writes."""

import json

import pytest

from nectar.sim.drawing import as_svg
from nectar.sim.topology import load
from nectar.software.datalink.routes import named_routes


def results(nectar):
    return {row["id"]: row for row in json.loads((nectar.folder / "out.json").read_text())["results"]}


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


def test_figures_and_routes_of_the_papers_network(nectar):
    """H17: from CAB3 by P8 of HUB2 and P8 of HUB1 to CAB1."""
    done = nectar("topology", "figure7", "--from", "CAB3", "--json", "out.json")
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "figure7" and "  CAB3 -> CAB1: HUB2.P8 HUB1.P8" in lines
    assert "4 HUBs, 5 CABs, 8 pairs of fibers, 3 between HUBs" in lines
    found = results(nectar)
    assert [found[name]["value"] for name in ("diameter", "longest_route", "bisection")] == [4, 4, 1]
    assert found["route.CAB3.CAB1"]["hops"] == [[2, 8], [1, 8]]
    assert sum(name.startswith("route.") for name in found) == 4


def test_all_routes(nectar):
    done = nectar("topology", "torus:4x4", "--from", "all", "--json", "out.json")
    routes = {name.removeprefix("route."): row for name, row in results(nectar).items() if name.startswith("route.")}
    expected = named_routes(load("torus:4x4"))
    assert {name: [tuple(hop) for hop in row["hops"]] for name, row in routes.items()} == {
        f"{here}.{there}": hops for here, row in expected.items() for there, hops in row.items()
    }
    assert done.stdout.count(" -> ") == 16 * 15
    lengths = [len(hops) for row in expected.values() for hops in row.values()]
    found = results(nectar)
    assert found["longest_route"]["value"] == max(lengths) and found["diameter"]["value"] == 5
    assert found["mean_route"]["value"] == pytest.approx(sum(lengths) / len(lengths), abs=1e-3)


def test_the_drawing_is_written(nectar):
    done = nectar("topology", "mesh:2x3", "-o", "mesh.svg")
    assert done.returncode == 0 and done.stdout.startswith("mesh.svg: mesh:2x3\n")
    assert (nectar.folder / "mesh.svg").read_text() == as_svg(load("mesh:2x3"))


def test_a_pair_of_cabs_has_neither_hubs_nor_routes(nectar):
    nectar.program(
        'from nectar.sim.topology import Topology\ntopology = Topology("pair").cab("A").cab("B").fiber("A", "B")\n',
        "pair.py",
    )
    done = nectar("topology", "pair.py")
    assert done.returncode == 0 and "A -- B" in done.stdout and " -> " not in done.stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (["ring"], "there is no topology 'ring'"),
        (["hub:40"], "a HUB of 16 ports takes 1 to 16 CABs"),
        (["hub:3", "--from", "CAB9"], "--from CAB9: there is no such CAB in hub:3; there are CAB1, CAB2, CAB3"),
        (["hub:3", "-o", "x.png"], "-o x.png: the drawing is an SVG"),
        (["hub:3", "-o", "x.svg", "--json", "x.svg"], "--json x.svg: -o is the same file; give another name"),
        (["hub:3", "-o", "none/x.svg"], "-o none/x.svg cannot be written: there is no directory"),
        ([], "the following arguments are required: NAME"),
    ],
)
def test_what_cannot_be_done_is_said(nectar, words, message):
    assert message in nectar.refused("topology", *words)
    assert not list(nectar.folder.glob("*.svg"))
