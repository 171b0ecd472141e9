"""Machines other than Nectar in the engine: boards, links of lines, and what software sees at its doors."""

import ast
import asyncio
import re
from dataclasses import replace

import pytest

from nectar.hdl.ipsc2.formats import MOST_WIRE, PERIOD_PS
from nectar.hdl.ipsc2.node.registers import MEMORY_BYTES, REG, Irq
from nectar.sim.machines import MACHINES, machine, machine_of
from nectar.sim.topology import TopologyError, load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.door import BusError
from nectar.software.machine import QUIET
from nectar.verification import seeds
from nectar.verification.imports import ROOT, imported, tree

CUBE = machine("ipsc2")
SEND, HEAD, BODY = 0x1000, 0x4000, 0x8000
HEAD_WORDS = 26
VALID = REG["IN_RESULT"].field("valid").mask


class Node:
    """Software of a node that sends messages, one after the other, and takes those that come.

    ``messages``: words each. ``got``: (cycle, words) of those that came; ``sent``: cycles in which SENT was seen.
    """

    def __init__(self, door, messages, expected):
        self.door, self.messages, self.expected = door, messages, expected
        self.got, self.sent, self.pending = [], [], 0

    def write(self, name, value):
        """A register."""
        self.door.write(REG[name].address, value)

    def arm(self):
        """A place for a message."""
        self.write("IN_HEAD_ADDRESS", HEAD)
        self.write("IN_BODY_ADDRESS", BODY)
        self.write("IN_BODY", 1024)
        self.write("IN_HEAD", HEAD_WORDS)

    async def interrupt(self):
        """What has happened is kept; ARRIVED stays pending until its message is taken."""
        door = self.door
        events = await door.read(REG["IRQ_PENDING"].address)
        self.pending |= events
        self.write("IRQ_PENDING", events)
        if events >> Irq.ARRIVED & 1:
            count = await door.read(REG["IN_RESULT"].address) & 0x3FFFFF
            data = await door.read_block(HEAD, 4 * min(count, HEAD_WORDS))
            if count > HEAD_WORDS:
                data += await door.read_block(BODY, 4 * (count - HEAD_WORDS))
            self.got.append((await door.now(), data))
            self.arm()

    async def main(self):
        """Until all has been sent and has arrived."""
        door = self.door
        door.attach(self.interrupt)
        self.arm()
        self.write("IRQ_ENABLE", 1 << Irq.ARRIVED | 1 << Irq.SENT)
        for pause, words in self.messages:
            door.spend(pause)
            door.write_block(SEND, b"".join(word.to_bytes(4, "big") for word in words))
            self.write("OUT_ADDRESS", SEND)
            self.write("OUT_AREA", len(words) | 1 << 31)
            while not self.pending >> Irq.SENT & 1:
                await door.wait()
            self.pending &= ~(1 << Irq.SENT)
            self.sent.append(await door.now())
        while len(self.got) < self.expected:
            await door.wait()


def traffic(cube, seed, count, longest=60):
    """{node: [(pause, words)]} and {node: messages for it, as bytes}: each node sends ``count`` to random others."""
    rng = seeds.rng(seed)
    sends, comes = {}, {name: [] for name in cube.computers}
    names = list(cube.computers)
    for name, node in cube.computers.items():
        sends[name] = []
        for _ in range(count):
            to = rng.choice([other for other in names if other != name])
            words = [rng.getrandbits(16) << 16 | node.id ^ cube.computers[to].id]
            words += [rng.getrandbits(32) for _ in range(rng.randrange(longest))]
            sends[name].append((rng.choice((0, 0, 3, 200, 5000)), words))
            comes[to].append(b"".join(word.to_bytes(4, "big") for word in words))
    return sends, comes


def run(cube, sends, comes, **options):
    """Runs the messages to their end; {node: Node}, and the time in picoseconds at which all was quiet."""
    system = EngineMachine(cube, **options)
    nodes = {}
    try:
        for name, door in system.doors.items():
            nodes[name] = Node(door, sends[name], len(comes[name]))
            system.start(name, nodes[name].main())
        assert asyncio.run(system.run(lambda: False, until_ps=10**11)) == QUIET
        return nodes, system.time_ps
    finally:
        system.close()


@pytest.fixture(scope="module")
def square():
    """A cube of two dimensions."""
    return CUBE.topology("hypercube:2")


def test_messages_between_all_nodes_of_a_cube_arrive_once_and_whole(square):
    """D1, D2, D4: memory, DMA, circuit, DMA, memory, and interrupts at both ends."""
    sends, comes = traffic(square, "messages in a square", 8)
    nodes, _ = run(square, sends, comes)
    for name, node in nodes.items():
        assert sorted(data for _, data in node.got) == sorted(comes[name])
        assert len(node.sent) == 8


def test_sleep_changes_nothing_but_the_speed(square):
    """docs/engine.md, "Sleep": the same cycle of each event with and without."""
    sends, comes = traffic(square, "sleep", 6)
    for delay in (1, 2, 3):
        profile = replace(CUBE.profile, delay_ps=delay * PERIOD_PS)
        awake, _ = run(square, sends, comes, sleep=False, profile=profile)
        asleep, _ = run(square, sends, comes, profile=profile)
        for name in square.computers:
            assert asleep[name].got == awake[name].got and asleep[name].sent == awake[name].sent


