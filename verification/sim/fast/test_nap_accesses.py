"""Naps that go on while the CPU of a fast CAB reads and writes registers, and from one packet to the next.

Specification: docs/naps.md."""

from itertools import pairwise

import pytest

from nectar.hdl.cab.addresses import REG, Irq
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import ANY_HUB
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.door import BusError
from nectar.verification import seeds
from nectar.verification.benchmarks import workloads
from nectar.verification.sim.fast.asleep import asleep_and_awake, finish
from nectar.verification.sim.traffic import DATA, Station, routes_to_others

_FIRST = REG["IRQ_PENDING"].address


class Looker(Station):
    """Sends packets of a few areas each, one behind the other, as its list has room, and reads and writes registers
    meanwhile, with waits that ``rng`` chooses: those that tell of bytes that flow, and those that do not."""

    def __init__(self, machine, name, route, packets, rng):
        self.rng, self.seen, self.at = rng, [], 0
        super().__init__(machine, name, route, packets)

    async def _main(self):
        self.door.attach(self._interrupt)
        self._write("IRQ_ENABLE", 1 << Irq.PACKET | 1 << Irq.RECEIVED)
        for number in range(len(self.packets) + 4):
            try:
                if number < len(self.packets):
                    self._send(self.packets[number])
                for _ in range(self.rng.choice((0, 0, 2, 12))):
                    await self._look()
                self.seen.append(await self.door.read(REG["TX_ADDRESS"].address))
            except BusError as error:
                self.seen.append((error.address, error.write))
        while True:
            await self.door.wait()

    def _send(self, data):
        rng, area = self.rng, REG["TX_AREA"]
        begin = DATA + 2048 * self.at + rng.randrange(4)
        self.at = (self.at + 1) % 8
        self.door.write_block(begin, data)
        self._open(waits=rng.randrange(4))
        cuts = rng.sample(range(1, len(data)), rng.choice((0, 1, 1, 3)))
        for first, last in pairwise(sorted({0, len(data), *cuts})):
            flags = area.start.mask if not first else 0
            if last == len(data):
                flags |= area.end.mask | rng.choice((area.crc.mask, area.crc.mask | area.internet.mask, 0))
            self._write("TX_ADDRESS", begin + first)
            self._write("TX_AREA", area.length.put(last - first) | flags)
        self._order(Op.CLOSE_ALL, ANY_HUB, notify=not rng.randrange(8))

    async def _look(self):
        rng, door = self.rng, self.door
        door.spend(rng.choice((1, 3, 10, 30, 77, 200)))
        match rng.randrange(8):
            case 0 | 1:
                self.seen.append(await door.read_block(_FIRST, 4 * rng.randrange(1, 8)))
            case 2 | 3:
                self.seen.append(await door.read(REG["TX_STATUS"].address))
            case 4:
                self._write("IRQ_PENDING", 1 << Irq.SENT)
                self._write("RX_ADDRESS", DATA + 0x10000)
                self._write("TX_ADDRESS", DATA + rng.randrange(1000))
                self.seen.append(await door.read(REG["TX_ADDRESS"].address))
            case 5:
                door.write(DATA + 0x18000, rng.getrandbits(32))
                door.write_block(DATA + 0x18004, rng.randbytes(rng.randrange(1, 60)))
                self.seen.append(await door.read(DATA + 0x18000))
            case 6:
                self._write("IRQ_ENABLE", 0)
                door.spend(rng.randrange(40))
                self._write("IRQ_ENABLE", 1 << Irq.PACKET | 1 << Irq.RECEIVED)
            case _:
                name = rng.choice(("TX_PROGRESS", "RX_PROGRESS", "RX_STATUS", "TX_COUNT", "RX_COUNT", "IRQ_VECTOR"))
                self.seen.append(await door.read(REG[name].address))


def _looked(topology, seed, **options):
    """What Lookers at all CABs have seen and received; at how many edges each CAB has napped."""
    rng = seeds.rng("nap accesses", seed)
    machine = EngineMachine(topology, boards="fast", **options)
    routes = routes_to_others(topology, rng) if topology.hubs else ((name, []) for name in topology.cabs)
    stations = []
    for name, route in routes:
        packets = [rng.randbytes(rng.choice((16, 17, 40, 300, 1000))) for _ in range(12)]
        stations.append(Looker(machine, name, route, packets, seeds.rng(rng.random())))
    napped = finish(machine, 2_000_000_000, *topology.cabs)
    return [(station.seen, station.received) for station in stations], napped


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("name", ["fiber", "hub:4", "hub:16", "mesh:2x2"])
def test_what_registers_read_as_in_a_nap_is_the_same(name, number):
    pair = Topology("fiber").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")
    seen, napped = asleep_and_awake(_looked, pair if name == "fiber" else load(name), (name, number))
    assert any(received for _, received in seen) and sum(napped) > 2000


def test_naps_go_on_through_accesses_and_from_packet_to_packet():
    """Of the edges of CABs that send and receive whole packets all the time, few are not in a nap."""

    def look(machine):
        names = [f"CAB{number + 1}" for number in range(16)]
        return [(machine.engine.napped(name), machine.engine.cycles(name)[0]) for name in names]

    run = workloads.run("hub:16", workloads.ring_tasks(16, 10), fast=True, threads=1, look=look)
    napped, edges = map(sum, zip(*run.seen, strict=True))
    assert napped > 0.95 * edges
