"""Topologies: built in, from files, and every mistake that a file can have."""

import pytest

from nectar.sim.topology import BUILT_IN, Topology, TopologyError, load
from nectar.sim.wiring import End


def ends(topology):
    return {frozenset((str(fiber.a), str(fiber.b))) for fiber in topology.fibers}


# -- built in -----------------------------------------------------------------------------------------


def test_hub_is_sixteen_cabs_on_one_hub():
    """N 3.1, 4.1: a HUB has 16 ports."""
    topology = load("hub")
    assert list(topology.hubs) == ["HUB1"] and topology.hubs["HUB1"].ports == 16
    assert ends(topology) == {frozenset((f"CAB{i + 1}", f"HUB1.P{i}")) for i in range(16)}
    assert len(load("hub:3").cabs) == 3


def test_figure_7_is_wired_as_the_paper_says():
    """H17, N 4.2.1 and 4.2.2: P4 of HUB2 is CAB3, P8 of HUB2 leads to P3 of HUB1, P8 of HUB1 to CAB1, and so on."""
    topology = load("figure7")
    assert {
        frozenset(pair)
        for pair in (
            ("CAB3", "HUB2.P4"),
            ("HUB2.P8", "HUB1.P3"),
            ("HUB1.P8", "CAB1"),
            ("HUB4.P5", "CAB4"),
            ("HUB3.P4", "CAB5"),
        )
    } <= ends(topology)


def test_a_chain_is_as_long_as_it_says():
    topology = load("chain:5")
    assert len(topology.hubs) == len(topology.cabs) == 5
    assert {frozenset((f"HUB{i}.P1", f"HUB{i + 1}.P2")) for i in range(1, 5)} < ends(topology)


def test_hubs_of_chains_and_meshes_may_have_several_cabs():
    """docs/engine.md: numbered from HUB to HUB, on P0 and on the ports behind those that lead to other HUBs."""
    chain, mesh = load("chain:3x4"), load("mesh:2x2x2")
    assert (chain.name, len(chain.hubs), list(chain.cabs)) == ("chain:3x4", 3, [f"CAB{n}" for n in range(1, 13)])
    between = [("HUB1.P1", "HUB2.P2"), ("HUB2.P1", "HUB3.P2")]
    ports = list(enumerate((0, 3, 4, 5)))
    cabs = [(f"CAB{4 * hub + n + 1}", f"HUB{hub + 1}.P{port}") for hub in range(3) for n, port in ports]
    assert ends(chain) == set(map(frozenset, between + cabs))
    between = [("HUB1.P1", "HUB2.P2"), ("HUB3.P1", "HUB4.P2"), ("HUB1.P3", "HUB3.P4"), ("HUB2.P3", "HUB4.P4")]
    cabs = [(f"CAB{2 * hub + n + 1}", f"HUB{hub + 1}.P{port}") for hub in range(4) for n, port in enumerate((0, 5))]
    assert ends(mesh) == set(map(frozenset, between + cabs))
    for one, other in (("chain:5x1", "chain:5"), ("mesh:2x3x1", "mesh:2x3"), ("mesh", "mesh:2x2")):
        assert ends(load(one)) == ends(load(other)) and load(one).name == load(other).name
    assert [len(load(shape).cabs) for shape in ("chain:2x14", "mesh:1x2x12", "mesh:4x5x12")] == [28, 24, 240]


def test_a_torus_is_a_mesh_whose_rows_and_columns_are_rings():
    """docs/engine.md: the same ports as in a mesh, and fibers from each end to the other."""
    mesh, torus = load("mesh:3x4x2"), load("torus:3x4x2")
    more = [("HUB4.P1", "HUB1.P2"), ("HUB8.P1", "HUB5.P2"), ("HUB12.P1", "HUB9.P2")]
    more += [(f"HUB{8 + n}.P3", f"HUB{n}.P4") for n in range(1, 5)]
    assert ends(torus) == ends(mesh) | set(map(frozenset, more))
    assert list(torus.cabs) == list(mesh.cabs) and len(torus.fibers) == len(mesh.fibers) + len(more)
    assert len(load("torus:2x2").fibers) == 4 + 8  # two pairs of fibers between neighbours


def test_hubs_of_a_hypercube_are_joined_where_addresses_differ_in_one_bit():
    """docs/engine.md: port P1 + n leads to P1 + n of the HUB whose address differs in bit n."""
    cube = load("hypercube:4x2")
    between = {
        frozenset((f"HUB{a + 1}.P{n + 1}", f"HUB{(a ^ 1 << n) + 1}.P{n + 1}")) for a in range(16) for n in range(4)
    }
    cabs = {frozenset((f"CAB{2 * a + k + 1}", f"HUB{a + 1}.P{5 * k}")) for a in range(16) for k in range(2)}
    assert ends(cube) == between | cabs and len(cube.fibers) == 64
    assert [len(load(f"hypercube:{d}").hubs) for d in range(1, 8)] == [2, 4, 8, 16, 32, 64, 128]


