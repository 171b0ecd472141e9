"""What the engine records, held against what else tells of it: symbols, counters, what tasks have seen."""

from collections import Counter
from contextlib import contextmanager

import pytest

from nectar.hdl.cab.addresses import Irq
from nectar.hdl.host.events import LEVELS, Channel, EventGroup, EventKind, FaultMark, PacketMark
from nectar.hdl.host.numbers import RESET_EDGES
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.recording import Recording
from nectar.sim.tap import Tap
from nectar.software.packet import HEADER, Protocol
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, events, receive_all, send_all, simulated

ALL = LEVELS["all"] | EventGroup.SYMBOLS
FIBERS = [EventKind.PACKET_START, EventKind.PACKET, EventKind.COMMAND, EventKind.REPLY, EventKind.READY]


@contextmanager
def talked(boards="rtl", recorded=ALL, faults=(), topology="chain:2x2", sizes=(0, 30, 1500, 4100)):
    """A recorded system whose first two CABs have sent messages to the third, short, long and by circuit."""
    with simulated(topology, faults, boards=boards, recorded=recorded) as system:
        first, second, third = system.cabs[:3]
        contents = [seeds.rng("talk", size).randbytes(size) for size in sizes]
        for cab, switching in ((first, "packet"), (second, "auto")):
            system.spawn(cab.name, send_all, (third.id, 1), contents, switching)
        if not faults:
            system.spawn(third.name, receive_all, 1, 2 * len(contents))
        system.go()
        yield system


def test_packets_commands_replies_and_ready_signals_are_those_of_the_symbols():
    """The events of fibers are made again, by ``Tap``, from the symbols, whose own reference are the pins
    (test_faults.py)."""
    with talked() as system:
        found = events(system)
        recording = system.recorder.recording()
        again = Recorder(groups=ALL & ~EventGroup.SYMBOLS)
        again.begin(system.topology, PROTOTYPE, skew_ps=PROTOTYPE.symbol_ps)
        taps = [Tap(again, fiber.number) for fiber in recording.fibers]
        for event in found:
            if event.kind is EventKind.SYMBOL:
                taps[event.fiber.number].symbol(event.time_ps, event.symbol)
    with again:
        expected = list(again.recording().events())

    def of_fibers(events):
        return sorted((event.fiber.number, event.time_ps, event.kind, event[2:]) for event in events)

    assert of_fibers(expected) == of_fibers(event for event in found if event.kind in FIBERS)
    counts = Counter(event.kind for event in expected)
    assert all(counts[kind] > 1 for kind in FIBERS), counts
    packets = [event for event in expected if event.kind is EventKind.PACKET]
    assert all(packet.mark == PacketMark.CRC_GOOD and len(packet.data) == packet.length for packet in packets)


@pytest.mark.parametrize("boards", BOARDS)
def test_packets_carry_what_was_sent_and_keep_their_heads_alone_when_asked(boards):
    with talked(boards, LEVELS["packets"]) as system:
        whole = [event for event in events(system, [EventKind.PACKET])]
        content = seeds.rng("talk", 1500).randbytes(1500)
        pieces = {}
        for packet in whole:
            _, source, _, _, _, _, length, offset = HEADER.unpack(packet.data[:16])
            if (packet.fiber.sender, length) == ("CAB1", 1500):
                pieces[offset] = packet.data[16:-4]
        assert b"".join(data for _, data in sorted(pieces.items())) == content
    with talked(boards, LEVELS["messages"]) as system:
        heads = events(system, [EventKind.PACKET])
    assert [(event.time_ps, event.length, event.data) for event in heads] == [
        (event.time_ps, event.length, event.data[:32]) for event in whole
    ]


@pytest.mark.parametrize("boards", BOARDS)
def test_messages_are_those_of_the_counters_and_are_joined_to_their_packets(boards):
    with talked(boards) as system:
        found = events(system)
        counters = {cab.name: cab.datagram.counters for cab in system.cabs}
        links = {cab.name: cab.datalink.counters for cab in system.cabs}
        ids = {cab.id: cab.name for cab in system.cabs}
    for name, counter in counters.items():
        mine = Counter(event.kind for event in found if getattr(event, "board", None) == name)
        assert mine[EventKind.SEND] == mine[EventKind.NUMBERED] == counter.messages_sent
        assert mine[EventKind.DELIVERED] == mine[EventKind.READ] == counter.messages_received
        assert mine[EventKind.QUEUED] == links[name].packets_sent
        assert mine[EventKind.ARRIVED] == links[name].packets_received
        assert sum(event.length for event in found if event.kind is EventKind.SEND and event.board == name) == (
            counter.bytes_sent
        )
    sends = {(event.board, event.message): event for event in found if event.kind is EventKind.SEND}
    delivered = {(ids[event.source], event.number): event for event in found if event.kind is EventKind.DELIVERED}
    queued = [event for event in found if event.kind is EventKind.QUEUED]
    arrived = Counter(event.header for event in found if event.kind is EventKind.ARRIVED)
    for event in found:
        if event.kind is EventKind.NUMBERED:
            sent, got = sends[event.board, event.message], delivered[event.board, event.number]
            headers = [
                packet
                for packet in queued
                if packet.board == event.board and HEADER.unpack(packet.header)[5] == event.number
            ]
            assert sent.length == got.length and sent.time_ps <= event.time_ps <= headers[0].time_ps < got.time_ps
            assert all(arrived[packet.header] == 1 for packet in headers)
            assert event.layer == got.layer == Protocol.DATAGRAM
    assert len(sends) == len(delivered) == 8


