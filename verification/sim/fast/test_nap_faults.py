"""Naps where faults meddle with the times of bytes, against the same run with all symbols recorded, in which no board
naps.

Specification: docs/naps.md."""

from nectar.hdl.cab.addresses import REG, Irq
from nectar.sim.profile import Profile
from nectar.sim.topology import Topology
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.faults import Fault
from nectar.verification import seeds
from nectar.verification.sim.fast.asleep import asleep_and_awake, finish
from nectar.verification.sim.traffic import Station


def test_bytes_that_come_twice_or_not_at_all_are_the_same():
    """Many bytes are under way to a HUB, as many doubled as lost: in the mean none of them comes late."""
    topology = Topology("far").hub("HUB1").cab("CAB1").cab("CAB2")
    topology.fiber("CAB1", "HUB1.P0", length_m=2000).fiber("CAB2", "HUB1.P1")

    def received(**options):
        machine = EngineMachine(topology, boards="fast", **options)
        rng = seeds.rng("doubled and lost")
        packets = [rng.randbytes(1000) for _ in range(8)]
        Station(machine, "CAB1", [(1, 1)], packets)
        other = Station(machine, "CAB2", [])
        for key, effect in enumerate(("doubled", "lost")):
            machine.fault(("CAB1", "HUB1.P0"), Fault("*", effect, kind="data", rate=0.02), key, 0, None)
        napped = finish(machine, 3_000_000_000, "HUB1")
        return other.received, napped

    packets, (napped,) = asleep_and_awake(received)
    assert len(packets) > 4 and napped > 1000


class Counter(Station):
    """Reads how many symbols have arrived, again and again."""

    async def _main(self):
        self.door.attach(self._interrupt)
        self._write("IRQ_ENABLE", 1 << Irq.PACKET | 1 << Irq.RECEIVED)
        while True:
            self.door.spend(40)
            self.received.append(await self.door.read(REG["RX_COUNT"].address))


def test_bytes_that_wait_behind_a_late_one_are_the_same():
    """A byte comes late; those behind it come one at an edge from then on, since that is as fast as they are sent."""
    topology = Topology("fiber").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2", length_m=2000)

    def counts(**options):
        profile = Profile("other", symbol_ps=62_500)
        machine = EngineMachine(topology, boards="fast", profile=profile, **options)
        Station(machine, "CAB1", [], [bytes(1000)] * 10)
        other = Counter(machine, "CAB2", [])
        for begin in range(50_000_000, 600_000_000, 50_000_000):
            fault = Fault("*", "delay", delay_ps=400_000)
            machine.fault(("CAB1", "CAB2"), fault, 0, begin, begin + 1_000_000)
        napped = finish(machine, 1_000_000_000, "CAB2")
        return other.received, napped

    seen, (napped,) = asleep_and_awake(counts)
    assert len(seen) > 100 and napped > 1000
