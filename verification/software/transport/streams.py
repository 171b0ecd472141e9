"""What the tests of the byte stream share: tasks at both ends, systems that end as they began."""

from contextlib import contextmanager

from nectar.software.transport.options import StreamOptions
from nectar.verification.software.helpers import simulated

__all__ = ["QUICK", "PORT", "calls", "serves", "exchange", "read_all", "streams", "settle", "calm", "accept"]

#: Short times, so that what fails fails soon.
QUICK = StreamOptions(
    connect_us=60_000, first_us=4_000, most_us=15_000, silence_us=60_000, idle_us=20_000, linger_us=30_000
)
PORT = 5


@contextmanager
def streams(topology="hub:2", options=QUICK, **others):
    """A system whose byte streams have ``options``. At its end nothing of any connection may be left: see
    ``settle``."""
    with simulated(topology, **others) as system:
        for cab in system.cabs:
            cab.stream.options = options
        system.used = [cab.memory.used for cab in system.cabs]
        yield system


async def read_all(connection, limit=4096, pause_us=0, cab=None):
    """Everything up to the end."""
    got = bytearray()
    while data := await connection.receive(limit):
        assert len(data) <= limit
        got += data
        if pause_us:
            await cab.sleep(pause_us)
    return bytes(got)


async def exchange(cab, connection, sends, limit=4096, pause_us=0):
    """Sends each of ``sends`` and the end while it reads to the end; returns what it has read."""

    async def write(cab):
        for data in sends:
            await connection.send(data)
        await connection.close()

    writer = cab.spawn(write)
    got = await read_all(connection, limit, pause_us, cab)
    await writer.join()
    return got


async def calls(cab, destination, sends, limit=4096, pause_us=0):
    """A task: calls, exchanges. Returns what it has read."""
    connection = await cab.stream.connect(destination)
    return await exchange(cab, connection, sends, limit, pause_us)


async def serves(cab, port, count, sends, limit=4096, pause_us=0):
    """A task: accepts ``count`` connections and exchanges on each, all at once. Returns peer → what it has read, in
    the order of accepting."""
    listener = cab.stream.listen(port)
    threads = []
    for _ in range(count):
        connection = await listener.accept()
        threads.append((connection.peer, cab.spawn(exchange, connection, sends, limit, pause_us)))
    listener.close()
    return [(peer, await thread.join()) for peer, thread in threads]


def settle(system, quiet_us=40_000):
    """Lets connections linger to their end; then nothing may be left of them, and no memory be in use that was not
    at the beginning."""

    async def wait(cab):
        await cab.sleep(quiet_us)

    system.spawn(system.cabs[0].name, wait)
    system.go()
    for cab in system.cabs:
        assert not cab.stream.connections, (cab.name, cab.stream.connections)
        assert not cab.stream.listeners
        assert not cab.datalink.out.posted
    assert [cab.memory.used for cab in system.cabs] == system.used


def calm(system):
    """Nothing went wrong, nothing was sent in vain."""
    for cab in system.cabs:
        counters = cab.stream.counters
        assert not counters.malformed, (cab.name, counters.malformed)
        for name in ("duplicates", "early", "damaged", "unknown", "no_listener", "no_room"):
            assert getattr(counters, name) == 0, (cab.name, name, getattr(counters, name))


async def accept(cab):
    """The first connection that comes to ``PORT``; no other one is taken."""
    listener = cab.stream.listen(PORT)
    connection = await listener.accept()
    listener.close()
    return connection
