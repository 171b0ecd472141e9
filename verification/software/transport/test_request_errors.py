"""Calls that go wrong: each has its own error, in time, and nothing is left behind. Peers vanish, calls are cancelled,
servers start anew.

Source: docs/transports.md.
"""

import pytest

from nectar.software.errors import (
    AnswerLost,
    CallCancelled,
    CallTimeout,
    MessageTooLong,
    ServerRestarted,
    ServerSilent,
    ServiceEnded,
    ServiceFull,
    ServiceMissing,
)
from nectar.software.packet import ASK, EXCHANGE, MAX_DATA, PacketKind, Protocol
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.tamper import Rule, Tamperer
from nectar.verification.software.transport.exchange import SERVICE, hasten, serve, settled, whole

LONG = pattern(5 * MAX_DATA)


def kind(header):
    """The PacketKind of a packet of the protocol."""
    return header[3] & ~ASK


async def fails(cab, error, match, data=b"x", server=2, service=SERVICE, **options):
    """A client whose call must fail; returns the time that it took, in microseconds."""
    begin = await cab.now_us()
    with pytest.raises(error, match=match) as caught:
        await cab.request.call((server, service), data, **options)
    assert type(caught.value) is error
    return await cab.now_us() - begin


# -- what a server refuses ---------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("data", [b"", LONG])
def test_a_service_that_does_not_exist(data, boards):
    with whole(boards=boards) as system:
        clients = [system.spawn("CAB1", fails, ServiceMissing, "has no service 7", data) for _ in range(2)]
        system.go()
        assert all(client.result < 1000 for client in clients)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_service_that_is_full_refuses_what_it_cannot_keep(boards):
    log, outcomes = [], []

    async def client(cab, number):
        try:
            await cab.request.call((2, SERVICE), bytes([number]))
            outcomes.append((number, "answered"))
        except ServiceFull as error:
            assert not error.executed and "call again later" in str(error)
            outcomes.append((number, "full"))

    with whole("hub:2", boards=boards) as system:
        system.cab("CAB2").spawn(serve, log, 10_000, 1000, 2)
        for number in range(6):
            system.spawn("CAB1", client, number)
        system.go()
        answered = sorted(number for number, outcome in outcomes if outcome == "answered")
        assert len(outcomes) == 6 and len(answered) == 3  # one with the task, two that wait
        assert sorted(data[0] for data, _, _ in log) == answered


@pytest.mark.parametrize("boards", BOARDS)
def test_a_service_whose_tasks_have_ended(boards):
    with whole(boards=boards) as system:
        system.spawn("CAB2", serve, [], 0, 1)
        ok = system.spawn("CAB1", succeed, b"abc")
        system.go()
        assert ok.result == b"cba"
        client = system.spawn("CAB1", fails, ServiceEnded, "has ended service 7", LONG)
        system.go()
        assert client.result < 2000


async def succeed(cab, data, server=2, **options):
    return await cab.request.call((server, SERVICE), data, **options)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_task_that_ends_with_a_request_in_hand(boards):
    """The client hears of it when it asks next; the request's memory is freed."""

    async def server(cab):
        offered = cab.request.serve(SERVICE)
        await offered.receive()
        await cab.sleep(3000)

    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(server)
        clients = [
            system.spawn("CAB1", fails, ServiceEnded, "the task that worked on the request", LONG) for _ in range(2)
        ]
        system.go()
        assert all(3000 < client.result < 15_000 for client in clients)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_service_that_is_closed(boards):
    """What waits in it is refused at once; what a task has is still answered; who waits for requests hears of it;
    the number is free again."""

    async def server(cab):
        offered = cab.request.serve(SERVICE)
        other = cab.request.serve(SERVICE + 1)
        waiter = cab.spawn(wait, other)
        first = await offered.receive()
        await cab.sleep(2000)
        offered.close()
        offered.close()
        other.close()
        assert await first.reply(b"late")
        await waiter.join()
        with pytest.raises(ServiceEnded, match="is closed"):
            await offered.receive()
        cab.request.serve(SERVICE).close()

    async def wait(cab, other):
        with pytest.raises(ServiceEnded, match="service 8 of CAB2 is closed"):
            await other.receive()

    async def second(cab):
        await cab.sleep(300)
        took = await fails(cab, ServiceEnded, "has ended service 7")
        await fails(cab, ServiceMissing, "no service 7")
        return took

    with whole(boards=boards) as system:
        system.spawn("CAB2", server)
        first = system.spawn("CAB1", succeed, b"early")
        other = system.spawn("CAB1", second)
        system.go()
        assert first.result == b"late" and other.result < 2500


