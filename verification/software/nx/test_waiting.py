"""Messages that wait to be received: P. Pierce, "The NX/2 Operating System" (1988), sections 2.1 and 3."""

import pytest

from nectar.software.errors import PeerStopped
from nectar.software.nectarine.keeper import SHARE, SLOTS_USED
from nectar.software.nx import ALL, cprobe, crecv, csend, gsync, infocount, infonode, iprobe, mynode, numnodes
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nx.programs import LIMIT, hypercube, run

#: From none to more than a packet.
SIZES = [0, 60, 100, 101, 1500]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_process_that_is_late_gets_everything_from_many_senders_in_order(boards):
    """Section 3: a node that gets behind receives messages from phases in its future; none is lost, none overflows."""
    count, senders = (40, 9) if boards == "fast" else (12, 3)

    def program(process):
        if mynode():
            for number in range(count):
                data = pattern(SIZES[number % len(SIZES)], number)
                csend(number, data, len(data), 0, 0)
            return process.cab.now_us()
        process.cab.sleep(100_000)
        got = {node: 0 for node in range(1, senders + 1)}
        room = bytearray(SIZES[-1])
        for _ in range(count * senders):
            cprobe(-1)
            number = got[infonode()]
            got[infonode()] += 1
            crecv(-1, room, len(room))
            assert bytes(room[: infocount()]) == pattern(SIZES[number % len(SIZES)], number)
        assert set(got.values()) == {count} and not iprobe(-1)

    with hypercube(senders + 1, boards=boards) as nx:
        nx.load(program)
        nx.go()
        assert max(nx.results[node, 0] for node in range(1, senders + 1)) < 100_000
        counters = [agent.channels.counters for agent in nx.application.agents]
        assert not any(each.no_room or each.lost or each.malformed for each in counters)


@pytest.mark.parametrize("fault", ["CAB1-HUB1.P0:errors=3e-4", "CAB2-HUB1.P1:errors=3e-4", "*:lost-ready=0.01"])
def test_messages_that_wait_arrive_once_and_in_order_over_bad_fibers(fault):
    count = 40

    def sender(process):
        for number in range(count):
            data = pattern(SIZES[number % len(SIZES)], number)
            csend(1, data, len(data), 1, 0)
        gsync()

    def receiver(process):
        process.cab.sleep(50_000)
        room = bytearray(SIZES[-1])
        for number in range(count):
            crecv(1, room, len(room))
            assert bytes(room[: infocount()]) == pattern(SIZES[number % len(SIZES)], number)
        gsync()

    # An answer whose acknowledgment was lost is kept for half a second (docs/transports.md).
    run((sender,), (receiver,), faults=[fault], settle_ps=700 * 10**9)


def test_a_sender_that_stops_while_its_message_is_fetched_is_told_to_the_receive():
    """What is kept for other receives is there."""
    size = 60_000

    def sender(process):
        csend(1, b"kept", 4, 1, 0)
        csend(2, process.task.buffer(size), size, 1, 0)

    def receiver(process):
        process.cab.sleep(1_500_000)
        with pytest.raises(PeerStopped):
            crecv(2, bytearray(size), size)
        room = bytearray(4)
        crecv(1, room, 4)
        return bytes(room)

    with hypercube(2, leaks=True) as nx:
        nx.load(sender, node=0)
        nx.load(receiver, node=1)
        nx.application.system.faults.add("CAB1:stop,at=2ms")
        nx.go(4 * LIMIT)
        assert nx.results[1, 0] == b"kept"


@pytest.mark.parametrize("size", [101, 20_000])
@pytest.mark.parametrize("same", [False, True], ids=["nodes", "processes"])
def test_processes_that_send_to_each_other_first_do_not_wait_for_ever(size, same):
    """Section 3.2: a long message goes on if there is memory for all of it, though no receive is posted."""

    def program(process, node, pid):
        buffer = process.task.buffer(size)
        buffer.write(pattern(size, process.pid))
        csend(1, buffer, size, node, pid)
        crecv(1, buffer, size)
        return buffer.read() == pattern(size, pid)

    with hypercube(2) as nx:
        nx.load(program, 0 if same else 1, 1, node=0, pid=0)
        nx.load(program, 0, 0, node=0 if same else 1, pid=1)
        nx.go()
        assert all(nx.results.values())


@pytest.mark.parametrize("size", SIZES)
def test_a_process_may_send_to_itself(size):
    def program(process):
        csend(1, pattern(size), size, 0, 0)
        room = bytearray(size)
        crecv(1, room, size)
        return room == pattern(size)

    assert run((program,)) == [True]


def test_messages_for_one_process_do_not_hold_up_those_for_another():
    """They share the slots of the channel between their nodes."""

    def flood(process):
        for pid in range(1, 20):
            for number in range(SLOTS_USED):
                csend(number, b"flood", 5, 1, pid)
        csend(1, b"through", 7, 1, 0)

    def wait(process):
        if process.pid == 0:
            crecv(1, bytearray(7), 7)
            for pid in range(1, 20):
                csend(99, b"", 0, 1, pid)
            return
        crecv(99, None, 0)
        for number in range(SLOTS_USED):
            crecv(number, bytearray(5), 5)

    with hypercube(2) as nx:
        nx.load(flood, node=0)
        for pid in range(20):
            nx.load(wait, node=1, pid=pid)
        nx.go()


def test_what_does_not_fit_into_memory_waits_at_its_sender():
    """No more is kept than a part of the memory; the rest goes on as it is received."""
    memory, size, count = 1 << 18, 20_000, 12

    def sender(process):
        for number in range(count):
            csend(number, bytes([number]) * size, size, 1, 0)

    def receiver(process):
        process.cab.sleep(200_000)
        used = process.cab.memory.used
        room = bytearray(size)
        for number in reversed(range(3)):
            crecv(number, room, size)
            assert room == bytes([number]) * size
        for number in range(3, count):
            crecv(-1, room, size)
            assert room == bytes([number]) * size
        return used

    used = run((sender,), (receiver,), memory_bytes=memory)[1]
    assert 3 * size < used <= memory // SHARE


def test_twenty_processes_run_on_a_node():
    """Section 2.1."""

    def program(process):
        node, count = mynode(), numnodes()
        for pid in range(20):
            csend(process.pid, bytes([node]), 1, (node + 1) % count, pid)
        total = 0
        for pid in range(20):
            room = bytearray(1)
            crecv(pid, room, 1)
            assert room[0] == (node - 1) % count
            total += pid
        gsync()
        return total

    with hypercube(2) as nx:
        for pid in range(20):
            nx.load(program, node=ALL, pid=pid)
        nx.go()
        assert list(nx.results.values()) == [190] * 40


def test_a_message_that_was_never_received_is_given_back():
    """Its memory, and its sender goes on."""

    def sender(process):
        for size in SIZES:
            csend(1, pattern(size), size, 1, 0)
        gsync()

    def receiver(process):
        gsync()

    run((sender,), (receiver,))
