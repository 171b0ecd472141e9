"""Recorded events of channels, NX and multicasts against what the programs did; what each transport has repeated."""

import pytest

from nectar.hdl.host.events import EventGroup, EventKind, Layer
from nectar.hdl.host.numbers import RESET_EDGES
from nectar.sim.profile import PROTOTYPE
from nectar.software.nectarine.options import SHORT
from nectar.software.nx import crecv, csend
from nectar.software.packet import ANY_CAB, ENVELOPE, Protocol
from nectar.verification.software.helpers import BOARDS, events, pattern, simulated
from nectar.verification.software.nectarine.applications import application
from nectar.verification.software.nx.programs import hypercube
from nectar.verification.software.transport.exchange import hasten
from nectar.views.spans import Spans
from nectar.views.summary import summary

GROUPS = EventGroup.MESSAGES | EventGroup.PACKETS


def of(found, kind, board=None):
    """The events of a kind, at one board or at all."""
    return [event for event in found if event.kind is kind and board in (None, event.board)]


def cycle(event):
    """The CPU cycle of an event of software."""
    return event.time_ps // PROTOTYPE.cab_period_ps - RESET_EDGES


@pytest.mark.parametrize("boards", BOARDS)
def test_messages_of_a_channel_are_those_that_the_tasks_exchange(boards):
    """A message longer than a packet is announced on the channel by an envelope alone."""
    sizes = [0, 20, SHORT, SHORT + 1, 3000]
    begun, got = [], []

    async def sender(task):
        for size in sizes:
            begun.append(await task.cab.door.now())
            await task.send("b", pattern(size), size)

    async def receiver(task):
        for _ in sizes:
            length = len((await task.receive()).data)
            got.append((length, await task.cab.door.now()))

    with application(boards=boards, recorded=GROUPS) as made:
        made.spawn("a", sender, on="CAB1")
        made.spawn("b", receiver, on="CAB2")
        made.go()
        found = events(made.system)
    sent = [event for event in of(found, EventKind.SEND, "CAB1") if event.layer == Layer.NECTARINE]
    assert [(event.length, event.destination) for event in sent] == [(size, 2) for size in sizes]
    numbered = {
        event.message: event for event in of(found, EventKind.NUMBERED, "CAB1") if event.layer == Protocol.CHANNEL
    }
    delivered = {
        event.number: event for event in of(found, EventKind.DELIVERED, "CAB2") if event.layer == Protocol.CHANNEL
    }
    packets = {
        int.from_bytes(event.header[4:6], "big"): event
        for event in of(found, EventKind.QUEUED, "CAB1")
        if event.header[0] == Protocol.CHANNEL
    }
    assert len(numbered) == len(delivered) == len(sizes)
    for message, start, (length, end) in zip(sent, begun, got, strict=True):
        number = numbered[message.message].number
        there = delivered[number]
        carried = message.length if message.length <= SHORT else 0
        assert (there.source, there.length) == (1, ENVELOPE.size + carried) and message.length == length
        times = [cycle(event) for event in (message, numbered[message.message], packets[number], there)]
        assert [start, *times, end] == sorted([start, *times, end])


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_of_nx_is_told_with_the_messages_that_are_sent_for_it(boards):
    sizes = [0, 99, 101, 2000]

    def sender(process):
        for size in sizes:
            csend(size, pattern(size), size, 1, 0)

    def receiver(process):
        for size in sizes:
            crecv(size, bytearray(size), size)

    with hypercube(2, boards=boards, recorded=GROUPS) as nx:
        nx.load(sender, node=0)
        nx.load(receiver, node=1)
        nx.go()
        found = events(nx.application.system)
    sends = of(found, EventKind.SEND, "CAB1")
    messages = [event for event in sends if event.layer == Layer.NX]
    assert [(event.length, event.destination, event.parent) for event in messages] == [(size, 2, 0) for size in sizes]
    for message in messages:
        below = [event for event in sends if event.parent == message.message]
        assert [(event.layer, event.length) for event in below] == [(Layer.NECTARINE, message.length)]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_multicast_is_joined_with_each_receiver(boards):
    sizes, members = [0, 700, 2500], [2, 3, 4]
    begun, got = [], {member: [] for member in members}

    async def sender(cab):
        for size in sizes:
            begun.append(await cab.door.now())
            await cab.multicast.send((members, 3), pattern(size))

    async def receiver(cab):
        for _ in sizes:
            message = await cab.mailbox(3).receive()
            got[cab.id].append((message.length, await cab.door.now()))
            message.free()

    with simulated("hub:4", boards=boards, recorded=GROUPS) as system:
        system.spawn("CAB1", sender)
        names = {member: system.cabs[member - 1].name for member in members}
        for name in names.values():
            system.spawn(name, receiver)
        system.go()
        found = events(system)
        with system.recorder.recording() as recording:
            spans = Spans(recording)
    sent = of(found, EventKind.SEND, "CAB1")
    numbered = of(found, EventKind.NUMBERED, "CAB1")
    told = [(event.layer, event.destination, event.length) for event in sent]
    assert told == [(Protocol.MULTICAST, ANY_CAB, size) for size in sizes]
    assert [event.message for event in numbered] == [event.message for event in sent]
    for place, (message, number, start) in enumerate(zip(sent, numbered, begun, strict=True)):
        ends = []
        for member in members:
            ways = [
                next(event for event in of(found, kind, names[member]) if event.number == number.number)
                for kind in (EventKind.DELIVERED, EventKind.READ)
            ]
            assert {(event.source, event.length) for event in ways} == {(1, message.length)}
            length, end = got[member][place]
            times = [start, cycle(message), cycle(number), *map(cycle, ways), end]
            assert times == sorted(times) and length == message.length
            ends.append(ways[-1].time_ps)
        shown = spans.messages[place]
        assert (shown.destination, shown.length, shown.done_ps) == ("several", message.length, max(ends))
        reached = {track.name.rpartition(" ")[2] for track, _ in shown.path}
        assert reached >= set(names.values())


