"""What the datalink does when nothing arrives: it looks at the way, flushes what is stuck, repairs flow control, goes
round what is broken.

Sources: facts H20, H21, S4; *Network-Based Multicomputers*, section 5.3.4; docs/routing.md. On fast boards and on the
RTL, with the same assertions."""

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import Op
from nectar.software.datalink.options import Options
from nectar.software.datalink.route import command_word
from nectar.software.errors import CircuitError

from .helpers import BOARDS, receive_all, simulated
from .test_routes import ring

#: Short times, so that recovery takes little simulated time.
QUICK = Options(
    watch_us=500,
    ready_us=2000,
    hold_us=1000,
    stall_us=3000,
    reply_us=1000,
    status_us=200,
    attempts=2,
    suspect_us=1000,
    mend_us=20_000,
)
#: Longer than a HUB's watchdog takes to end what stands still: 2 x 2**20 cycles of 70 ns.
WATCHDOG_US = 150_000


async def send_and_look(cab, target, count, pause_us, looks=3):
    """Sends messages 0, 1, 2... and tells the datalink between them that there is no answer. As transports do whose
    timers run out."""
    for number in range(count):
        await cab.datagram.send((target, 1), bytes([number]) * 40)
        await cab.sleep(pause_us)
        if number < looks:
            cab.datalink.report_unresponsive(target)
            await cab.sleep(pause_us)


async def collect(cab, until):
    """Takes messages until the one numbered ``until``; returns (their numbers, microseconds at which the last came)."""
    got = []
    while not got or got[-1] != until:
        message = await cab.mailbox(1).receive()
        got.append((await message.read())[0])
        message.free()
    return got, await cab.now_us()


def used(system):
    return {cab.id: cab.memory.used for cab in system.cabs}


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("fault", ["cut", "disable"])
def test_another_way_is_taken_round_a_broken_hop_and_left_when_it_is_mended(boards, fault):
    with simulated("mesh:2x2", boards=boards, options=QUICK) as system:
        before = used(system)
        straight = [(1, 1), (2, 3), (4, 0)]
        broken = system.faults.cut("HUB1.P1", at_us=0) if fault == "cut" else system.faults.disable("HUB1.P1", at_us=0)
        sender = system.spawn("CAB1", send_and_look, 4, 8, 4000)
        receiver = system.spawn("CAB4", collect, 7)
        system.go()
        got, _ = receiver.result
        assert got == list(range(got[0], 8)) and 0 < got[0] < 4
        datalink = system.cab("CAB1").datalink
        assert datalink.routes[4] == [(1, 3), (3, 1), (4, 0)]
        assert datalink.routes[3] == [(1, 3), (3, 0)]
        assert (datalink.counters.broken, datalink.counters.rerouted) == (1, 1)
        broken.end()

        async def wait(cab):
            await cab.sleep(30_000)
            return cab.datalink.routes[4]

        later = system.spawn("CAB1", wait)
        system.go()
        assert later.result == straight and sender.ended
        assert used(system) == before


def test_a_way_against_the_order_is_taken_if_there_is_no_other():
    """On a ring of five, whose order has no way round that fiber."""
    with simulated(ring(5), options=QUICK) as system:
        system.faults.cut("HUB1.P1", at_us=0)
        system.spawn("CAB1", send_and_look, 2, 8, 6000)
        receiver = system.spawn("CAB2", collect, 7)
        system.go()
        datalink = system.cab("CAB1").datalink
        assert datalink.routes[2] == [(1, 2), (5, 2), (4, 2), (3, 2), (2, 0)]
        order = [datalink.table.order.key(hop) for hop in datalink.routes[2]]
        assert order != sorted(order)
        assert receiver.result[0][-1] == 7
        assert datalink.route(2).hops == datalink.routes[2] and datalink.route(2).stages == 1
        # A multicast goes by one order, that of the network as it is now.
        key = datalink.table.spare.order.key
        hops = datalink.route(2, 5).hops
        assert hops == sorted({*datalink.routes[2], (5, 0)}, key=key)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_circuit_goes_round_a_broken_hop_by_itself(boards):
    async def send(cab):
        await cab.datagram.send((4, 1), bytes(5000), "circuit")
        await cab.datalink.finish()

    with simulated("mesh:2x2", boards=boards, options=QUICK) as system:
        before = used(system)
        system.faults.cut("HUB1.P1", at_us=0)
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB4", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, bytes(5000))]
        assert system.cab("CAB1").datalink.counters.rerouted == 1
        assert used(system) == before


