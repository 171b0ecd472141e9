"""Datagrams on fast boards and on the RTL: receivers and senders without room.

Source: docs/software.md.
"""

import pytest

from nectar.software.datalink.options import Options
from nectar.software.kernel.mailbox import Mailbox
from nectar.verification.software.helpers import BOARDS, clean, pattern, receive_all, send_all, simulated


def all_are_held_and_arrive(boards, slow, messages, **options):
    """CAB2's task ``slow`` reads late: packets wait for it, and nothing is lost."""
    with simulated(boards=boards, **options) as system:
        receiver = system.spawn("CAB2", slow)
        system.spawn("CAB1", send_all, (2, 1), messages)
        system.go()
        assert [data for _, data in receiver.result] == messages
        assert system.cab("CAB2").datalink.counters.held > 0
        clean(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_full_mailbox_holds_packets_until_there_is_room(boards):
    async def slow(cab):
        cab.mailboxes[1] = Mailbox(cab.kernel, 1, capacity=2)
        await cab.sleep(2000)
        return await receive_all(cab, 1, 20, pause_us=100)

    all_are_held_and_arrive(boards, slow, [pattern(100, n) for n in range(20)])


@pytest.mark.parametrize("boards", BOARDS)
def test_memory_that_is_full_holds_packets_until_there_is_room(boards):
    async def slow(cab):
        await cab.sleep(1500)
        return await receive_all(cab, 1, 12, pause_us=200)

    all_are_held_and_arrive(boards, slow, [pattern(3000, n) for n in range(12)], memory_bytes=1 << 14)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_packet_that_finds_no_room_for_too_long_is_discarded_and_counted(boards):
    """What is behind it goes on: another mailbox is still served. The next one without room is not waited for."""

    async def full(cab):
        cab.mailboxes[1] = Mailbox(cab.kernel, 1, capacity=1)
        got = await receive_all(cab, 2, 1)
        return got, len(cab.mailbox(1)), cab.door.nanoseconds(await cab.door.now())

    async def sender(cab):
        for _ in range(3):
            await cab.datagram.send((2, 1), b"for the full one")
        await cab.datagram.send((2, 2), b"for the other")

    with simulated(boards=boards, options=Options(hold_us=1000)) as system:
        receiver = system.spawn("CAB2", full)
        system.spawn("CAB1", sender)
        system.go()
        got, kept, nanoseconds = receiver.result
        assert got == [(1, b"for the other")] and kept == 1
        counters = system.cab("CAB2").datalink.counters
        assert counters.held == counters.hold_expired == system.cab("CAB2").datagram.counters.no_room == 1
        assert 1_000_000 <= nanoseconds < 1_200_000


@pytest.mark.parametrize("boards", BOARDS)
def test_a_sender_short_of_memory_waits_and_goes_on(boards):
    """Data memory of 16 kbyte: bytes to send wait for what is sent before to leave."""
    messages = [pattern(4000, n) for n in range(15)]
    with simulated(memory_bytes=1 << 14, boards=boards) as system:
        system.spawn("CAB1", send_all, (2, 1), messages)
        receiver = system.spawn("CAB2", receive_all, 1, 15)
        system.go()
        assert [data for _, data in receiver.result] == messages
        clean(system)
