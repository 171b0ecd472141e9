"""What ends a connection of the byte stream otherwise than by its tasks: a peer that vanishes or restarts, headers that
are wrong, no room.

Specification: docs/transports.md, "Byte stream". Each gives its own error within a stated time, nobody else notices,
nothing is left behind."""

import pytest

from nectar.software.errors import (
    ConnectionAborted,
    ConnectTimeout,
    PeerAborted,
    PeerRestarted,
    PeerSilent,
    ThreadEnded,
    TimedOut,
)
from nectar.software.packet import STREAM, Flag, Protocol
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.tamper import Rule, Tamperer

from .streams import PORT, QUICK, accept, calls, calm, read_all, serves, settle, streams

OPEN, E, A, R, ASK, D, OPENER = Flag


async def failure(cab, call):
    """(the error of ``call``, how many microseconds it took)."""
    begin = await cab.now_us()
    try:
        await call
    except Exception as error:
        return error, await cab.now_us() - begin
    return None, await cab.now_us() - begin


async def sends_on(connection):
    """Sends until that fails."""
    while True:
        await connection.send(pattern(3000))


async def ends_later(connection):
    """Ends it when the peer has vanished."""
    await connection.endpoint.stream.timers.sleep(connection.endpoint.stream.cycles(13_000))
    await connection.close()


# -- a peer that vanishes, by the state that it finds ------------------------------------------------
#: Longest time from the peer's end to the error, in microseconds: of a side that expects something, and of one that
#: does not.
EXPECTING = QUICK.silence_us + QUICK.most_us + 5000
IDLE = QUICK.idle_us + EXPECTING

