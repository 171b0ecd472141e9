"""Faults on links of lines: docs/faults.md, "Links of lines"; what becomes of them on the iPSC/2, and what the node's
registers tell: docs/ipsc2.md and docs/ipsc2-node.md, "What can go wrong".

Messages go from NODE0 by NODE1 to NODE3, or to NODE1 only. Every scenario ends with a reset of all nodes by their
software and messages that arrive whole: nothing hangs.
"""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from nectar.hdl.ipsc2.node.registers import REG, Irq
from nectar.sim.machines import machine
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.errors import FaultError
from nectar.software.faultlist import FaultList
from nectar.software.machine import QUIET
from nectar.verification import seeds

SEND, HEAD = 0x1000, 0x4000
WORDS = 12
LONG = 300
FIRST, SECOND = "NODE0.C0->NODE1.C0", "NODE1.C1->NODE3.C1"
#: Cycles in which all that is still under way has come to its end, or never will; when recovery begins.
REST, RECOVERY = 10_000, 40_000


class Struck(NamedTuple):
    """What a fault has done."""

    hits: int
    symbols: int


def bits(register, value):
    """Names of the fields of one bit that are 1."""
    return {item.name for item in REG[register].fields if item.width == 1 and value & item.mask}


@dataclass
class Node:
    """Software of a node: sends ``words`` when it has them, sleeps till RECOVERY, resets itself, and sends what it has
    for behind that. ``armed``: there is a place for what comes before.

    After REST it looks: ``status``, ``result`` (fields that are 1), ``words`` (stored), ``events``, ``data``. What
    ``then`` names, a field of CONTROL, is written; ``later`` is what it sees afterwards. ``good``: what came behind the
    recovery, and ``sent``: SENT was seen then.
    """

    door: object
    words: list = field(default_factory=list)
    again: list = field(default_factory=list)
    armed: bool = True
    then: str = ""
    seen: list = field(default_factory=list)
    good: bytes = b""
    sent: bool = False

    def write(self, name, value):
        """A register."""
        self.door.write(REG[name].address, value)

    def arm(self):
        """A place for a message."""
        self.write("IN_HEAD_ADDRESS", HEAD)
        self.write("IN_HEAD", 1024)

    def send(self, words):
        """A message."""
        self.door.write_block(SEND, b"".join(word.to_bytes(4, "big") for word in words))
        self.write("OUT_ADDRESS", SEND)
        self.write("OUT_AREA", len(words) | 1 << 31)

    async def look(self):
        """(fields of STATUS, fields of IN_RESULT, words stored, events, memory of the place)."""
        status, result, events = [
            await self.door.read(REG[name].address) for name in ("STATUS", "IN_RESULT", "IRQ_PENDING")
        ]
        self.write("IRQ_PENDING", events)
        count = result & REG["IN_RESULT"].field("words").mask
        data = await self.door.read_block(HEAD, 4 * count) if count else b""
        names = {Irq(place).name for place in range(len(Irq)) if events >> place & 1}
        self.seen.append((bits("STATUS", status), bits("IN_RESULT", result), count, names, data))

    async def main(self):
        """All of it."""
        door = self.door
        if self.armed:
            self.arm()
        if self.words:
            self.send(self.words)
        door.spend(REST)
        await self.look()
        if self.then:
            self.write("CONTROL", REG["CONTROL"].field(self.then).mask)
            door.spend(400)
            await self.look()
        door.spend(RECOVERY - await door.now())
        self.write("CONTROL", REG["CONTROL"].field("reset").mask)
        door.spend(100)
        self.arm()
        self.write("IRQ_PENDING", 0x3F)
        if self.again:
            self.send(self.again)
        door.spend(REST)
        await self.look()
        status, result, count, names, self.good = self.seen.pop()
        assert status <= {"armed"} and result <= {"valid"}, (status, result)
        self.sent = "SENT" in names


@pytest.fixture(scope="module")
def square():
    """A cube of two dimensions."""
    return machine("ipsc2").topology("hypercube:2")


