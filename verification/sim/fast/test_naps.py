"""Naps change nothing but the speed: fast CABs that are evaluated later than at their edges, against the same run
with all symbols recorded, in which no board naps.

Specification: docs/naps.md."""

from itertools import pairwise

import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, Check, Irq
from nectar.hdl.cab.regions import PAGE_BITS, PAGES
from nectar.hdl.host.events import EventGroup
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import ANY_HUB
from nectar.sim.host import cores
from nectar.sim.profile import Profile
from nectar.sim.recorder import Recorder
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.door import BusError
from nectar.software.faults import Fault
from nectar.verification import seeds
from nectar.verification.benchmarks import workloads
from nectar.verification.sim.fast.asleep import asleep_and_awake, finish
from nectar.verification.sim.traffic import DATA, Station, routes_to_others, run

_PROGRAM = REGIONS["program"]
_BUFFER = DATA + 0x10000
# Four pages each, of which a domain has not all.
_GUARDED = DATA + 0x18000, _PROGRAM.end - 2048
_SOFTWARE = EventGroup.MESSAGES | EventGroup.CPU
_FAULTS = [
    Fault("*", "errors", rate=0.01),
    Fault("*", "lost", kind="data", rate=0.01),
    Fault("*", "doubled", rate=0.01),
    Fault("*", "cut"),
    Fault("*", "delay", delay_ps=3_000_000),
]


class Meddler(Station):
    """Sends packets as a Station, in areas and with checksums that ``rng`` chooses. Meanwhile its CPU reads and writes
    what may matter to a packet that is being sent or stored, at times that ``rng`` chooses."""

    def __init__(self, machine, name, route, packets, rng):
        self.rng, self.seen = rng, []
        super().__init__(machine, name, route, packets)

    async def _main(self):
        self.door.attach(self._interrupt)
        for base in _GUARDED:
            rights = bytes(self.rng.choices((0, 3), (1, 4), k=4))
            self.door.write_block(REGIONS["protection"].base + PAGES + (base >> PAGE_BITS), rights)
        self._write("DOMAINS_ON", 2)
        self._write("DOMAIN", 1)
        self.door.supervise(True)
        irqs = Irq.PACKET, Irq.RECEIVED, Irq.SENT, Irq.RX_THRESHOLD, Irq.TX_THRESHOLD, Irq.TIMER, Irq.ERROR
        self._write("IRQ_ENABLE", sum(1 << irq for irq in irqs))
        for data in self.packets:
            check, skip = REG["RX_MODE"].check, REG["RX_MODE"].skip
            self._write("RX_MODE", check.put(self.rng.choice(list(Check))) | skip.put(self.rng.randrange(17)))
            self._send(data)
            for _ in range(self.rng.randrange(1, 8)):
                self.door.spend(self.rng.choice((1, 9, 40, 150, 333, 700)))
                await self._meddle()
            for _ in range(4):
                self.door.spend(500)
                self.seen.append(await self.door.read(REG["TX_STATUS"].address))
        while True:
            await self.door.wait()

    def _send(self, data):
        rng, area = self.rng, REG["TX_AREA"]
        self.door.write_block(DATA, data)
        self._open()
        # Areas of any length, and some of 1 to 3 bytes one behind the other.
        ends = {0, len(data)}
        for _ in range(rng.choice((0, 0, 1, 2))):
            at = rng.randrange(len(data))
            for _ in range(rng.choice((1, 1, 3, 6))):
                ends.add(at := min(at + rng.randrange(1, 4), len(data)))
        for begin, end in pairwise(sorted(ends)):
            flags = area.start.mask if not begin else 0
            if end == len(data):
                flags |= area.end.mask | rng.choice((area.crc.mask, area.crc.mask | area.internet.mask, 0))
            elif not rng.randrange(4):
                flags |= area.notify.mask
            self._write("TX_ADDRESS", DATA + begin)
            self._write("TX_AREA", area.length.put(end - begin) | flags)
        self._order(Op.CLOSE_ALL, ANY_HUB, notify=True)

    async def _meddle(self):
        rng, door = self.rng, self.door
        match rng.randrange(15):
            case 0 | 1 | 2:
                door.write_block(DATA + 4 * rng.randrange(250), rng.randbytes(4 * rng.randrange(1, 40)))
            case 3:
                self.seen.append(await door.read_block(_BUFFER, 4 * rng.randrange(1, 200)))
            case 12:
                # Long blocks that begin and end anywhere, in both memories; and what is refused of one.
                base = rng.choice((DATA + 0x18000, _PROGRAM.base + 0x1000))
                at, data = base + rng.randrange(8), rng.randbytes(rng.randrange(1, 900))
                door.write_block(at, data)
                self.seen.append(await door.read_block(at, len(data)) == data)
            case 13:
                self.seen.append(await door.read_block(_BUFFER + rng.randrange(1000), rng.randrange(1, 900)))
            case 14:
                # In a domain that has not all pages; from one memory to the other.
                base = rng.choice(_GUARDED)
                door.supervise(False)
                try:
                    door.write_block(base + rng.randrange(3000), rng.randbytes(rng.randrange(1, 900)))
                    self.seen.append(await door.read_block(base + rng.randrange(3000), rng.randrange(1, 900)))
                except BusError as error:
                    self.seen.append((error.address, error.write))
                door.supervise(True)
            case 4:
                self._write("TX_READY", 0)
            case 5:
                self._write("TX_THRESHOLD", rng.randrange(1000))
            case 6:
                self._write("RX_THRESHOLD", rng.randrange(1000))
            case 7:
                self._write("TX_CONTROL", REG["TX_CONTROL"].reset.mask)
            case 8:
                self._write("RX_CONTROL", REG["RX_CONTROL"].discard.mask)
            case 9:
                self._write("TIMER_COMPARE", await door.read(REG["TIMER_NOW"].address) + rng.randrange(2000))
            case 10:
                self._write("RX_ADDRESS", DATA + 4 * rng.randrange(250))
            case _:
                names = "TX_PROGRESS", "RX_PROGRESS", "RX_STATUS", "TX_STATUS", "RX_SUM", "IRQ_VECTOR", "TX_COUNT"
                self.seen.append([await door.read(REG[name].address) for name in (*names, "RX_COUNT")])

    async def _interrupt(self):
        pending = await self.door.read(REG["IRQ_PENDING"].address)
        self.seen.append((pending, await self.door.now()))
        self._write("IRQ_PENDING", pending & ~(1 << Irq.PACKET | 1 << Irq.RECEIVED))
        if pending >> Irq.PACKET & 1:
            for length in self.rng.choices(range(1, 40), k=self.rng.choice((0, 0, 1, 5))):
                self._write("RX_ADDRESS", _BUFFER + 0x1000 + self.rng.randrange(1000))
                self._write("RX_AREA", length)
            # Sometimes a packet is stored where one is being read.
            self._write("RX_ADDRESS", self.rng.choice((_BUFFER, DATA + 4 * self.rng.randrange(250))))
            self._write("RX_START", 2048)
            self._write("TX_READY", 0)
        if pending >> Irq.RECEIVED & 1:
            result = await self.door.read(REG["RX_RESULT"].address)
            self.received.append((result, await self.door.read_block(_BUFFER, 1000)))
            self._write("RX_RELEASE", 0)


