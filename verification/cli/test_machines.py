"""``--machine``: topologies and programs of other machines, and what they refuse."""

import json
import re
from xml.etree import ElementTree

import pytest

from nectar.hdl.ipsc2.formats import DIMENSIONS
from nectar.sim.machines import machine
from nectar.software.stacks import NoSoftware, system_of
from nectar.software.system import System
from nectar.verification.cli.examples import EXAMPLES


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


def test_a_cube_is_told_of(nectar):
    """D1: e-cube takes the channels of the bits that differ, the lowest first."""
    done = nectar("topology", "--machine", "ipsc2", "hypercube:4", "--from", "NODE5", "--json", "out.json")
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "hypercube:4" and lines[6] == "NODE5  C0 == NODE4  C1 == NODE7  C2 == NODE1  C3 == NODE13"
    assert "16 nodes, 32 links" in lines and "  NODE5 -> NODE8: NODE5.C0 NODE4.C2 NODE0.C3" in lines
    found = {row["id"]: row for row in json.loads((nectar.folder / "out.json").read_text())["results"]}
    values = [found[name]["value"] for name in ("nodes", "links", "diameter", "longest_route", "bisection")]
    assert values == [16, 32, 4, 4, 8]
    assert found["mean_route"]["value"] == pytest.approx(4 * 8 / 15, abs=1e-3)
    for there in range(16):
        if there != 5:
            hops = found[f"route.NODE5.NODE{there}"]["hops"]
            assert len(hops) == bin(5 ^ there).count("1") and [k for _, k in hops] == sorted(k for _, k in hops)


@pytest.mark.parametrize("dimensions", range(DIMENSIONS[0], DIMENSIONS[1] + 1))
def test_routes_lead_from_node_to_node_by_its_channels(dimensions):
    from nectar.cli.shapes import shapes_of

    cube = machine("ipsc2").topology(f"hypercube:{dimensions}")
    for here, row in shapes_of(machine("ipsc2")).routes(cube).items():
        assert len(row) == 2**dimensions - 1
        for there, hops in row.items():
            at = cube.computers[here].id
            for number, channel in hops:
                assert number == at and channel < dimensions
                at ^= 1 << channel
            assert at == cube.computers[there].id


