"""Packet files: every packet, command and reply of the fibers, read by another program's reader, against the symbols
that went over the fibers."""

import io

import pytest
from scapy.utils import RawPcapNgReader

from nectar.hdl.host.events import EventGroup, EventKind, FaultMark, PacketMark
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import Control
from nectar.sim.events import Command, Fault, Fiber, Packet, PacketStart
from nectar.sim.listening import Listener
from nectar.sim.packetfile import KINDS, NEEDED, FrameKind, PacketFile, choose
from nectar.sim.pcapng import CRC_ERROR
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.system import System
from nectar.verification import seeds

FIBERS = [Fiber(0, "CAB1", "HUB1.P0", 80_000, 100_000), Fiber(1, "HUB1.P0", "CAB1", 80_000, 100_000)]


def read(data):
    """(interface, time in ns, bytes, comments, length on the wire) of each packet, by scapy."""
    with RawPcapNgReader(io.BytesIO(data)) as reader:
        return [
            (
                meta.ifname.decode(),
                (meta.tshigh << 32) + meta.tslow,
                frame,
                [text.decode() for text in meta.comments or ()],
                meta.wirelen,
            )
            for frame, meta in reader
        ]


def written(events, fibers=FIBERS, chosen=None):
    file = io.BytesIO()
    packets = PacketFile(file, "0", fibers, chosen)
    for event in sorted(events, key=lambda event: event.time_ps):
        packets.event(event)
    packets.end()
    return file.getvalue()


async def echo(cab):
    for _ in range(3):
        message = await cab.mailbox(1).receive()
        await cab.datagram.send((message.source, 2), await message.read())