async def _call(cab):
    await cab.request.call((2, 5), bytes(40))


async def _serve(cab):
    service = cab.request.serve(5)
    request = await service.receive()
    await request.reply(b"!")
    service.close()


async def _stream(cab):
    connection = await cab.stream.connect((2, 1))
    await connection.send(bytes(3000))
    await connection.close()


async def _listen(cab):
    connection = await cab.stream.listen(1).accept()
    while await connection.receive():
        pass


async def _multicast(cab):
    await cab.multicast.send(([2, 3], 3), bytes(1500))


async def _take(cab):
    (await cab.mailbox(3).receive()).free()


def shown(system):
    """Spans of a recorded system, and its REPEATED events."""
    system.recorder.end(round(system.time_ns * 1000))
    with system.recorder.recording() as recording:
        return Spans(recording), list(recording.events([EventKind.REPEATED]))


def agree(spans, told, layer):
    """The report tells each repetition of the transport, at a message where it has one."""
    assert told and {event.layer for event in told} == {layer}
    assert spans.repeated.total() == len(told)
    assert {(board, protocol) for board, protocol, _ in spans.repeated} == {("CAB1", layer)}
    at_messages = sum(message.repeated for message in spans.messages)
    assert at_messages == (0 if layer == Protocol.STREAM else len(told))
    assert f"{len(told)} retransmission" in summary(spans)[-1]


@pytest.mark.parametrize(
    "layer, first, others, fault",
    [
        (Protocol.REQUEST, _call, [_serve], "CAB1->HUB1.P0:lost-end,nth=1"),
        (Protocol.STREAM, _stream, [_listen], "CAB1->HUB1.P0:lost-data,nth=1500"),
        (Protocol.MULTICAST, _multicast, [_take, _take], "HUB1.P1->CAB2:lost-data,nth=500"),
        (Protocol.MULTICAST, _multicast, [_take, _take], "CAB1->HUB1.P0:lost-end,nth=5"),
        (Protocol.MULTICAST, _multicast, [_take, _take], "CAB1->HUB1.P0:lost-end,nth=6"),
    ],
)
def test_what_a_transport_repeats_is_in_the_report(layer, first, others, fault):
    with simulated("hub:3", recorded=GROUPS, faults=[fault]) as system:
        for cab in system.cabs:
            hasten(cab)
        system.spawn("CAB1", first)
        for cab, task in zip(system.cabs[1:], others):
            system.spawn(cab.name, task)
        system.go()
        agree(*shown(system), layer)


def test_what_a_channel_repeats_is_in_the_report():
    async def sender(task):
        await task.send("b", bytes(50), 1)

    async def receiver(task):
        await task.receive()

    with application(recorded=GROUPS, faults=["CAB1->HUB1.P0:lost-end,nth=2"]) as made:
        made.spawn("a", sender, on="CAB1")
        made.spawn("b", receiver, on="CAB2")
        made.go()
        agree(*shown(made.system), Protocol.CHANNEL)
