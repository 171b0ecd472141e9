"""Datagrams between mailboxes: sizes at every boundary, many senders, room, errors.

Sources: "The Design of Nectar" (1989), section 6.2.2; docs/software.md.
"""

from itertools import product

import pytest

from nectar.hdl.host.events import LEVELS, EventGroup, EventKind
from nectar.software.datalink.datalink import Switching
from nectar.software.errors import MessageTooLong, NoRoute
from nectar.software.packet import MAX_DATA
from nectar.software.transport.datagram import MAX_CIRCUIT_DATA, MAX_MESSAGE
from nectar.verification import seeds
from nectar.verification.software.helpers import (
    BOARDS,
    clean,
    cycles,
    events,
    hub_states,
    pattern,
    receive_all,
    run_task,
    send_all,
    simulated,
)

PACKET, CIRCUIT = Switching.PACKET, Switching.CIRCUIT


SIZES = [
    0,
    1,
    2,
    3,
    4,
    15,
    16,
    17,
    MAX_DATA - 1,
    MAX_DATA,
    MAX_DATA + 1,
    2 * MAX_DATA - 1,
    2 * MAX_DATA,
    2 * MAX_DATA + 1,
    10_000,
]
LONG = [MAX_CIRCUIT_DATA - 1, MAX_CIRCUIT_DATA, MAX_CIRCUIT_DATA + 1, MAX_MESSAGE - 1, MAX_MESSAGE]


def sizes():
    """Every size. On RTL boards, long ones that are at no boundary of their switching are for the night."""
    for length, switching, boards in product(SIZES + LONG, (PACKET, CIRCUIT), BOARDS):
        far = length in LONG[:-1] if switching is PACKET else length == MAX_MESSAGE - 1
        marks = [pytest.mark.nightly] if boards == "rtl" and far else []
        yield pytest.param(length, switching, boards, marks=marks)