def message(rng, probe, count=WORDS):
    """Words of a message."""
    return [rng.getrandbits(16) << 16 | probe, *(rng.getrandbits(32) for _ in range(count - 1))]


def packed(words):
    """As memory has them."""
    return b"".join(word.to_bytes(4, "big") for word in words)


def run(square, faults, probe=3, count=WORDS, sleep=True, seed=1, **nodes):
    """Runs the scenario: NODE0 sends a message; ``nodes``: more of the Nodes' members, by their name. Behind the
    recovery NODE0 and NODE3, NODE1 and NODE2 send to each other. Returns ({node: Node}, a Struck for each fault, the
    words, the time of the end)."""
    rng = seeds.rng("bad input on lines")
    system = EngineMachine(square, sleep=sleep)
    found = {name: Node(door, **nodes.get(name, {})) for name, door in system.doors.items()}
    words = found["NODE0"].words = message(rng, probe, count)
    for node in found.values():
        node.again = message(rng, 3)
    try:
        listed = FaultList(system, None, None, seed)
        placed = [listed.add(fault) for fault in faults]
        for name, node in found.items():
            system.start(name, node.main())
        assert asyncio.run(system.run(lambda: False, until_ps=10**10)) == QUIET
        for number, node in enumerate(found.values()):
            assert node.good == packed(found[f"NODE{number ^ 3}"].again) and node.sent, number
        return found, [Struck(fault.hits, fault.symbols) for fault in placed], words, system.time_ps
    finally:
        system.close()


def first(nodes, name):
    """What that node saw first."""
    return nodes[name].seen[0]


def test_without_a_fault_the_message_arrives(square):
    nodes, _, words, _ = run(square, [])
    assert first(nodes, "NODE0") == ({"armed"}, set(), 0, {"SENT"}, b"")
    assert first(nodes, "NODE3")[1:] == ({"valid"}, WORDS, {"ARRIVED"}, packed(words))


@pytest.mark.parametrize("probe", [0, 4, 7, 0x80, 0x100])
def test_a_destination_outside_of_the_cube_is_refused_and_the_next_message_goes(square, probe):
    """docs/ipsc2-node.md: REFUSED tells so; the message is dropped. 4 and 7 name a channel that the routers have not,
    0 and 0x100 no channel; 0x80 is the way out of the cube, where nobody is: the message waits until *abort*."""
    nodes, _, _, _ = run(square, [], probe=probe, NODE0={"then": "abort" if probe == 0x80 else ""})
    status, _, _, events, _ = first(nodes, "NODE0")
    if probe != 0x80:
        assert (status, events) == ({"armed"}, {"REFUSED"})
        return
    assert {"out_busy", "granted"} <= status and not events
    assert nodes["NODE0"].seen[1][3] == {"ABORTED"} and "out_busy" not in nodes["NODE0"].seen[1][0]


@pytest.mark.parametrize("link", [FIRST, SECOND])
@pytest.mark.parametrize("behind", [3, 24, 20 * WORDS - 4])
def test_a_bit_error_in_data_or_checksum_is_told_by_the_checksum(square, link, behind):
    """docs/ipsc2-node.md: CHECKSUM, and *bad*; all words are there, one bit of them at most is another. ``behind``: the
    pair behind the probe, whose length is that of docs/ipsc2.md."""
    nth = {FIRST: 10, SECOND: 6}[link] + behind
    nodes, (fault,), words, _ = run(square, [f"{link}:errors,nth={nth}"])
    assert (fault.hits, fault.symbols) == (1, 1)
    _, result, count, events, data = first(nodes, "NODE3")
    assert (result, count, events) == ({"valid", "bad"}, WORDS, {"ARRIVED", "CHECKSUM"})
    wrong = int.from_bytes(data, "big") ^ int.from_bytes(packed(words), "big")
    assert wrong.bit_count() == (behind < 20 * WORDS - 10)
    assert first(nodes, "NODE0")[3] == {"SENT"}


