"""Protected tasks and the protocols (docs/kernel.md): each is called by traps, none is left half-way when its task
ends by a fault."""

import pytest

from nectar.software.errors import CallError, Fault, StreamError, ThreadEnded

from .helpers import BOARDS, nothing_leaks, pattern
from .tasks import DATA, faults
from .transport.exchange import settled, whole


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


def test_a_stream_between_two_protected_tasks(boards):
    async def server(cab):
        listener = cab.stream.listen(5)
        connection = await listener.accept()
        got = b""
        while data := await connection.receive(2000):
            got += data
        await connection.send(got[::-1])
        await connection.close()
        listener.close()
        return got

    async def client(cab, data):
        connection = await cab.stream.connect((2, 5), timeout_us=50_000)
        await connection.send(data[:3000])
        block = await cab.memory.allocate(len(data) - 3000)
        cab.memory.write(block, data[3000:])
        await connection.send([(block, len(data) - 3000)])
        await connection.close()
        got = b""
        while part := await connection.receive(1000):
            got += part
        return got

    with whole(boards=boards) as system, nothing_leaks(system):
        data = pattern(6000)
        first = system.spawn("CAB2", server, protected=True)
        second = system.spawn("CAB1", client, data, protected=True)
        system.go()
        assert first.result == data and second.result == data[::-1]
        settled(system, 800_000)
        assert all(cab.domains.used == 0 and not cab.faults for cab in system.cabs)


def test_the_peer_of_a_connection_hears_that_a_task_has_faulted(boards):
    async def server(cab):
        connection = await cab.stream.listen(5).accept()
        await connection.receive(10)
        await cab.door.read(DATA)

    async def client(cab):
        connection = await cab.stream.connect((2, 5), timeout_us=50_000)
        block = await cab.memory.allocate(5000)
        with pytest.raises(StreamError):
            while True:
                await connection.send([(block, 5000)])
        return "heard"

    with whole(boards=boards) as system, nothing_leaks(system):
        first = system.spawn("CAB2", server, protected=True)
        second = system.spawn("CAB1", client, protected=True)
        system.go()
        assert isinstance(first.error, Fault) and second.result == "heard"
        settled(system, 800_000)


def test_a_task_that_faults_while_its_areas_are_on_their_way(boards):
    """Its memory is not given to anybody before the last packet has left: what arrives is what it has sent."""

    async def client(cab, data):
        connection = await cab.stream.connect((2, 5), timeout_us=50_000)
        block = await cab.memory.allocate(len(data))
        cab.memory.write(block, data)
        await connection.send([(block, len(data))])
        await cab.door.read(DATA)

    async def server(cab, data):
        connection = await cab.stream.listen(5).accept()
        got = b""
        try:
            while part := await connection.receive(1000):
                got += part
        except StreamError:
            pass
        assert data.startswith(got)
        return len(got)

    async def greedy(cab):
        for _ in range(30):
            block = await cab.memory.allocate(8192)
            cab.memory.write(block, b"\xaa" * 8192)
            await cab.sleep(100)
            cab.memory.free(block)

    with whole(boards=boards) as system, nothing_leaks(system):
        data = pattern(8000)
        server = system.spawn("CAB2", server, data)
        client = system.spawn("CAB1", client, data, protected=True)
        system.spawn("CAB1", greedy)
        system.go()
        assert isinstance(client.error, Fault)
        settled(system, 800_000)


def test_a_protected_server_answers_and_its_clients_hear_when_it_faults(boards):
    async def server(cab):
        service = cab.request.serve(7)
        for _ in range(2):
            request = await service.receive()
            await request.reply((await request.read())[::-1])
        await service.receive()
        await cab.door.read(DATA)

    async def client(cab):
        answers = [await cab.request.call((2, 7), data, timeout_us=60_000) for data in (b"abc", bytes(range(256)) * 10)]
        with pytest.raises(CallError):
            await cab.request.call((2, 7), b"last", timeout_us=60_000)
        return answers

    with whole(boards=boards) as system, nothing_leaks(system):
        first = system.spawn("CAB2", server, protected=True)
        second = system.spawn("CAB1", client, protected=True)
        system.go()
        assert second.result == [b"cba", (bytes(range(256)) * 10)[::-1]]
        assert isinstance(first.error, Fault)


def test_a_call_under_way_is_cancelled_when_its_task_faults(boards):
    async def client(cab):
        handle = await cab.request.start((2, 7), b"abc", timeout_us=60_000)
        await cab.sleep(100)
        assert handle is not None
        await cab.door.read(DATA)

    async def main(cab):
        await faults(cab, client)

    with whole(boards=boards) as system, nothing_leaks(system):
        system.cab("CAB2").request.serve(7)
        system.spawn("CAB1", main)
        system.go()


def test_a_multicast_of_a_protected_task(boards):
    async def receive(cab):
        letter = await cab.mailbox(4).take()
        data = await letter.read()
        letter.free()
        return data

    async def send(cab):
        letter = await cab.mailbox(9).reserve(1500)
        letter.write(bytes(1500))
        await cab.multicast.send(([2, 3], 4), letter)
        letter.free()

    with whole("hub:3", boards=boards) as system, nothing_leaks(system):
        readers = [system.spawn(name, receive, protected=True) for name in ("CAB2", "CAB3")]
        system.spawn("CAB1", send, protected=True)
        system.go()
        assert [each.result for each in readers] == [bytes(1500)] * 2


async def connected(cab):
    """A connection to a task that never receives nor sends."""
    return await cab.stream.connect((2, 5), timeout_us=50_000)


async def accepts(cab):
    listener = cab.stream.listen(6)
    try:
        await listener.accept()
    finally:
        listener.close()


async def receives(cab):
    connection = await connected(cab)
    try:
        await connection.receive(10)
    finally:
        connection.abort()


async def sends_without_end(cab):
    connection = await connected(cab)
    try:
        while True:
            await connection.send(bytes(20_000))
    finally:
        connection.abort()


async def calls(cab):
    await cab.request.call((2, 7), b"abc", timeout_us=500_000)


async def waits_for_a_result(cab):
    handle = await cab.request.start((2, 7), b"abc", timeout_us=500_000)
    try:
        await handle.result()
    finally:
        handle.cancel()


async def serves(cab):
    service = cab.request.serve(9)
    try:
        await service.receive()
    finally:
        service.close()


@pytest.mark.parametrize("protected", [False, True])
@pytest.mark.parametrize("task", [accepts, receives, sends_without_end, calls, waits_for_a_result, serves])
def test_a_task_is_ended_in_a_call_of_a_protocol(task, protected):
    async def host(cab):
        listener = cab.stream.listen(5)
        connections = []
        try:
            while True:
                connections.append(await listener.accept())
        finally:
            listener.close()
            for connection in connections:
                connection.abort()

    async def main(cab):
        thread = cab.spawn(task, protected=protected)
        await cab.sleep(15_000)
        assert not thread.ended
        thread.end()
        with pytest.raises(ThreadEnded):
            await thread.join(timeout_us=100_000)

    with whole() as system, nothing_leaks(system):
        peer = system.cab("CAB2")
        service = peer.request.serve(7)
        server = peer.spawn(host)
        system.spawn("CAB1", main)
        system.go()
        service.close()
        system.spawn("CAB2", end, server)
        system.go()
        settled(system, 800_000)


async def end(cab, thread):
    thread.end()
    await cab.sleep(100)
