"""Calls and answers between two CABs and more, as the tasks see them.

Sources: "The Design of Nectar" (1989), section 6.2.2; docs/transports.md.
"""

import pytest

from nectar.software.errors import MessageTooLong, NoRoute
from nectar.software.kernel.message import Message
from nectar.software.packet import ASK, MAX_DATA, PacketKind, Protocol
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, nothing_leaks, pattern, simulated
from nectar.verification.software.tamper import Rule, Tamperer
from nectar.verification.software.transport.exchange import whole

SERVICE = 7
SIZES = [0, 1, 3, 4, MAX_DATA - 1, MAX_DATA, MAX_DATA + 1, 2 * MAX_DATA, 30_000, MAX_MESSAGE - 1, MAX_MESSAGE]


def kind(header):
    """The PacketKind of a packet of the protocol."""
    return header[3] & ~ASK


async def echo(cab, executed=None, pause_us=0, service=SERVICE):
    """A server: answers with the request's bytes, backwards. Notes what it executes."""
    offered = cab.request.serve(service)
    while True:
        request = await offered.receive()
        data = await request.read()
        if executed is not None:
            executed.append((request.source, data))
        if pause_us:
            await cab.sleep(pause_us)
        await request.reply(data[::-1])


async def call_all(cab, server, requests, service=SERVICE, **options):
    """A client: one call after the other; the answers."""
    return [await cab.request.call((server, service), data, **options) for data in requests]


@pytest.mark.parametrize("boards", BOARDS)
def test_requests_and_answers_of_every_size(boards):
    sizes = SIZES if boards == "fast" else [size for size in SIZES if size not in (30_000, MAX_MESSAGE - 1)]
    requests = [pattern(size) for size in sizes]
    with whole("figure7" if boards == "fast" else "chain:3", boards=boards) as system:
        system.cab("CAB1").spawn(echo)
        client = system.spawn("CAB3", call_all, 1, requests)
        system.go()
        assert client.result == [data[::-1] for data in requests]
        counters = system.cab("CAB3").request.counters
        assert counters.calls == counters.answers == len(sizes) and counters.failed == counters.duplicates == 0
        counters = system.cab("CAB1").request.counters
        assert counters.requests == counters.replies == len(sizes) and counters.forgotten == 0


@pytest.mark.parametrize("boards", BOARDS)
def test_a_call_takes_three_packets_and_the_first_to_a_cab_two_more(boards):
    """Request, answer, acknowledgment; before them a request that the server refuses, with its boot number."""
    counts = []

    async def client(cab):
        for _ in range(3):
            await cab.request.call((2, SERVICE), b"")
            await cab.sleep(100)
            counts.append((cab.datalink.counters.packets_sent, cab.datalink.counters.packets_received))

    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(echo)
        system.spawn("CAB1", client)
        system.go()
        assert counts == [(3, 2), (5, 3), (7, 4)]


@pytest.mark.parametrize("boards", BOARDS)
def test_nothing_is_copied_of_areas_and_messages(boards):
    """Request and answer are gathered from where they lie, and may be changed when the calls return."""

    async def server(cab):
        offered = cab.request.serve(SERVICE)
        block = await cab.memory.allocate(4096)
        for number in range(3):
            request = await offered.receive()
            assert await request.read(5, 3) == pattern(5000, number)[5:8]
            cab.memory.write(block, pattern(4096, number))
            assert await request.reply([(block + 1000, 2000), (block, 0), (block + 7, 100)])
            cab.memory.write(block, bytes(4096))
        cab.memory.free(block)

    async def client(cab):
        block = await cab.memory.allocate(5000)
        for number in range(3):
            cab.memory.write(block, pattern(5000, number))
            data = [(block, 1), (block + 1, 4999)] if number else Message(cab.memory, block, 5000)
            answer = await (await cab.request.start((2, SERVICE), data)).message()
            cab.memory.write(block, bytes(5000))
            image = pattern(4096, number)
            assert await answer.read() == image[1000:3000] + image[7:107]
            answer.free()
        cab.memory.free(block)

    with whole(boards=boards) as system:
        system.spawn("CAB2", server)
        system.spawn("CAB1", client)
        system.go()


@pytest.mark.parametrize("boards", BOARDS)
def test_many_calls_under_way_at_once(boards):
    """Also more of them than a server's window of numbers allows: these wait for the oldest."""
    data = [pattern(seeds.rng("sizes", n).choice([0, 10, 1200]), n) for n in range(90)]

    async def client(cab):
        calls = [await cab.request.start((1, SERVICE), part, timeout_us=500_000) for part in data]
        return [await call.result() for call in reversed(calls)]

    with whole("hub:3", boards=boards) as system:
        executed = []
        system.cab("CAB1").spawn(workers, executed)
        clients = [system.spawn(name, client) for name in ("CAB2", "CAB3")]
        system.go()
        for thread in clients:
            assert thread.result == [part[::-1] for part in reversed(data)]
        assert sorted(executed) == sorted((source, part) for source in (2, 3) for part in data)