def test_a_tree_has_its_cabs_at_its_leaves():
    """docs/engine.md: P0 leads up, P1, P2 and so on lead down."""
    tree = load("tree:3x2x2")
    between = [("HUB1.P1", "HUB2.P0"), ("HUB1.P2", "HUB3.P0"), ("HUB2.P1", "HUB4.P0"), ("HUB2.P2", "HUB5.P0")]
    between += [("HUB3.P1", "HUB6.P0"), ("HUB3.P2", "HUB7.P0")]
    cabs = [(f"CAB{n + 1}", f"HUB{4 + n // 2}.P{1 + n % 2}") for n in range(8)]
    assert ends(tree) == set(map(frozenset, between + cabs))
    assert ends(load("tree:1x5x3")) == {frozenset((f"CAB{n}", f"HUB1.P{n}")) for n in (1, 2, 3)}
    assert [len(load(name).cabs) for name in ("tree", "tree:2x15", "tree:3x4x15")] == [4, 15, 240]


def test_a_random_network_follows_its_seed():
    """docs/engine.md: every CAB reaches every other; as many boards as asked for; the same from the same seed."""
    for seed in range(50):
        topology = load(f"random:{seed}")
        assert 2 <= len(topology.hubs) <= 8 and 2 * len(topology.hubs) <= len(topology.cabs) <= 4 * len(topology.hubs)
        assert ends(topology) == ends(load(f"random:{seed}"))
    assert len({frozenset(ends(load(f"random:{seed}x6x8"))) for seed in range(50)}) == 50
    large = load("random:9x40x80")
    assert (len(large.hubs), len(large.cabs), len(large.fibers)) == (40, 80, 39 + 80 + 20)
    full = load("random:1x3x44")  # no port is free
    assert len(full.fibers) == 2 + 44


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_topology_can_be_loaded_by_its_name(name):
    assert load(name).cabs


@pytest.mark.parametrize(
    "text, message",
    [
        ("hub:17", "takes 1 to 16 CABs; for more write a file"),
        ("hub:0", "takes 1 to 16 CABs"),
        ("hub:x", "'hub:x' is not understood; write hub:N"),
        ("hub:", "is not understood"),
        ("mesh:3", "write mesh:RxC"),
        ("mesh:20x20", "a mesh has 1 to 254 HUBs, not 400"),
        ("chain:0", "1 to 254"),
        ("chain:2x0", "chain:2x0: a HUB of a chain takes 1 to 14 CABs"),
        ("chain:2x15", "chain:2x15: a HUB of a chain takes 1 to 14 CABs; for more write a file"),
        ("mesh:2x2x13", "mesh:2x2x13: a HUB of a mesh takes 1 to 12 CABs; for more write a file"),
        ("mesh:8x8x4", "mesh:8x8x4: 256 CABs are more than the 254 that a network may have"),
        ("mesh:2x2x2x2", "'mesh:2x2x2x2' is not understood; write mesh:RxC or mesh:RxCxK"),
        ("torus:1x5", "torus:1x5: a torus has at least 2 rows and 2 columns"),
        ("torus:20x20", "a torus has 1 to 254 HUBs, not 400"),
        ("hypercube:8", "hypercube:8: a hypercube has 1 to 7 dimensions"),
        ("hypercube:7x2", "256 CABs are more than the 254"),
        ("hypercube:4x13", "a HUB of a hypercube takes 1 to 12 CABs"),
        ("tree:9x1", "tree:9x1: a tree has 1 to 8 levels, and 1 to 15 HUBs below each"),
        ("tree:2x16", "1 to 15 HUBs below each"),
        ("tree:8x3", "3280 HUBs are more than the 254"),
        ("tree:3x15x2", "450 CABs are more than the 254"),
        ("tree:2x2x16", "a HUB of a tree takes 1 to 15 CABs"),
        ("random:1x0", "a network has 1 to 254 HUBs"),
        ("random:1x1x17", "1 HUB takes 1 to 16 CABs"),
        ("random:1x3x45", "3 HUBs take 1 to 44 CABs"),
        ("random:x3", "write random:SEED"),
        ("figure7:2", "write figure7"),
        ("ring", "there is no topology 'ring'; name a .toml or .py file, or one of hub:N.*figure7"),
        ("no_such.toml", "no_such.toml: cannot be read: No such file"),
    ],
)
def test_a_name_that_is_not_understood_is_refused(text, message):
    with pytest.raises(TopologyError, match=message) as caught:
        load(text)
    assert "\n" not in str(caught.value)