@pytest.mark.parametrize("length, switching, boards", list(sizes()))
def test_messages_of_every_size_arrive_as_they_were_sent(length, switching, boards):
    """Over HUBs in a row."""
    data = pattern(length)
    with simulated("figure7" if boards == "fast" else "chain:3", boards=boards) as system:
        used = [cab.memory.used for cab in system.cabs]
        system.spawn("CAB3", send_all, (2, 7), [data], switching)
        receiver = system.spawn("CAB2", receive_all, 7, 1)
        system.go()
        assert receiver.result == [(3, data)]
        packets = max(1, -(-length // (MAX_DATA if switching is PACKET else MAX_CIRCUIT_DATA)))
        counters = system.cab("CAB3").datalink.counters
        assert counters.packets_sent == system.cab("CAB2").datalink.counters.packets_received == packets
        assert counters.circuits == (switching is CIRCUIT)
        clean(system)

        async def idle(cab):
            await cab.sleep(10_000)

        system.spawn("CAB3", idle)
        system.go()
        assert [cab.memory.used for cab in system.cabs] == used
        assert all(not state.connections for state in hub_states(system).values())


def test_switching_may_be_named_by_its_word():
    with simulated() as system:
        system.spawn("CAB1", send_all, (2, 1), [b"a"], "circuit")
        receiver = system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(1, b"a")] and system.cab("CAB1").datalink.counters.circuits == 1


def test_a_message_too_long_is_refused_with_a_word_on_what_to_do():
    async def main(cab):
        with pytest.raises(MessageTooLong, match="at most 65536 bytes, not 65537: send it in parts"):
            await cab.datagram.send((2, 1), bytes(MAX_MESSAGE + 1))
        with pytest.raises(MessageTooLong):
            await cab.datagram.send((2, 1), [(cab.memory.base, 40_000), (cab.memory.base, 40_000)])

    run_task(main)


def test_wrong_arguments_are_refused():
    async def main(cab):
        with pytest.raises(NoRoute, match="no route to CAB 77"):
            await cab.datagram.send((77, 1), b"x")
        with pytest.raises(ValueError, match="0 to 65535"):
            await cab.datagram.send((2, 65536), b"x")
        with pytest.raises(TypeError, match="not str"):
            await cab.datagram.send((2, 1), "text")
        with pytest.raises(TypeError, match="not int"):
            await cab.datagram.send((2, 1), 5)
        with pytest.raises(ValueError, match="do not lie"):
            await cab.datagram.send((2, 1), [(0x200000, 4)])
        with pytest.raises(ValueError, match="own sender"):
            await cab.datagram.send(([1, 2], 1), b"x")
        with pytest.raises(ValueError, match="smoke"):
            await cab.datagram.send((2, 1), b"x", "smoke")
        with pytest.raises(MessageTooLong, match="may have 29 areas, not 40"):
            await cab.datagram.send((2, 1), [(cab.memory.base, 1)] * 40)

    used = []

    async def main_and_memory(cab):
        used.append(cab.memory.used)
        await main(cab)
        used.append(cab.memory.used)

    run_task(main_and_memory)
    assert used[0] == used[1]


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_message_is_gathered_from_areas_wherever_they_lie(seed, boards):
    """Section 6.2.2: a message is a list of areas. With areas, ``send`` returns when they may be used again."""
    print("seed", seed)
    rng = seeds.rng(seed)
    contents = []

    async def send(cab, switching):
        memory = cab.memory
        block = await memory.allocate(16384)
        for _ in range(6):
            image = rng.randbytes(16384)
            memory.write(block, image)
            areas = []
            for _ in range(rng.randrange(1, 9)):
                start = rng.randrange(16000)
                areas.append((block + start, rng.choice([0, 1, 2, 3, 5, 300, 384])))
            contents.append(b"".join(image[start - block : start - block + length] for start, length in areas))
            await cab.datagram.send((2, 1), areas, switching)
            memory.write(block, bytes(16384))
        memory.free(block)

    with simulated(boards=boards) as system:
        system.spawn("CAB1", send, (PACKET, CIRCUIT)[seed % 2])
        receiver = system.spawn("CAB2", receive_all, 1, 6)
        system.go()
        assert [data for _, data in receiver.result] == contents
        clean(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_is_passed_on_from_where_it_lies_and_may_be_freed_when_send_has_returned(boards):
    """docs/software.md. By names, too; and a message that was freed before is not sent."""

    async def relay(cab):
        message = await cab.mailbox(1).receive()
        address = message.address
        await cab.datagram.send(("CAB3", 1), message)
        message.free()
        block = await cab.memory.allocate(5000)
        assert block == address, "what is stored now would be sent if anything were still to be sent"
        cab.memory.write(block, bytes(5000))
        with pytest.raises(ValueError, match="the message has been freed: send it before"):
            await cab.datagram.send(("CAB3", 1), message)
        cab.memory.free(block)

    data = pattern(5000)
    with simulated("hub:3", boards=boards) as system:
        system.spawn("CAB1", send_all, ("CAB2", 1), [data])
        system.spawn("CAB2", relay)
        receiver = system.spawn("CAB3", receive_all, 1, 1)
        system.go()
        assert receiver.result == [(2, data)]
        clean(system)


def test_a_message_to_the_own_cab_does_not_touch_the_fiber():
    async def main(cab):
        block = await cab.memory.allocate(100)
        cab.memory.write(block, bytes(range(100)))
        await cab.datagram.send((cab.id, 4), b"hello")
        await cab.datagram.send((cab.id, 4), [(block + 7, 9), (block, 2)])
        await cab.datagram.send((cab.id, 4), b"")
        got = await receive_all(cab, 4, 3)
        cab.memory.free(block)
        assert cab.datalink.counters.packets_sent == 0
        return got

    assert run_task(main) == [(1, b"hello"), (1, bytes([*range(7, 16), 0, 1])), (1, b"")]


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("pause_us", [0, 300])
def test_many_senders_to_one_receiver(pause_us, boards):
    """All messages arrive once, in order for each sender, whether or not the reader keeps up."""
    count = 12 if boards == "fast" else 5
    messages = {
        i: [pattern(seeds.rng(i * 100 + n).choice([0, 5, 500, 1004, 1500, 4000]), i * 100 + n) for n in range(count)]
        for i in range(2, 9)
    }
    with simulated("hub:8", boards=boards) as system:
        for i, own in messages.items():
            system.spawn(f"CAB{i}", send_all, (1, 1), own)
        receiver = system.spawn("CAB1", receive_all, 1, count * len(messages), pause_us)
        system.go()
        for i, own in messages.items():
            assert [data for source, data in receiver.result if source == i] == own
        clean(system)


LARGE = "hub:6", "figure7", "mesh:2x3"


@pytest.mark.parametrize(
    "topology, switching, boards",
    [
        *((topology, PACKET, "fast") for topology in LARGE),
        ("hub:4", CIRCUIT, "fast"),
        *(pytest.param(topology, PACKET, "rtl", marks=pytest.mark.nightly) for topology in LARGE),
        ("chain:4", PACKET, "rtl"),
        ("hub:4", PACKET, "rtl"),
        ("hub:4", CIRCUIT, "rtl"),
    ],
)
def test_all_to_all(topology, switching, boards):
    with simulated(topology, boards=boards) as system:
        ids = [cab.id for cab in system.cabs]
        receivers = {}
        for cab in system.cabs:
            others = [number for number in ids if number != cab.id]

            async def sender(cab, others=others):
                for round in range(4):
                    for other in others:
                        size = seeds.rng(cab.id * 100 + other + round).choice([0, 8, 1004, 2500])
                        await cab.datagram.send(
                            (other, 1), pattern(size, cab.id * 1000 + other * 10 + round), switching
                        )

            system.spawn(cab.name, sender)
            receivers[cab.id] = system.spawn(cab.name, receive_all, 1, 4 * len(others))
        system.go()
        for number, thread in receivers.items():
            for source in ids:
                if source != number:
                    expected = [
                        pattern(
                            seeds.rng(source * 100 + number + round).choice([0, 8, 1004, 2500]),
                            source * 1000 + number * 10 + round,
                        )
                        for round in range(4)
                    ]
                    assert [data for origin, data in thread.result if origin == source] == expected
        clean(system)


def test_threads_of_one_cab_do_not_mix_up_their_messages():
    """Two threads send long messages to the same CAB at once, a third sends elsewhere in between."""
    with simulated("hub:3") as system:
        long = [pattern(9000, n) for n in range(3)]
        system.spawn("CAB1", send_all, (2, 1), long)
        system.spawn("CAB1", send_all, (2, 2), long)
        system.spawn("CAB1", send_all, (3, 1), [pattern(20, n) for n in range(9)])
        receivers = [system.spawn("CAB2", receive_all, 1, 3), system.spawn("CAB2", receive_all, 2, 3)]
        other = system.spawn("CAB3", receive_all, 1, 9)
        system.go()
        for thread in receivers:
            assert [data for _, data in thread.result] == long
        assert [data for _, data in other.result] == [pattern(20, n) for n in range(9)]
        clean(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("switching", [PACKET, CIRCUIT])
@pytest.mark.parametrize("length", [0, 10, 1004, 3000])
def test_multicast_reaches_all_and_only_those_named(switching, length, boards):
    """Sections 4.2.2 and 4.2.4: CAB2 to CAB4 and CAB5 of Figure 7."""
    data = pattern(length)
    with simulated("figure7", boards=boards) as system:
        system.spawn("CAB2", send_all, ([4, 5], 1), [data, data[::-1]], switching)
        receivers = [system.spawn(name, receive_all, 1, 2) for name in ("CAB4", "CAB5")]
        system.go()
        for thread in receivers:
            assert thread.result == [(2, data), (2, data[::-1])]
        assert system.cab("CAB1").datalink.counters.packets_received == 0
        assert system.cab("CAB3").datalink.counters.packets_received == 0


def test_multicast_and_single_messages_of_one_sender_do_not_mix():
    long = pattern(6000)
    with simulated("hub:4") as system:
        system.spawn("CAB1", send_all, ([2, 3], 1), [long] * 3)
        system.spawn("CAB1", send_all, (2, 2), [long] * 3)
        system.spawn("CAB1", send_all, ([2, 4], 3), [long] * 3)
        receivers = [
            system.spawn(name, receive_all, box, 3)
            for name, box in (("CAB2", 1), ("CAB3", 1), ("CAB2", 2), ("CAB2", 3), ("CAB4", 3))
        ]
        system.go()
        for thread in receivers:
            assert thread.result == [(1, long)] * 3


@pytest.mark.parametrize("boards", BOARDS)
def test_the_link_is_never_idle_in_a_long_message(boards):
    """Software writes packets into the fiber-out list ahead of time: 64 packets in little more than their time on
    the wire."""
    stamps = {}

    async def send(cab):
        block = await cab.memory.allocate(MAX_MESSAGE)
        stamps["begin"] = await cab.now_us()
        await cab.datagram.send((2, 1), [(block, MAX_MESSAGE)])
        stamps["end"] = await cab.now_us()

    async def receive(cab):
        (await cab.mailbox(1).receive()).free()

    with simulated(boards=boards) as system:
        system.spawn("CAB1", send)
        system.spawn("CAB2", receive)
        system.go()
        clean(system)
    packets = -(-MAX_MESSAGE // MAX_DATA)
    symbols = MAX_MESSAGE + packets * (16 + 4 + 2 + 4 + 4)
    assert stamps["end"] - stamps["begin"] < 1.03 * symbols * 0.08


@pytest.mark.parametrize("boards", BOARDS)
def test_latency_between_two_tasks_is_under_30_us(boards):
    """Fact S1: a short message, from the call of send to the reader's having it; fiber delays are 0.2 us each of it."""

    async def send(cab):
        await cab.sleep(100)
        await cab.datagram.send((2, 1), b"ping")

    with simulated(recorded=EventGroup.MESSAGES, boards=boards) as system:
        system.spawn("CAB1", send)
        system.spawn("CAB2", receive_all, 1, 1)
        system.go()
        at = cycles(system, "CAB1", "CAB2")
    assert [kind.name for kind in sorted(at, key=at.get)] == [
        *("SEND", "NUMBERED", "QUEUED", "ARRIVED", "DELIVERED", "READ")
    ]
    assert 10 * 16 < at[EventKind.READ] - at[EventKind.SEND] < 30 * 16


@pytest.mark.parametrize("topology", ["hub:3", "figure7"])
def test_recording_changes_no_time(topology):
    def finish(recorded):
        with simulated(topology, recorded=recorded) as system:
            for name in ("CAB1", "CAB2"):
                system.spawn(name, send_all, (3, 1), [pattern(n * 300) for n in range(6)])
            system.spawn("CAB3", receive_all, 1, 12)
            system.go()
            return system.machine.time_ps, [cab.datalink.counters for cab in system.cabs]

    assert finish(0) == finish(LEVELS["messages"]) == finish(LEVELS["all"])


def test_two_runs_are_alike():
    def run():
        with simulated("figure7", recorded=LEVELS["all"]) as system:
            for cab in system.cabs:
                others = [other.id for other in system.cabs if other is not cab]
                system.spawn(cab.name, send_all, (others[0], 1), [pattern(700 * n) for n in range(4)])
            system.spawn("CAB1", receive_all, 1, 4 * 4)
            system.go()
            return system.machine.time_ps, events(system)

    assert run() == run()
