"""Bench of hdl/hub/port/bypass.py: nothing overtakes, nothing is lost or doubled, and a stream has no gaps."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.bypass import BYPASS_ROOM, Bypass
from nectar.hdl.hub.port.entry import OWN
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

#: Cycles from the write of an entry to the queue until it can be taken.
QUEUE_LATENCY = 2


class Surroundings:
    """Fiber, queue and head: what came in must leave in order."""

    def __init__(self, dut):
        self.lockstep = Lockstep(dut, ["symbol", "plain", "oldest", "oldest_valid", "empty", "clear", "pop"])
        self.queue = deque()  # (entry, cycle from which it is valid)
        # entries that have not left, with the cycle in which they were in the input register, and whether they begin a
        # command, and whether they went past the queue
        self.inside = deque()
        self.tag = 0
        self.now = (0, False)  # what is in the input register, and whether it is plain
        self.fetched = False  # an entry has come from the queue, and has no place yet
        self.places = 0  # entries in front of the head
        self.left = []  # (cycle of leaving, cycle of arrival)
        self.seen = {
            "waited": 0,
            "through": 0,
            "queued": 0,
            "from queue": 0,
            "cleared": 0,
            "taken while cleared": 0,
            "own": 0,
        }

    async def cycle(self, arrive, take, clear=0.0, command=0.0):
        """One cycle in which the next symbol arrives, the head takes, the queue is cleared, with these
        probabilities."""
        cycle = self.lockstep.cycles
        symbol, plain = self.now
        self.tag = (self.tag + 1) & 0x1FF
        coming = self.tag, random.random() < arrive
        valid = bool(self.queue) and self.queue[0][1] <= cycle
        clears = random.random() < clear
        inputs = {
            "symbol": symbol,
            "plain": plain,
            "oldest": self.queue[0][0] if valid else random.getrandbits(9),
            "oldest_valid": valid,
            "empty": not self.queue,
            "clear": clears,
        }
        is_valid = self.places > 0
        takes = is_valid and random.random() < take
        opens, pop_queue, entry, own, code = await self.lockstep.step(
            inputs | {"pop": takes},
            {"valid": is_valid, "clean": not is_valid and not self.fetched and not self.queue},
            ("open", "pop_queue", "entry", "own", "control_code"),
        )
        divert = plain and opens
        enters = self.fetched and self.places < BYPASS_ROOM
        assert not pop_queue or valid and (enters or not self.fetched)
        if plain:
            self.inside.append((symbol, cycle, symbol >> 7 == OWN >> 7 and not divert, divert))
        if is_valid:
            assert (entry, own) == self.inside[0][:3:2], f"cycle {cycle}: {entry, own} instead of {self.inside[0]}"
            self.seen["own"] += own
            # What went past the queue is passed on as it is; of the others a close all's opcode is a byte.
            past = self.inside[0][3]
            assert own or code == (entry >> 8 & 1 and (past or not entry >> 4 & 1)), f"cycle {cycle}: {entry, past}"
        if takes:
            _, came, _, _ = self.inside.popleft()
            self.left.append((cycle, came))
            self.seen["through" if cycle == came + 1 else "waited"] += 1
            self.seen["taken while cleared"] += clears
        if pop_queue:
            self.seen["from queue"] += 1
        if clears:
            self.seen["cleared"] += bool(self.inside)
            self.queue.clear()
            if plain and not divert:
                self.queue.append((symbol, cycle + QUEUE_LATENCY))
                self.inside = deque([self.inside[-1]])
            else:
                self.inside.clear()
        else:
            if pop_queue:
                self.queue.popleft()
            if plain and not divert:
                self.queue.append((symbol, cycle + QUEUE_LATENCY))
                self.seen["queued"] += 1
        if not plain and command and random.random() < command:
            # A command of which the last symbol was in the input register: its entries come through the queue.
            for _ in range(2):
                self.tag = (self.tag + 1) & 0x1FF
                self.queue.append((self.tag, cycle + QUEUE_LATENCY))
                self.inside.append((self.tag, cycle, self.tag >> 7 == OWN >> 7, False))
            coming = coming[0] + 2 & 0x1FF, False
            self.tag = coming[0]
        self.now = coming
        self.places = 0 if clears else self.places + divert + enters - takes
        self.fetched = not clears and (bool(pop_queue) or self.fetched and not enters)
        assert self.places <= BYPASS_ROOM


async def start(dut):
    surroundings = Surroundings(dut)
    await surroundings.lockstep.start()
    return surroundings


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order(dut):
    """docs/hub.md, Timing: whatever way they take, symbols leave in the order in which they came, each once."""
    surroundings = await start(dut)
    for arrive, take in ((1, 1), (0.9, 0.5), (0.5, 0.9), (1, 0.1), (0.2, 0.2), (0.7, 0.7)):
        for command in (0.0, 0.3):
            for _ in range(200):
                await surroundings.cycle(arrive, take, command=command)
    for _ in range(3000):
        await surroundings.cycle(0, 1)
    assert not surroundings.inside and not surroundings.queue
    assert all(value for name, value in surroundings.seen.items() if "clear" not in name), surroundings.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def throws_away_what_waits(dut):
    """docs/hub.md, "Reset queue": after a clear only what comes later leaves."""
    surroundings = await start(dut)
    for arrive, take, clear, command in (
        (1, 1, 0.1, 0.1),
        (0.9, 0.5, 0.1, 0.1),
        (1, 0.1, 0.05, 0.1),
        (0.5, 0.5, 0.5, 0.1),
        (0.3, 0.2, 0.2, 0.5),
    ):
        for _ in range(600):
            await surroundings.cycle(arrive, take, clear, command)
    for _ in range(500):
        await surroundings.cycle(0, 1)
    assert not surroundings.inside and all(surroundings.seen.values()), surroundings.seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_stream_has_no_gaps(dut):
    """H3: a stream that was held up for any time goes on with a symbol in every cycle; one that was not passes in
    one cycle."""
    for stop in [*range(2 * BYPASS_ROOM + 4), 30]:
        surroundings = await start(dut)
        await surroundings.cycle(1, 0)
        for _ in range(stop):
            await surroundings.cycle(1, 0)
        await surroundings.cycle(1, 0)
        for _ in range(40):
            await surroundings.cycle(1, 1)
        cycles = [cycle for cycle, _ in surroundings.left]
        assert cycles == list(range(cycles[0], cycles[0] + 40)), (stop, cycles)
        assert all(cycle - came == stop + 1 for cycle, came in surroundings.left)


bench = Bench(__name__, {"bypass": Bypass}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_bypass(configuration, claim):
    bench.check(configuration, claim)
