"""The byte stream without faults: sizes, both directions, many connections, slow readers, areas, ends. On the model and
on the RTL.

Specification: docs/transports.md, "Byte stream"; "The Design of Nectar" (1989), section 6.2.2.
"""

import pytest

from nectar.software.errors import (
    ConnectionAborted,
    ConnectionClosed,
    ConnectRefused,
    NoRoute,
    PeerAborted,
    PortInUse,
    TimedOut,
)
from nectar.software.packet import MAX_DATA
from nectar.software.transport.options import StreamOptions
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, pattern

from .streams import PORT, QUICK, calls, calm, exchange, read_all, serves, settle, streams

SIZES = [
    0,
    1,
    3,
    4,
    5,
    MAX_DATA - 1,
    MAX_DATA,
    MAX_DATA + 1,
    3 * MAX_DATA,
    8 * MAX_DATA,
    8 * MAX_DATA + 1,
    QUICK.buffer - 1,
    QUICK.buffer,
    QUICK.buffer + 1,
    80_000,
]


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("length", SIZES)
def test_transfers_of_every_size_in_both_directions_at_once(length, boards):
    data = pattern(length)
    with streams("figure7" if boards == "fast" else "chain:3", boards=boards) as system:
        client = system.spawn("CAB3", calls, (1, PORT), [data])
        server = system.spawn("CAB1", serves, PORT, 1, [data[::-1]])
        system.go()
        assert client.result == data[::-1] and server.result == [(3, data)]
        calm(system)
        for cab in system.cabs:
            assert (
                cab.stream.counters.bytes_sent
                == cab.stream.counters.bytes_received
                == (length if cab.name in ("CAB1", "CAB3") else 0)
            )
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_sent_in_pieces_arrives_as_one_stream(seed, boards):
    """Sends of any length, receives of any length: no boundary is seen."""
    rng = seeds.rng("pieces", seed)
    there = [rng.randbytes(rng.choice([0, 1, 2, 17, 500, 1004, 3000])) for _ in range(40)]
    back = [rng.randbytes(rng.choice([1, 90, 1005])) for _ in range(40)]
    with streams(boards=boards) as system:
        client = system.spawn("CAB1", calls, (2, PORT), there, rng.choice([1000, 7, 1 << 16]))
        server = system.spawn("CAB2", serves, PORT, 1, back, rng.choice([300, 1 << 16]))
        system.go()
        assert client.result == b"".join(back) and server.result == [(1, b"".join(there))]
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_areas_are_sent_from_where_they_lie(boards):
    """``send`` returns when all is acknowledged: then they are overwritten."""
    rng = seeds.rng("areas")
    contents = []

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        block = await cab.memory.allocate(1 << 14)
        for count in (1, 3, 9, 70):
            image = rng.randbytes(1 << 14)
            cab.memory.write(block, image)
            areas = [(block + rng.randrange(1 << 13), rng.choice([0, 1, 5, 40, 1500])) for _ in range(count)]
            contents.extend(image[start - block : start - block + length] for start, length in areas)
            await connection.send(areas)
            cab.memory.write(block, bytes(1 << 14))
        cab.memory.free(block)
        await connection.close()
        assert await connection.receive() == b""

    with streams(boards=boards) as system:
        system.spawn("CAB1", client)
        server = system.spawn("CAB2", serves, PORT, 1, [])
        system.go()
        assert server.result == [(1, b"".join(contents))]
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_is_passed_on_from_where_it_lies(boards):
    async def relay(cab):
        connection = await cab.stream.connect((3, PORT))
        message = await cab.mailbox(1).receive()
        await connection.send(message)
        message.free()
        await connection.close()
        await read_all(connection)

    async def send(cab):
        await cab.datagram.send((2, 1), pattern(5000))

    with streams("hub:3", boards=boards) as system:
        system.spawn("CAB1", send)
        system.spawn("CAB2", relay)
        server = system.spawn("CAB3", serves, PORT, 1, [])
        system.go()
        assert server.result == [(2, pattern(5000))]
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_many_connections_at_once_among_all(boards):
    """Each CAB calls each other one twice: no byte gets into another connection."""
    topology = "mesh:2x2" if boards == "fast" else "hub:4"
    with streams(topology, options=StreamOptions(buffer=1 << 13, linger_us=30_000), boards=boards) as system:
        servers, clients = {}, []
        for cab in system.cabs:
            others = [other for other in system.cabs if other is not cab]
            servers[cab.id] = system.spawn(cab.name, serves, PORT, 2 * len(others), [pattern(3000, cab.id)])
            for other in others:
                for turn in range(2):
                    data = pattern(5000 + 100 * turn, 16 * cab.id + other.id)
                    clients.append((other.id, system.spawn(cab.name, calls, (other.id, PORT), [data])))
        system.go()
        for peer, thread in clients:
            assert thread.result == pattern(3000, peer)
        for number, thread in servers.items():
            expected = [
                (cab.id, pattern(5000 + 100 * turn, 16 * cab.id + number))
                for cab in system.cabs
                if cab.id != number
                for turn in range(2)
            ]
            assert sorted(thread.result) == sorted(expected)
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("limit, pause_us", [(200, 100), (5000, 4000)])
def test_a_slow_reader_holds_up_its_sender_and_nobody_else(limit, pause_us, boards):
    """Flow control: the ring is full, the window closes and opens again. Meanwhile a quick connection to the same
    CAB goes on."""
    data = pattern(60_000)
    times = {}

    async def client(cab, port, name):
        connection = await cab.stream.connect((2, port))
        await connection.send(data)
        times[name] = await cab.now_us()
        await connection.close()
        await read_all(connection)

    with streams("hub:3", options=StreamOptions(buffer=1 << 12, linger_us=30_000), boards=boards) as system:
        system.spawn("CAB1", client, PORT, "slow")
        system.spawn("CAB3", client, PORT + 1, "quick")
        slow = system.spawn("CAB2", serves, PORT, 1, [], limit, pause_us)
        quick = system.spawn("CAB2", serves, PORT + 1, 1, [])
        system.go()
        assert slow.result == [(1, data)] and quick.result == [(3, data)]
        assert times["quick"] * 2 < times["slow"]
        for cab in system.cabs:
            assert not cab.stream.counters.malformed and not cab.stream.counters.duplicates
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_window_that_stays_closed_for_long_is_asked_after(boards):
    """The reader sleeps for longer than it would take to be given up: its CAB answers the probes."""

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        await cab.sleep(3 * QUICK.silence_us)
        got = await read_all(connection)
        await connection.close()
        return got

    with streams(boards=boards) as system:
        client = system.spawn("CAB1", calls, (2, PORT), [pattern(50_000)])
        thread = system.spawn("CAB2", server)
        system.go()
        assert client.result == b"" and thread.result == pattern(50_000)
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_calls_that_cross_are_two_connections(boards):
    """Both open at once, both close at once: connections are named by the side that opened them."""

    async def both(cab, other):
        listener = cab.stream.listen(PORT)
        mine = await cab.stream.connect((other, PORT))
        theirs = await listener.accept()
        listener.close()
        first = cab.spawn(exchange, mine, [b"called by %d" % cab.id])
        second = await exchange(cab, theirs, [b"accepted by %d" % cab.id])
        return await first.join(), second

    with streams(boards=boards) as system:
        threads = [system.spawn("CAB1", both, 2), system.spawn("CAB2", both, 1)]
        system.go()
        assert [thread.result for thread in threads] == [
            (b"accepted by 2", b"called by 2"),
            (b"accepted by 1", b"called by 1"),
        ]
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_each_direction_ends_by_itself(boards):
    """After its own close a task still receives, for as long as it likes."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await connection.close()
        await connection.close()
        with pytest.raises(ConnectionClosed, match="send before"):
            await connection.send(b"too late")
        return await read_all(connection)

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        assert await connection.receive() == b""
        for number in range(5):
            await cab.sleep(30_000)
            await connection.send(bytes([number]) * 1000)
        await connection.close()

    with streams(boards=boards) as system:
        thread = system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        assert thread.result == b"".join(bytes([number]) * 1000 for number in range(5))
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_an_abort_is_heard_at_both_ends(boards):
    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await connection.send(bytes(3000))
        await cab.sleep(2000)
        connection.abort()
        connection.abort()
        for call in (connection.send(b"x"), connection.receive(), connection.close()):
            with pytest.raises(ConnectionAborted, match="aborted on this side"):
                await call

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        with pytest.raises(PeerAborted, match="aborted at the other end"):
            while True:
                await connection.receive(100)
                await cab.sleep(1000)
        with pytest.raises(PeerAborted):
            await connection.send(b"x")

    with streams(boards=boards) as system:
        system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("first", [2**32 - 1, 2**32 - 5000, 2**31 - 2, 0])
def test_sequence_numbers_wrap(first, boards):
    with streams(boards=boards) as system:
        for cab in system.cabs:
            cab.stream.sequence = first
        client = system.spawn("CAB1", calls, (2, PORT), [pattern(20_000)])
        server = system.spawn("CAB2", serves, PORT, 1, [pattern(9000)])
        system.go()
        assert client.result == pattern(9000) and server.result == [(1, pattern(20_000))]
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_wrong_calls_are_refused(boards):
    async def main(cab):
        stream = cab.stream
        with pytest.raises(ConnectRefused, match="nobody listens at port 9 of CAB 2"):
            await stream.connect((2, 9))
        with pytest.raises(NoRoute, match="no route to CAB 77"):
            await stream.connect((77, 9))
        with pytest.raises(ValueError, match="a port is 0 to 65535, not 65536"):
            await stream.connect((2, 65536))
        with pytest.raises(ValueError, match="a port is 0 to 65535, not -1"):
            stream.listen(-1)
        with pytest.raises(ValueError, match="at least 1 connection, not 0"):
            stream.listen(3, backlog=0)
        listener = stream.listen(3)
        with pytest.raises(PortInUse, match="port 3 already"):
            stream.listen(3)
        with pytest.raises(TimedOut):
            await listener.accept(timeout_us=500)
        listener.close()
        listener.close()
        with pytest.raises(ConnectionClosed, match="the listener at port 3 has been closed"):
            await listener.accept()
        connection = await stream.connect((2, PORT))
        for data, error, text in (
            ("text", TypeError, "not str"),
            (5, TypeError, "not int"),
            ([(0x200000, 4)], ValueError, "do not lie"),
        ):
            with pytest.raises(error, match=text):
                await connection.send(data)
        with pytest.raises(ValueError, match="at least 1 byte, not 0"):
            await connection.receive(0)
        with pytest.raises(TimedOut):
            await connection.receive(timeout_us=500)
        await connection.send(b"all is well")
        await connection.close()
        assert await connection.receive() == b""

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        got = await read_all(connection)
        await connection.close()
        return got

    with streams(boards=boards) as system:
        system.spawn("CAB1", main)
        thread = system.spawn("CAB2", server)
        system.go()
        assert thread.result == b"all is well"
        settle(system)


def test_a_buffer_that_could_not_be_is_refused():
    for size in (0, 2048, 5000, 1 << 21):
        with pytest.raises(ValueError, match=f"a power of two, 4096 to 1048576 bytes, not {size}"):
            StreamOptions(buffer=size)
    with pytest.raises(ValueError, match="must leave time for two repetitions"):
        StreamOptions(silence_us=1000)