def test_a_flipped_bit_of_the_probe_leads_to_another_node_or_to_nobody(square):
    """docs/ipsc2.md: the first pair of the address has channels 0 and 1, the second and third have none. A message that
    gets to another node has the wrong checksum."""
    ends = set()
    for nth in 3, 4, 5:
        for seed in range(1, 5 if nth == 3 else 3):
            nodes, (fault,), _, _ = run(
                square, [f"{FIRST}:errors,nth={nth}"], probe=1, seed=seed, NODE0={"then": "abort"}
            )
            assert fault.hits == 1
            came = {name for name in nodes if "valid" in first(nodes, name)[1]}
            for name in came:
                assert "bad" in first(nodes, name)[1] and "CHECKSUM" in first(nodes, name)[3]
            status, _, _, events, _ = first(nodes, "NODE0")
            if came:
                assert events == {"SENT"} and "out_busy" not in status
            else:
                assert not events and {"out_busy", "granted"} <= status and "allowed" not in status
                assert nodes["NODE0"].seen[1][3] == {"ABORTED"}
            assert bool(came) == (nth == 3)
            ends |= came
    assert ends == {"NODE1", "NODE3"}


@pytest.mark.parametrize("link", [FIRST, SECOND])
def test_a_strobe_that_stops_in_a_message_is_seen_at_the_destination_only(square, link):
    """docs/ipsc2-node.md: the source sends the rest to nobody; the destination stays *receiving* until its software
    drops the message, which ends *cut* with the words that have arrived."""
    nodes, (fault,), words, end = run(
        square, [f"{link}:cut,at=300us,for=800us"], count=LONG, NODE3={"then": "drop"}, NODE0={"then": "abort"}
    )
    assert fault.hits == fault.symbols > 1000
    assert first(nodes, "NODE0")[3] == {"SENT"} and "out_busy" not in first(nodes, "NODE0")[0]
    status, result, _, events, _ = first(nodes, "NODE3")
    assert status == {"receiving", "armed"} and not result and not events
    _, result, count, events, data = nodes["NODE3"].seen[1]
    assert result == {"valid", "bad", "cut"} and events == {"ARRIVED", "CHECKSUM"} and 10 < count < LONG
    assert data == packed(words)[: 4 * count]
    assert end > 1100 * 10**6


def test_a_strobe_that_stops_on_the_way_back_holds_the_source(square):
    """RDY that stays 0 at the source: it waits, with the channel; *abort* frees it."""
    back = "NODE1.C0->NODE0.C0:cut,at=0ns,for=1100us"
    nodes, _, _, _ = run(square, [back], NODE0={"then": "abort"})
    assert {"out_busy", "granted"} <= first(nodes, "NODE0")[0] and not first(nodes, "NODE0")[3]
    assert nodes["NODE0"].seen[1][3] == {"ABORTED"} and "out_busy" not in nodes["NODE0"].seen[1][0]
    assert first(nodes, "NODE3")[:4] == ({"receiving", "armed"}, set(), 0, set())


def test_a_probe_cut_short_holds_its_circuit_until_reset(square):
    """docs/ipsc2.md: the element waits for the rest. Cuts in and behind a probe on the first channel all end the
    same for the source: no *allow*, until it aborts. NODE3 hears of nothing."""
    _, (fault,), _, _ = run(square, [f"{SECOND}:lost,times=6"], NODE0={"then": "abort"})
    assert fault.symbols == 6
    short = 0
    for tick in range(0, 20, 3):
        at = 62_500 * (60 + tick)
        nodes, (fault,), _, _ = run(square, [f"{FIRST}:cut,at={at}ps,for=1100us"], NODE0={"then": "abort"})
        assert {"out_busy", "granted"} <= first(nodes, "NODE0")[0] and not first(nodes, "NODE0")[3]
        assert nodes["NODE0"].seen[1][3] == {"ABORTED"}
        assert first(nodes, "NODE3")[:4] == ({"armed"}, set(), 0, set())
        short += 0 < fault.symbols
    assert short


