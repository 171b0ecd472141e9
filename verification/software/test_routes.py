"""Maps, routes and the order of channels: on the built-in shapes, on shapes with loops, and on random ones against
simple references.

Sources: facts S10 and H22; *Network-Based Multicomputers*, section 5.3.2.
"""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import seed as starts_with
from hypothesis import strategies as st

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import REPLY, Op
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import BUILT_IN, Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.map import Map
from nectar.software.datalink.order import Order, cycle
from nectar.software.datalink.route import Route
from nectar.software.datalink.routes import Plan, Table, check, named_routes
from nectar.software.errors import NoRoute, RoutingCycle
from nectar.software.system import System
from nectar.verification import seeds

SHAPES = [
    "hub:16",
    "chain:5",
    "mesh:2x2",
    "mesh:3x4",
    "mesh:8x8",
    "torus:3x3x2",
    "hypercube:4",
    "tree:3x3x2",
    "figure7",
]
#: Whether the shortest ways form a circle there is left to chance.
RANDOM = [f"random:{seed}" for seed in range(20)] + ["random:3x30x60"]


def ring(count, ports=4):
    """``count`` HUBs in a ring, a CAB on each: the shortest ways round it wait in a circle from four HUBs on."""
    topology = Topology(f"ring of {count}")
    for i in range(1, count + 1):
        topology.hub(f"HUB{i}", ports=ports).cab(f"CAB{i}").fiber(f"CAB{i}", f"HUB{i}.P0")
    for i in range(1, count + 1):
        topology.fiber(f"HUB{i}.P1", f"HUB{i % count + 1}.P2")
    return topology


# -- references --------------------------------------------------------------------------------------
def walk(chart, source, hops):
    """Follows hops from a CAB over the fibers; returns the CAB at their end. No HUB may be passed twice."""
    here = chart.cabs[source][0]
    passed = []
    ends = {place: cab for cab, place in chart.cabs.items()}
    for index, (hub, port) in enumerate(hops):
        assert hub == here and 0 <= port < chart.hubs[hub]
        passed.append(hub)
        if index == len(hops) - 1:
            assert len(set(passed)) == len(passed)
            return ends[hub, port]
        here = chart.links[hub, port][0]
    raise AssertionError("a route without hops")


def wait_graph(routes):
    """Which channel is asked for while which is held: by the definition, every pair on a route, near or far."""
    return {
        (first, second) for hops in routes for first, second in itertools.combinations([tuple(hop) for hop in hops], 2)
    }


def has_circle(pairs):
    """Whether a directed graph has a circle: takes out what nothing leads to until nothing changes."""
    pairs = set(pairs)
    while True:
        targets = {second for _, second in pairs}
        left = {pair for pair in pairs if pair[0] in targets}
        if left == pairs:
            return bool(pairs)
        pairs = left


def shortest_hubs(chart, a, b):
    """HUBs on the shortest way from HUB ``a`` to ``b``, both included; None if there is none."""
    seen, wave, count = {a}, {a}, 1
    while wave and b not in wave:
        wave = {there[0] for here, there in chart.links.items() if here[0] in wave} - seen
        seen |= wave
        count += 1
    return count if wave else None


def all_routes(chart):
    plan = Plan(chart)
    return plan, {cab: plan.table(cab) for cab in chart.cabs}


def examine(chart):
    """What must hold of the routes of any map."""
    plan, tables = all_routes(chart)
    for source, target in itertools.permutations(chart.cabs, 2):
        ideal = shortest_hubs(chart, chart.cabs[source][0], chart.cabs[target][0])
        hops = tables[source].routes.get(target)
        assert (hops is None) == (ideal is None)
        if hops is not None:
            assert walk(chart, source, hops) == target
            assert len(hops) == ideal if plan.shortest else len(hops) >= ideal
    routes = [hops for table in tables.values() for hops in table.routes.values()]
    assert not has_circle(wait_graph(routes))
    assert check(tables.values()) is not None
    return plan, tables


# -- shapes ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SHAPES)
def test_routes_lead_everywhere_on_the_shortest_way_without_a_circle(name):
    """S10, H22: deterministic source routing, free of deadlock."""
    plan, _ = examine(Map.of(load(name)))
    assert plan.shortest