async def workers(cab, executed):
    """Several tasks that serve one service."""
    offered = cab.request.serve(SERVICE, capacity=200)

    async def work(cab):
        while True:
            request = await offered.receive()
            data = await request.read()
            executed.append((request.source, data))
            await cab.sleep(seeds.rng(len(executed)).randrange(200))
            await request.reply(data[::-1])

    threads = [cab.spawn(work) for _ in range(3)]
    await threads[0].join()


RATES = [
    dict(drop=0.1),
    dict(damage=0.1),
    dict(double=0.2),
    dict(delay=0.3),
    dict(drop=0.05, damage=0.05, double=0.1, delay=0.1),
]


def tampered(boards, seed):
    """Random calls among three CABs while packets are lost, damaged, doubled and delayed: each is executed once,
    each has its answer."""
    rng = seeds.rng("calls", seed)
    rates = RATES[seed % len(RATES)]
    executed = {1: [], 2: [], 3: []}

    async def client(cab, plan):
        calls = []
        for server, data, pause in plan:
            calls.append(await cab.request.start((server, SERVICE), data, timeout_us=900_000))
            await cab.sleep(pause)
        return [await call.result() for call in calls]

    with whole(
        "hub:3", boards=boards, settle_us=200_000, more={"attempts": 60, "keep_us": 80_000, "stall_us": 80_000}
    ) as system:
        tamperer = Tamperer(system, [Protocol.REQUEST], seed, **rates)
        plans, clients = {}, {}
        for cab in system.cabs:
            cab.spawn(echo, executed[cab.id], rng.choice([0, 0, 3000]))
            others = [other.id for other in system.cabs if other is not cab]
            plans[cab.id] = [
                (
                    rng.choice(others),
                    bytes([cab.id, number]) + rng.randbytes(rng.choice([0, 30, 1100, 4000])),
                    rng.choice([0, 0, 400]),
                )
                for number in range(rng.randrange(4, 12))
            ]
        for cab in system.cabs:
            clients[cab.id] = system.spawn(cab.name, client, plans[cab.id])
        system.go()
        for number, thread in clients.items():
            assert thread.result == [data[::-1] for _, data, _ in plans[number]]
        for server, log in executed.items():
            assert sorted(log) == sorted(
                (number, data) for number, plan in plans.items() for other, data, _ in plan if other == server
            )
        tamperer.calm()
        return tamperer.counts


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(5))
def test_each_request_is_executed_once_whatever_happens_to_packets(seed, boards):
    counts = tampered(boards, seed)
    assert sum(counts.values()) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5, 105))
def test_each_request_is_executed_once_for_many_seeds(seed):
    tampered("fast", seed)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("lost", [PacketKind.REQUEST, PacketKind.ANSWER, PacketKind.ACK, PacketKind.REFUSED])