def test_a_destination_that_is_never_ready_holds_the_source_until_it_gives_up(square):
    """docs/ipsc2-node.md: nibbles, and no *allow*, when the FIFO of the destination is full; *abort* frees it."""
    nodes, _, _, _ = run(square, [], count=LONG, NODE0={"then": "abort"}, NODE3={"armed": False})
    status, _, _, events, _ = first(nodes, "NODE0")
    assert {"out_busy", "granted"} <= status and "allowed" not in status and not events
    assert first(nodes, "NODE3")[:4] == ({"receiving"}, set(), 0, set())
    assert nodes["NODE0"].seen[1][3] == {"ABORTED"} and not {"out_busy", "granted"} & nodes["NODE0"].seen[1][0]


def test_what_is_struck_is_what_the_page_says(square):
    """docs/faults.md, "Links of lines": pairs of probes and words only, counted from the first probe on; 10 for the
    first probe, and for a word, and there are 2 words for each of memory's, the checksum included."""
    _, (nothing, late, words), _, _ = run(
        square,
        [f"{FIRST}:errors=0", f"{FIRST}:errors,nth=100000", f"{FIRST}:lost,nth=11,times=1000000,for=2ms"],
        probe=1,
        NODE0={"then": "abort"},
    )
    assert (nothing.hits, late.hits, words.hits, words.symbols) == (0, 0, 20 * WORDS, 20 * WORDS)


def test_sleep_changes_nothing_of_faults(square):
    """The same strikes, registers and memory with boards that sleep, and without."""
    rng = seeds.rng("faults on lines")
    for _ in range(4):
        faults = [
            f"{rng.choice([FIRST, SECOND, '*'])}:errors={rng.choice([0.001, 0.01])},for=2ms",
            f"{rng.choice([FIRST, SECOND])}:lost,nth={rng.randrange(1, 400)},length={rng.randrange(1, 9)},for=2ms",
            f"{rng.choice([FIRST, SECOND, 'NODE3.C1->NODE1.C1'])}:cut,at={rng.randrange(400)}us,for=300us",
        ]
        seed = rng.randrange(1000)
        told = []
        for sleep in True, False:
            nodes, struck, _, _ = run(
                square, faults, count=100, sleep=sleep, seed=seed, NODE0={"then": "abort"}, NODE3={"then": "drop"}
            )
            told.append((struck, {name: node.seen for name, node in nodes.items()}))
        assert told[0] == told[1], faults


@pytest.mark.parametrize(
    "fault, words",
    [
        (f"{FIRST}:doubled", "links of lines have the faults errors, lost, cut"),
        (f"{FIRST}:delay=1us", "links of lines have the faults errors, lost, cut"),
        (f"{FIRST}:errors-data", "links of lines have the faults errors, lost, cut"),
        ("NODE0.P0:cut", "there is no fiber NODE0.P0; there are NODE0.C0-NODE1.C0, "),
        ("NODE0.C0:disable", "there is no HUB"),
        ("NODE0:reset", "there is no HUB"),
    ],
)
def test_a_fault_that_lines_have_not_is_refused_in_a_line(square, fault, words):
    system = EngineMachine(square)
    try:
        with pytest.raises(FaultError, match=words) as refused:
            FaultList(system, None, None).add(fault)
        assert "\n" not in str(refused.value)
    finally:
        system.close()


def test_a_cut_that_is_ended_lets_nibbles_through_again(square):
    """docs/faults.md: ``end()`` repairs a cut, at boards that sleep, too."""
    for sleep in True, False:
        system = EngineMachine(square, sleep=sleep)
        try:
            cut = FaultList(system, None, None).cut("NODE0.C0-NODE1.C0")
            nodes = {name: Node(door) for name, door in system.doors.items()}

            system.start("NODE3", nodes["NODE3"].main())
            asyncio.run(system.run(lambda: False, until_ps=300 * 10**6))
            assert system.time_ps == 300 * 10**6 and not cut.hits
            cut.end()
            nodes["NODE0"].words = message(seeds.rng("ended cut"), 1)
            for name in "NODE0", "NODE1":
                system.start(name, nodes[name].main())
            asyncio.run(system.run(lambda: False, until_ps=2000 * 10**6))
            assert first(nodes, "NODE1")[1] == {"valid"} and not cut.hits
        finally:
            system.close()
