"""A CAB without room, to which many send: what holds others up is bounded. Sources: docs/errors.md, docs/kernel.md."""

import pytest

from nectar.software.kernel.mailbox import Mailbox

from .helpers import receive_all, run_task, simulated

BOX, SERVICE = 3, 7
RTL = pytest.param("rtl", marks=pytest.mark.nightly)


async def serve(cab):
    service = cab.request.serve(SERVICE)
    while True:
        request = await service.receive()
        await request.reply(await request.read())


async def flood(cab, count):
    for _ in range(count):
        await cab.datagram.send((1, BOX), bytes(900))


async def call(cab, others):
    """The longest of 30 calls, in microseconds."""
    worst = 0
    for number in range(30):
        begin = await cab.now_us()
        assert await cab.request.call((others[number % len(others)], SERVICE), bytes(50)) == bytes(50)
        worst = max(worst, await cab.now_us() - begin)
        await cab.sleep(500)
    return worst


async def use_up(cab):
    """All of the data memory, but for what fits no message."""
    while cab.memory.try_allocate(1024) is not None:
        pass


def flooded(room, boards):
    """Ten CABs send 30 datagrams each to CAB1, and call each other: (longest call in microseconds, CAB1)."""
    with simulated("hub:11", boards=boards) as system:
        for cab in system.cabs:
            cab.spawn(serve)
        if room:
            system.cab("CAB1").mailbox(BOX).on_arrival = lambda message: message.free() or True
        else:
            system.cab("CAB1").spawn(use_up)
        ids = list(range(2, 12))
        callers = []
        for number in ids:
            system.spawn(f"CAB{number}", flood, 30)
            callers.append(system.spawn(f"CAB{number}", call, [other for other in ids if other != number]))
        system.go()
        return max(thread.result for thread in callers), system.cab("CAB1")


@pytest.mark.parametrize("boards", ["fast", RTL])
def test_a_full_cab_that_is_flooded_costs_calls_between_others_the_time_of_one_packet_that_waits(boards):
    """docs/errors.md: 10 ms more than if it had room, once: ``hold_us`` and what that leaves to be caught up."""
    usual, _ = flooded(True, boards)
    longest, full = flooded(False, boards)
    assert longest <= usual + 10_000
    assert full.datalink.counters.hold_expired == 1 and full.datagram.counters.no_room == 299


def test_a_full_mailbox_takes_the_next_message_as_soon_as_it_has_room():
    """Those that came meanwhile are dropped and counted; room in it is waited for again afterwards. Other mailboxes go
    on."""

    async def send(cab):
        for number in range(12):
            await cab.datagram.send((2, BOX), bytes([number]))
            await cab.datagram.send((2, BOX + 1), bytes([number]))
            await cab.sleep(1000 if number else 7000)

    async def read(cab):
        cab.mailboxes[BOX] = Mailbox(cab.kernel, BOX, capacity=1)
        await cab.sleep(14_000)
        return await receive_all(cab, BOX, 3, pause_us=2500)

    with simulated("hub:2") as system:
        system.spawn("CAB1", send)
        others = system.spawn("CAB2", receive_all, BOX + 1, 12)
        reader = system.spawn("CAB2", read)
        system.go()
        got = [data[0] for _, data in reader.result]
        assert got[0] == 0 and got == sorted(got) and got[1] >= 7
        assert [data[0] for _, data in others.result] == list(range(12))
        counters, datagram = system.cab("CAB2").datalink.counters, system.cab("CAB2").datagram.counters
        assert counters.hold_expired >= 1 and datagram.no_room >= 1
        assert datagram.messages_received + counters.hold_expired + datagram.no_room == 24


def test_a_task_reads_how_much_data_memory_is_free():
    """docs/software.md: what there is less what is given out, in blocks of powers of two."""

    async def look(cab):
        free = cab.memory.size - cab.memory.used
        block = await cab.memory.allocate(1000)
        assert cab.memory.size - cab.memory.used == free - 1024
        cab.memory.free(block)
        assert cab.memory.size - cab.memory.used == free
        return free

    assert 0 < run_task(look) < 1 << 20