def test_a_cube_is_drawn_with_all_its_nodes_and_links(nectar):
    done = nectar("topology", "--machine", "ipsc2", "hypercube:3", "-o", "cube.svg")
    assert done.returncode == 0 and done.stdout.startswith("cube.svg: hypercube:3\n8 nodes, 12 links\n")
    drawing = ElementTree.fromstring((nectar.folder / "cube.svg").read_text())
    _, *told = [title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
    links = [f"NODE{a}.C{k} - NODE{a | 1 << k}.C{k}" for a in range(8) for k in range(3) if not a >> k & 1]
    assert sorted(told) == sorted([*links, *(f"NODE{number}, ID {number}" for number in range(8))])
    assert nectar("topology", "--machine", "ipsc2", "hypercube:7", "-o", "large.svg").returncode == 0
    assert len(set(re.findall(r"<rect [^>]*", (nectar.folder / "large.svg").read_text()))) == 128


@pytest.mark.parametrize(
    "words, message",
    [
        (["--machine", "cray", "hypercube:4"], "--machine: there is no machine 'cray'; there is nectar, ipsc2"),
        (["--machine", "ipsc2", "mesh:2x2"], "the machine ipsc2 has no topology 'mesh:2x2'; write hypercube:D"),
        (["--machine", "ipsc2", "hypercube:9"], "a cube has 1 to 7 dimensions"),
        (["--machine", "ipsc2", "hypercube:2", "--from", "CAB1"], "no such node in hypercube:2; there are NODE0, "),
    ],
)
def test_a_topology_that_a_machine_has_not_is_refused(nectar, words, message):
    assert message in nectar.refused("topology", *words)
    assert not list(nectar.folder.glob("*.svg"))


@pytest.mark.parametrize(
    "words, message",
    [
        (["--machine", "cray"], "--machine: there is no machine 'cray'; there is nectar, ipsc2"),
        (["--machine", "ipsc2"], "the machine ipsc2 has no topology 'hub:2'; write hypercube:D"),
        (["--machine", "ipsc2", "--topology", "hub:4"], "the machine ipsc2 has no topology 'hub:4'"),
        (["--machine", "ipsc2", "--topology", "hypercube:1", "--profile", "modern"], "there is no profile 'modern'"),
        (["--machine", "ipsc2", "--on", "x"], "--machine cannot be used with --on"),
        (
            ["--machine", "ipsc2", "--topology", "hypercube:1", "--boards", "fast"],
            "boards of the machine ipsc2 are rtl",
        ),
        (
            ["--machine", "ipsc2", "--topology", "hypercube:1", "--pcap", "x.pcapng"],
            "--pcap: there are no packets on the links",
        ),
    ],
)
def test_a_program_on_what_there_is_not_is_refused(nectar, words, message):
    program = nectar.program('TOPOLOGY = "hub:2"\nasync def main(system, arguments):\n    pass\n')
    assert message in nectar.refused("run", program, *words)


def test_a_machine_without_software_runs_no_program(nectar, monkeypatch):
    monkeypatch.setattr("nectar.software.stacks._STACKS", {"nectar": ("system", "System")})
    program = nectar.program("async def main(system, arguments):\n    pass\n")
    said = nectar.refused("run", program, "--machine", "ipsc2", "--topology", "hypercube:1")
    assert "--machine ipsc2: there is no software for programs on ipsc2; there is for nectar" in said
    with pytest.raises(NoSoftware):
        system_of("ipsc2")
    assert system_of("nectar") is System


def test_nectar_has_a_topology_of_just_so_many_cabs():
    """On one HUB, on a mesh, or on HUBs that are wired at random, with two HUBs for 12 CABs at most."""
    nectar = machine("nectar")
    for count in (*range(1, 41), 64, 128, 240):
        topology = nectar.topology(nectar.sized(count))
        topology.check()
        assert len(topology.computers) == count and len(topology.hubs) <= 2 * (count // 12 + 1)
    names = [nectar.sized(count) for count in (15, 16, 17, 32)]
    assert names == ["hub:15", "mesh:1x2x8", "random:1x2x17", "mesh:2x2x8"]


@pytest.mark.parametrize(
    "ranks, name", [(1, "hypercube:1"), (2, "hypercube:1"), (5, "hypercube:3"), (999, "hypercube:7")]
)
def test_a_cube_has_a_node_for_each_rank_as_far_as_there_are_cubes(ranks, name):
    assert machine("ipsc2").sized(ranks) == name


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "dimensions, program, words",
    [
        (2, "nx_matrix.py --order 8", ["4 nodes: "]),
        (2, "fft/fft1d.py --points 256", ["   4  "]),
        (2, "octree/octree.py --size 16 --level 1", ["pixels show the solid"]),
        *(
            pytest.param(4, *program, marks=pytest.mark.nightly)
            for program in (
                ("nx_matrix.py --order 64", ["16 nodes: "]),
                ("fft/fft1d.py --points 1024 --cabs 16", ["  16  "]),
                ("fft/fft2d.py", ["  16  "]),
                ("octree/octree.py --size 32", ["  16  ", "pixels show the solid"]),
                ("annealing/annealing.py", ["  16  ", "length of the wires at the end"]),
            )
        ),
        pytest.param(3, "vision/vision.py", ["   8  "], marks=pytest.mark.nightly),
    ],
)
def test_examples_run_unchanged_on_a_cube(nectar, dimensions, program, words):
    """NX calls and Nectarine, on the RTL of the iPSC/2, with the examples' own checks."""
    name, *arguments = program.split()
    cube = f"hypercube:{dimensions}"
    done = nectar("run", "--machine", "ipsc2", "--topology", cube, str(EXAMPLES / name), *arguments)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in words)


@pytest.mark.parametrize("ranks", [3, pytest.param(16, marks=pytest.mark.nightly)])
def test_an_mpi_program_runs_unchanged_on_a_cube(nectar, ranks):
    done = nectar("mpirun", "--machine", "ipsc2", "-n", str(ranks), str(EXAMPLES / "mpi_pi.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{ranks} ranks: pi is 3.14159")


@pytest.fixture(scope="module")
def two_nodes():
    """Sees to it that the simulator of two nodes is built, so that the command has nothing to say of it."""
    found = machine("ipsc2")
    topology = found.topology("hypercube:1")
    found.library(topology, next(iter(found.profiles.values())), found.kinds(topology, None))


@pytest.mark.parametrize(
    "name, message",
    [
        ("message_time.py", "is a node of the iPSC/2: it has no mailboxes"),
        ("hub_monitor.py", "hypercube:1 is a topology of the iPSC/2: it has no HUBs"),
        (
            "stream.py",
            "the iPSC/2 has no CABs, nor their datagrams, byte streams and request-response; there are NODE0",
        ),
        ("request.py", "the iPSC/2 has no CABs, nor their datagrams, byte streams and request-response; there are "),
        ("transactions/transactions.py", "boards of the machine ipsc2 have no nodes behind them"),
    ],
)
def test_an_example_that_needs_what_only_nectar_has_says_so(nectar, two_nodes, name, message):
    assert message in nectar.refused("run", "--machine", "ipsc2", "--topology", "hypercube:1", str(EXAMPLES / name))


def test_routes_of_a_cube_are_not_discovered(nectar):
    program = nectar.program("async def main(system, arguments):\n    pass\n")
    said = nectar.refused("run", program, "--machine", "ipsc2", "--topology", "hypercube:1", "--routes", "discovered")
    assert "routes are given on the iPSC/2" in said
