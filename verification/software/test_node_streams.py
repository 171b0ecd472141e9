"""Byte streams, multicasts and circuits of a node's processes; docs/nodes.md."""

import pytest

from nectar.software.datalink.datalink import Switching
from nectar.software.errors import (
    CabSilent,
    ConnectionClosed,
    ConnectRefused,
    ConnectTimeout,
    MulticastFailed,
    PeerAborted,
    PortInUse,
    ProgramError,
    TimedOut,
)
from nectar.software.kernel.memory import Memory
from nectar.software.node.layout import OPENED
from nectar.verification.software.helpers import pattern, simulated
from nectar.verification.software.nodes import failing, later, one, receive, run

THREE = ["CAB1", "CAB2", "CAB3"]


class Counting:
    """A door whose loads are noted."""

    def __init__(self, door, loads):
        self.door = door
        self._loads = loads

    def __getattr__(self, name):
        return getattr(self.door, name)

    def read(self, address, size=4):
        """See ``Door``."""
        self._loads.append(address)
        return self.door.read(address, size)


async def all_of(connection):
    """Everything that comes, to its end."""
    data = b""
    while part := await connection.receive():
        data += part
    return data


async def serve(node, port=5, count=1, answer=b""):
    """A process: takes so many connections one after the other, reads each to its end, answers; what has come."""
    listener = await node.stream.listen(port)
    got = []
    for _ in range(count):
        connection = await listener.accept()
        got.append((connection.peer, await all_of(connection)))
        await connection.send(answer)
        await connection.close()
    await listener.close()
    return got


async def ask(node, data, destination=("CAB2", 5), pause_us=300):
    """A process: sends bytes on a connection, ends it, reads the answer."""
    await node.attached()
    await node.sleep(pause_us)
    connection = await node.stream.connect(destination)
    await connection.send(data)
    await connection.close()
    return await all_of(connection)


@pytest.mark.parametrize("size", [0, 1, 5, 4096, 4097, 70_001])
def test_bytes_go_from_node_to_node_and_back(size):
    data = pattern(size)
    back, got = run(("CAB1", ask, data), ("CAB2", serve, 5, 1, data[::-1]))
    assert back == data[::-1] and got == [(1, data)]


@pytest.mark.nightly
def test_bytes_go_from_node_to_node_on_the_rtl():
    data = pattern(9000)
    back, got = run(("CAB1", ask, data), ("CAB2", serve, 5, 1, data[::-1]), boards="rtl")
    assert back == data[::-1] and got == [(1, data)]


def test_connections_between_nodes_and_tasks_of_cabs():
    """The other end cannot tell a process of a node from a task."""

    async def echo(cab):
        listener = cab.stream.listen(6)
        connection = await listener.accept()
        await connection.send(await all_of(connection))
        await connection.close()
        listener.close()

    async def talk(cab):
        await cab.sleep(8000)
        connection = await cab.stream.connect((2, 5))
        await connection.send(b"from a task")
        await connection.close()
        return await all_of(connection)

    back, got, _, heard = run(
        ("CAB1", ask, b"x" * 5000, ("CAB3", 6)),
        ("CAB2", serve, 5, 1, b"to a task"),
        tasks=[("CAB3", echo), ("CAB3", talk)],
        topology="hub:3",
    )
    assert (back, got, heard) == (b"x" * 5000, [(3, b"from a task")], b"to a task")


def test_more_connections_than_numbers_one_after_the_other():
    """Numbers and memory of a connection that both sides have closed are used again."""
    count = OPENED + 3

    async def many(node):
        return [await ask(node, b"%d" % number, pause_us=8000) for number in range(count)]

    answers, got = run(("CAB1", many), ("CAB2", serve, 5, count, b"yes"))
    assert answers == [b"yes"] * count and got == [(1, b"%d" % number) for number in range(count)]


def test_a_reader_that_is_slow_holds_up_the_sender_and_no_byte_is_lost():
    """The ring is full, the sender's part of the shared area too: ``send`` waits."""

    async def slowly(node):
        listener = await node.stream.listen(5)
        connection = await listener.accept()
        await node.sleep(15_000)
        data = b""
        while part := await connection.receive(777):
            data += part
        await connection.close()
        await listener.close()
        return data

    async def send(node, data):
        connection = await node.stream.connect(("CAB2", 5))
        await connection.send(data)
        sent = await node.now_us()
        await connection.close()
        assert await connection.receive() == b""
        return sent

    data = pattern(80_000)
    sent, got = run(("CAB1", later, 300, send, data), ("CAB2", slowly))
    assert got == data and sent > 15_000


def test_no_byte_of_a_stream_is_copied_by_a_cab(monkeypatch):
    """They go by DMA from where the node has stored them to where the other node loads them."""
    copied = []

    async def read(memory, address, length):
        copied.append(length)
        return await plain_read(memory, address, length)

    def write(memory, address, data):
        copied.append(len(data))
        plain_write(memory, address, data)

    plain_read, plain_write = Memory.read, Memory.write
    monkeypatch.setattr(Memory, "read", read)
    monkeypatch.setattr(Memory, "write", write)
    _, got = run(("CAB1", ask, pattern(40_000)), ("CAB2", serve))
    assert got == [(1, pattern(40_000))] and copied == []


def test_what_was_not_accepted_or_read_is_aborted():
    async def careless(node):
        listener = await node.stream.listen(5)
        await node.sleep(30_000)
        await listener.close()

    async def left(node):
        listener = await node.stream.listen(6)
        connection = await listener.accept()
        await connection.abort()
        await listener.close()

    async def attempts(node):
        for port in 5, 6:
            connection = await node.stream.connect((2, port))
            with pytest.raises(PeerAborted, match=f"port {port}.* was aborted at the other end"):
                await connection.receive()
            await connection.abort()

    run(("CAB1", later, 10_000, attempts), ("CAB2", careless), ("CAB2", left))


