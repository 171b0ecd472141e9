"""The datalink: the commands of the paper's examples, flow control, and recovery from everything that can get lost.

Sources: "The Design of Nectar" (1989), sections 4.2 and 6.2.1; "Network-Based Multicomputers", sections 5.3.1 and
5.3.4."""

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import Op
from nectar.sim.topology import load
from nectar.software.datalink.options import Options
from nectar.software.datalink.route import Route
from nectar.software.datalink.routes import named_routes
from nectar.software.errors import CircuitError, ProgramError

from .helpers import hub_states, pattern, receive_all, send_all, simulated

#: Short times, so that recovery takes little simulated time.
QUICK = Options(watch_us=500, ready_us=2000, hold_us=1000, stall_us=3000, reply_us=1000, status_us=100, attempts=3)


def commands(words):
    """(opcode, HUB, port, whether it waits for the ready bit) of TX_COMMAND words."""
    register = REG["TX_COMMAND"]
    return [
        (Op(register.opcode.get(word)), register.hub.get(word), register.param.get(word), register.wait_ready.get(word))
        for word in words
    ]


# -- routes ------------------------------------------------------------------------------------------
def figure7_route(source, *destinations):
    routes = named_routes(load("figure7"))[source]
    return Route([routes[name] for name in destinations])


def test_circuit_to_cab1_has_the_papers_commands():
    """Section 4.2.1, fact H17."""
    assert commands(figure7_route("CAB3", "CAB1").circuits[0][0]) == [
        (Op.OPEN_RETRY, 2, 8, 0),
        (Op.OPEN_RETRY_REPLY, 1, 8, 0),
    ]


def test_circuit_for_multicast_has_the_papers_commands():
    """Section 4.2.2, fact H17."""
    route = figure7_route("CAB2", "CAB4", "CAB5")
    assert commands(route.circuits[0][0]) == [
        (Op.OPEN_RETRY, 1, 6, 0),
        (Op.OPEN_RETRY_REPLY, 4, 5, 0),
        (Op.OPEN_RETRY, 4, 3, 0),
        (Op.OPEN_RETRY_REPLY, 3, 4, 0),
    ]
    assert len(route.circuits[0][1]) == 2


def test_packet_switching_has_the_papers_commands():
    """Section 4.2.3, fact H17; only the first waits for the CAB's own ready bit."""
    assert commands(figure7_route("CAB3", "CAB1").packet) == [
        (Op.TEST_OPEN_RETRY, 2, 8, 1),
        (Op.TEST_OPEN_RETRY, 1, 8, 0),
    ]


def test_packet_switching_for_multicast_has_the_papers_commands():
    """Section 4.2.4, fact H17."""
    expected = [(Op.TEST_OPEN_RETRY, *hop) for hop in ((1, 6, 1), (4, 5, 0), (4, 3, 0), (3, 4, 0))]
    assert commands(figure7_route("CAB2", "CAB4", "CAB5").packet) == expected


def test_a_route_without_hops_or_with_too_many_is_refused():
    for branches in ([], [[]], [[(1, 2)], []]):
        with pytest.raises(ValueError, match="at least one hop"):
            Route(branches)
    with pytest.raises(ValueError, match="fewer CABs"):
        Route([[(1, port)] for port in range(30)])


# -- flow control ------------------------------------------------------------------------------------
def test_the_ready_signal_comes_only_when_the_dma_has_started():
    """Fact C10: while the receiver holds a packet, the next stays in the HUB, whatever the sender does."""

    async def receive(cab):
        cab.mailbox(1).capacity = 1
        await cab.sleep(1000)
        level = REG["RX_STATUS"].level.get(await cab.door.read(REG["RX_STATUS"].address))
        return cab.datalink.counters.packets_received, level, await receive_all(cab, 1, 4)

    messages = [pattern(500, n) for n in range(4)]
    with simulated() as system:
        system.spawn("CAB1", send_all, (2, 1), messages)
        receiver = system.spawn("CAB2", receive)
        system.go()
        received, level, got = receiver.result
        assert received == 1 and level <= 500 + 16 + 4 + 2
        assert [data for _, data in got] == messages
        assert system.cab("CAB2").datalink.counters.held