class BlockWriter(Meddler):
    """A Meddler that also writes blocks one behind the other: to both memories, to pages that are refused, and where a
    packet is sent from."""

    async def _meddle(self):
        rng, door = self.rng, self.door
        if rng.randrange(2):
            await super()._meddle()
            return
        in_domain = not rng.randrange(3)
        door.supervise(not in_domain)
        bases = _GUARDED if in_domain else [*[DATA + 0x18000] * 5, *[_PROGRAM.base + 0x1000] * 3, DATA, _BUFFER]
        for _ in range(rng.randrange(2, 7)):
            at = rng.choice(bases) + rng.randrange(3000 if in_domain else 1000)
            door.write_block(at, rng.randbytes(rng.choice((1, 5, 40, 256, 256, 600))))
        door.supervise(True)
        if in_domain or rng.randrange(2):
            try:
                self.seen.append(await door.read_block(DATA + 0x18000, 700))
            except BusError as error:
                self.seen.append((error.address, error.write))


class Trespasser(Station):
    """Writes blocks one behind the other, of which the third is refused."""

    async def _main(self):
        base = _GUARDED[0]
        self.door.write_block(REGIONS["protection"].base + PAGES + (base >> PAGE_BITS), bytes((3, 3, 0, 3)))
        self._write("DOMAINS_ON", 2)
        self._write("DOMAIN", 1)
        for size in range(20, 400, 20):
            self.door.supervise(False)
            for page in (0, 1, 2, 3, 3):
                self.door.write_block(base + (page << PAGE_BITS), bytes([size % 256]) * size)
            try:
                await self.door.read(base)
            except BusError as error:
                self.received.append((error.address, error.write, await self.door.now()))
            self.door.supervise(True)
            self.received.append(await self.door.read_block(base, 4 << PAGE_BITS))