@pytest.mark.parametrize("switching", ["packet", "circuit"])
def test_a_multicast_over_several_hubs_goes_round_a_broken_hop_by_itself(switching):
    """Its way is opened in stages: that one is not answered shows at once that something is broken."""

    async def send(cab):
        await cab.datagram.send(([2, 3, 6, 8], 1), b"to all", switching)
        await cab.datalink.finish()

    with simulated("mesh:3x3", options=QUICK) as system:
        before = used(system)
        system.faults.cut("HUB1.P1", at_us=0)
        system.spawn("CAB1", send)
        receivers = [system.spawn(f"CAB{number}", receive_all, 1, 1) for number in (2, 3, 6, 8)]
        system.go()
        assert [thread.result for thread in receivers] == [[(1, b"to all")]] * 4
        assert system.cab("CAB1").datalink.counters.rerouted == 1
        assert used(system) == before


def test_a_circuit_over_the_only_way_fails_with_an_error_when_that_is_cut():
    async def send(cab):
        with pytest.raises(CircuitError, match="no circuit from CAB1"):
            await cab.datagram.send((3, 1), bytes(100), "circuit")
        return cab.datalink.routes[3], await cab.now_us()

    with simulated("chain:3", options=QUICK) as system:
        before = used(system)
        system.faults.cut("HUB2.P1", at_us=0)
        sender = system.spawn("CAB1", send)
        system.go()
        assert sender.result[0] == [(1, 1), (2, 1), (3, 0)] and sender.result[1] < 20_000
        assert used(system) == before


@pytest.mark.parametrize("boards", BOARDS)
def test_a_ready_signal_lost_between_hubs_is_made_up_for(boards):
    """H21: by *repair ready* at the HUB behind the fiber, which waits for its turn there. Long before the watchdog."""
    with simulated("chain:3", boards=boards, options=QUICK) as system:
        lost = system.faults.lose("HUB2.P2->HUB1.P1", kind="ready", nth=2)
        system.spawn("CAB1", send_and_look, 3, 6, 1500, 6)
        receiver = system.spawn("CAB3", collect, 5)
        system.go()
        got, at_us = receiver.result
        assert lost.hits == 1
        assert got[:2] == [0, 1] and len(got) >= 5 and at_us < 40_000
        assert system.cab("CAB1").datalink.counters.repaired == 1


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("link_suspect", [True, False])
def test_a_ready_signal_lost_on_the_own_fiber_is_made_up_for_sooner_if_a_transport_is_in_doubt(link_suspect, boards):
    """With the times as they are: after some 10 ms in place of 100."""
    with simulated("hub:2", boards=boards) as system:
        lost = system.faults.lose("HUB1.P0->CAB1", kind="ready", nth=2)
        system.spawn("CAB1", send_and_look, 2, 6, 2500, 6 if link_suspect else 0)
        receiver = system.spawn("CAB2", collect, 5)
        system.go()
        got, at_us = receiver.result
        assert lost.hits == 1 and got == list(range(6))
        assert (at_us < 50_000) == link_suspect and at_us < 150_000
        assert system.cab("CAB1").datalink.counters.ready_recovered == 1


@pytest.mark.parametrize("boards", BOARDS)
def test_a_packet_lost_whole_before_a_silent_cab_does_not_shut_it_off(boards):
    """The HUB waits for a ready signal of a CAB that knows of nothing; a small packet past the ready bit makes it
    send one."""
    with simulated("hub:2", boards=boards, options=QUICK) as system:
        system.faults.cut("HUB1.P1->CAB2", at_us=0, for_us=1000)
        system.spawn("CAB1", send_and_look, 2, 6, 1500, 6)
        receiver = system.spawn("CAB2", collect, 5)
        system.go()
        got, at_us = receiver.result
        assert got[-1] == 5 and len(got) >= 3 and at_us < 40_000
        assert system.cab("CAB1").datalink.counters.repaired >= 1


@pytest.mark.parametrize("boards", BOARDS)
def test_a_queue_that_is_stuck_is_flushed(boards):
    """H21: CAB1's packet waits in its HUB's queue for an output that CAB2 keeps; what comes behind it would wait,
    too."""

    async def keep(cab):
        cab.door.write(REG["TX_COMMAND"].address, command_word(Op.OPEN, 1, 2))

    async def send(cab):
        await cab.sleep(200)
        await cab.datagram.send((3, 1), b"stuck")
        await cab.sleep(300)
        cab.datalink.report_unresponsive(3)
        await cab.sleep(3000)
        await cab.datagram.send((2, 1), b"past it")

    with simulated("hub:3", boards=boards, options=QUICK) as system:
        system.spawn("CAB2", keep)
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, b"past it")]
        assert system.cab("CAB1").datalink.counters.flushed == 1
        assert system.time_ns < 50_000_000