def test_a_held_packet_does_not_block_what_the_receiver_sends():
    async def both(cab):
        cab.mailbox(1).capacity = 1
        for number in range(5):
            await cab.datagram.send((1, 2), bytes([number]))
            await cab.sleep(100)
        return await receive_all(cab, 1, 3)

    with simulated() as system:
        system.spawn("CAB1", send_all, (2, 1), [b"a", b"b", b"c"])
        echo = system.spawn("CAB1", receive_all, 2, 5)
        other = system.spawn("CAB2", both)
        system.go()
        assert [data for _, data in echo.result] == [bytes([number]) for number in range(5)]
        assert len(other.result) == 3


# -- recovery ----------------------------------------------------------------------------------------
def run(
    topology, faults, sender, messages, expected, destination=(2, 1), switching="packet", receivers=("CAB2",), pause=0
):
    """Sends ``messages`` with ``faults``; returns the system (closed) and what each receiver got, ``expected``
    messages each."""

    async def send(cab):
        for data in messages:
            await cab.datagram.send(destination, data, switching)
            if pause:
                await cab.sleep(pause)

    with simulated(topology, faults=faults, options=QUICK) as system:
        system.spawn(sender, send)
        threads = [system.spawn(name, receive_all, destination[1], expected) for name in receivers]
        system.go()
        assert all(fault.hits for fault in system.placed)
        return system, [[data for _, data in thread.result] for thread in threads]


def test_a_lost_start_costs_its_message_and_no_other():
    """What follows is data outside packets."""
    messages = [pattern(200, n) for n in range(6)]
    system, [got] = run("hub:2", ["HUB1.P1->CAB2:lost-start,nth=3"], "CAB1", messages, 5)
    assert got == messages[:2] + messages[3:]
    assert system.cab("CAB2").datalink.counters.fiber_errors


@pytest.mark.parametrize(
    "fault, lost, counter", [("lost-data,nth=757,length=100", 2, "crc_errors"), ("lost-end,nth=3", 2, "framing_errors")]
)
def test_a_lost_stretch_is_noticed_and_costs_its_message_only(fault, lost, counter):
    """Section 6.2.1: the datalink recovers from framing errors. Without its end a packet goes on to the next start."""

    async def send(cab):
        block = await cab.memory.allocate(1024)
        for n in range(6):
            cab.memory.write(block, pattern(300, n))
            await cab.datagram.send((2, 1), [(block, 100), (block + 100, 100), (block + 200, 100)])

    with simulated(faults=["HUB1.P1->CAB2:" + fault], options=QUICK) as system:
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB2", receive_all, 1, 5)
        system.go()
        got = [data for _, data in receiver.result]
        assert got == [pattern(300, n) for n in range(6) if n != lost]
        assert getattr(system.cab("CAB2").datalink.counters, counter) == 1
        assert system.cab("CAB2").datagram.counters.damaged == 1


def test_corrupted_data_are_found_by_the_crc():
    messages = [pattern(700, n) for n in range(5)]
    system, [got] = run(
        "figure7", ["HUB2.P8->HUB1.P3:errors-data,nth=1100"], "CAB3", messages, 4, (1, 1), receivers=["CAB1"]
    )
    assert got == messages[:1] + messages[2:]
    assert system.cab("CAB1").datalink.counters.crc_errors == 1
    assert system.cab("CAB1").datagram.counters.damaged == 1


def test_a_corrupted_header_is_found_by_the_crc_and_does_no_harm():
    messages = [pattern(700, n) for n in range(5)]
    system, [got] = run("hub:2", ["HUB1.P1->CAB2:errors-data,nth=725"], "CAB1", messages, 4)
    assert got == messages[:1] + messages[2:]


def test_a_long_message_that_misses_a_packet_is_dropped_as_a_whole():
    messages = [pattern(5000, n) for n in range(3)]
    system, [got] = run("hub:2", ["CAB1->HUB1.P0:lost-command,nth=15"], "CAB1", messages, 2)
    assert got == [messages[0], messages[2]]
    counters = system.cab("CAB2").datagram.counters
    assert counters.incomplete == 1 and counters.messages_received == 2