def test_two_cabs_may_be_joined_without_a_hub():
    """N 3.1: all ports are alike."""
    assert ends(Topology("pair").cab("A").cab("B").fiber("A", "B").check()) == {frozenset("AB")}


# -- building -----------------------------------------------------------------------------------------


def test_a_number_at_the_end_of_a_name_is_the_id():
    topology = Topology("x").hub("HUB7").hub("LEFT").cab("CAB9").cab("MINE", id=0).cab("OTHER")
    assert [hub.id for hub in topology.hubs.values()] == [7, 1]
    assert [cab.id for cab in topology.cabs.values()] == [9, 0, 1]


def test_a_fiber_has_the_delay_of_its_length():
    """Light takes 5 ns for a metre of glass; 20 m by default."""
    topology = Topology("x").hub("H").cab("A").cab("B").cab("C")
    topology.fiber("A", "H.P0").fiber("B", "H.P1", length_m=1.5).fiber("C", "H.P2", delay_ns=12.5, symbol_ns=160)
    assert [fiber.delay_ps for fiber in topology.fibers] == [100_000, 7_500, 12_500]
    assert [fiber.symbol_ps for fiber in topology.fibers] == [None, None, 160_000]


def build(*steps):
    """A topology of two HUBs and two CABs with more ``steps``, given as method, arguments, options."""
    topology = Topology("try").hub("HUB1").hub("HUB2", ports=4).cab("CAB1").cab("CAB2").fiber("CAB1", "HUB1.P0")
    for method, *arguments in steps:
        options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        getattr(topology, method)(*arguments, **options)
    return topology


@pytest.mark.parametrize(
    "step, message",
    [
        (
            ("fiber", "CAB2", "HUB1.P0"),
            r"fiber CAB2 - HUB1.P0: HUB1.P0 is already wired by fiber CAB1 - HUB1.P0; use another port",
        ),
        (("fiber", "CAB1", "HUB1.P1"), "CAB1 is already wired by .*; a CAB has one port"),
        (
            ("fiber", "CAB2", "HUB3.P0"),
            "there is no board HUB3; declare it first, or name one of HUB1, HUB2, CAB1, CAB2",
        ),
        (("fiber", "CAB2", "HUB2.P4"), "HUB2 has no port P4; its ports are P0 to P3"),
        (("fiber", "CAB2", "HUB2"), "HUB2 is a HUB; name its port, as in HUB2.P0"),
        (("fiber", "CAB2.P0", "HUB2.P0"), "CAB2 is a CAB and has one port; write CAB2"),
        (("fiber", "CAB2", "HUB2.3"), "'HUB2.3' is no end of a fiber; write HUB1.P3 or CAB1"),
        (("fiber", "CAB2", 5), "5 is no end of a fiber"),
        (("fiber", "HUB2.P1", "HUB2.P1"), "both ends are the same port"),
        (("fiber", "CAB2", "HUB2.P0", {"length_m": -1}), "length_m must be a number, 0 or more, not -1"),
        (("fiber", "CAB2", "HUB2.P0", {"length_m": "far"}), "length_m must be a number"),
        (("fiber", "CAB2", "HUB2.P0", {"length_m": float("nan")}), "length_m must be a number"),
        (("fiber", "CAB2", "HUB2.P0", {"length_m": 1e9}), "a delay of 5 s is more than"),
        (("fiber", "CAB2", "HUB2.P0", {"length_m": 1, "delay_ns": 1}), "give length_m or delay_ns, not both"),
        (("fiber", "CAB2", "HUB2.P0", {"symbol_ns": 0}), "symbol_ns must be more than 0"),
        (("hub", "HUB1"), "two boards called HUB1; rename one"),
        (("cab", "HUB1"), "two boards called HUB1"),
        (("hub", "OTHER", {"id": 1}), "OTHER: HUB1 has the id 1 already; give another id"),
        (("hub", "HUB255"), "the id of a HUB is 0 to 254, not 255"),
        (("cab", "OTHER", {"id": 2}), "OTHER: CAB2 has the id 2 already"),
        (("cab", "OTHER", {"id": 255}), "the id of a CAB is 0 to 254, not 255"),
        (("cab", "OTHER", {"id": True}), "the id of a CAB is 0 to 254, not True"),
        (("hub", "HUB3", {"ports": 129}), "HUB3: a HUB has 2 to 128 ports, not 129"),
        (("hub", "HUB3", {"phase_ns": -1}), "HUB3: phase_ns must be a number"),
        (("cab", "a-b"), "'a-b' is no name for a board"),
        (("check",), "CAB2 has no fiber; wire it to a HUB's port"),
    ],
)
def test_a_mistake_is_told_in_one_line_that_says_what_to_do(step, message):
    with pytest.raises(TopologyError, match=message) as caught:
        build(step)
    assert str(caught.value).startswith("topology try: ") and "\n" not in str(caught.value)


