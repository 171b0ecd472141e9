"""Discovery: each CAB finds out by itself what the network looks like. On fast boards, and on the RTL.

Sources: fact S10; *Network-Based Multicomputers*, section 5.3.2; docs/routing.md.
"""

import pytest
from hypothesis import given, settings
from hypothesis import seed as starts_with
from hypothesis import strategies as st

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.datalink.map import Map
from nectar.software.datalink.options import Options
from nectar.software.datalink.routes import named_routes
from nectar.software.errors import NoReply, NoRoute, ProgramError
from nectar.software.system import System
from nectar.verification import seeds

from .helpers import BOARDS, drive, receive_all, simulated
from .test_routes import ring


def explored(topology, boards="fast", **options):
    """Lets all CABs explore; checks every map and table against the topology, and that no memory is kept. Returns
    the closed system; its ``struck`` tells how often faults have struck."""

    async def look(cab):
        await cab.sleep(3000)

    with simulated(topology, boards=boards, routes="discovered", **options) as system:
        used = {cab.id: cab.memory.used for cab in system.cabs}
        for name in system.topology.cabs:
            system.spawn(name, look)
        system.go()
        chart = Map.of(system.topology)
        routes = named_routes(system.topology)
        for name in system.topology.cabs:
            cab = system.cab(name)
            assert cab.datalink.discovery.chart == chart, name
            assert cab.datalink.routes == {system.id_of(other): hops for other, hops in routes[name].items()}
            assert cab.memory.used == used[cab.id] and cab.datalink.out.lock.holder is None
        system.struck = sum(fault.hits for fault in system.placed)
        return system


def odd(*ports):
    """A loop, two fibers between the same HUBs, one from a HUB to itself, unused ports, a HUB without CABs, IDs of 0
    and 254."""
    ports = ports or (6, 5, 4)
    topology = (
        Topology("odd").hub("A", id=0, ports=ports[0]).hub("B", id=254, ports=ports[1]).hub("C", id=3, ports=ports[2])
    )
    topology.cab("X", id=0).cab("Y", id=254).cab("Z", id=3)
    for a, b in (
        ("X", "A.P1"),
        ("Y", "B.P4"),
        ("Z", "A.P0"),
        ("A.P3", "B.P0"),
        ("B.P1", "A.P2"),
        ("B.P2", "C.P3"),
        ("C.P0", "A.P5"),
        ("C.P1", "C.P2"),
    ):
        topology.fiber(a, b)
    return topology


@pytest.mark.parametrize(
    "topology",
    ["hub:16", "chain:3", "mesh:2x2", "figure7", odd(), ring(4)],
    ids=lambda item: getattr(item, "name", item),
)
def test_what_all_cabs_find_at_once_is_what_there_is(topology):
    """S10: any topology; the tables are those that are given otherwise."""
    explored(topology)


@pytest.mark.parametrize("topology", ["hub:4", odd(16, 16, 16)], ids=["hub:4", "odd"])
def test_what_all_cabs_find_in_the_rtl_is_what_there_is(topology):
    explored(topology, "rtl")


@pytest.mark.nightly
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("topology", ["hub:16", "chain:4", "mesh:4x4", "figure7"])
def test_what_all_cabs_find_on_every_built_in_shape_is_what_there_is(topology, boards):
    explored(topology, boards)