def test_a_message_whose_end_never_comes_is_dropped_after_a_time():
    async def send(cab):
        await cab.datagram.send((2, 1), pattern(3000))
        await cab.sleep(20_000)

    with simulated(faults=["CAB1->HUB1.P0:lost-command,nth=5"], options=QUICK) as system:
        system.spawn("CAB1", send)
        used = system.cab("CAB2").memory.used
        system.go()
        cab = system.cab("CAB2")
        assert cab.datagram.counters.incomplete == 1 and cab.datagram.counters.messages_received == 0
        assert cab.memory.used == used and not cab.mailbox(1).full


@pytest.mark.parametrize("fiber, counter", [("HUB1.P0->CAB1", "ready_recovered"), ("CAB2->HUB1.P1", None)])
def test_a_lost_ready_signal_is_made_up_for(fiber, counter):
    """M 5.3.4: an extra signal repairs the loss: the sender's own time-out on its fiber, the receiver's extra signal
    on the other."""
    messages = [pattern(100, n) for n in range(8)]
    system, [got] = run("hub:2", [fiber + ":lost-ready,nth=3"], "CAB1", messages, 8)
    assert got == messages
    assert system.cab("CAB1").datalink.counters.ready_recovered == (1 if counter else 0)
    assert (system.cab("CAB2").datalink.counters.ready_repeated > 0) or counter


def test_a_lost_open_costs_its_message_only():
    messages = [pattern(100, n) for n in range(6)]
    _, [got] = run("figure7", ["HUB2.P8->HUB1.P3:lost-command,nth=5"], "CAB3", messages, 5, (1, 1), receivers=["CAB1"])
    assert got == messages[:2] + messages[3:]


def test_a_lost_close_all_does_not_stop_the_own_messages():
    """The connection is still there when the next open for it comes, which is then done at once."""
    messages = [pattern(100, n) for n in range(6)]
    _, [got] = run("hub:2", ["CAB1->HUB1.P0:lost-command,nth=6"], "CAB1", messages, 6)
    assert got == messages


def test_a_lost_close_all_does_not_shut_out_others():
    """CAB1 has sent all that it ever will; its fiber's watch closes once more, and CAB2 gets through."""

    async def later(cab):
        await cab.sleep(200)
        await cab.datagram.send((3, 1), b"from 2")

    with simulated("hub:3", faults=["CAB1->HUB1.P0:lost-command,nth=2"], options=QUICK) as system:
        system.spawn("CAB1", send_all, (3, 1), [b"from 1"])
        system.spawn("CAB2", later)
        receiver = system.spawn("CAB3", receive_all, 1, 2)
        system.go()
        assert receiver.result == [(1, b"from 1"), (2, b"from 2")]
        assert system.time_ns > 500_000


def test_a_stale_connection_misleads_nobody():
    """CAB1's close all is lost behind a packet for CAB2; its next, for CAB3, reaches both, and CAB2 does not take
    it."""

    async def send(cab):
        await cab.datagram.send((2, 1), b"for 2")
        await cab.datagram.send((3, 1), b"for 3")
        await cab.datagram.send((2, 1), b"for 2 again")

    with simulated("hub:3", faults=["CAB1->HUB1.P0:lost-command,nth=2"], options=QUICK) as system:
        system.spawn("CAB1", send)
        receivers = [system.spawn("CAB2", receive_all, 1, 2), system.spawn("CAB3", receive_all, 1, 1)]
        system.go()
        assert receivers[0].result == [(1, b"for 2"), (1, b"for 2 again")]
        assert receivers[1].result == [(1, b"for 3")]
        assert system.cab("CAB2").datagram.counters.misdelivered == 1
        assert not hub_states(system)["HUB1"].connections


