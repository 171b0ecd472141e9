"""Naps of fast HUBs change nothing but the speed: runs against the same ones with all symbols recorded, in which no
board naps.

Specification: docs/naps.md."""

import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import ANY_HUB
from nectar.sim.topology import Topology, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.verification import seeds
from nectar.verification.sim.fast.asleep import asleep_and_awake
from nectar.verification.sim.traffic import DATA, Station, routes_to_others, run


def streamed(name, seed, last=None, **options):
    """As ``meddled``, with Stations that send packets with pauses between them and within them, and HUBs that nap.
    ``last``: what the last CAB is instead, a Teller."""
    topology, rng = load(name), seeds.rng("streams", name, seed)
    machine = EngineMachine(topology, boards="fast", **options)
    stations = []
    routes = list(routes_to_others(topology, rng))
    for cab, route in routes[:-1] if last else routes:
        packets = [rng.randbytes(rng.randrange(100, 1000)) for _ in range(rng.randrange(6))]
        own = seeds.rng(rng.random())
        if rng.randrange(4):
            stations.append(Uneven(machine, cab, route, packets, own))
        else:
            stations.append(Station(machine, cab, route, packets, lambda own=own: own.randrange(300)))
    if last:
        stations.append(last(machine, *routes[-1], seeds.rng(rng.random())))
    engine = machine.engine
    symbols = []
    for time in range(3_000_000, 700_000_000, 7_000_000):
        machine.plan(time + rng.randrange(4_000_000), lambda: symbols.append(engine.symbols()))
    run(machine, 800_000_000)
    symbols.append(engine.symbols())
    seen = symbols, [(station.received, getattr(station, "seen", None)) for station in stations]
    napped = [engine.napped(name) for name in topology.hubs]
    machine.close()
    return seen, napped


class Uneven(Station):
    """Pauses within packets, sends some to several outputs of the first HUB, and sometimes does not wait until there is
    room for a packet, as ``rng`` chooses."""

    def __init__(self, machine, name, route, packets, rng):
        self.rng = rng
        super().__init__(machine, name, route, packets, lambda: rng.randrange(300))

    def _send(self, data):
        area, (hub, port) = REG["TX_AREA"], self.route[0]
        self.door.write_block(DATA, data)
        for other in self.rng.sample([n for n in range(5) if n != port], self.rng.choice((0, 0, 1, 2))):
            self._order(Op.TEST_OPEN, hub, other)
        self._open(waits=self.rng.randrange(2))
        cut = self.rng.randrange(1, len(data))
        self._write("TX_ADDRESS", DATA)
        self._write("TX_AREA", area.length.put(cut) | area.start.mask)
        self.door.spend(self.rng.choice((0, 10, 1000, 3000)) + cut)
        self._write("TX_ADDRESS", DATA + cut)
        self._write("TX_AREA", area.length.put(len(data) - cut) | area.crc.mask | area.end.mask)
        self._order(Op.CLOSE_ALL, ANY_HUB, notify=True)


class Teller(Station):
    """Sends commands to the first HUB on its route, and keeps the replies."""

    def __init__(self, machine, name, route, rng):
        self.rng, self.seen = rng, []
        super().__init__(machine, name, route)

    async def _tell(self, op, param, cycles=1000):
        hub, _ = self.route[0]
        self._order(op, hub, param)
        for _ in range(20):
            self.door.spend(100)
            self.seen.append(await self.door.read(REG["REPLY"].address))
            if self.seen[-1]:
                break
        self.door.spend(cycles)


class Watcher(Teller):
    """Has the HUB's watchdog wait a short time, opens a connection, sends nothing over it, and asks what becomes of
    it."""

    async def _main(self):
        _, port = self.route[0]
        await self._tell(Op.WATCHDOG_TIME_REPLY, 8)
        await self._tell(Op.OPEN_RETRY_REPLY, port)
        for _ in range(40):
            await self._tell(Op.STATUS_OUTPUT, port)


class Ruler(Teller):
    """Gives supervisor commands and asks, about any port."""

    async def _main(self):
        disturbs = Op.DISABLE_REPLY, Op.RESET_QUEUE_REPLY, Op.RESET_PORT_REPLY, Op.FORCE_READY_REPLY, Op.LOOP_BACK_REPLY
        asks = (
            Op.STATUS_QUEUE,
            Op.STATUS_INPUT,
            Op.STATUS_ERRORS,
            Op.STATUS_OUTPUT,
            Op.STATUS_READY,
            Op.MONITOR_READ_REPLY,
        )
        for _ in range(40):
            port = self.rng.randrange(5)
            await self._tell(self.rng.choice((*disturbs, *asks)), port, self.rng.randrange(1500))
            await self._tell(Op.ENABLE_REPLY, port, self.rng.randrange(1500))


@pytest.mark.parametrize("name", ["chain:3", "mesh:2x2x2", "hub:16"])
def test_hubs_through_which_bytes_flow_nap_and_everything_is_the_same(name):
    total = []
    for number in range(30):
        _, napped = asleep_and_awake(streamed, name, number)
        total.append(napped)
    assert all(sum(of_hub) > 500 for of_hub in zip(*total, strict=True))


