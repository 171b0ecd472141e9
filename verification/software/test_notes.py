"""What a recording is told of messages by the protocols above datagrams."""

from nectar.hdl.host.events import EventGroup, EventKind
from nectar.software.packet import Protocol
from nectar.verification.software.helpers import events, simulated


def seen(system, kind):
    """(board, layer) of the events of a kind, by time."""
    return [(event.board, event.layer) for event in events(system, [kind])]


def call(faults=()):
    """A recorded system in which CAB1 has called a service of CAB2."""

    async def client(cab):
        return await cab.request.call((2, 5), bytes(40))

    async def server(cab):
        service = cab.request.serve(5)
        request = await service.receive()
        await request.reply(await request.read() + b"!")
        service.close()

    with simulated(recorded=EventGroup.MESSAGES, faults=faults) as system:
        thread = system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        assert thread.result == bytes(40) + b"!"
        yield system


def test_a_call_is_two_messages_that_are_sent_delivered_and_read():
    for system in call():
        ways = [("CAB1", Protocol.REQUEST), ("CAB2", Protocol.REQUEST)]
        for kind in (EventKind.SEND, EventKind.NUMBERED):
            assert seen(system, kind) == ways, kind
        for kind in (EventKind.DELIVERED, EventKind.READ):
            assert seen(system, kind) == ways[::-1], kind
        assert [event.length for event in events(system, [EventKind.READ])] == [40, 41]


def test_what_is_sent_again_is_told():
    for system in call(["CAB1->HUB1.P0:lost-end,nth=1,times=2"]):
        repeated = events(system, [EventKind.REPEATED])
        assert repeated and {(event.board, event.destination) for event in repeated} == {("CAB1", 2)}
    for system in call():
        assert not [event for event in events(system, [EventKind.REPEATED]) if event.board == "CAB2"]


def test_the_bytes_of_a_stream_are_told_where_they_are_sent_and_read():
    async def send(cab):
        connection = await cab.stream.connect((2, 1))
        await connection.send(bytes(3000))
        await connection.close()

    async def receive(cab):
        connection = await cab.stream.listen(1).accept()
        while await connection.receive():
            pass

    with simulated(recorded=EventGroup.MESSAGES) as system:
        system.spawn("CAB1", send)
        system.spawn("CAB2", receive)
        system.go()
        (sent,) = events(system, [EventKind.SEND])
        reads = events(system, [EventKind.READ])
    assert (sent.board, sent.layer, sent.destination, sent.length) == ("CAB1", Protocol.STREAM, 2, 3000)
    assert {event.board for event in reads} == {"CAB2"} and sum(event.length for event in reads) == 3000