def test_nodes_that_have_nothing_to_do_sleep(square):
    system = EngineMachine(square)
    words = [1, *range(200)]

    async def main(door):
        door.spend(20_001)
        door.write_block(SEND, b"".join(word.to_bytes(4, "big") for word in words))
        for name, value in ("OUT_ADDRESS", SEND), ("OUT_AREA", len(words) | 1 << 31):
            door.write(REG[name].address, value)
        door.spend(20_001)
        # The probe waits at the other node, for a place.
        assert await door.read(REG["STATUS"].address) >> REG["STATUS"].field("granted").low & 1

    try:
        system.start("NODE0", main(system.doors["NODE0"]))
        asyncio.run(system.run(lambda: False, until_ps=5000 * 10**6))
        evaluated = {name: system.engine.cycles(name)[0] for name in square.computers}
        # All have slept till the message; its nodes are awake while the circuit is held, the others are not.
        assert max(evaluated["NODE2"], evaluated["NODE3"]) < 100
        assert 20_000 < min(evaluated["NODE0"], evaluated["NODE1"]) < 65_000
        assert all(sum(system.engine.cycles(name)) >= 79_000 for name in square.computers)
    finally:
        system.close()


def test_a_message_takes_the_times_of_the_pages(square):
    """D1, D4: 2.8 Mbyte/s: 10 ticks for each half of a word; a hop more costs 9 or 10 ticks for the probe, and each way
    2 and the wire's one."""
    times = {}
    for hops, to in (1, "NODE1"), (2, "NODE3"):
        for count in (1, 101, 201):
            words = [square.computers[to].id, *range(count - 1)]
            sends = {name: [(0, words)] if name == "NODE0" else [] for name in square.computers}
            comes = {name: [b"".join(word.to_bytes(4, "big") for word in words)] * (name == to) for name in sends}
            nodes, _ = run(square, sends, comes)
            # SENT: the source has seen RDY come back, and has sent all.
            times[hops, count] = nodes["NODE0"].sent[0]
    ticks = {key: cycles * 7 / 8 for key, cycles in times.items()}
    assert times[1, 1] > 0
    for hops in 1, 2:
        # A write of the CPU before DMA begins takes the bus, too: 4 cycles for each word.
        assert ticks[hops, 201] - ticks[hops, 101] == pytest.approx(100 * 20 + 100 * 4 * 7 / 8, abs=16)
    least = 9 + 2 * (2 + 1)
    assert least - 8 <= ticks[2, 201] - ticks[1, 201] <= least + 30


def test_an_access_to_nothing_is_a_bus_error(square):
    system = EngineMachine(square)

    async def main(door):
        door.write(MEMORY_BYTES - 4, 0x01020304)
        assert await door.read(MEMORY_BYTES - 4, 1) == 1
        with pytest.raises(BusError):
            await door.read(MEMORY_BYTES)

    try:
        system.start("NODE2", main(system.doors["NODE2"]))
        assert asyncio.run(system.run(lambda: False)) == QUIET
    finally:
        system.close()


def test_a_longer_link_delays_by_whole_periods_of_the_strobe(square):
    words = [1, 2, 3]
    sends = {name: [(0, words)] if name == "NODE0" else [] for name in square.computers}
    comes = {name: [b"".join(word.to_bytes(4, "big") for word in words)] * (name == "NODE1") for name in sends}
    came = []
    for delay in (0, PERIOD_PS, PERIOD_PS + 1, MOST_WIRE * PERIOD_PS):
        nodes, _ = run(square, sends, comes, profile=replace(CUBE.profile, delay_ps=delay))
        came.append(nodes["NODE1"].got[0][0])
    assert came[0] == came[1] < came[2] < came[3]
    with pytest.raises(TopologyError, match=f"delays by at most {MOST_WIRE} periods"):
        EngineMachine(square, replace(CUBE.profile, delay_ps=MOST_WIRE * PERIOD_PS + 1))


@pytest.mark.parametrize("text", ["hypercube:0", "hypercube:8", "hypercube", "hypercube:x", "mesh:2x2", "hypercube:²"])
def test_a_topology_that_the_machine_has_not_is_refused_in_a_line(text):
    with pytest.raises(TopologyError, match=re.escape("hypercube:D (2**D nodes, D = 1 to 7)")) as refused:
        CUBE.topology(text)
    assert "\n" not in str(refused.value)


def test_machines_are_found_by_name_and_by_topology(square):
    assert [machine(name).name for name in MACHINES] == list(MACHINES)
    assert machine_of(square) is CUBE and machine_of(load("hub:2")) is machine("nectar")
    with pytest.raises(ValueError, match="no machine 'cray'; there is nectar, ipsc2"):
        machine("cray")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"boards": "fast"}, "are rtl, not 'fast'"),
        ({"nodes": {"NODE0": "N"}}, "they are the nodes"),
        ({"rtl": ["NODE9"]}, "no board 'NODE9'"),
    ],
)
def test_what_the_machine_has_not_is_refused(square, options, message):
    with pytest.raises(ValueError, match=message):
        CUBE.kinds(square, CUBE.profile, **options)


def test_simulator_and_commands_name_no_machine_but_where_it_is_plugged_in():
    """docs/machines.md: a machine is found by its name, in a table."""
    named = {}
    for folder in "sim", "nectar":
        for path in (ROOT / folder).rglob("*.py"):
            texts = {node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)}
            reached = {name for name in imported(path) if name.split(".")[-1] in MACHINES and "machines" in name}
            if found := texts & {*MACHINES[1:]} | reached:
                named[path.relative_to(ROOT).as_posix()] = found
    assert named == {
        "sim/machines/__init__.py": {"ipsc2"},
        "sim/machines/ipsc2.py": {"ipsc2"},
    }