class Rude(Station):
    """Sends packet behind packet, whether there is room for them or not."""

    def _open(self, waits=False):
        super()._open(waits)


def test_hubs_with_full_queues_do_the_same():
    """Bytes flow through queues that have no room left, and are lost there."""

    def flooded(number, **options):
        topology, rng = load("hub:4"), seeds.rng("full queues", number)
        machine = EngineMachine(topology, boards="fast", **options)
        routes = routes_to_others(topology, rng)
        stations = [
            Rude(machine, *route, [rng.randbytes(rng.randrange(700, 1000)) for _ in range(8)]) for route in routes
        ]
        run(machine, 900_000_000)
        seen = machine.engine.symbols(), [station.received for station in stations]
        napped = [machine.engine.napped("HUB1")]
        machine.close()
        return seen, napped

    total = 0
    for number in range(20):
        _, (napped,) = asleep_and_awake(flooded, number)
        total += napped
    assert total > 1000


class Halting(Station):
    """Sends each packet in two areas with a pause of some symbols, or none, between them, and writes words of the
    second one, with what stands there already, while it is being sent."""

    def __init__(self, machine, name, route, packets, rng):
        self.rng = rng
        super().__init__(machine, name, route, packets, lambda: rng.randrange(300))

    def _send(self, data):
        area, cut = REG["TX_AREA"], self.rng.randrange(16, len(data) // 2)
        self.door.write_block(DATA, data)
        self._open(waits=False)
        self._write("TX_ADDRESS", DATA)
        self._write("TX_AREA", area.length.put(cut) | area.start.mask)
        # A symbol takes 80 ns, a cycle of the CPU 62.5 ns.
        symbols = 4 * len(self.route) + 1 + cut
        self.door.spend(symbols * 32 // 25 + self.rng.randrange(60))
        self._write("TX_ADDRESS", DATA + cut)
        self._write("TX_AREA", area.length.put(len(data) - cut) | area.crc.mask | area.end.mask)
        for _ in range(self.rng.randrange(4)):
            self.door.spend(self.rng.randrange(60, 300))
            word = self.rng.randrange(len(data) - 64, len(data)) & ~3
            self.door.write_block(DATA + word, data[word : word + 4])
        self._order(Op.CLOSE_ALL, ANY_HUB, notify=True)


def test_streams_with_pauses_on_long_fibers_are_the_same():
    """A pause is still under way when bytes behind it are put on the fiber, taken back, and put on it again."""

    def halted(number, **options):
        rng = seeds.rng("long fibers", number)
        topology = Topology("long").hub("HUB1")
        for cab in range(1, 4):
            length = rng.choice((20, 400, 1000))
            topology.cab(f"CAB{cab}").fiber(f"CAB{cab}", f"HUB1.P{cab}", length_m=length)
        machine = EngineMachine(topology, boards="fast", **options)
        stations = []
        for name, route in routes_to_others(topology, rng):
            packets = [rng.randbytes(rng.randrange(300, 1000)) for _ in range(5)]
            stations.append(Halting(machine, name, route, packets, seeds.rng(rng.random())))
        symbols = []
        for time in range(3_000_000, 700_000_000, 7_000_000):
            machine.plan(time + rng.randrange(4_000_000), lambda: symbols.append(machine.engine.symbols()))
        run(machine, 800_000_000)
        seen = symbols, machine.engine.symbols(), [station.received for station in stations]
        napped = [machine.engine.napped("HUB1")]
        machine.close()
        return seen, napped

    total, received = 0, 0
    for number in range(20):
        naps, (napped,) = asleep_and_awake(halted, number)
        total += napped
        received += sum(map(len, naps[-1]))
    assert total > 1000 and received > 100


def test_a_watchdog_finds_what_stands_still_while_bytes_flow():
    """What the watchdog ends, it ends in the same cycle whether the HUB naps or not."""
    total, ended = 0, 0
    for number in range(20):
        naps, napped = asleep_and_awake(streamed, "hub:4", number, Watcher)
        total += sum(napped)
        answers = [reply & 0xFF for reply in naps[1][-1][1] if reply >> 16 & 0xFF == Op.STATUS_OUTPUT]
        ended += any(answers) and not answers[-1]
    assert total > 1000 and ended


@pytest.mark.parametrize("name", ["hub:4", "chain:3x2"])
def test_commands_to_hubs_through_which_bytes_flow_do_the_same(name):
    """Ports are disabled, reset, looped back, and asked about while bytes flow through them."""
    total = 0
    for number in range(20):
        naps, napped = asleep_and_awake(streamed, name, number, Ruler)
        assert any(naps[1][-1][1])
        total += sum(napped)
    assert total > 1000


@pytest.mark.nightly
@pytest.mark.parametrize("last", [None, Watcher, Ruler])
@pytest.mark.parametrize("name", ["chain:3", "mesh:2x2x2", "hub:16", "torus:2x2", "figure7"])
def test_many_streams_are_the_same(name, last):
    for number in range(200):
        asleep_and_awake(streamed, name, number, last)
