"""The byte stream when a CAB is stopped, for good or to start anew: real boards, nothing of the old software left.

Specification: docs/transports.md, "Byte stream"; docs/faults.md for *stop*.
"""

import pytest

from nectar.software.errors import PeerRestarted, PeerSilent
from nectar.verification.software.helpers import BOARDS, pattern

from .streams import PORT, QUICK, read_all, settle, streams

#: From the peer's return to the error of a side that only waits.
NOTICED = QUICK.idle_us + 5000
#: The same of a side whose peer does not come back.
SILENT = QUICK.idle_us + QUICK.silence_us + QUICK.most_us + 5000


async def waits(cab, destination, doing):
    """A task: opens a connection, does ``doing(connection)`` until it fails. Returns the error and when it came, in
    microseconds."""
    connection = await cab.stream.connect(destination)
    try:
        while True:
            await doing(connection)
    except (PeerRestarted, PeerSilent) as error:
        return error, await cab.now_us()


async def accepts(cab, log):
    """A task: notes what each connection has brought, and how it ended."""
    listener = cab.stream.listen(PORT)
    while True:
        connection = await listener.accept()
        try:
            log.append(await read_all(connection))
            await connection.close()
        except (PeerRestarted, PeerSilent) as error:
            log.append(type(error))


DOING = {"waits": lambda connection: connection.receive(), "sends": lambda connection: connection.send(pattern(2000))}


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("doing", DOING)
def test_a_server_that_starts_anew_does_not_know_the_connection(doing, boards):
    with streams(boards=boards) as system:
        system.cab("CAB2").spawn(accepts, [])
        system.faults.stop("CAB2", at_us=5000, for_us=3000)
        system.on_restart = lambda cab: setattr(cab.stream, "options", QUICK)
        client = system.spawn("CAB1", waits, (2, PORT), DOING[doing])
        system.go()
        error, at_us = client.result
        assert isinstance(error, PeerRestarted) and 8000 < at_us < 8000 + NOTICED
        assert system.cab("CAB2").stream.counters.unknown >= 1
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("doing", DOING)
def test_a_server_that_is_stopped_for_good_is_noticed(doing, boards):
    with streams(boards=boards) as system:
        system.cab("CAB2").spawn(accepts, [])
        system.faults.stop("CAB2", at_us=5000)
        client = system.spawn("CAB1", waits, (2, PORT), DOING[doing])
        system.go()
        error, at_us = client.result
        assert isinstance(error, PeerSilent) and 5000 < at_us < 5000 + SILENT
        assert system.cab("CAB1").memory.used == system.used[0] and not system.cab("CAB1").stream.connections


@pytest.mark.parametrize("boards", BOARDS)
def test_a_client_that_starts_anew_is_served_and_its_old_connection_fails(boards):
    """Its new connection has the old one's number: its boot number gives it other sequence numbers."""
    log, done = [], []

    async def client(cab, data):
        connection = await cab.stream.connect((2, PORT))
        await connection.send(data)
        if cab.stream is not first:
            await connection.close()
            done.append((connection.endpoint.number, await connection.receive()))
        else:
            await cab.sleep(10**6)

    async def wait(cab):
        while len(log) < 2 or not done:
            await cab.sleep(1000)
        await cab.sleep(2 * QUICK.linger_us)
        for thread in cab.kernel.threads:
            if thread.name.startswith("accepts"):
                thread.end()

    def again(cab):
        cab.stream.options = QUICK
        cab.spawn(client, b"new")

    with streams(boards=boards) as system:
        first = system.cab("CAB1").stream
        system.on_restart = again
        system.cab("CAB2").spawn(accepts, log)
        system.cab("CAB1").spawn(client, b"old")
        system.faults.stop("CAB1", at_us=5000, for_us=1000)
        system.spawn("CAB2", wait)
        system.go()
        assert log == [PeerRestarted, b"new"] and done == [(1, b"")]
        system.cab("CAB2").stream.listeners[PORT].close()
        settle(system)
