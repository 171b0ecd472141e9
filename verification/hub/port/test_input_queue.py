"""Bench of hdl/hub/port/input_queue.py: order, room, what is not committed, and what is thrown away."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.input_queue import InputQueue
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.hdl.link.symbol import COMMAND_LENGTH
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.specs.input_queue import InputQueueSpec
from nectar.verification.specs.spec import Follower

SIZES = {"9 symbols": 9, "13 symbols": 13, "31 symbols": 31, "full size": QUEUE_DEPTH}


class Model:
    """How many entries there are, as specified, and the entries."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.spec = Follower(InputQueueSpec(capacity))
        self.entries = deque()
        self.open = {}
        self.seen = {"cleared": 0, "commands": 0, "cleared while one commits": 0}

    @property
    def room(self):
        """Entries for which there is room."""
        return self.capacity - len(self.entries)

    @property
    def readable(self):
        """Whether the oldest entry is offered."""
        return bool(self.spec.state.valid)

    def step(self, inputs):
        """What the outputs are in this cycle; then what the inputs do."""
        shown = self.spec.step(inputs)
        shown["oldest"] = self.entries[0] if shown["valid"] else None
        if inputs.get("pop"):
            self.entries.popleft()
        if inputs.get("clear"):
            self.seen["cleared"] += bool(self.entries)
            self.seen["cleared while one commits"] += bool(
                self.entries and inputs.get("commit") and inputs.get("write")
            )
            self.entries.clear()
        if inputs.get("write"):
            place = 0 if inputs.get("first") else inputs["offset"]
            self.open[place] = inputs["entry"]
            if inputs["commit"]:
                self.entries.extend(self.open[n] for n in range(place + 1))
                self.seen["commands"] += place > 0
                self.open = {}
        return shown


class Writer:
    """What a decoder does: symbols, commands of two or four entries, fragments; random pauses on both sides."""

    def __init__(self, write, pop, clear=0.0):
        self.write, self.pop, self.clear = write, pop, clear
        self.place = 0  # entries of a command that were written
        self.own = False
        self.tag = 0

    def __call__(self, model):
        inputs = {"pop": model.readable and random.random() < self.pop, "clear": random.random() < self.clear}
        if random.random() >= self.write:
            return inputs
        if self.place and random.random() < 0.1:
            self.place = 0
        if not self.place and not model.room:
            return inputs
        self.tag = (self.tag + 1) & 0x1FF
        inputs |= {"write": True, "entry": self.tag, "offset": self.place, "commit": False}
        if not self.place:
            if random.random() < 0.3 and model.room >= COMMAND_LENGTH:
                self.place = 1
                self.own = random.random() < 0.5
            else:
                inputs["commit"] = True
        elif self.own and self.place == 2:
            inputs["offset"] = 0  # the first entry is written over
            self.place += 1
        elif self.place == COMMAND_LENGTH - 1:
            inputs |= {"commit": True, "offset": 1 if self.own else COMMAND_LENGTH - 1}
            inputs["clear"] &= self.own
            self.place = 0
        else:
            self.place += 1
        inputs["amount"] = inputs["offset"] + 1 if inputs["commit"] else random.randint(1, COMMAND_LENGTH)
        if not inputs["offset"] and random.random() < 0.5:
            inputs |= {"first": True, "offset": random.randrange(COMMAND_LENGTH)}
        return inputs


async def start(dut):
    lockstep = Lockstep(dut, ["write", "entry", "offset", "first", "commit", "amount", "clear", "pop"])
    await lockstep.start()
    return lockstep, Model(SIZES[inside()])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def keeps_order_and_shows_only_what_is_committed(dut):
    """H14: everything that was committed comes out in order two cycles later at the earliest; what is cut never
    does."""
    lockstep, model = await start(dut)
    for write, pop in ((1, 1), (0.9, 0.3), (0.3, 0.9), (1, 0), (0.5, 0.5), (0, 1)):
        await lockstep.follow(model.step, in_each_cycle(Writer(write, pop), model, max(2000, 2 * model.capacity)))
    assert model.seen["commands"] > 10, model.seen
    assert not model.entries and lockstep.pin("valid") == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def throws_away_what_was_there_before(dut):
    """H21, docs/hub.md, "Flush": what was committed before goes; what is committed in the same cycle stays."""
    lockstep, model = await start(dut)
    for write, pop, clear in ((1, 1, 0.1), (0.9, 0.3, 0.05), (1, 0.1, 0.01), (0.5, 0.5, 0.5), (0, 1, 0)):
        await lockstep.follow(
            model.step, in_each_cycle(Writer(write, pop, clear), model, max(2000, 2 * model.capacity))
        )
    assert all(model.seen.values()), model.seen
    assert not model.entries


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def has_room_for_its_capacity_exactly(dut):
    """H14: 1024 bytes and 128 symbols more; the room of an entry is free in the cycle after it was taken."""
    lockstep, model = await start(dut)
    for turn in range(3):
        for n in range(model.capacity):
            await lockstep.step(
                {"write": 1, "commit": 1, "offset": 0, "amount": 1, "entry": n + turn & 0x1FF},
                {"full": 0, "tight": model.capacity - n < COMMAND_LENGTH},
            )
        await lockstep.step({}, {"full": 1, "tight": 1})
        await lockstep.step({"pop": 1}, {"full": 1, "valid": 1})
        await lockstep.step({"write": 1, "commit": 1, "offset": 0, "amount": 1, "entry": 0xAB}, {"full": 0, "tight": 1})
        for n in range(1, model.capacity):
            await lockstep.step({"pop": 1}, {"full": n == 1, "valid": 1, "oldest": n + turn & 0x1FF})
        await lockstep.step({"pop": 1}, {"valid": 1, "oldest": 0xAB})
        await lockstep.step({}, {"valid": 0, "full": 0, "empty": 1})


bench = Bench(
    __name__,
    {name: lambda capacity=capacity: InputQueue(capacity) for name, capacity in SIZES.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("9 symbols", "31 symbols")))
def test_input_queue(configuration, claim):
    bench.check(configuration, claim)