def test_every_built_in_shape_is_among_these():
    assert {name.partition(":")[0] for name in SHAPES + RANDOM} == set(BUILT_IN)


@pytest.mark.parametrize("name", RANDOM)
def test_routes_lead_everywhere_in_a_random_network(name):
    examine(Map.of(load(name)))


def test_routes_of_the_papers_examples():
    """H17, N 4.2.1 and 4.2.2."""
    routes = named_routes(load("figure7"))
    assert routes["CAB3"]["CAB1"] == [(2, 8), (1, 8)]
    assert routes["CAB2"]["CAB4"] == [(1, 6), (4, 5)]
    assert routes["CAB2"]["CAB5"] == [(1, 6), (4, 3), (3, 4)]


def test_routes_in_a_mesh_go_along_the_row_first():
    """H22, N 3.1: rows first keeps packets from waiting for each other in a ring."""
    rows, columns = 3, 4
    routes = named_routes(load(f"mesh:{rows}x{columns}"))
    for a, b in itertools.permutations(range(rows * columns), 2):
        across, down = b % columns - a % columns, b // columns - a // columns
        steps = [1 if across > 0 else 2] * abs(across) + [3 if down > 0 else 4] * abs(down) + [0]
        assert [port for _, port in routes[f"CAB{a + 1}"][f"CAB{b + 1}"]] == steps


@pytest.mark.parametrize(
    "topology",
    [ring(4), ring(5), ring(8), load("torus:4x4"), load("torus:3x5")],
    ids=["ring 4", "ring 5", "ring 8", "torus 4x4", "torus 3x5"],
)
def test_where_the_shortest_ways_form_a_circle_others_are_taken(topology):
    chart = Map.of(topology)
    plan, _ = examine(chart)
    assert not plan.shortest


def test_a_ring_of_three_has_no_circle():
    plan, _ = examine(Map.of(ring(3)))
    assert plan.shortest


def test_of_several_fibers_the_one_with_the_lowest_port_is_taken():
    topology = Topology("double").hub("HUB1", ports=4).hub("HUB2", ports=4).cab("CAB1").cab("CAB2")
    topology.fiber("CAB1", "HUB1.P3").fiber("CAB2", "HUB2.P0").fiber("HUB1.P2", "HUB2.P1").fiber(
        "HUB1.P1", "HUB2.P3"
    ).fiber("HUB1.P0", "HUB2.P2")
    assert named_routes(topology) == {"CAB1": {"CAB2": [(1, 0), (2, 0)]}, "CAB2": {"CAB1": [(2, 1), (1, 3)]}}


def test_a_fiber_from_a_hub_to_itself_leads_nowhere():
    topology = Topology("self").hub("HUB1", ports=5).cab("CAB1").cab("CAB2")
    topology.fiber("HUB1.P0", "HUB1.P1").fiber("CAB1", "HUB1.P2").fiber("CAB2", "HUB1.P3")
    assert named_routes(topology)["CAB1"] == {"CAB2": [(1, 3)]}


def test_cabs_without_a_hub_have_no_routes():
    assert named_routes(Topology("pair").cab("A").cab("B").fiber("A", "B")) == {"A": {}, "B": {}}


def test_what_cabs_there_are_does_not_change_the_way_between_the_others():
    """So a CAB that starts later finds nobody's routes changed."""
    chart = Map.of(load("torus:4x4"))
    some = Map.of(load("torus:4x4"))
    for cab in (3, 7, 8):
        some.forget(some.cabs[cab])
    full, less = Plan(chart), Plan(some)
    for cab in some.cabs:
        assert {other: hops for other, hops in full.table(cab).routes.items() if other in some.cabs} == less.table(
            cab
        ).routes


