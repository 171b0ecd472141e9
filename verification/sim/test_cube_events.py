"""Events of the iPSC/2's hardware, at the cycles of docs/ipsc2.md: circuits, DMA, messages stored, interrupts."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from nectar.hdl.host.events import LEVELS, Channel, EventGroup, EventKind, ReceivedMark
from nectar.hdl.ipsc2.formats import CHANNELS, MOST_WIRE, PERIOD_PS, WORD_PAIRS, route
from nectar.hdl.ipsc2.node.registers import REG, Irq
from nectar.sim.host import cores
from nectar.sim.machines import machine
from nectar.sim.node_probes import node_probes
from nectar.sim.recorder import Recorder
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.machine import QUIET
from nectar.verification.sim.test_machines import HEAD, HEAD_WORDS, SEND, run, traffic

CUBE = machine("ipsc2")
SOURCE = SINK = CHANNELS
BOARDS = [EventKind.ASKED, EventKind.CONNECTED, EventKind.DISCONNECTED, EventKind.READY_BIT]


@pytest.fixture(scope="module")
def square():
    """A cube of two dimensions."""
    return CUBE.topology("hypercube:2")


def tick(event):
    """The period of the strobe in which an event shows: there are 7 in 8 cycles of the clock."""
    edge, rest = divmod(event.time_ps, CUBE.profile.cpu_period_ps)
    assert not rest
    return edge - edge // 8


def recorded(square, sends, **options):
    """Events of these messages, {node: [(pause, words)]}, and the Nodes."""
    sends = {name: sends.get(name, []) for name in square.computers}
    comes = {name: [] for name in sends}
    for name, messages in sends.items():
        for _, words in messages:
            to = f"NODE{square.computers[name].id ^ words[0] & 0xFFFF}"
            comes[to].append(b"".join(word.to_bytes(4, "big") for word in words))
    with Recorder(groups=LEVELS["all"]) as recorder:
        nodes, _ = run(square, sends, comes, recorder=recorder, **options)
        return list(recorder.recording().events()), nodes


def one(events, kind, board, **members):
    """The one event of that kind with these members."""
    found = [
        event
        for event in events
        if event.kind is kind
        and event.board == board
        and all(getattr(event, name) == value for name, value in members.items())
    ]
    assert len(found) == 1, (kind, board, members, found)
    return found[0]


@pytest.mark.parametrize("wire", range(1, MOST_WIRE + 1))
@pytest.mark.parametrize("source, destination", [(0, 1), (0, 2), (0, 3), (3, 0), (2, 1)])
def test_a_message_is_recorded_at_the_cycles_of_the_specification(square, source, destination, wire):
    """docs/ipsc2.md, "Circuits" and "Node sink"; docs/ipsc2-node.md, "Serializer"."""
    count, profile = 7, replace(CUBE.profile, delay_ps=wire * PERIOD_PS)
    words = [source ^ destination, *range(count - 1)]
    events, nodes = recorded(square, {f"NODE{source}": [(0, words)]}, profile=profile)

    probe, here, arrived, granted, released, ready = source ^ destination, source, SOURCE, [], [], []
    for _ in range(probe.bit_count() + 1):
        output = route(probe, None if arrived == SOURCE else arrived)
        output = SINK if output is None else output
        at = {"board": f"NODE{here}", "output": output}
        asked = one(events, EventKind.ASKED, input=arrived, level=1, **at)
        assert asked.probe == probe
        assert CUBE.recorded.circuit(here, arrived, probe) == (f"NODE{source}", f"NODE{destination}")
        connected = tick(one(events, EventKind.CONNECTED, input=arrived, **at))
        if granted:
            # A pair is on the channel one cycle behind the grant; the last of the probe's address is its eighth bit.
            first = granted[-1] + 1 + wire
            assert tick(asked) == first + 7
            # The first pair of the short probe leaves 9 or 10 cycles behind; of the sink, ``open`` is 1 after 9.
            assert connected + 1 in ({first + 9} if output == SINK else {first + 9, first + 10})
        else:
            assert 1 <= connected - tick(asked) <= 2  # at the second pair of a nibble
        granted.append(connected)
        released.append(tick(one(events, EventKind.DISCONNECTED, input=arrived, **at)))
        ready.append(tick(one(events, EventKind.READY_BIT, level=1, **at)))
        here, arrived = here ^ 1 << output, output
    # The last pair comes two cycles later, and the wire's, at each next router.
    assert [b - a for a, b in zip(released, released[1:])] == [2 + wire] * probe.bit_count()
    # RDY when the whole probe is there: six pairs from ``open`` on; then back, in the next nibble of each channel.
    assert ready[-1] == granted[-1] + 1 + 6
    for nearer, further in zip(ready[::-1], ready[-2::-1]):
        assert further - nearer - (3 + wire) in (0, 1)
    # The halves of all words but the probe, and the checksum: no nibble between them.
    assert 0 <= released[0] - ready[0] - 2 * count * WORD_PAIRS <= 3
    assert not [event for event in events if event.kind in BOARDS and event.board not in _way(source, destination)]

    to = f"NODE{destination}"
    stored = one(events, EventKind.RECEIVED, to)
    assert (stored.words, stored.mark) == (count, ReceivedMark(0))
    one(events, EventKind.PENDING, to, causes=1 << Irq.ARRIVED)
    assert tick(one(events, EventKind.PENDING, f"NODE{source}", causes=1 << Irq.SENT)) == released[0]
    for board, channel in ((f"NODE{source}", Channel.NETWORK_OUT), (to, Channel.NETWORK_IN)):
        begun, ended = (one(events, EventKind.DMA, board, channel=channel, level=level) for level in (1, 0))
        assert 0 < begun.time_ps < ended.time_ps <= stored.time_ps
        raised, lowered = (one(events, EventKind.IRQ, board, level=level) for level in (1, 0))
        assert ended.time_ps <= raised.time_ps < lowered.time_ps
    assert nodes[to].got[0][0] * CUBE.profile.cpu_period_ps > stored.time_ps


def _way(source, destination):
    """Names of the nodes on the way."""
    here, names = source, [f"NODE{source}"]
    while (channel := route(here ^ destination)) is not None:
        here ^= 1 << channel
        names.append(f"NODE{here}")
    return names


@pytest.mark.parametrize(
    "first, second, board, output",
    [
        ((1, 0), (2, 0), "NODE0", SINK),  # at the node sink of the destination
        ((0, 3), (1, 3), "NODE1", 1),  # at a channel on the way
    ],
)
def test_a_circuit_that_waits_is_granted_when_the_other_is_released(square, first, second, board, output):
    """docs/ipsc2.md, "Circuits": the sink port decides as soon as it is free, a channel behind a nibble."""
    sends = {
        f"NODE{source}": [(pause, [source ^ destination, *range(40)])]
        for (source, destination), pause in ((first, 0), (second, 100))
    }
    events, _ = recorded(square, sends)
    at = [event for event in events if event.kind in BOARDS[:3] and (event.board, event.output) == (board, output)]
    one_input, other = at[0].input, next(event.input for event in at if event.input != at[0].input)
    assert [(event.kind, event.input) for event in at] == [
        (EventKind.ASKED, one_input),
        (EventKind.CONNECTED, one_input),
        (EventKind.ASKED, other),
        (EventKind.DISCONNECTED, one_input),
        (EventKind.CONNECTED, other),
        (EventKind.DISCONNECTED, other),
    ]
    assert all(event.level for event in at if event.kind is EventKind.ASKED)
    assert tick(at[4]) - tick(at[3]) == (1 if output == SINK else 2)
    ends = [CUBE.recorded.circuit(int(board[4:]), event.input, event.probe) for event in (at[0], at[2])]
    assert ends == [(f"NODE{a}", f"NODE{b}") for a, b in (first, second)]


def test_a_request_that_is_taken_back_and_one_that_is_refused_are_told(square):
    """docs/ipsc2-node.md, "Serializer": *abort* takes a request back; the router refuses a channel that it has not."""

    def write(door, **registers):
        for name, value in registers.items():
            door.write(REG[name].address, value)

    def send(door, words):
        door.write_block(SEND, b"".join(word.to_bytes(4, "big") for word in words))
        write(door, OUT_ADDRESS=SEND, OUT_AREA=len(words) | REG["OUT_AREA"].field("last").mask)

    async def holder(door):
        send(door, [0 ^ 3, *range(60)])

    async def receiver(door):
        write(door, IN_HEAD_ADDRESS=HEAD, IN_HEAD=61)

    async def quitter(door):
        for words, abort in (([1 ^ 3, 5], True), ([0x4002, 5], False)):
            door.spend(400)
            send(door, words)
            door.spend(200)
            if abort:
                write(door, CONTROL=REG["CONTROL"].field("abort").mask)
                door.spend(100)
            write(door, IRQ_PENDING=(1 << len(Irq)) - 1)
        await door.now()

    with Recorder(groups=LEVELS["all"]) as recorder:
        system = EngineMachine(square, recorder=recorder)
        try:
            for name, software in {"NODE0": holder, "NODE1": quitter, "NODE3": receiver}.items():
                system.start(name, software(system.doors[name]))
            assert asyncio.run(system.run(lambda: False, until_ps=10**11)) == QUIET
        finally:
            system.close()
        events = list(recorder.recording().events(boards=["NODE1"]))
    mine = [event for event in events if event.kind in BOARDS[:3] and event.input == SOURCE]
    assert [(event.kind, event.output, event.level) for event in mine] == [
        (EventKind.ASKED, 1, 1),
        (EventKind.ASKED, 1, 0),
    ]
    causes = [event.causes for event in events if event.kind is EventKind.PENDING]
    assert causes == [1 << Irq.ABORTED, 0, 1 << Irq.REFUSED, 0]


def test_random_messages_are_as_many_circuits_and_no_output_has_two_inputs(square):
    sends, comes = traffic(square, "events of messages", 6)
    events, nodes = recorded(square, sends)
    owners, asked, stored = {}, {}, {name: [] for name in square.computers}
    counts = Counter()
    for event in events:
        if event.kind is EventKind.ASKED:
            assert event.level == 1 and (event.board, event.input) not in asked
            asked[event.board, event.input] = event.output
        elif event.kind is EventKind.CONNECTED:
            assert asked.pop((event.board, event.input)) == event.output
            assert (event.board, event.output) not in owners
            owners[event.board, event.output] = event.input
            counts["out", event.board] += event.input == SOURCE
            counts["in", event.board] += event.output == SINK
        elif event.kind is EventKind.DISCONNECTED:
            assert owners.pop((event.board, event.output)) == event.input
        elif event.kind is EventKind.RECEIVED:
            stored[event.board].append((event.words, bool(event.mark & ReceivedMark.IN_BODY)))
    assert not owners and not asked
    for name, node in nodes.items():
        assert counts["out", name] == len(sends[name]) and counts["in", name] == len(comes[name])
        assert stored[name] == [(len(data) // 4, len(data) > 4 * HEAD_WORDS) for _, data in node.got]


def test_threads_and_the_recorder_change_nothing(square):
    sends, comes = traffic(square, "events and threads", 3)
    events, nodes = recorded(square, sends)
    again, others = recorded(square, sends, threads=min(2, cores()), sleep=False)
    plain, _ = run(square, sends, comes)
    assert events == again
    assert all(plain[name].got == nodes[name].got == others[name].got for name in square.computers)


def test_a_model_without_a_signal_that_is_recorded_is_refused():
    verilog = "module \\board.router (clk);\n  \\board.router.origin  origin (\n    .asks(\\asks$3 )\n  );\nendmodule\n"
    header = "  CData/*7:0*/ node1__DOT__board__DOT__router__DOT__asks__0243;\n"
    with pytest.raises(ValueError, match="no signal source__probe of origin in board.router to record"):
        node_probes(verilog, header, [0, 7])
    with pytest.raises(ValueError, match="no signal source__probe of origin"):
        node_probes("", header, [0, 7])


def test_nothing_of_the_boards_is_recorded_unless_it_is_asked_for(square):
    sends, comes = traffic(square, "no events", 1)
    with Recorder(groups=LEVELS["all"] & ~EventGroup.BOARDS) as recorder:
        run(square, sends, comes, recorder=recorder)
        assert not list(recorder.recording().events())
