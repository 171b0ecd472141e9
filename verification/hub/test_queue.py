"""Bench of hdl/hub/queue.py: order, room, and what is not committed."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.queue import InputQueue
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.hdl.link.symbol import COMMAND_LENGTH
from nectar.verification.bench import Bench, inside
from nectar.verification.hub.lockstep import Lockstep

SIZES = {"4 symbols": 4, "13 symbols": 13, "31 symbols": 31, "full size": QUEUE_DEPTH}
IS_COMMAND = 1 << 16


class Model:
    """The queue as a deque. An entry is (payload, slots, first cycle in which it may be read)."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.committed = deque()
        self.open = []
        self.cycle = 0
        self.dropped = 0

    @property
    def used(self):
        """Slots in use."""
        return sum(slots for _, slots, _ in self.committed) + len(self.open)

    @property
    def readable(self):
        """Whether an entry can be read in this cycle."""
        return bool(self.committed) and self.committed[0][2] <= self.cycle

    def step(self, inputs):
        """What the outputs are in this cycle; then what the inputs do."""
        readable = self.readable
        shown = {"full": self.used == self.capacity, "valid": readable,
                 "oldest": self.committed[0][0] if readable else None}
        if inputs.get("cut"):
            self.dropped += len(self.open)
            self.open = []
        if inputs.get("write"):
            self.open.append(inputs["entry"])
            if inputs.get("first"):
                # A command for this HUB: one entry with the room of what it stands for.
                self.committed.append((inputs["entry"], len(self.open), self.cycle + 2))
                self.open = []
            elif inputs["commit"]:
                self.committed.extend((payload, 1, self.cycle + 2) for payload in self.open)
                self.open = []
        if inputs.get("pop"):
            self.committed.popleft()
        self.cycle += 1
        return shown


class Writer:
    """What a receiver does: symbols, commands, fragments; random pauses on both sides."""

    def __init__(self, write, pop):
        self.write, self.pop = write, pop
        self.place = 0  # symbols of a command that were written
        self.tag = 0

    def __call__(self, model):
        inputs = {"pop": model.readable and random.random() < self.pop}
        if random.random() >= self.write:
            return inputs
        if self.place and random.random() < 0.1:
            self.place = 0
            inputs["cut"] = True
            if model.used == model.capacity:
                return inputs
        if model.used == model.capacity:
            if self.place:
                self.place = 0
                inputs["cut"] = True
            return inputs
        self.tag = (self.tag + 1) & 0xFFFF
        inputs |= {"write": True, "entry": self.tag}
        if not self.place:
            self.place = random.random() < 0.3
            inputs["commit"] = not self.place
        elif self.place < COMMAND_LENGTH - 1:
            self.place += 1
            inputs["commit"] = False
        else:
            self.place = 0
            inputs["commit"] = True
            if random.random() < 0.5:
                inputs |= {"first": True, "entry": self.tag | IS_COMMAND}
        return inputs


async def start(dut):
    lockstep = Lockstep(dut, ["write", "entry", "first", "commit", "cut", "pop"])
    await lockstep.reset()
    return lockstep, Model(SIZES[inside()])


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order_and_shows_only_what_is_committed(dut):
    """H14: everything that was committed comes out in order two cycles later at the earliest; what is cut never does."""
    lockstep, model = await start(dut)
    for write, pop in ((1, 1), (0.9, 0.3), (0.3, 0.9), (1, 0), (0.5, 0.5), (0, 1)):
        await lockstep.run(model, Writer(write, pop), max(500, 2 * model.capacity))
    assert model.dropped > 10
    assert not model.committed and lockstep.read("valid") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def has_room_for_its_capacity_exactly(dut):
    """H14: 1024 bytes and 128 symbols more; the room of an entry is free in the cycle after it was taken."""
    lockstep, model = await start(dut)
    for turn in range(3):
        for n in range(model.capacity):
            await lockstep.step({"write": 1, "commit": 1, "entry": n + turn}, {"full": 0})
        await lockstep.step({}, {"full": 1})
        await lockstep.step({"pop": 1}, {"full": 1, "valid": 1})
        await lockstep.step({"write": 1, "commit": 1, "entry": 0xABC}, {"full": 0})
        for n in range(1, model.capacity):
            await lockstep.step({"pop": 1}, {"full": n == 1, "valid": 1, "oldest": n + turn})
        await lockstep.step({"pop": 1}, {"valid": 1, "oldest": 0xABC})
        await lockstep.step({}, {"valid": 0, "full": 0})


bench = Bench(__name__, {name: lambda capacity=capacity: InputQueue(capacity) for name, capacity in SIZES.items()},
              ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_queue(configuration, claim):
    bench.check(configuration, claim)