def test_nobody_listens_or_answers():
    async def taken(node):
        listener = await node.stream.listen(7)
        with pytest.raises(PortInUse):
            await node.stream.listen(7)
        with pytest.raises(TimedOut, match="waited 500 us for a connection to port 7 of CAB1.node"):
            await listener.accept(500)
        await listener.close()
        with pytest.raises(ProgramError, match="port 7 of CAB1.node has been closed"):
            await listener.accept()

    refused, _ = run(("CAB1", failing(lambda node: node.stream.connect(("CAB2", 9)))), ("CAB1", taken))
    assert isinstance(refused, ConnectRefused)
    assert str(refused) == "nobody listens at port 9 of CAB 2: start the server first"


def test_a_connection_that_nobody_answers():
    """A listener without room does not answer."""

    async def full(node):
        first = await node.stream.connect((2, 6))
        try:
            await node.stream.connect((2, 6), 3000)
        finally:
            await first.abort()

    async def slow(cab):
        listener = cab.stream.listen(6, 1)
        await cab.sleep(50_000)
        listener.close()

    error, _ = run(("CAB1", failing(lambda node: later(node, 300, full))), tasks=[("CAB2", slow)], nodes=["CAB1"])
    assert isinstance(error, ConnectTimeout) and "CAB 2 has not answered in time" in str(error)


def test_calls_of_a_connection_that_is_closed():
    async def client(node):
        connection = await node.stream.connect(("CAB2", 5))
        await connection.close()
        with pytest.raises(ConnectionClosed, match="has been closed on this side: send before"):
            await connection.send(b"more")
        with pytest.raises(ValueError, match="at least 1 byte, not 0"):
            await connection.receive(0)
        return await all_of(connection)

    back, _ = run(("CAB1", later, 300, client), ("CAB2", serve, 5, 1, b"end"))
    assert back == b"end"


def test_a_receive_with_a_time_and_connections_without_number():
    async def server(node):
        listener = await node.stream.listen(5, OPENED)
        connections = [await listener.accept() for _ in range(2)]
        with pytest.raises(
            TimedOut, match="waited 2500 us for bytes of the connection of CAB2.node with CAB 1, port 5"
        ):
            await connections[0].receive(10, 2500)
        for connection in connections:
            await connection.abort()
        await listener.close()

    async def client(node):
        connections = [await node.stream.connect((2, 5)) for _ in range(2)]
        await node.sleep(5000)
        for connection in connections:
            await connection.abort()

    run(("CAB1", later, 300, client), ("CAB2", server))


def test_processes_sleep_while_nothing_comes():
    """A process that waits for a connection or for bytes makes no access to the CAB."""
    waits_us = 40_000
    loads = []

    async def waits(node):
        plain = node.door.read
        node.door = node.shared.door = Counting(node.door, loads)
        listener = await node.stream.listen(5)
        connection = await listener.accept()
        data = await connection.receive()
        node.door = node.shared.door = node.door.door
        assert plain == node.door.read
        await connection.abort()
        await listener.close()
        return data

    async def slow(node):
        connection = await node.stream.connect((2, 5))
        await node.sleep(waits_us)
        await connection.send(b"at last")
        await node.sleep(10_000)
        await connection.abort()

    _, got = run(("CAB1", later, 10_000, slow), ("CAB2", waits))
    assert got == b"at last" and len(loads) < 4000


def test_a_cab_that_stops_ends_the_waits_for_it():
    async def waits(node):
        listener = await node.stream.listen(5)
        await listener.accept()

    with simulated("hub:2", nodes=["CAB1"]) as system:
        waiting = system.node("CAB1").spawn(failing(waits))
        system.faults.stop("CAB1", at_us=30_000)
        system.go()
    assert isinstance(waiting.result, CabSilent)
    assert "the CAB of CAB1.node has stopped: nobody listens at port 5 of CAB1.node any more" in str(waiting.result)


# -- multicasts and circuits -----------------------------------------------------------------------------
def test_a_multicast_of_a_node_reaches_nodes_and_tasks():
    async def send(node):
        await node.multicast.send((["CAB2", 3], 1), b"to all of you")

    _, got, task = run(
        ("CAB1", later, 500, send), ("CAB2", receive, 1, 1), tasks=[("CAB3", one)], topology="hub:3", nodes=THREE[:2]
    )
    assert got == [(1, b"to all of you")] and task == b"to all of you"


def test_a_multicast_that_does_not_reach_all_names_those_without():
    async def send(node):
        await node.multicast.send(([2, 3], 1), b"hear me", 20_000)

    async def closes(cab):
        cab.mailbox(1).close()

    error, *_ = run(
        ("CAB1", failing(lambda node: later(node, 500, send))),
        tasks=[("CAB2", one), ("CAB3", closes)],
        topology="hub:3",
        nodes=["CAB1"],
    )
    assert isinstance(error, MulticastFailed) and list(error.missing) == [3] and error.missing[3]


@pytest.mark.parametrize("cabs", [[1], [1, 2], [], [255]])
def test_a_multicast_to_nobody_or_to_the_own_cab_is_refused(cabs):
    async def send(node):
        await node.multicast.send((cabs, 1), b"x")

    (error,) = run(("CAB1", failing(send)), nodes=["CAB1"])
    assert isinstance(error, (ProgramError, ValueError))


def test_a_datagram_of_a_node_by_a_circuit():
    data = pattern(3000)

    async def send(node):
        await node.datagram.send((2, 1), data, Switching.CIRCUIT)

    _, got = run(("CAB1", later, 500, send), ("CAB2", receive, 1, 1))
    assert got == [(1, data)]