@starts_with(seeds.seed())
@settings(deadline=None, max_examples=10, database=None)
@given(st.data())
def test_random_networks_are_found_as_they_are(data):
    draw = data.draw
    topology = Topology("random")
    ids = draw(st.lists(st.integers(0, 254), min_size=1, max_size=4, unique=True))
    free = []
    for index, number in enumerate(ids):
        topology.hub(f"H{index}", id=number, ports=5)
        if index:
            a = draw(st.sampled_from(sorted(free)))
            free.remove(a)
            topology.fiber(a, f"H{index}.P0")
        free += [f"H{index}.P{port}" for port in range(1 if index else 0, 5)]
    free = draw(st.permutations(free))
    for index, number in enumerate(draw(st.lists(st.integers(0, 254), min_size=2, max_size=3, unique=True))):
        topology.cab(f"C{index}", id=number).fiber(f"C{index}", free.pop())
    for _ in range(draw(st.integers(0, len(free) // 2))):
        topology.fiber(free.pop(), free.pop())
    explored(topology)


def cyclic(seed):
    """A network of 3 to 6 HUBs with fibers beyond a tree, and 6 to 16 CABs, on any ports."""
    rng = seeds.rng("cyclic", seed)
    topology = Topology(f"cyclic {seed}")
    hubs = rng.randrange(3, 7)
    free = []
    for index, number in enumerate(rng.sample(range(255), hubs)):
        topology.hub(f"H{index}", id=number, ports=16)
        free.append(rng.sample(range(16), 16))
    pairs = [(index, rng.randrange(index)) for index in range(1, hubs)] + [
        rng.sample(range(hubs), 2) for _ in range(rng.randrange(1, hubs + 1))
    ]
    for a, b in pairs:
        topology.fiber(f"H{a}.P{free[a].pop()}", f"H{b}.P{free[b].pop()}")
    for index, number in enumerate(rng.sample(range(255), rng.randrange(6, 17))):
        hub = rng.choice([hub for hub in range(hubs) if free[hub]])
        topology.cab(f"C{index}", id=number).fiber(f"C{index}", f"H{hub}.P{free[hub].pop()}")
    return topology


def routed(seed):
    """Whatever tasks begin with is the whole table, though others send already; and nothing they send lacks a route."""
    whole = {}

    async def serve(cab):
        service = cab.request.serve(7)
        while True:
            request = await service.receive()
            await request.reply(await request.read())

    async def work(cab, table, rng):
        whole[cab.name] = cab.datalink.routes == table
        others = sorted(table)
        for number in range(6):
            await cab.multicast.send((rng.sample(others, 3), 1), bytes([number]) * rng.choice([10, 2000]))
            await cab.request.call((rng.choice(others), 7), bytes(600))
            for other in rng.sample(others, 3):
                await cab.datagram.send((other, 1), bytes(900))

    topology = cyclic(seed)
    routes = named_routes(topology)
    with simulated(topology, routes="discovered") as system:
        for cab in system.cabs:
            cab.spawn(serve)
            cab.mailbox(1).on_arrival = lambda message: message.free() or True
        for name in topology.cabs:
            system.spawn(
                name,
                work,
                {system.id_of(other): hops for other, hops in routes[name].items()},
                seeds.rng("routed", seed, name),
            )
        system.go()
        assert len(whole) == len(topology.cabs) and all(whole.values()), whole


@pytest.mark.parametrize("seed", [10])
def test_tables_are_whole_when_tasks_begin_and_under_traffic_no_cab_is_unknown(seed):
    """docs/routing.md: on sound networks the tables that are found are those that are given, from the beginning."""
    routed(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(40))
def test_tables_are_whole_on_many_networks(seed):
    routed(seed)


@pytest.mark.parametrize("boards", BOARDS)
def test_messages_go_everywhere_by_routes_that_were_found(boards):
    async def talk(cab, others):
        for other in others:
            await cab.datagram.send((other, 1), bytes([cab.id]))
        return await receive_all(cab, 1, len(others))

    topology = odd(16, 16, 16)
    with simulated(topology, boards=boards, routes="discovered") as system:
        ids = {cab.id for cab in system.cabs}
        threads = {cab.id: system.spawn(cab.name, talk, ids - {cab.id}) for cab in system.cabs}
        system.go()
        for number, thread in threads.items():
            assert sorted(thread.result) == [(other, bytes([other])) for other in sorted(ids - {number})]


# -- what goes wrong ---------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["reply", "command"])
def test_lost_questions_and_answers_are_asked_again(kind):
    """Also hellos, which are replies: a neighbour that is not heard is asked once more."""
    rng = seeds.rng("lost", kind)
    topology = odd()
    names = [f"{a}->{b}" for pair in topology.fibers for a, b in ((pair.a, pair.b), (pair.b, pair.a))]
    system = explored(
        topology, faults=[f"{name}:lost-{kind},nth={rng.randrange(1, 9)}" for name in rng.sample(names, 12)]
    )
    assert system.struck
    assert sum(cab.datalink.counters.asked_again for cab in system.cabs)


def late(topology, boards, *missing):
    """A System whose CABs ``missing`` have no software; and a function that gives one of them its own."""
    machine = EngineMachine(topology, PROTOTYPE, boards=boards)
    system = System(machine, {name: board.id for name, board in topology.cabs.items() if name not in missing}, None)
    return system


@pytest.mark.parametrize("boards", BOARDS)
def test_a_board_that_is_silent_is_not_there(boards):
    system = late(load("hub:3"), boards, "CAB2")

    async def look(cab):
        with pytest.raises(NoRoute, match="no route to CAB 2; it knows .3."):
            await cab.datagram.send((2, 1), b"?")
        await cab.datagram.send((3, 1), b"!")

    system.spawn("CAB1", look)
    there = system.spawn("CAB3", receive_all, 1, 1)
    drive(system.run(10**11))
    assert there.result == [(1, b"!")]
    assert system.cab("CAB1").datalink.discovery.chart.cabs == {1: (1, 0), 3: (1, 2)}
    system.close()


def test_a_cab_that_starts_again_is_found_and_finds():
    """It tells the others where it is; they need not explore again."""

    async def wait(cab, us):
        await cab.sleep(us)

    async def answer(cab):
        message = await cab.mailbox(1).receive()
        await cab.datagram.send((message.source, 1), await message.read())
        message.free()

    async def ask(cab):
        await cab.datagram.send((1, 1), b"back")
        return await receive_all(cab, 1, 1)

    with simulated("figure7", routes="discovered") as system:
        system.faults.stop("CAB5", at_us=15_000, for_us=3_000)
        asked = []
        system.on_restart = lambda cab: asked.append(system.spawn("CAB5", ask))
        system.spawn("CAB1", wait, 20_000)
        system.spawn("CAB1", answer)
        system.spawn("CAB4", wait, 40_000)
        system.go()
        assert [thread.result for thread in asked] == [[(1, b"back")]]
        assert system.cab("CAB1").datalink.discovery.explored == 1
        assert system.cab("CAB5").datalink.discovery.chart == Map.of(system.topology)


def test_a_cab_that_starts_late_is_known_when_it_has_said_where_it_is():
    """A CAB that nobody answered for is entered when its own announcement comes."""

    async def wait(cab, us):
        await cab.sleep(us)

    async def send(cab):
        await cab.sleep(12_000)
        await cab.datagram.send((4, 1), b"welcome")

    async def receive(cab):
        return await receive_all(cab, 1, 1)

    with simulated("hub:4", routes="discovered") as system:
        system.faults.stop("CAB4", at_us=0.5, for_us=4_000)
        threads = []
        system.on_restart = lambda cab: threads.append(system.spawn("CAB4", receive))
        system.spawn("CAB1", send)
        system.spawn("CAB2", wait, 14_000)
        system.go()
        assert [thread.result for thread in threads] == [[(1, b"welcome")]]
        assert system.cab("CAB2").datalink.routes[4] == [(1, 3)]


def test_a_cab_whose_hellos_are_lost_is_known_by_its_announcement():
    """Hellos and replies to others are reply frames: all that CAB4 sends get lost."""
    explored("hub:4", faults=["CAB4->HUB1.P3:lost-reply=1"])


def test_a_cab_whose_announcement_is_lost_is_looked_for_when_it_is_needed():
    async def send(cab):
        await cab.sleep(12_000)
        await cab.datagram.send((4, 1), b"welcome")
        return cab.datalink.discovery.explored

    async def receive(cab):
        return await receive_all(cab, 1, 1)

    with simulated(
        "hub:4",
        routes="discovered",
        options=Options(again_us=1000, watch_us=500, ready_us=1000),
        faults=["CAB4->HUB1.P3:lost-start,times=3"],
    ) as system:
        system.faults.stop("CAB4", at_us=0.5, for_us=4_000)
        system.on_restart = lambda cab: system.spawn("CAB4", receive)
        sender = system.spawn("CAB1", send)
        system.go()
        assert sender.result == 2
        assert system.placed[0].hits == 3


@pytest.mark.parametrize("protocol", ["request", "multicast", "stream"])
def test_a_cab_that_is_not_known_is_looked_for_when_it_is_to_be_answered(protocol):
    """At interrupt level nobody waits for a route: a thread explores, and what the CAB sends again is answered."""

    async def ask(cab):
        if protocol == "request":
            await cab.request.call((1, 7), b"who?")
        elif protocol == "multicast":
            await cab.multicast.send(([1], 1), b"who?")
        else:
            (await cab.stream.connect((1, 9))).abort()

    async def serve(cab):
        service = cab.request.serve(7)
        cab.stream.listen(9)
        cab.mailbox(1).on_arrival = lambda message: message.free() or True
        while True:
            await (await service.receive()).reply()

    options = Options(watch_us=500, ready_us=1000)
    with simulated(
        "hub:4", routes="discovered", options=options, faults=["CAB4->HUB1.P3:lost-start,times=3"]
    ) as system:
        system.faults.stop("CAB4", at_us=0.5, for_us=4_000)
        asked = []
        system.on_restart = lambda cab: asked.append(system.spawn("CAB4", ask))
        system.cab("CAB1").spawn(serve)

        async def wait(cab):
            await cab.sleep(60_000)
            return 4 in cab.datalink.routes, cab.datalink.discovery.explored

        waiter = system.spawn("CAB1", wait)
        system.go()
        assert asked[0].ended and asked[0].error is None
        assert waiter.result == (True, 2)


@pytest.mark.parametrize("boards", ["fast", pytest.param("rtl", marks=pytest.mark.nightly)])
def test_a_cab_explores_while_the_others_keep_the_network_busy(boards):
    """Whoever explores never waits for a channel while it holds others, and gets through; no message is lost by it."""

    async def send(cab, other, count):
        for number in range(count):
            await cab.datagram.send((other, 1), bytes([number]) * 900)

    with simulated("mesh:2x2", boards=boards, routes="discovered") as system:
        system.faults.stop("CAB4", at_us=9_000, for_us=200)
        maps = []

        async def look(cab):
            maps.append(cab.datalink.discovery.chart)

        system.on_restart = lambda cab: system.spawn("CAB4", look)
        receivers = []
        for name, other in (("CAB1", 2), ("CAB2", 3), ("CAB3", 1)):
            system.spawn(name, send, other, 160)
            receivers.append(system.spawn(f"CAB{other}", receive_all, 1, 160))
        system.go()
        assert maps == [Map.of(system.topology)]
        assert all([data[0] for _, data in thread.result] == list(range(160)) for thread in receivers)


def test_tasks_on_a_cab_whose_hub_is_dead_hear_of_it():
    async def work(cab):
        raise AssertionError("it must not begin")

    with simulated("hub:2", routes="discovered", faults=["HUB1.P0->CAB1:lost-reply=1"]) as system:
        system.spawn("CAB1", work)
        with pytest.raises(ProgramError, match="no HUB answers to CAB1: is its fiber whole") as caught:
            system.go()
        assert isinstance(caught.value.__cause__, NoReply)


def test_a_hub_that_does_not_answer_is_left_out_with_all_behind_it():
    with simulated("chain:3", routes="discovered", faults=["HUB2.P2->HUB1.P1:lost-reply=1"]) as system:

        async def look(cab):
            return dict(cab.datalink.routes)

        thread = system.spawn("CAB1", look)
        system.go()
        assert thread.result == {}
        assert system.cab("CAB1").datalink.discovery.chart.hubs == {1: 16}


def test_where_routes_come_from_must_be_one_of_two():
    shape = load("hub:2")
    machine = EngineMachine(shape, PROTOTYPE, boards="fast")
    with pytest.raises(ValueError, match="'given' or 'discovered', not 'guessed'"):
        System.of(machine, shape, routes="guessed")
    machine.close()


# -- what it costs -----------------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("topology, most_us", [("hub:2", 1500), ("hub:16", 4000), ("mesh:2x2", 8000)])
def test_exploring_takes_no_longer_than_stated(topology, most_us, boards):
    """docs/routing.md: some milliseconds, once, with all CABs at it."""
    system = explored(topology, boards)
    longest = max(cab.datalink.discovery.taken_us for cab in system.cabs)
    assert 100 < longest < most_us