def test_wrong_replies_are_refused_and_another_may_follow():
    async def server(cab):
        request = await cab.request.serve(SERVICE).receive()
        with pytest.raises(MessageTooLong, match="at most 65536"):
            await request.reply(bytes(MAX_MESSAGE + 1))
        with pytest.raises(TypeError, match="not int"):
            await request.reply(5)
        assert await request.reply(b"good")
        with pytest.raises(ValueError, match="answered before"):
            await request.reply(b"again")

    with whole() as system:
        system.spawn("CAB2", server)
        client = system.spawn("CAB1", succeed, b"")
        system.go()
        assert client.result == b"good"


# -- time-outs and peers that vanish -----------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
def test_an_answer_that_does_not_come_in_time(boards):
    """The error tells that the server is there; the server hears that its answer is not wanted any more."""
    log = []
    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(serve, log, 30_000)
        client = system.spawn("CAB1", lambda cab: fails(cab, CallTimeout, "allow more time", timeout_us=12_000))
        system.go()
        assert 12_000 <= client.result < 12_200
        settled(system, 40_000)
        assert log == [(b"x", True, False)]


def vanishing(when, boards):
    """The server vanishes when the packet for which ``when(receiver, header)`` is true arrives. The error, and what
    the server did."""
    log = []
    with whole(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.REQUEST])
        warm = system.spawn("CAB1", succeed, b"warm")
        system.cab("CAB2").spawn(serve, log, 2000)
        system.go()
        assert warm.result == b"mraw"
        log.clear()

        def vanish(receiver, header):
            if when(receiver, header):
                tamperer.gone.add(2)
                return True
            return False

        tamperer.rules.append(Rule(vanish))
        client = system.spawn("CAB1", fails, ServerSilent, "CAB 2 is silent", LONG)
        system.go()
        assert tamperer.rules[0].hits == 1
        # Six askings, the time-outs double from 0.5 ms (and what was measured) to 4 ms.
        assert client.result < 40_000
        settled(system, 10_000)
        return log


STATES = {
    "at once": lambda receiver, header: receiver == 2,
    "with part of the request": lambda receiver, header: receiver == 2 and header[12] == 3,
    "while it works": lambda receiver, header: kind(header) == PacketKind.WORKING,
    "with part of the answer": lambda receiver, header: kind(header) == PacketKind.ANSWER and header[12] == 3,
}


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("state", STATES)
def test_a_server_that_vanishes(state, boards):
    log = vanishing(STATES[state], boards)
    assert [data for data, _, _ in log] == ([LONG] if state in ("while it works", "with part of the answer") else [])


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("state", ["with part of the request", "while it works", "with part of the answer"])
def test_a_client_that_vanishes(state, boards):
    """The server's memory is free again when that has aged, and other clients notice nothing."""
    log = []
    with whole("hub:3", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.REQUEST])

        def vanish(receiver, header):
            if 3 not in (receiver, header[1]) and STATES[state](receiver, header):
                tamperer.gone.add(1)
                return True
            return False

        tamperer.rules.append(Rule(vanish))
        system.cab("CAB2").spawn(serve, log, 2000)
        client = system.spawn("CAB1", fails, ServerSilent, "CAB 2 is silent", LONG)
        other = system.spawn("CAB3", succeed, b"other")
        system.go()
        assert tamperer.rules[0].hits == 1 and client.ended and other.result == b"rehto"
        settled(system, 60_000)
        assert system.cab("CAB2").request.counters.forgotten == (state != "with part of the request")


# -- cancellation ------------------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("state", ["coming", "waiting", "working", "answered", "over"])
def test_a_call_is_cancelled(state, lost, boards):
    """In each state at the server, which frees what it has and does not execute what has not begun; also when the
    first word of it is lost."""
    log = []

    async def client(cab, tamperer):
        await cab.request.call((2, SERVICE), b"warm")
        first = await cab.request.start((2, SERVICE), b"first")
        if state == "over":
            await cab.sleep(30_000)
        call = await cab.request.start((2, SERVICE), LONG)
        if state == "coming":
            tamperer.rules.append(
                Rule(lambda receiver, header: kind(header) == PacketKind.REQUEST and header[12] == 2, count=100)
            )
            await cab.sleep(350)
        elif state == "waiting":
            await cab.sleep(2000)
        elif state == "working":
            await first.result()
            await cab.sleep(2000)
        elif state == "answered":
            tamperer.rules.append(
                Rule(lambda receiver, header: kind(header) == PacketKind.ANSWER and header[12] == 4, count=100)
            )
            await cab.sleep(25_000)
        else:
            await cab.sleep(30_000)
        if lost:
            tamperer.rules.insert(0, Rule(lambda receiver, header: kind(header) == PacketKind.CANCEL))
        call.cancel()
        call.cancel()
        if state == "over":
            assert call.error is None
        else:
            with pytest.raises(CallCancelled, match="was cancelled"):
                await call.result()
        return await first.result()

    with whole(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.REQUEST])
        system.cab("CAB2").spawn(serve, log, 8000)
        thread = system.spawn("CAB1", client, tamperer)
        system.go()
        assert thread.result == b"tsrif"
        settled(system, 50_000)
        expected = {
            "coming": [],
            "waiting": [],
            "working": [(LONG, True, False)],
            "answered": [(LONG, False, True)],
            "over": [(LONG, False, True)],
        }
        assert log == [(b"warm", False, True), (b"first", False, True), *expected[state]]
        assert system.cab("CAB2").request.counters.cancelled == (state != "over")
        assert system.cab("CAB2").request.counters.forgotten == 0