def meddled(topology, seed, meddler=Meddler, **options):
    """What software has seen of a run with a Meddler at each CAB, and how many symbols had gone over each fiber at some
    times; then edges at which CABs have napped, and at how many each was evaluated. Boards are reset, and faults come
    and go."""
    rng = seeds.rng("naps", seed)
    machine = EngineMachine(topology, boards="fast", **options)
    stations = []
    routes = routes_to_others(topology, rng) if topology.hubs else ((name, []) for name in topology.cabs)
    for name, route in routes:
        packets = [rng.randbytes(rng.randrange(16, 1000)) for _ in range(4)]
        stations.append(meddler(machine, name, route, packets, seeds.rng(rng.random())))
    engine = machine.engine
    symbols = []
    for time in range(100_000_000, 800_000_000, 90_000_001):
        machine.plan(time + rng.randrange(80_000_000), lambda: symbols.append(engine.symbols()))
    for _ in range(2):
        name, time = rng.choice(list(engine.boards)), rng.randrange(50_000_000, 400_000_000)
        machine.plan(time, lambda name=name: engine.reset(name))
        fault, ends = rng.choice(_FAULTS), rng.choice(list(machine.fibers))
        time, key = rng.randrange(20_000_000, 300_000_000), rng.getrandbits(60)
        end = time + rng.randrange(100_000_000)
        machine.plan(
            time, lambda fault=fault, ends=ends, key=key, time=time, end=end: machine.fault(ends, fault, key, time, end)
        )
    run(machine, 1_000_000_000)
    symbols.append(engine.symbols())
    seen = symbols, [(station.seen, station.received) for station in stations]
    napped = sum(engine.napped(name) for name in topology.cabs)
    evaluated = [engine.cycles(name)[0] for name in topology.cabs]
    machine.close()
    return seen, napped, evaluated


def meddled_asleep_and_awake(topology, seed, **options):
    """``meddled`` with naps and without; all is the same. A nap may end at an edge at which the CAB would have slept:
    in a header whose bytes come with pauses it ends after as many edges as bytes are missing."""
    naps, napped, evaluated = meddled(topology, seed, **options)
    awake, none, all_evaluated = meddled(
        topology, seed, **{**options, "threads": 1}, recorder=Recorder(groups=EventGroup.SYMBOLS)
    )
    assert naps == awake
    assert none == 0
    assert all(0 <= some - every <= 10 for some, every in zip(evaluated, all_evaluated, strict=True))
    return naps, napped


@pytest.mark.parametrize("number", range(16))
@pytest.mark.parametrize("name", ["hub:4", "figure7", "mesh:2x2", "hub:16"])
def test_whatever_the_cpu_does_everything_is_the_same(name, number):
    naps, napped = meddled_asleep_and_awake(load(name), (name, number))
    assert napped > 1000
    assert any(received for _, received in naps[1])


@pytest.mark.parametrize("name, number", [("mesh:2x2", 156), ("figure7", 104), ("hub:16", 154)])
def test_what_has_differed_is_the_same(name, number):
    """A packet whose bytes came again after a pause; a block written where an area was going to be read that began in
    the nap."""
    meddled_asleep_and_awake(load(name), (name, number))


@pytest.mark.parametrize("number", range(40))
@pytest.mark.parametrize("name", ["hub:4", "figure7"])
def test_block_writes_one_behind_the_other_are_the_same(name, number):
    naps, napped = meddled_asleep_and_awake(load(name), ("blocks", name, number), meddler=BlockWriter)
    assert napped > 1000


def test_a_block_write_that_is_refused_behind_others_is_the_same():
    topology = Topology("fiber").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")

    def seen(**options):
        machine = EngineMachine(topology, boards="fast", **options)
        station = Trespasser(machine, "CAB1", [])
        napped = finish(machine, 10_000_000_000, "CAB1")
        return station.received, napped

    errors, (napped,) = asleep_and_awake(seen)
    assert len(errors) == 2 * len(range(20, 400, 20)) and napped > 1000


@pytest.mark.parametrize(
    "periods",
    [
        {"cab_period_ps": 20_000},
        {"cab_period_ps": 80_000},
        {"cab_period_ps": 79_000, "hub_period_ps": 40_000},
        {"cab_period_ps": 12_500, "hub_period_ps": 10_000, "symbol_ps": 12_500},
    ],
)
def test_naps_with_other_clocks_are_the_same(periods):
    total = 0
    for number in range(4):
        total += meddled_asleep_and_awake(load("hub:4"), ("clocks", number), profile=Profile("other", **periods))[1]
    assert total > 1000