@pytest.mark.parametrize("size", [0, 5 * MAX_DATA])
def test_any_one_packet_may_be_lost(size, lost, boards):
    """The first and every later one of a kind, one at a time, in a call of several fragments each way; also damaged
    instead."""
    data = pattern(size)
    for action in ("drop", "damage"):
        for skip in range(max(1, size // MAX_DATA) if lost in (PacketKind.REQUEST, PacketKind.ANSWER) else 1):
            if boards == "rtl" and skip not in (0, 4):
                continue
            executed = []
            with whole(boards=boards) as system:
                rule = Rule(lambda receiver, header: kind(header) == lost, action, skip)
                Tamperer(system, [Protocol.REQUEST]).rules.append(rule)
                system.cab("CAB2").spawn(echo, executed)
                client = system.spawn("CAB1", call_all, 2, [data])
                system.go()
                assert client.result == [data[::-1]] and executed == [(1, data)]
                settled_hits = rule.hits
            assert settled_hits == 1 or lost is PacketKind.ACK


def test_a_server_that_takes_longer_than_a_time_out_says_so():
    """The client asks more and more rarely, and the request is executed once."""
    executed, kinds = [], []
    with whole() as system:
        tamperer = Tamperer(system, [Protocol.REQUEST])
        tamperer.rules.append(
            Rule(lambda receiver, header: kinds.append((receiver, PacketKind(kind(header)))), count=1)
        )
        system.cab("CAB2").spawn(echo, executed, 40_000)
        client = system.spawn("CAB1", call_all, 2, [b"abc"])
        system.go()
        assert client.result == [b"cba"] and executed == [(1, b"abc")]
        working = kinds.count((1, PacketKind.WORKING))
        assert 8 <= working <= 16 and kinds.count((2, PacketKind.REQUEST)) == working + 2


def test_the_time_out_follows_the_round_trip():
    """A lost request is asked after in little more than the least time-out, once round trips have been measured."""
    times = []

    async def client(cab, tamperer):
        for number in range(12):
            if number == 11:
                tamperer.rules.append(Rule(lambda receiver, header: kind(header) == PacketKind.REQUEST))
            begin = await cab.now_us()
            await cab.request.call((2, SERVICE), b"")
            times.append(await cab.now_us() - begin)

    with whole(
        more={"first_us": 50_000, "most_us": 100_000, "keep_us": 200_000, "timeout_us": 900_000}, settle_us=500_000
    ) as system:
        tamperer = Tamperer(system, [Protocol.REQUEST])
        system.cab("CAB2").spawn(echo)
        system.spawn("CAB1", client, tamperer)
        system.go()
    assert max(times[:-1]) < 100 and 500 < times[-1] < 800


def test_a_server_without_memory_is_asked_again_until_it_has_some():
    async def hog(cab):
        blocks = [await cab.memory.allocate(4096) for _ in range(3)]
        await cab.sleep(10_000)
        for block in blocks:
            cab.memory.free(block)

    with whole(memory_bytes=1 << 14) as system:
        system.cab("CAB2").spawn(hog)
        system.cab("CAB2").spawn(echo)
        client = system.spawn("CAB1", call_all, 2, [pattern(3000)])
        system.go()
        assert client.result == [pattern(3000)[::-1]]
        assert system.cab("CAB2").request.counters.no_room > 0


def test_wrong_arguments_are_refused():
    async def main(cab):
        request = cab.request
        with pytest.raises(NoRoute, match="no route to CAB 77"):
            await request.call((77, 1))
        with pytest.raises(ValueError, match="0 to 65535"):
            await request.call((2, 65536))
        with pytest.raises(ValueError, match="calls itself"):
            await request.call((cab.id, 1))
        with pytest.raises(ValueError, match="more than 0 us"):
            await request.call((2, 1), timeout_us=0)
        with pytest.raises(TypeError, match="not str"):
            await request.call((2, 1), "text")
        with pytest.raises(MessageTooLong, match="at most 65536 bytes"):
            await request.call((2, 1), bytes(MAX_MESSAGE + 1))
        with pytest.raises(MessageTooLong, match="areas, not 40"):
            await request.call((2, 1), [(cab.memory.base, 1)] * 40)
        with pytest.raises(ValueError, match="0 to 65535"):
            request.serve(-1)
        with pytest.raises(ValueError, match="at least 1 request"):
            request.serve(1, capacity=0)
        request.serve(1)
        with pytest.raises(ValueError, match="is taken"):
            request.serve(1)

    with whole() as system:
        system.spawn("CAB1", main)
        system.go()


@pytest.mark.parametrize("length", [1, 1004, 5000])
def test_an_answer_is_stored_in_the_place_that_the_client_names(length):
    """And nothing around it is touched; an answer of another length is dropped."""

    async def serve(cab):
        service = cab.request.serve(SERVICE)
        for _ in range(2):
            request = await service.receive()
            await request.reply(await request.read())

    async def call(cab):
        block = await cab.memory.allocate(length + 8)
        cab.memory.write(block, b"\7" * (length + 8))
        used = cab.memory.used
        placed = await cab.request.start((2, SERVICE), pattern(length), place=(block + 4, length))
        other = await cab.request.start((2, SERVICE), pattern(length + 1), place=(block + 4, length))
        assert await placed.placed() and not await other.placed()
        assert await cab.memory.read(block, length + 8) == b"\7" * 4 + pattern(length) + b"\7" * 4
        assert cab.memory.used == used
        with pytest.raises(ValueError, match="do not lie in CAB1's data memory"):
            await cab.request.start((2, SERVICE), b"", place=(0, 4))
        cab.memory.free(block)

    with simulated() as system:
        system.spawn("CAB2", serve)
        system.spawn("CAB1", call)
        system.go()


@pytest.mark.parametrize("after_us", range(60, 460, 50))
def test_a_place_is_not_written_to_any_more_when_a_cancelled_call_leaves_it_alone(after_us):
    async def serve(cab):
        service = cab.request.serve(SERVICE)
        request = await service.receive()
        await request.reply(pattern(3000))

    async def call(cab):
        block = await cab.memory.allocate(3000)
        placed = await cab.request.start((2, SERVICE), b"", place=(block, 3000))
        await cab.sleep(after_us)
        placed.cancel()
        await placed.left_alone()
        cab.memory.write(block, bytes(3000))
        await cab.sleep(2000)
        assert await cab.memory.read(block, 3000) == bytes(3000)
        cab.memory.free(block)

    with simulated() as system, nothing_leaks(system, settle_ps=10**12):
        system.spawn("CAB2", serve)
        system.spawn("CAB1", call)
        system.go()