@pytest.mark.parametrize("boards", BOARDS)
def test_a_call_is_cancelled_before_its_server_has_heard_of_it(boards):
    """What comes of it later is not executed."""
    log = []

    async def client(cab, tamperer):
        await cab.request.call((2, SERVICE), b"warm")
        tamperer.rules.append(Rule(lambda receiver, header: kind(header) == PacketKind.REQUEST, count=100))
        call = await cab.request.start((2, SERVICE), b"never")
        call.cancel()
        await cab.sleep(5000)
        tamperer.calm()
        head = EXCHANGE.pack(Protocol.REQUEST, 1, 2, PacketKind.REQUEST | ASK, SERVICE, 1, 1, 1, 0)
        cab.datalink.post(cab.datalink.route(2), head)
        with pytest.raises(CallCancelled):
            await call.result()

    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(serve, log)
        system.spawn("CAB1", client, Tamperer(system, [Protocol.REQUEST]))
        system.go()
        assert log == [(b"warm", False, True)]
        settled(system, 10_000)
        assert [data for data, _, _ in log] == [b"warm"] and system.cab("CAB2").request.counters.duplicates == 1


# -- at most once ------------------------------------------------------------------------------------
@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("busy", [False, True])
def test_a_server_cab_that_starts_anew_executes_no_old_duplicate(busy, boards):
    """A request that was under way fails with ServerRestarted; a copy of one executed before is refused; the next
    call works."""
    log = []

    async def client(cab):
        await cab.request.call((2, SERVICE), b"before")
        if busy:
            await fails(cab, ServerRestarted, "CAB 2 has started anew", b"during", timeout_us=200_000)
        else:
            await cab.sleep(12_000)
            await fails(cab, ServerRestarted, "whether the request was executed before is not known", b"first")
        for number in range(3):
            head = EXCHANGE.pack(Protocol.REQUEST, 1, 2, PacketKind.REQUEST | ASK, SERVICE, number, 1, 1, 0)
            cab.datalink.post(cab.datalink.route(2), head)
        await cab.sleep(1000)
        return await cab.request.call((2, SERVICE), b"after")

    with whole(boards=boards, settle_us=20_000) as system:
        system.on_restart = lambda cab: hasten(cab).spawn(serve, log)
        system.cab("CAB2").spawn(serve, log, 4000)
        system.faults.stop("CAB2", at_us=6000, for_us=3000)
        thread = system.spawn("CAB1", client)
        system.go()
        assert thread.result == b"retfa"
        assert [data for data, _, _ in log] == [b"before", b"after"]
        assert system.cab("CAB2").request.boot == 2


def test_a_client_cab_that_starts_anew_is_a_new_client():
    """Its first requests have the numbers of those before; they are executed, and what the server still had of the
    old ones is dropped."""
    log = []

    async def client(cab, data):
        return await cab.request.call((2, SERVICE), data)

    with whole(settle_us=20_000) as system:
        results = []
        system.on_restart = lambda cab: results.append(hasten(cab).spawn(client, b"new"))
        system.cab("CAB2").spawn(serve, log, 5000)
        system.cab("CAB1").spawn(client, b"old")
        system.faults.stop("CAB1", at_us=3000, for_us=1000)
        system.spawn("CAB2", wait_for, 30_000)
        system.go()
        assert results[0].result == b"wen"
        assert log == [(b"old", True, False), (b"new", False, True)]


async def wait_for(cab, microseconds):
    await cab.sleep(microseconds)


@pytest.mark.parametrize("boards", BOARDS)
def test_answers_are_kept_up_to_a_bound(boards):
    """Beyond it the oldest is given up: its client hears that the request was executed, but the answer is lost."""
    log = []

    async def clients(cab, tamperer):
        await cab.request.call((2, SERVICE), b"warm")
        await cab.sleep(1000)
        tamperer.rules.append(Rule(lambda receiver, header: kind(header) == PacketKind.ANSWER, count=3))
        calls = [await cab.request.start((2, SERVICE), bytes([number])) for number in range(3)]
        with pytest.raises(AnswerLost, match="does not keep the answer") as caught:
            await calls[0].result()
        assert caught.value.executed
        return [await call.result() for call in calls[1:]]

    with whole(boards=boards, more={"answers": 2}) as system:
        system.cab("CAB2").spawn(serve, log)
        thread = system.spawn("CAB1", clients, Tamperer(system, [Protocol.REQUEST]))
        system.go()
        assert thread.result == [b"\1", b"\2"] and len(log) == 4
        assert system.cab("CAB2").request.counters.forgotten == 1
