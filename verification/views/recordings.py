"""Recordings for tests of what shows them."""

from nectar.hdl.host.events import LEVELS, EventKind, Layer, PacketMark, VmeMark
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.packet import Protocol, pack
from nectar.verification import seeds
from nectar.verification.software.helpers import simulated

__all__ = ["cycles", "large", "traffic"]


async def _serve(cab, count):
    service = cab.request.serve(5)
    for _ in range(count):
        request = await service.receive()
        await request.reply(await request.read())


async def _take(cab, count):
    for _ in range(count):
        (await cab.mailbox(7).receive()).free()


async def _ask(cab, server, sizes, datagrams):
    for size in sizes:
        await cab.request.call((server, 5), bytes(size))
        if datagrams:
            await cab.datagram.send((server, 7), bytes(size))


def traffic(topology="chain:3", sizes=(0, 30, 3000), boards="fast", faults=()):
    """A recording of calls and datagrams of these sizes from each other CAB to the last, of calls only if there are
    faults, which a datagram would not survive; for a ``with``."""
    names = list(load(topology).cabs)
    with simulated(topology, boards=boards, faults=faults, recorded=LEVELS["all"]) as system:
        count = len(sizes) * (len(names) - 1)
        system.spawn(names[-1], _serve, count)
        if not faults:
            system.spawn(names[-1], _take, count)
        for name in names[:-1]:
            system.spawn(name, _ask, system.id_of(names[-1]), sizes, not faults)
        system.go()
        system.recorder.end(round(system.time_ns * 1000))
        return system.recorder.recording()


def large(packets, path=None):
    """A recording with so many packets, each a message with its thread turns and a command: seven events for each."""
    topology, draw = load("hub:8"), seeds.rng(1)
    recorder = Recorder(path, groups=LEVELS["all"])
    recorder.begin(topology, PROTOTYPE, skew_ps=10**12)
    fibers = {str(fiber.a): 2 * number for number, fiber in enumerate(topology.fibers)}
    boards = {name: number for number, name in enumerate([*topology.hubs, *topology.cabs])}
    thread = recorder.name("worker")
    now = 0
    for number in range(packets):
        now += draw.randrange(1, 40) * 100_000
        source, target = draw.sample(list(topology.cabs), 2)
        ids = topology.cabs[source].id, topology.cabs[target].id
        message, place = number + 1, boards[source]
        header = pack(Protocol.DATAGRAM, *ids, 1, 1, message & 0xFFFF, 64, 0)
        begin, size = now + 9_000_000, draw.randrange(20, 900)
        words = int.from_bytes(header[4:8], "big"), int.from_bytes(header[8:], "big", signed=True)
        recorder.add(now, EventKind.THREAD, 0, place, thread, 160)
        recorder.add(now, EventKind.SEND, Layer.DATAGRAM, place, message, size, ids[1])
        recorder.add(now, EventKind.NUMBERED, Layer.DATAGRAM, place, message, message & 0xFFFF, ids[1])
        recorder.add(now, EventKind.QUEUED, header[0], place, *words, header[1] << 16 | header[2] << 8 | header[3])
        recorder.add(begin, EventKind.COMMAND, 0, fibers[source], 0x030101, begin - 400_000)
        end = begin + 80_000 * size
        recorder.add(end, EventKind.PACKET, PacketMark.CRC_GOOD, fibers[source], number, begin, size, header)
        recorder.add(now + 12_000_000, EventKind.IDLE, 0, place)
    recorder.end(now + 10**9)
    return recorder


def cycles(path=None):
    """A recording with cycles of the bus of CAB1's node: a store, two transfers of a block, an acknowledgment, and a
    load that ends with a bus error."""
    topology = load("hub:2")
    recorder = Recorder(path, groups=LEVELS["all"])
    recorder.begin(topology, PROTOTYPE, nodes={"CAB1": "CAB1.node"}, skew_ps=0)
    place = recorder.places.index("CAB1.node")
    for number, (mark, address, length) in enumerate(
        (
            (VmeMark.STORE, 0x100002, 2),
            (VmeMark.BLOCK, 0x100100, 4),
            (VmeMark.BLOCK, 0x100104, 4),
            (VmeMark.ACKNOWLEDGE, 3, 1),
            (VmeMark.ERROR, 0x200001, 1),
        )
    ):
        begin = number * 1_000_000
        recorder.add(begin + 900_000, EventKind.VME, mark, place, address, begin, length)
    recorder.add(5_000_000, EventKind.THREAD, 0, place, recorder.name("process"), 160)
    recorder.end(6_000_000)
    return recorder
