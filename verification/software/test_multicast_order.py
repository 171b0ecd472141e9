"""Many CABs multicast at once over many HUBs, by packets and by circuits: nobody ever waits in a circle.

Sources: "The Design of Nectar" (1989), sections 4.2.2 and 4.2.4; docs/routing.md. A watchdog that has to end something,
or a time-out in software, would show that somebody waited for ever; so none may."""

import pytest

from nectar.software.datalink.options import Options
from nectar.software.errors import CircuitError
from nectar.verification import seeds

from .helpers import BOARDS, simulated
from .test_routes import ring


def traffic(topology, count, switching, boards="fast", size=200, members=4):
    """Every CAB sends ``count`` multicasts, and as many messages to one, to CABs drawn at random; checks that all
    arrive."""
    with simulated(topology, boards=boards) as system:
        ids = sorted(cab.id for cab in system.cabs)
        used = {cab.id: cab.memory.used for cab in system.cabs}
        rng = seeds.rng("multicast", str(topology), switching)
        plans = {
            me: [
                rng.sample([other for other in ids if other != me], members if turn % 2 else 1)
                for turn in range(2 * count)
            ]
            for me in ids
        }
        expected = {me: sum(me in group for plan in plans.values() for group in plan) for me in ids}

        async def send(cab):
            for turn, group in enumerate(plans[cab.id]):
                way = rng.choice(["packet", "circuit"]) if switching == "both" else switching
                await cab.datagram.send(
                    (group if len(group) > 1 else group[0], 1), bytes([cab.id, turn]) * (size // 2), way
                )
            await cab.datalink.finish()

        async def receive(cab):
            got = []
            for _ in range(expected[cab.id]):
                message = await cab.mailbox(1).receive()
                data = await message.read()
                got.append((data[0], data[1]))
                assert data == data[:2] * (size // 2)
                message.free()
            return got

        receivers = {cab.id: system.spawn(cab.name, receive) for cab in system.cabs}
        for cab in system.cabs:
            system.spawn(cab.name, send)
        system.go()
        for me, thread in receivers.items():
            assert sorted(thread.result) == sorted(
                (source, turn) for source, plan in plans.items() for turn, group in enumerate(plan) if me in group
            )
        for cab in system.cabs:
            counters = cab.datalink.counters
            assert counters.ready_recovered == counters.reply_timeouts == counters.hold_expired == 0
            assert cab.memory.used == used[cab.id]
        return system


@pytest.mark.parametrize("switching", ["packet", "circuit", "both"])
def test_concurrent_multicasts_on_a_mesh_all_arrive(switching):
    traffic("mesh:3x3", 8, switching)


@pytest.mark.parametrize("topology", [ring(5), "torus:3x3"], ids=["ring", "torus"])
def test_concurrent_multicasts_where_the_shortest_ways_form_circles_all_arrive(topology):
    traffic(topology, 5, "both")


def test_concurrent_multicasts_on_the_rtl_all_arrive():
    traffic("mesh:2x2", 4, "both", "rtl", members=3)


def test_a_multicast_by_packets_over_branching_hubs_is_refused_like_a_circuit():
    """docs/errors.md: its way is opened in stages before the packet sets out; that of a packet to one CAB, or on one
    HUB, is not."""

    async def send(cab, members):
        route = cab.datalink.route(*members)
        with pytest.raises(CircuitError, match="no tree from CAB1 over"):
            await cab.datagram.send((members, 1), b"x", "packet")
        await cab.datagram.send((members[0], 1), b"x", "packet")
        return route.stages

    with simulated("mesh:2x2", options=Options(reply_us=1000, status_us=100, attempts=2, asks=2)) as system:
        system.faults.disable("HUB4.P0")
        sender = system.spawn("CAB1", send, [2, 4])
        system.go()
        assert sender.result > 1


@pytest.mark.nightly
@pytest.mark.parametrize("boards", BOARDS)
def test_many_concurrent_multicasts_on_a_mesh_all_arrive(boards):
    traffic("mesh:4x4", 12, "both", boards, members=6)
