"""Figures of the datalink, measured on the RTL: latency by switching, what flow control and routing in software cost,
the receive upcall at worst.

Facts S4 and S11; docs/routing.md has the table. Each function returns what it measured; the tests assert on it.
"""

from functools import cache

from nectar.hdl.cab.addresses import REG
from nectar.hdl.host.events import EventGroup, EventKind
from nectar.hdl.hub.commands import TEST
from nectar.sim.profile import PROTOTYPE
from nectar.sim.recorder import Recorder
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.packet import LAST_FRAGMENT, MAX_DATA, pack
from nectar.software.system import System

from .helpers import drive, simulated

__all__ = ["flow_control_cost", "latency_us", "routing_cost", "throughput", "upcall_us", "QUEUE_US"]

#: From the first symbol of a packet until a CAB's input queue of 1152 symbols overflows, if they come as fast as they
#: can.
QUEUE_US = 1152 * PROTOTYPE.symbol_ps / 1e6

_PROTOCOL = 99


def latency_us(length, switching, topology="chain:3", source="CAB1", target="CAB3"):
    """Microseconds from ``send`` of a datagram to the moment at which a task has it, on idle CABs."""

    async def send(cab, destination):
        await cab.sleep(500)
        begin = await cab.now_us()
        await cab.datagram.send((destination, 1), bytes(length), switching)
        return begin

    async def receive(cab):
        message = await cab.mailbox(1).receive()
        end = await cab.now_us()
        message.free()
        return end

    with simulated(topology, boards="rtl") as system:
        receiver = system.spawn(target, receive)
        sender = system.spawn(source, send, system.id_of(target))
        system.go()
        return receiver.result - sender.result


class Sink:
    """A protocol that takes packets and notes when each has ended, in picoseconds."""

    def __init__(self, system, cab):
        self.cab = cab
        self.times = []
        self.bad = 0
        self._machine = system.machine
        self._place = cab.memory.try_allocate(MAX_DATA)
        cab.datalink.register(_PROTOCOL, self)

    def packet(self, header):
        return self._place, MAX_DATA

    def received(self, length, good):
        self.times.append(self._machine.time_ps)
        self.bad += not good
        return False


@cache
def throughput(sending, packets=60, topology="chain:2", source="CAB1", target="CAB2", size=MAX_DATA):
    """Mbit/s of data in packets of ``size`` bytes, back to back; ``await sending(cab, destination, send)`` prepares.

    It returns a coroutine function that sends the packet it is given, (header, areas).
    """

    async def send(cab, destination):
        block = await cab.memory.allocate(MAX_DATA)
        one = await sending(cab, destination)
        header = pack(_PROTOCOL, cab.id, destination, LAST_FRAGMENT, 0, 0, size, 0)
        for _ in range(packets):
            await one(header, ((block, size),))
        await cab.datalink.finish()
        await cab.sleep(300)
        cab.memory.free(block)

    with simulated(load(topology), boards="rtl") as system:
        sink = Sink(system, system.cab(target))
        system.spawn(source, send, system.id_of(target))
        system.go()
        assert len(sink.times) == packets and not sink.bad
        # The first few fill the fiber-out list; from then on it is a steady stream.
        return (packets - 20) * size * 8 / (sink.times[-1] - sink.times[19]) * 1e6


async def ordinary(cab, destination):
    """Packets as every protocol sends them, over a route found once."""
    route = cab.datalink.route(destination)

    async def one(header, areas):
        await cab.datalink.send(route, header, areas)

    return one


async def looked_up(cab, destination):
    """The same, with the look-up of the route for each packet, and its cost."""

    async def one(header, areas):
        cab.door.spend(cab.kernel.costs.datalink_route)
        await cab.datalink.send(cab.datalink.route(destination), header, areas)

    return one


async def uncontrolled(cab, destination):
    """The same without flow control: opens that look at no ready bit, and nothing waits for one."""
    command, route = REG["TX_COMMAND"], cab.datalink.route(destination)
    route.packet = [word & ~(command.wait_ready.mask | command.opcode.put(TEST)) for word in route.packet]

    async def one(header, areas):
        await cab.datalink.send(route, header, areas)

    return one


async def standing(cab, destination):
    """Packets over a route that is opened once by hand and stands: no commands between them."""
    route = cab.datalink.route(destination)
    await cab.datalink.out.commands(route.circuits[0][0])
    await cab.sleep(100)

    async def one(header, areas):
        async with cab.datalink.out as out:
            await out.packet((), header, areas, False, True)

    return one


def flow_control_cost():
    """(Mbit/s with, without flow control) of packets of 1 kbyte over two HUBs."""
    return throughput(ordinary), throughput(uncontrolled)


def routing_cost():
    """(Mbit/s with the look-up for each packet, with a route found once, over a connection that stands) of packets
    of 1 kbyte over two HUBs."""
    return throughput(looked_up), throughput(ordinary), throughput(standing)


def upcall_us(packets=150):
    """Microseconds from the first symbol of each packet at a CAB to the upcall's answer (place named, DMA started), of
    many under the worst load.

    Packets of all sizes follow each other without a gap from three CABs; the CAB sends itself, stores long messages,
    and has eight timers that go off together every 100 us, so that handlers have just begun, and are long, when packets
    come."""
    shape = load("hub:4")
    recorder = Recorder(groups=EventGroup.PACKETS | EventGroup.CPU)
    system = System.of(EngineMachine(shape, recorder=recorder), shape, PROTOTYPE)
    try:
        target = system.cab("CAB4")
        sink = Sink(system, target)

        async def send(cab):
            block = await cab.memory.allocate(MAX_DATA)
            for number in range(packets // 3):
                size = (number * 211 + cab.id * 97) % (MAX_DATA + 1)
                header = pack(_PROTOCOL, cab.id, 4, LAST_FRAGMENT, 0, number, size, 0)
                await cab.datalink.send(cab.datalink.route(4), header, ((block, size),) if size else ())
            await cab.datalink.finish()

        async def busy(cab):
            async def tick(cab, until):
                while len(sink.times) < packets:
                    now = await cab.now_us()
                    await cab.sleep(until - now % until)

            for _ in range(8):
                cab.spawn(tick, 100)
            while len(sink.times) < packets:
                await cab.datagram.send((1, 1), bytes(30_000))
                await cab.pause()

        async def drain(cab):
            while True:
                (await cab.mailbox(1).receive()).free()

        system.cab("CAB1").spawn(drain)
        for name in ("CAB1", "CAB2", "CAB3"):
            system.spawn(name, send)
        system.spawn("CAB4", busy)
        drive(system.run(10**12))
        fiber = next(fiber for fiber in shape.fibers if "CAB4" in (fiber.a.board, fiber.b.board))
        flight = fiber.delay_ps + PROTOTYPE.symbol_ps
        with recorder.recording() as recording:
            found = list(recording.events([EventKind.PACKET_START, EventKind.ANSWERED], ["CAB4"]))
        starts = [
            event.time_ps + flight
            for event in found
            if event.kind is EventKind.PACKET_START and event.fiber.receiver == "CAB4"
        ]
        answers = [event.time_ps for event in found if event.kind is EventKind.ANSWERED]
        assert len(starts) == len(answers) == packets and not sink.bad
        return [(answer - start) / 1e6 for start, answer in zip(starts, answers)]
    finally:
        system.close()
        recorder.close()