@pytest.mark.parametrize("boards", BOARDS)
def test_threads_and_interrupts_take_the_time_that_the_events_say(boards):
    """A thread reads the clock as it begins and after each wait; the timer's interrupt lies in between."""
    seen = []

    async def sleeper(cab):
        for _ in range(3):
            seen.append(await cab.door.now())
            await cab.sleep(100)
        seen.append(await cab.door.now())

    with simulated("hub:1", boards=boards, recorded=EventGroup.CPU) as system:
        system.spawn("CAB1", sleeper, name="sleeper")
        system.go()
        found = events(system)
    threads = [event for event in found if event.kind is EventKind.THREAD]
    assert [event.time_ps // PROTOTYPE.cab_period_ps - RESET_EDGES for event in threads] == seen
    assert {event.name for event in threads} == {"sleeper"}
    kinds = [event.kind for event in found]
    turn = [EventKind.IDLE, EventKind.INTERRUPT, EventKind.CAUSES, EventKind.RETURNED, EventKind.THREAD]
    assert kinds == [EventKind.THREAD, *turn * 3]
    assert {event.causes for event in found if event.kind is EventKind.CAUSES} == {1 << Irq.TIMER}


def test_each_fault_that_strikes_is_an_event():
    faults = ["CAB1->HUB1.P0:errors=3e-3", "HUB1.P0->CAB1:lost-ready,nth=1", "CAB2->HUB1.P3:doubled,nth=9,times=2"]
    faults.append("HUB2.P0->CAB3:delay=200ns,at=30us,for=20us")
    with talked(recorded=ALL, faults=faults, sizes=(100, 200)) as system:
        found = events(system, [EventKind.FAULT])
        counts = [placed.symbols for placed in system.placed]
        sent = {(e.fiber.number, e.time_ps): e.symbol for e in events(system, [EventKind.SYMBOL])}
    ends = [("CAB1", FaultMark.DAMAGED), ("HUB1.P0", FaultMark.LOST), ("CAB2", FaultMark.DOUBLED)]
    ends.append(("HUB2.P0", FaultMark.DELAYED))
    for (end, mark), count in zip(ends, counts, strict=True):
        mine = [event for event in found if event.fiber.sender == end]
        assert len(mine) == count > 0 and all(event.mark == mark for event in mine), end
        assert all(sent[event.fiber.number, event.time_ps] == event.sent for event in mine)
        usual = [event.time_ps + PROTOTYPE.symbol_ps + event.fiber.delay_ps for event in mine]
        late = [event.arrival_ps - time for event, time in zip(mine, usual, strict=True)]
        assert set(late) == ({200_000} if mark is FaultMark.DELAYED else {0})
        assert all((event.arrived != event.sent) == (mark is FaultMark.DAMAGED) for event in mine)


def test_a_cut_tells_what_it_has_taken():
    with talked(faults=["CAB1->HUB1.P0:cut,at=40us,for=50us"], sizes=(1000,)) as system:
        found = events(system, [EventKind.FAULT])
        taken = system.placed[0].symbols
    assert sum(event.symbols or 1 for event in found) == taken > 30


def test_a_small_limit_on_the_engine_counts_all_that_comes_behind(tmp_path):
    """The core only counts from then on; what it had kept is counted, too."""

    def run(limit):
        path = tmp_path / f"{limit}"
        recorder = Recorder(path, groups=EventGroup.SYMBOLS, limit=limit)
        with simulated("hub:2", boards="rtl", recorded=recorder) as system:
            system.spawn("CAB1", send_all, (2, 1), [bytes(1000)] * 20)
            system.spawn("CAB2", receive_all, 1, 20)
            system.go()
        with Recording(path) as recording:
            return sum(1 for _ in recording.events()), recording.dropped, path.stat().st_size

    whole, none, _ = run(None)
    kept, dropped, size = run(150_000)
    assert not none and kept + dropped == whole and size <= 150_000 < size + 100


def test_connections_queues_and_interrupt_lines_are_those_that_symbols_and_software_see():
    """Two CABs send to a third at once: one packet waits in its HUB's input queue until the other's connection ends."""
    with simulated("hub:3", boards="rtl", recorded=ALL) as system:
        for name in ("CAB1", "CAB2"):
            system.spawn(name, send_all, (3, 1), [bytes(900)] * 2)
        system.spawn("CAB3", receive_all, 1, 4)
        system.go()
        found = events(system)
    # Each packet that leaves for CAB3 has a connection from the port at which the same packet has come in.
    ports = {"CAB1": 0, "CAB2": 1}
    changes = [e for e in found if e.kind in (EventKind.CONNECTED, EventKind.DISCONNECTED)]
    leaving = [e for e in found if e.kind is EventKind.PACKET and e.fiber.receiver == "CAB3"]
    packets = [(e.begin_ps, e.time_ps, ports[system.cabs[e.data[1] - 1].name]) for e in leaving]
    assert [e.kind for e in changes] == [EventKind.CONNECTED, EventKind.DISCONNECTED] * 4 and len(packets) == 4
    for opened, closed, (begin, end, port) in zip(changes[::2], changes[1::2], packets, strict=True):
        assert (opened.output, opened.input) == (closed.output, closed.input) == (2, port)
        assert opened.time_ps < begin < end < closed.time_ps
        assert begin - opened.time_ps < 10 * PROTOTYPE.hub_period_ps
    # The packet that waits is in the queue with all that has arrived of it.
    waits = packets[1][2]
    fiber = next(e.fiber for e in found if e.kind is EventKind.SYMBOL and e.fiber.receiver == f"HUB1.P{waits}")
    arrivals = [
        e.time_ps + fiber.symbol_ps + fiber.delay_ps for e in found if e.kind is EventKind.SYMBOL and e.fiber == fiber
    ]
    levels = [e for e in found if e.kind is EventKind.QUEUE and (e.board, e.port) == ("HUB1", waits)]
    growing = [e for e in levels if e.time_ps < changes[1].time_ps]
    assert len(growing) > 40 and [e.level for e in growing] == [16 * (n + 1) for n in range(len(growing))]
    for event in growing:
        assert 0 <= sum(time <= event.time_ps for time in arrivals) - event.level < 12
    assert levels[-1].level < 16
    # The ready bit is cleared by each start of packet, and set by the ready signal that has come back.
    bits = [e for e in found if e.kind is EventKind.READY_BIT and (e.board, e.output) == ("HUB1", 2)]
    back = [e for e in found if e.kind is EventKind.READY and e.fiber.sender == "CAB3"]
    assert [e.level for e in bits] == [0, 1] * 4 and len(back) >= 4
    for cleared, begin in zip(bits[::2], (begin for begin, _, _ in packets), strict=True):
        assert 0 <= begin - cleared.time_ps <= PROTOTYPE.symbol_ps
    for raised, ready in zip(bits[1::2], back, strict=False):
        assert 0 < raised.time_ps - ready.time_ps - 2 * PROTOTYPE.symbol_ps < 5 * PROTOTYPE.hub_period_ps
    # Fiber in stores while a packet with bytes comes in, fiber out fetches before its packet goes.
    channels = {
        (cab, channel): [e for e in found if e.kind is EventKind.DMA and (e.board, e.channel) == (cab, channel)]
        for cab, channel in (("CAB3", Channel.FIBER_IN), ("CAB1", Channel.FIBER_OUT))
    }
    assert [e.level for e in channels["CAB3", Channel.FIBER_IN]] == [1, 0] * 4
    for begins, ends, (_, end, _) in zip(*[iter(channels["CAB3", Channel.FIBER_IN])] * 2, packets, strict=True):
        assert begins.time_ps < end < ends.time_ps
    fetched = [e.level for e in channels["CAB1", Channel.FIBER_OUT]]
    assert fetched == [1, 0] * (len(fetched) // 2) and len(fetched) >= 2 * 2 * 2
    # The line is up when the handler begins, and goes down before it ends.
    line = 0
    for event in found:
        if getattr(event, "board", None) == "CAB3":
            if event.kind is EventKind.IRQ:
                assert event.level != line
                line = event.level
            elif event.kind is EventKind.INTERRUPT:
                assert line == 1
    assert sum(event.kind is EventKind.INTERRUPT for event in found) >= 8