VANISHED = {
    # state: (what the other side does then, what this side does, longest time)
    "while it is sending": (lambda cab, peer: read_all(peer), sends_on, EXPECTING),
    "while neither says anything": (lambda cab, peer: peer.receive(), lambda connection: connection.receive(), IDLE),
    "while its window is closed": (lambda cab, peer: cab.sleep(10**6), sends_on, EXPECTING),
    "while this side ends": (lambda cab, peer: cab.sleep(10**6), ends_later, EXPECTING),
    "while only the other side has ended": (lambda cab, peer: peer.close(), sends_on, EXPECTING),
}


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("when", VANISHED)
def test_a_peer_that_vanishes_is_noticed(when, boards):
    """Nothing crosses from a certain time on, in either direction: both sides have their error in time, and others
    none."""
    theirs, ours, longest = VANISHED[when]
    seen = {}

    async def failing(cab, connection):
        return await failure(cab, ours(connection))

    async def other(cab, peer):
        return await failure(cab, theirs(cab, peer))

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        begun = cab.spawn(failing, connection)
        await cab.sleep(12_000)
        tamperer.gone.add(2)
        begin = await cab.now_us()
        seen["error"], _ = await begun.join()
        seen["after"] = await cab.now_us() - begin
        for call in (connection.send(b"x"), connection.receive(), connection.close()):
            with pytest.raises(PeerSilent):
                await call

    async def server(cab):
        peer = await accept(cab)
        doing = cab.spawn(other, peer)
        while peer.error is None:
            await cab.sleep(1000)
        seen["other"] = peer.error
        if doing.ended:
            error, _ = doing.result
            assert error is None or error is peer.error
        doing.end()

    with streams("hub:4", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        others = system.spawn("CAB3", calls, (4, PORT), [pattern(9000)]), system.spawn("CAB4", serves, PORT, 1, [])
        system.go()
        assert isinstance(seen["error"], PeerSilent) and "is CAB 2 still running?" in str(seen["error"])
        assert isinstance(seen["other"], PeerSilent)
        assert QUICK.silence_us - QUICK.most_us < seen["after"] < longest
        assert others[1].result == [(3, pattern(9000))]
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_peer_that_was_never_there_is_a_time_out(boards):
    async def client(cab):
        error, took = await failure(cab, cab.stream.connect((2, PORT), timeout_us=30_000))
        assert isinstance(error, ConnectTimeout) and 30_000 <= took < 32_000
        error, took = await failure(cab, cab.stream.connect((2, PORT), timeout_us=10**7))
        assert isinstance(error, ConnectTimeout) and took < EXPECTING, "silence is the bound of all"

    with streams(boards=boards) as system:
        Tamperer(system, [Protocol.STREAM]).gone.add(2)
        system.spawn("CAB1", client)
        system.go()
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_caller_that_vanishes_while_it_is_answered_leaves_no_trace_at_the_listener(boards):
    """Half of a set-up: the listener never hears of it, its backlog and the memory are free again."""

    async def client(cab):
        error, _ = await failure(cab, cab.stream.connect((2, PORT), timeout_us=5000))
        assert isinstance(error, ConnectTimeout)

    async def server(cab):
        listener = cab.stream.listen(PORT, backlog=1)
        await cab.sleep(3000)
        assert listener.pending == 1
        await cab.sleep(EXPECTING)
        assert listener.pending == 0 and not cab.stream.connections
        tamperer.calm()
        assert await read_all(await listener.accept()) == b"again"
        listener.close()

    async def later(cab):
        await cab.sleep(EXPECTING + 8000)
        connection = await cab.stream.connect((2, PORT))
        await connection.send(b"again")
        await connection.close()
        connection.abort()

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        tamperer.rules.append(Rule(lambda at, header: at == 1 or not STREAM.unpack(header)[3] & OPEN, count=100))
        system.spawn("CAB1", client)
        system.spawn("CAB1", later)
        thread = system.spawn("CAB2", server)
        system.go()
        assert thread.result is None
        settle(system, 150_000)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_peer_that_vanishes_behind_the_end_is_no_error(boards):
    """Both directions have ended and one side lingers: nobody is left to tell."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await connection.close()
        assert await connection.receive() == b""
        await cab.sleep(1000)
        tamperer.gone.add(2)

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        system.spawn("CAB1", client)
        system.spawn("CAB2", serves, PORT, 1, [])
        system.go()
        settle(system, 150_000)


# -- a peer that restarts --------------------------------------------------------------------------
def restart(cab, sequence):
    """As far as the byte stream sees it: nothing is known of any connection, numbers begin anew."""
    for endpoint in list(cab.stream.connections.values()):
        endpoint.fail(ConnectionAborted("this CAB has restarted"))
    cab.stream.last = 0
    cab.stream.sequence = sequence


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("what, longest", [("send", 3000), ("receive", QUICK.idle_us + 3000)])
def test_a_peer_that_has_restarted_answers_with_a_reset(what, longest, boards):
    """At the next packet; of a side that only waits, at the probe that it sends when the peer is silent."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await cab.sleep(2000)
        restart(system.cab("CAB2"), 1)
        error, took = await failure(cab, connection.receive() if what == "receive" else sends_on(connection))
        assert isinstance(error, PeerRestarted) and "CAB 2 has started anew" in str(error)
        assert took < longest

    with streams(boards=boards) as system:
        system.spawn("CAB1", client)
        system.spawn("CAB2", accept)
        system.go()
        assert system.cab("CAB2").stream.counters.unknown >= 1
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("sequence", [12345, 0])
def test_a_restarted_peer_that_calls_again_with_the_same_name_replaces_the_old_connection(sequence, boards):
    """The half-open connection at the other side ends with an error, the new call comes through; also with the same
    first sequence number."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await connection.send(b"before")
        await cab.sleep(3000)
        restart(cab, sequence)
        fresh = await cab.stream.connect((2, PORT))
        assert fresh.endpoint.key == connection.endpoint.key
        await fresh.send(b"after")
        await fresh.close()
        return await read_all(fresh)

    async def server(cab):
        listener = cab.stream.listen(PORT)
        old = await listener.accept()
        assert await old.receive() == b"before"
        error, _ = await failure(cab, old.receive())
        new = await listener.accept()
        listener.close()
        got = await read_all(new)
        await new.close()
        return error, got

    with streams(boards=boards) as system:
        system.cab("CAB1").stream.sequence = 0
        system.spawn("CAB1", client)
        thread = system.spawn("CAB2", server)
        system.go()
        error, got = thread.result
        assert isinstance(error, PeerRestarted) and got == b"after"
        settle(system)


# -- room ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("what", ["backlog", "memory"])
def test_a_call_for_which_there_is_no_room_now_comes_through_later(what, boards):
    async def server(cab):
        listener = cab.stream.listen(PORT, backlog=1 if what == "backlog" else 8)
        blocks = []
        if what == "memory":
            while (block := cab.memory.try_allocate(QUICK.buffer)) is not None:
                blocks.append(block)
        await cab.sleep(12_000)
        for block in blocks:
            cab.memory.free(block)
        got = []
        for _ in range(2):
            connection = await listener.accept()
            got.append(await read_all(connection))
            await connection.close()
        listener.close()
        return got

    with streams("hub:3", memory_bytes=1 << 18, boards=boards) as system:
        clients = [system.spawn(name, calls, (2, PORT), [b"from a client"]) for name in ("CAB1", "CAB3")]
        thread = system.spawn("CAB2", server)
        system.go()
        assert thread.result == [b"from a client"] * 2 and all(client.result == b"" for client in clients)
        assert system.cab("CAB2").stream.counters.no_room >= 1
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_listener_that_closes_aborts_what_nobody_has_accepted(boards):
    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        with pytest.raises(PeerAborted):
            await connection.receive()

    async def server(cab):
        listener = cab.stream.listen(PORT)
        await cab.sleep(5000)
        listener.close()

    with streams(boards=boards) as system:
        system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        calm(system)
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("how", ["timed out", "ended"])
def test_a_send_of_areas_that_is_given_up_aborts_and_leaves_the_areas_alone(how, boards):
    """The reader does not read. When the sender goes on no packet names the areas any more."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        block = await cab.memory.allocate(1 << 16)

        async def lend(cab):
            await connection.send([(block, 1 << 16)])

        if how == "ended":
            thread = cab.spawn(lend)
            await cab.sleep(20_000)
            thread.end()
            with pytest.raises(ThreadEnded):
                await thread.join()
        else:
            with pytest.raises(TimedOut):
                await cab.within(20_000, lend(cab))
        assert connection.endpoint.queue.idle and len(connection.endpoint.queue) == 0
        cab.memory.free(block)
        with pytest.raises(ConnectionAborted):
            await connection.receive()

    async def server(cab):
        connection = await accept(cab)
        await cab.sleep(30_000)
        with pytest.raises(PeerAborted):
            await connection.receive()

    with streams(boards=boards) as system:
        system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        settle(system)