# -- random shapes -----------------------------------------------------------------------------------
@st.composite
def charts(draw, cabs=6):
    """Any map: several fibers between the same HUBs, loops, fibers from a HUB to itself, parts that hang on nothing,
    odd IDs."""
    hubs = draw(st.lists(st.integers(0, 254), min_size=1, max_size=7, unique=True))
    chart = Map()
    for hub in hubs:
        chart.hub(hub, 8)
    free = [(hub, port) for hub in hubs for port in range(8)]
    free = draw(st.permutations(free))
    for number in draw(st.lists(st.integers(0, 254), max_size=min(cabs, len(free) // 2), unique=True)):
        chart.cab(number, free.pop())
    for _ in range(draw(st.integers(0, len(free) // 2))):
        chart.link(free.pop(), free.pop())
    return chart


@starts_with(seeds.seed())
@settings(deadline=None, max_examples=200, database=None)
@given(charts())
def test_routes_on_random_maps(chart):
    """Against breadth-first search and a search for circles."""
    examine(chart)


@starts_with(seeds.seed())
@settings(deadline=None, max_examples=100, database=None)
@given(charts(cabs=12))
def test_multicast_trees_on_random_maps(chart):
    """Every tree is one, leads to all, and is opened in the common order: then nobody can wait in a circle."""
    plan, tables = all_routes(chart)
    for source, table in tables.items():
        targets = sorted(table.routes)
        if not targets:
            continue
        branches, _ = table.branches(targets)
        assert sorted(walk(chart, source, branch) for branch in branches) == targets
        came = {}
        for branch in branches:
            for hop, before in zip(branch[1:], branch):
                assert came.setdefault(hop[0], before) == before
            keys = [plan.order.key(hop) for hop in branch]
            assert keys == sorted(keys) and len(set(keys)) == len(keys)


@starts_with(seeds.seed())
@settings(deadline=None, max_examples=200, database=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_circle_is_found_if_there_is_one(pairs):
    after = {node: set() for node in range(8)}
    for first, second in pairs:
        after[first].add(second)
    found = cycle(after)
    assert bool(found) == has_circle(pairs)
    assert all(second in after[first] for first, second in zip(found, [*found[1:], *found[:1]]))
    assert len(set(found)) == len(found)


# -- ways round what is broken -----------------------------------------------------------------------
def test_another_way_is_taken_round_a_broken_fiber_in_the_same_order():
    """Old routes and new ones together have no circle, since all ascend in one order."""
    chart = Map.of(load("mesh:3x3"))
    plan, tables = all_routes(chart)
    lost = same = 0
    routes = [hops for table in tables.values() for hops in table.routes.values()]
    for broken in sorted(chart.links):
        after = plan.without([broken])
        for cab in chart.cabs:
            now = after.table(cab).routes
            for other, hops in tables[cab].routes.items():
                if broken not in hops:
                    assert now[other] == hops
                    same += 1
                elif other in now:
                    assert walk(chart, cab, now[other]) == other and broken not in now[other]
                    routes.append(now[other])
                else:
                    lost += 1
    assert same and not has_circle(wait_graph(routes))
    assert lost < same / 10


# -- routes that are given ---------------------------------------------------------------------------
def circle_of_four():
    """Each CAB of a ring of four sends two HUBs on, all in one direction."""
    return {
        f"CAB{i + 1}": {f"CAB{(i + 2) % 4 + 1}": [(i + 1, 1), ((i + 1) % 4 + 1, 1), ((i + 2) % 4 + 1, 0)]}
        for i in range(4)
    }


def test_given_routes_with_a_circle_are_refused_before_anything_is_sent():
    machine = EngineMachine(ring(4), PROTOTYPE, boards="fast")
    with pytest.raises(
        RoutingCycle, match=r"circle HUB 1 P1 -> HUB 2 P1 -> HUB 3 P1 -> HUB 4 P1 -> HUB 1 P1: change one"
    ) as caught:
        System(machine, {f"CAB{i}": i for i in range(1, 5)}, circle_of_four())
    assert "\n" not in str(caught.value) and caught.value.channels == [(1, 1), (2, 1), (3, 1), (4, 1)]
    machine.close()


def test_given_routes_without_a_circle_are_taken():
    routes = circle_of_four()
    routes["CAB4"]["CAB2"] = [(4, 2), (3, 2), (2, 0)]
    machine = EngineMachine(ring(4), PROTOTYPE, boards="fast")
    system = System(machine, {f"CAB{i}": i for i in range(1, 5)}, routes)
    assert system.cab("CAB4").datalink.routes == {2: [(4, 2), (3, 2), (2, 0)]}
    system.close()


def test_an_order_of_channels_that_wait_in_a_circle_is_refused():
    with pytest.raises(RoutingCycle):
        Order({(1, 1): {(2, 1)}, (2, 1): {(1, 1)}}, {(1, 1): 2, (2, 1): 1})


# -- how several CABs' hops are opened ---------------------------------------------------------------
def words(route, circuit=False):
    """The (opcode, HUB, port) of each stage's commands."""
    register = REG["TX_COMMAND"]
    stages = [stage for stage, _ in (route.circuits if circuit else route.before)] + ([] if circuit else [route.packet])
    return [
        [(Op(register.opcode.get(word)), register.hub.get(word), register.param.get(word)) for word in stage]
        for stage in stages
    ]


def test_a_tree_over_several_hubs_is_opened_in_stages_in_the_common_order():
    """HUBs of different branches do not wait for each other: without answers, CABs could get channels in another
    order than they asked for them."""
    chart = Map.of(load("mesh:2x2"))
    plan = Plan(chart)
    route = Route(plan.table(1).branches([2, 3, 4])[0], plan.order.key)
    hops = [hop for stage in words(route) for _, *hop in stage]
    assert [plan.order.key(tuple(hop)) for hop in hops] == sorted(plan.order.key(tuple(hop)) for hop in hops)
    assert route.stages > 1
    *before, last = words(route)
    for stage in before:
        assert [op for op, _, _ in stage] == [Op.TEST_OPEN_RETRY] * (len(stage) - 1) + [Op.TEST_OPEN_RETRY_REPLY]
    assert {op for op, _, _ in last} == {Op.TEST_OPEN_RETRY}
    assert [len(replies) for _, replies in route.before] == [1] * len(before)
    ends = {(2, 0), (3, 0), (4, 0)}
    for stage in words(route, circuit=True):
        assert {(hub, port) for op, hub, port in stage if op & REPLY} == {tuple(stage[-1][1:])} | ends & {
            (hub, port) for _, hub, port in stage
        }
    assert (
        len(
            [
                word
                for word in [*route.packet, *(word for stage, _ in route.before for word in stage)]
                if REG["TX_COMMAND"].wait_ready.get(word)
            ]
        )
        == 1
    )


@pytest.mark.parametrize("name", SHAPES)
def test_within_a_stage_every_command_waits_behind_the_one_before_it(name):
    """Its own HUB lies on the way, or is the same."""
    chart = Map.of(load(name))
    plan = Plan(chart)
    for source in sorted(chart.cabs)[:8]:
        table = plan.table(source)
        for targets in ([cab for cab in sorted(table.routes)][:9], sorted(table.routes)[::3][:9]):
            branches, _ = table.branches(targets)
            route = Route(branches, plan.order.key)
            for stage in words(route):
                for (_, first, _), (_, *second) in itertools.combinations(stage, 2):
                    way = next(branch for branch in branches if tuple(second) in branch)
                    assert first in [hub for hub, _ in way[: way.index(tuple(second)) + 1]]


def test_branches_that_are_no_tree_are_refused():
    with pytest.raises(ValueError, match="no tree"):
        Route([[(1, 1), (2, 1), (4, 0)], [(1, 2), (3, 1), (4, 0)]])
    table = Table({2: [(1, 1), (2, 1), (4, 0)], 3: [(1, 2), (3, 1), (4, 1)]})
    with pytest.raises(NoRoute, match="no tree of routes to the CABs .2, 3.: send to them one by one"):
        table.branches([3, 2])
    with pytest.raises(NoRoute, match="no route to CAB 9"):
        table.branches([2, 9])


# -- the map -----------------------------------------------------------------------------------------
def test_a_map_forgets_what_a_port_was_wired_to_before():
    chart = Map()
    chart.hub(1, 4)
    chart.hub(2, 4)
    chart.link((1, 0), (2, 0))
    chart.cab(7, (1, 1))
    chart.cab(7, (2, 3))
    assert chart.cabs == {7: (2, 3)}
    chart.link((1, 0), (2, 3))
    assert chart.links == {(1, 0): (2, 3), (2, 3): (1, 0)} and chart.cabs == {}
    chart.cab(8, (1, 0))
    assert chart.links == {} and chart.cabs == {8: (1, 0)}
    assert str(chart) == "HUB 1: 4 ports\nHUB 2: 4 ports\nHUB 1 P0 - CAB 8"
    assert chart != Map() and chart == chart