@pytest.mark.parametrize("boards", BOARDS)
def test_whoever_flushes_a_queue_restores_what_was_waited_for_there(boards):
    """Packets to CAB4, which nobody suspects, stick at HUB1 since a ready signal is lost. The way to CAB3 is suspected
    again and again: each time the queue is flushed before HUB1's watchdog would restore the ready bit."""

    async def send(cab):
        for number in range(16):
            await cab.datagram.send((4, 1), bytes([number]) * 40)
            await cab.sleep(6_000)

    async def doubt(cab):
        for _ in range(12):
            await cab.sleep(7_500)
            cab.datalink.report_unresponsive(3)

    with simulated("mesh:2x2", boards=boards, options=QUICK) as system:
        before = used(system)
        assert [system.cab("CAB1").datalink.routes[cab][0] for cab in (3, 4)] == [(1, 3), (1, 1)]
        lost = system.faults.lose("HUB2.P2->HUB1.P1", kind="ready", nth=2)
        system.spawn("CAB1", send)
        system.spawn("CAB1", doubt)
        receiver = system.spawn("CAB4", collect, 15)
        system.go()
        assert lost.hits == 1
        got, at_us = receiver.result
        # What was in the queue when it was flushed, and no more.
        assert got[:2] == [0, 1] and len(got) >= 12 and at_us < 16 * 6_000 + 5_000
        assert system.cab("CAB1").datalink.counters.repaired == 1
        assert used(system) == before


@pytest.mark.parametrize("boards", ["fast", pytest.param("rtl", marks=pytest.mark.nightly)])
def test_the_connection_of_a_cab_that_stopped_is_ended_by_the_watchdog(boards):
    """H20: CAB2 opens a way to CAB3 and stops; CAB1 gets through when the HUB has ended that."""

    async def keep(cab):
        async with cab.datalink.out as out:
            await out.commands([command_word(Op.OPEN, 1, 2)])
            await cab.sleep(10_000)

    async def send(cab):
        await cab.sleep(500)
        for number in range(12):
            await cab.datagram.send((3, 1), bytes([number]))
            await cab.sleep(20_000)

    with simulated("hub:3", boards=boards) as system:
        system.spawn("CAB2", keep)
        system.faults.stop("CAB2", at_us=300)
        sender = system.spawn("CAB1", send)
        receiver = system.spawn("CAB3", collect, 11)
        system.go()
        got, at_us = receiver.result
        assert got[-1] == 11 and at_us < WATCHDOG_US + 12 * 20_000
        assert sender.ended


@pytest.mark.parametrize("boards", BOARDS)
def test_a_hub_that_is_reset_under_traffic_costs_messages_and_nothing_else(boards):
    async def send(cab):
        for number in range(60):
            await cab.datagram.send((3, 1), bytes([number]) * 600)
        await cab.sleep(5000)
        await cab.datagram.send((3, 1), bytes([99]))
        await cab.sleep(5000)
        await cab.datagram.send((3, 1), bytes([100]))

    with simulated("chain:3", boards=boards, options=QUICK) as system:
        before = used(system)
        system.faults.reset("HUB2", at_us=1500)
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB3", collect, 100)
        system.go()
        got, _ = receiver.result
        assert got == sorted(got) and len(got) >= 40

        async def rest(cab):
            await cab.sleep(20_000)

        system.spawn("CAB3", rest)
        system.go()
        assert used(system) == before


def test_a_way_is_not_looked_at_all_the_time():
    async def doubt(cab):
        for _ in range(20):
            cab.datalink.report_unresponsive(2)
            await cab.sleep(100)
        cab.datalink.report_unresponsive(77)
        return cab.datalink.counters.looked

    with simulated("hub:2", options=QUICK) as system:
        thread = system.spawn("CAB1", doubt)
        system.go()
        assert 1 <= thread.result <= 3
        counters = system.cab("CAB1").datalink.counters
        assert (counters.repaired, counters.flushed, counters.broken) == (0, 0, 0)


@pytest.mark.parametrize("boards", BOARDS)
def test_looking_at_a_way_under_traffic_loses_nothing(boards):
    """Packets of three CABs to one, whose sender looks at the way again and again."""

    async def send(cab):
        for number in range(30):
            await cab.datagram.send((4, 1), bytes([cab.id, number]) * 250)
            if not number % 5:
                cab.datalink.report_unresponsive(4)

    with simulated("mesh:2x2", boards=boards, options=QUICK) as system:
        for name in ("CAB1", "CAB2", "CAB3"):
            system.spawn(name, send)
        receiver = system.spawn("CAB4", receive_all, 1, 90)
        system.go()
        assert sorted(data for _, data in receiver.result) == sorted(
            bytes([source, number]) * 250 for source in (1, 2, 3) for number in range(30)
        )
        assert sum(cab.datalink.counters.looked for cab in system.cabs) >= 3
        assert sum(cab.datalink.counters.broken for cab in system.cabs) == 0


def test_registers_are_as_after_a_reset_when_all_is_done():
    """Nothing stays in the fiber-out list, and no interrupt enabled that nobody waits for."""

    async def look(cab):
        cab.datalink.report_unresponsive(2)
        await cab.sleep(5000)
        return await cab.door.read(REG["TX_STATUS"].address)

    with simulated("hub:2", options=QUICK) as system:
        thread = system.spawn("CAB1", look)
        system.go()
        assert REG["TX_STATUS"].free.get(thread.result) == 32 and not REG["TX_STATUS"].waiting.get(thread.result)