def test_a_network_in_two_parts_is_refused():
    with pytest.raises(TopologyError, match="CAB2 cannot be reached from CAB1; wire their HUBs together"):
        build(("fiber", "CAB2", "HUB2.P0"), ("check",))
    with pytest.raises(TopologyError, match="there is no CAB"):
        Topology("x").hub("H").check()


def test_cabs_pass_nothing_on():
    """Two HUBs with a CAB each, joined by nothing but a third CAB: it has one port, so there is no way to try."""
    topology = Topology("x").hub("A").hub("B").cab("C").fiber("C", "A.P0")
    assert topology.neighbours("C") == [(None, End("A", 0))]


# -- files --------------------------------------------------------------------------------------------

GOOD = """
name = "pair"
[hubs.HUB1]
ports = 4
[hubs.HUB2]
id = 9
[cabs.CAB1]
[cabs.CAB2]
id = 77
[[fibers]]
between = ["CAB1", "HUB1.P3"]
[[fibers]]
between = ["HUB1.P0", "HUB2.P0"]
length_m = 1000
[[fibers]]
between = ["HUB2.P15", "CAB2"]
delay_ns = 10
symbol_ns = 100
"""


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_a_toml_file_gives_a_topology(tmp_path):
    topology = load(write(tmp_path, "pair.toml", GOOD))
    assert topology.name == "pair"
    assert [(hub.name, hub.id, hub.ports) for hub in topology.hubs.values()] == [("HUB1", 1, 4), ("HUB2", 9, 16)]
    assert topology.cabs["CAB2"].id == 77
    assert [(str(f), f.delay_ps, f.symbol_ps) for f in topology.fibers] == [
        ("CAB1 - HUB1.P3", 100_000, None),
        ("HUB1.P0 - HUB2.P0", 5_000_000, None),
        ("HUB2.P15 - CAB2", 10_000, 100_000),
    ]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('name = "pair"', 'name = "pair', "no valid TOML: .*line 2"),
        ("ports = 4", "prots = 4", "hubs.HUB1: there is no key 'prots'; known are id, ports"),
        ("id = 77", "ports = 2", "cabs.CAB2: there is no key 'ports'; known are id"),
        (
            "[[fibers]]\nbetween",
            "[[fibres]]\nbetween",
            "the file: there is no key 'fibres'; known are name, hubs, cabs, fibers",
        ),
        ("length_m", "length", "fibers entry 2: there is no key 'length'"),
        ('between = ["CAB1", "HUB1.P3"]', 'between = ["CAB1"]', "fibers entry 1: give its two ends, as in between = "),
        ('between = ["CAB1", "HUB1.P3"]', "", "fibers entry 1: give its two ends"),
        ("[hubs.HUB2]\nid = 9", "hubs.HUB2 = 9", "hubs.HUB1: there is no key 'hubs'"),
        ("[cabs.CAB1]", "[cabs]\nCAB1 = 1", "cabs.CAB1 must be a table, not 1"),
        ("HUB2.P15", "HUB2.P16", "fiber HUB2.P16 - CAB2: HUB2 has no port P16"),
        ('"pair"', "5", "name must be a string"),
        ("id = 77", 'id = "x"', "CAB2: the id of a CAB is 0 to 254, not 'x'"),
    ],
)
def test_a_mistake_in_a_toml_file_is_told_with_the_file_and_the_entry(tmp_path, old, new, message):
    assert old in GOOD
    path = write(tmp_path, "pair.toml", GOOD.replace(old, new, 1))
    with pytest.raises(TopologyError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "from nectar.sim.topology import Topology\ntopology = Topology('t').cab('A').cab('B').fiber('A', 'B')\n",
        "from nectar.sim.topology import load\ndef topology():\n    return load('chain:2')\n",
    ],
)
def test_a_python_file_gives_a_topology(tmp_path, text):
    assert len(load(write(tmp_path, "shape.py", text)).cabs) == 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1\n", "defines no topology; set topology ="),
        ("topology = 5\n", "defines no topology"),
        ("def topology(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_mistake_in_a_python_file_is_told_with_the_file(tmp_path, text, message):
    path = write(tmp_path, "shape.py", text)
    with pytest.raises(TopologyError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(path) and "\n" not in str(caught.value)


def test_a_topology_is_taken_as_it_is():
    topology = load("hub:2")
    assert load(topology) is topology