@pytest.mark.parametrize(
    "fault, replies",
    [("HUB2.P4->CAB3:lost-reply", 2), ("CAB3->HUB2.P4:lost-command", 1), ("HUB2.P8->HUB1.P3:lost-command", 2)],
    ids=["reply", "first open", "last open"],
)
def test_a_circuit_comes_to_stand_in_spite_of_a_loss(fault, replies):
    """Section 4.2.1: CAB3 asks the HUBs for the connection status, and sends its command packet again."""
    messages = [pattern(3000, n) for n in range(3)]
    system, [got] = run("figure7", [fault], "CAB3", messages, 3, (1, 1), "circuit", ["CAB1"])
    assert got == messages
    counters = system.cab("CAB3").datalink.counters
    assert counters.reply_timeouts == 1 and counters.circuits == 3
    assert counters.status_replies == replies


def test_a_circuit_that_cannot_stand_is_given_up_with_an_error():
    async def send(cab):
        used = cab.memory.used
        with pytest.raises(CircuitError, match="no circuit from CAB3.*reply gets lost"):
            await cab.datagram.send((1, 1), b"never", "circuit")
        assert cab.memory.used == used and cab.datalink.out.lock.holder is None
        await cab.datagram.send((1, 1), b"by packet")
        await cab.sleep(5000)

    with simulated("figure7", faults=["HUB1.P3->HUB2.P8:lost-reply=1"], options=QUICK) as system:
        system.spawn("CAB3", send)
        receiver = system.spawn("CAB1", receive_all, 1, 1)
        # The status commands' replies get lost as well.
        with pytest.raises(ProgramError) as caught:
            system.go()
        assert "does not answer" in str(caught.value.__cause__)
        del receiver


def test_a_refused_open_is_an_error_at_once():
    """The routing table names a port that the HUB does not have."""

    async def send(cab):
        cab.datalink.routes[2] = [(1, 77)]
        with pytest.raises(CircuitError, match="HUB 1 refuses: BAD_PORT"):
            await cab.datagram.send((2, 1), b"x", "circuit")
        return await cab.now_us()

    with simulated(options=QUICK) as system:
        thread = system.spawn("CAB1", send)
        system.go()
        assert thread.result < 100


def test_circuits_wait_for_each_other():
    """Two senders open circuits to one CAB; the HUB holds the second's open until the first closes."""
    long = pattern(60_000)
    with simulated("hub:3") as system:
        for sender in ("CAB1", "CAB2"):
            system.spawn(sender, send_all, (3, 1), [long] * 2, "circuit")
        receiver = system.spawn("CAB3", receive_all, 1, 4)
        system.go()
        assert sorted(source for source, _ in receiver.result) == [1, 1, 2, 2]
        assert all(data == long for _, data in receiver.result)


def test_a_packet_that_never_ends_is_given_up():
    """Its end is lost, and its sender waits for better times: the receiver forgets it, and takes the next."""

    async def send(cab):
        block = await cab.memory.allocate(100)
        await cab.datagram.send((2, 1), [(block, 50), (block + 50, 50)])
        await cab.sleep(10_000)
        await cab.datagram.send((2, 1), b"next")

    with simulated(faults=["HUB1.P1->CAB2:lost-end"], options=QUICK) as system:
        used = system.cab("CAB2").memory.used
        system.spawn("CAB1", send)
        receiver = system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, b"next")]
        assert system.cab("CAB2").datalink.counters.stalled == 1
        assert system.cab("CAB2").memory.used == used


@pytest.mark.parametrize(
    "fault", ["lost-data,nth=337,length=305", "lost-start,nth=2,length=322"], ids=["all but the header", "all of it"]
)
def test_a_packet_lost_on_the_last_fiber_does_not_block_that_fiber(fault):
    """No ready signal answers it, until the receiver sends one of its own accord."""
    messages = [pattern(300, n) for n in range(4)]
    system, [got] = run("hub:2", ["HUB1.P1->CAB2:" + fault], "CAB1", messages, 3)
    assert got == messages[:1] + messages[2:]
    assert system.cab("CAB2").datalink.counters.ready_repeated


def test_what_is_no_packet_makes_the_receiver_look():
    """The very first packet loses its start: data outside packets raise ERROR, and an extra ready signal follows."""
    messages = [pattern(300, n) for n in range(3)]
    system, [got] = run("hub:2", ["HUB1.P1->CAB2:lost-start"], "CAB1", messages, 2)
    assert got == messages[1:]
    assert system.cab("CAB2").datalink.counters.fiber_errors == 1