async def ask(cab, server):
    for size in (0, 30, 1500):
        await cab.datagram.send((server, 1), bytes(range(250)) * (size // 250) + bytes(size % 250))
        await (await cab.mailbox(2).receive()).read()


def traffic(boards, **options):
    """Runs a few datagrams over two HUBs. Returns the packet file and the recording."""
    file = io.BytesIO()
    listener = Listener(lambda fibers: PacketFile(file, "0", fibers), KINDS)
    recorder = Recorder(groups=NEEDED | EventGroup.SYMBOLS, listeners=[listener], **options)
    topology = load("chain:2")
    with recorder:
        system = System.of(EngineMachine(topology, PROTOTYPE, boards=boards, recorder=recorder), topology, PROTOTYPE)
        try:
            import asyncio

            system.spawn("CAB2", echo)
            system.spawn("CAB1", ask, system.id_of("CAB2"))
            asyncio.run(system.run())
        finally:
            system.close()
        return file.getvalue(), recorder.recording() if recorder.path is None and options.get("store", True) else None


def frames_of(symbols):
    """(fiber, time in ns of the first symbol, kind, bytes) of each frame, from the symbols alone (docs/wire.md)."""
    found, begun = [], {}
    for event in symbols:
        here, symbol = f"{event.fiber.sender}>{event.fiber.receiver}", event.symbol
        at = event.time_ps // 1000
        if symbol == Control.START:
            begun[here, "packet"] = (at, [])
        elif symbol == Control.END and (here, "packet") in begun:
            at, data = begun.pop((here, "packet"))
            found.append((here, at, FrameKind.PACKET, bytes(data)))
        elif symbol in (Control.COMMAND, Control.REPLY):
            begun[here, symbol] = (at, [])
        elif symbol < 256:
            for code, kind in ((Control.REPLY, FrameKind.REPLY), (Control.COMMAND, FrameKind.COMMAND)):
                if (here, code) in begun:
                    at, data = begun[here, code]
                    data.append(symbol)
                    if len(data) == 3:
                        del begun[here, code]
                        found.append((here, at, kind, bytes(data)))
                    break
            else:
                if (here, "packet") in begun:
                    begun[here, "packet"][1].append(symbol)
    return sorted(found)


@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_every_frame_is_in_the_file_with_the_time_of_its_first_symbol(boards):
    data, recording = traffic(boards)
    with recording:
        expected = frames_of(recording.events([EventKind.SYMBOL]))
    got = read(data)
    assert [time for _, time, *_ in got] == sorted(time for _, time, *_ in got)
    assert sorted((name, time, frame[0], frame[2:]) for name, time, frame, *_ in got) == expected
    assert {kind for _, _, kind, _ in expected} >= {FrameKind.PACKET, FrameKind.COMMAND}
    assert not any(comments for _, _, _, comments, _ in got)
    assert all(length == len(frame) and not frame[1] for _, _, frame, _, length in got)


def test_what_nobody_keeps_is_written_all_the_same():
    data, _ = traffic("rtl")
    assert traffic("rtl", store=False)[0] == data


def test_a_limit_of_the_recording_is_none_of_the_packet_file():
    data, _ = traffic("rtl")
    short, recording = traffic("rtl", limit=4000)
    with recording:
        assert recording.dropped > 100
    assert short == data


def test_faults_and_damage_stand_in_comments():
    """docs/recording.md: wrong CRC, cut packets, commands cut short, and each fault that has struck a frame."""
    fiber = FIBERS[0]
    events = [
        PacketStart(1_000_000, fiber, 0),
        Fault(1_240_000, fiber, FaultMark.DAMAGED | FaultMark.DELAYED, 0x041, 0x1FF, 1_500_000, 0),
        Fault(1_320_000, fiber, FaultMark.LOST, 0x042, 0, 0, 0),
        Packet(1_400_000, fiber, 0, 1_000_000, 6, PacketMark.CUT, b"abcdef"),
        Fault(2_000_000, fiber, FaultMark.LOST, 0x100, 0, 0, 0),  # between frames
        Command(3_160_000, fiber, 3_000_000, Op.OPEN, 7, 0, 1),
        Fault(3_080_000, fiber, FaultMark(0), 0, 0, 0, 5),
    ]
    data = written(events)
    packet, command = read(data)
    assert packet == (
        "CAB1>HUB1.P0",
        1000,
        bytes((FrameKind.PACKET, 0)) + b"abcdef",
        [
            "wrong CRC",
            "cut off by another start of packet: it has no end",
            "fault: symbol 0x041 after 240 ns damaged and delayed, 0x1FF arrives",
            "fault: symbol 0x042 after 320 ns lost",
        ],
        8,
    )
    assert command == (
        "CAB1>HUB1.P0",
        3000,
        bytes((FrameKind.COMMAND, 1, Op.OPEN, 7)),
        ["cut short: 1 of 3 bytes are missing", "fault: the fiber was cut, 5 symbols under way were lost"],
        4,
    )
    assert data.count((2 | CRC_ERROR).to_bytes(4, "little")) == 1


def test_a_packet_of_which_the_recording_has_only_the_head_tells_its_length():
    ((_, _, frame, _, length),) = read(
        written([Packet(9_000_000, FIBERS[0], 0, 1_000_000, 1000, PacketMark.CRC_GOOD, bytes(32))])
    )
    assert (len(frame), length) == (34, 1002)


def test_frames_stand_by_their_first_symbol_though_long_ones_end_last():
    draw = seeds.rng(5)
    events = []
    for fiber in FIBERS:
        time = 0
        for number in range(50):
            begin = time + draw.randrange(80_000, 10**6, 80_000)
            time = begin + draw.randrange(1, 1000) * 80_000
            events += [
                PacketStart(begin, fiber, number),
                Packet(time, fiber, number, begin, 4, PacketMark.CRC_GOOD, b"1234"),
            ]
            if draw.random() < 0.5:
                at = draw.randrange(begin, time)
                events.append(Command(at + 240_000, fiber, at, Op.CLOSE, 1, 2, 0))
    times = [time for _, time, *_ in read(written(events))]
    assert times == sorted(times) and len(times) > 100


def test_only_the_chosen_fibers_are_interfaces():
    events = [Packet(2_000_000, fiber, 0, 1_000_000, 4, PacketMark.CRC_GOOD, b"1234") for fiber in FIBERS]
    assert [name for name, *_ in read(written(events, chosen={1}))] == ["HUB1.P0>CAB1"]


def test_fibers_are_chosen_by_boards_ends_and_directions():
    fibers = [
        Fiber(number, *ends, 0, 0)
        for number, ends in enumerate(
            [("CAB1", "HUB1.P0"), ("HUB1.P0", "CAB1"), ("HUB1.P1", "HUB2.P0"), ("HUB2.P0", "HUB1.P1")]
        )
    ]
    for names, numbers in (
        (["CAB1"], {0, 1}),
        (["HUB1"], {0, 1, 2, 3}),
        (["HUB1.P1"], {2, 3}),
        (["HUB1.P1>HUB2.P0"], {2}),
        (["CAB1>HUB1.P0", "HUB2"], {0, 2, 3}),
    ):
        assert choose(fibers, names) == numbers
    for name in ("CAB2", "HUB1.P9", "HUB2.P0>CAB1", ""):
        with pytest.raises(ValueError, match=f"there is no fiber '{name}'; write a board .*CAB1>HUB1.P0"):
            choose(fibers, [name])