def test_a_word_that_waits_where_each_cycle_has_a_symbol_is_the_same():
    """The next one is wanted as soon as it has been fetched, while a block is moved."""
    profile = Profile("other", cab_period_ps=80_000)
    meddled_asleep_and_awake(load("hub:4"), ("eq", 34), meddler=BlockWriter, profile=profile)


@pytest.mark.parametrize(
    "name, rtl, threads", [("hub:4", ["HUB1"], 1), ("hub:16", [], 2), ("figure7", ["HUB2", "CAB3"], 2)]
)
def test_naps_beside_rtl_boards_and_with_threads_are_the_same(name, rtl, threads):
    """docs/engine.md, "Threads": the number of threads changes nothing."""
    if threads > cores():
        pytest.skip("there is one processor core")
    topology, total = load(name), 0
    for number in range(2):
        total += meddled_asleep_and_awake(topology, (name, number), rtl=rtl, threads=threads)[1]
    assert total > 1000


def test_naps_of_two_cabs_on_one_fiber_are_the_same():
    """A CAB that naps while bytes come is told of a ready signal that comes between them."""
    topology = Topology("fiber").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")
    total, received = 0, []
    for number in range(24):
        naps, napped = meddled_asleep_and_awake(topology, ("one fiber", number))
        total += napped
        received += [packets for _, packets in naps[1]]
    assert total > 10_000 and any(received)


class Lister(Station):
    """Sends packets of many areas, and reads how much is left of the list, each time a cycle later."""

    async def _main(self):
        self.door.attach(self._interrupt)
        self._write("IRQ_ENABLE", 1 << Irq.SENT)
        area, begin = REG["TX_AREA"], DATA
        self.door.write_block(begin, bytes(range(250)) * 40)
        lists = [300, 3, 1, 2, 1, 1, 2, 1, 1, 2, 120, *[1] * 8], [300, 90, 120]
        for number, _ in enumerate(self.packets):
            for place, length in enumerate(lists[number % 2]):
                self._write("TX_ADDRESS", begin + 500 * place + place % 4)
                flags = (place == 0) * area.start.mask
                self._write("TX_AREA", area.length.put(length) | flags)
            self._write("TX_AREA", area.length.put(4) | area.end.mask | area.notify.mask)
            self.door.spend(101 + number)
            self.received.append(await self.door.read(REG["TX_STATUS"].address))
            while self._sent <= number:
                await self.door.wait()


@pytest.mark.parametrize("symbol_ps", [80_000, 62_500])
def test_the_list_of_what_is_sent_is_the_same(symbol_ps):
    """A nap ends before the next area begins, however short the pieces are that leave in the meantime."""
    topology = Topology("fiber").cab("CAB1").cab("CAB2").fiber("CAB1", "CAB2")

    def statuses(**options):
        profile = Profile("other", symbol_ps=symbol_ps)
        machine = EngineMachine(topology, boards="fast", profile=profile, **options)
        station, other = Lister(machine, "CAB1", [], [b""] * 240), Station(machine, "CAB2", [])
        napped = finish(machine, 12_000_000_000, "CAB1")
        return (station.received, other.received), napped

    (told, packets), (napped,) = asleep_and_awake(statuses)
    assert len(told) == 240 and len(packets) > 100 and napped > 10_000


@pytest.mark.parametrize("size", [100, workloads.MAX_DATA])
def test_messages_have_the_same_times(size):
    """Software's own events, which can be recorded without ending naps."""

    def events(**options):
        topology = load("hub:16")
        recorder = Recorder(groups=_SOFTWARE)
        machine = EngineMachine(topology, boards="fast", recorder=recorder, **options)
        try:
            workloads.measure(machine, topology, workloads.ring_tasks(16, 3, size), look).send(None)
        except StopIteration as end:
            return end.value.simulated_ps, list(recorder.recording().events()), *end.value.seen

    def look(machine):
        return machine.engine.symbols(), sum(machine.engine.napped(f"CAB{number + 1}") for number in range(16))

    *naps, napped = events()
    *awake, none = events(sleep=False)
    assert naps == awake
    assert none == 0 and napped > 40 * size


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["hub:4", "mesh:2x2", "chain:3", "mesh:2x2x2", "hub:16", "torus:2x2", "figure7"])
def test_many_programs_that_meddle_are_the_same(name):
    topology = load(name)
    for number in range(200):
        meddled_asleep_and_awake(topology, (name, number))
        meddled_asleep_and_awake(topology, ("blocks", name, number), meddler=BlockWriter)
