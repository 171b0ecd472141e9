"""Bench of hdl/link/queue.py: order, content, room and time of a port's input queue."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.link.queue import QUEUE_DEPTH, SymbolQueue
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.specs.queue import QueueSpec
from nectar.verification.specs.spec import Follower

CONFIGURATIONS = {"depth 2": (2, 9), "depth 8": (8, 9), "depth 13": (13, 10), "full size": (QUEUE_DEPTH, 9)}


class Reference:
    """How many entries there are, as specified, and the entries. ``step`` gives the outputs of a cycle."""

    def __init__(self, depth):
        self.depth = depth
        self.spec = Follower(QueueSpec(depth))
        self.entries = deque()

    def step(self, payload, push, ready, clear):
        """Returns (head or None, level, overflow) of this cycle and moves on to the next."""
        entries, shown = self.entries, self.spec.step({"push__valid": push, "output__ready": ready, "clear": clear})
        head = entries[0] if shown["output__valid"] else None
        if head is not None and ready:
            entries.popleft()
        if shown["stores"]:
            entries.append(payload)
        if clear:
            entries.clear()
        return head, shown["level"], shown["overflow"]


async def start(dut):
    """Clock and reset; returns the queue in the cycle in which it works, and its model."""
    lockstep = Lockstep(dut, ["push__payload", "push__valid", "output__ready", "clear"])
    await lockstep.start()
    return lockstep, Reference(CONFIGURATIONS[inside()][0])


async def drive(lockstep, reference, cycles, *, push, ready, clear=0.0):
    """Random inputs, each 1 with the given probability; every output is compared in every cycle."""
    width = CONFIGURATIONS[inside()][1]
    seen = {"passed": 0, "lost": 0, "cleared": 0}
    for _ in range(cycles):
        payload = random.getrandbits(width)
        inputs = random.random() < push, random.random() < ready, random.random() < clear
        head, level, overflow = reference.step(payload, *inputs)
        await lockstep.step(
            {
                "push__payload": payload,
                "push__valid": inputs[0],
                "output__ready": inputs[1],
                "clear": inputs[2],
            },
            {"output__valid": head is not None, "output__payload": head, "level": level, "overflow": overflow},
        )
        seen["passed"] += head is not None and inputs[1]
        seen["lost"] += overflow
        seen["cleared"] += inputs[2] and level > 0
    return seen


async def drain(lockstep, reference):
    """Takes out all that is left."""
    await drive(lockstep, reference, reference.depth + 3, push=0, ready=1)
    assert not reference.entries and lockstep.pin("level") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def random_traffic_keeps_order_and_content(dut):
    """docs/hub.md, input side 2: with idle cycles on both sides, nothing is lost unless the queue is full."""
    lockstep, reference = await start(dut)
    for push, ready in ((0.5, 0.5), (0.9, 0.3), (0.3, 0.9), (1, 0.5), (0.5, 1)):
        seen = await drive(lockstep, reference, 1500, push=push, ready=ready)
        assert seen["passed"] > 300
    await drain(lockstep, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_stream_moves_in_every_cycle(dut):
    """H3: bytes are pipelined; one symbol in and one out in each cycle, nothing lost, whatever the level."""
    lockstep, reference = await start(dut)
    depth = reference.depth
    # A queue of two entries is full with what is under way; with room for more a stream never meets a full queue.
    seen = await drive(lockstep, reference, 3000, push=1, ready=1)
    assert seen["lost"] == 0 and seen["passed"] >= 2997 if depth > 2 else seen["passed"] >= 1000
    await drain(lockstep, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_full_queue_drops_what_comes_and_keeps_what_it_has(dut):
    """docs/hub.md, input side 2: a symbol that finds the queue full is dropped, and said so."""
    lockstep, reference = await start(dut)
    depth = reference.depth
    seen = await drive(lockstep, reference, depth + 50, push=1, ready=0)
    assert seen["lost"] == 50 and len(reference.entries) == depth
    seen = await drive(lockstep, reference, 200, push=1, ready=0.5)
    assert seen["lost"] > 50
    await drain(lockstep, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def clear_empties_the_queue_at_any_time(dut):
    """H21: the input buffers can be reset; what comes after that is not disturbed."""
    lockstep, reference = await start(dut)
    seen = await drive(lockstep, reference, 4000, push=0.7, ready=0.5, clear=0.05)
    assert seen["cleared"] > 50
    await drain(lockstep, reference)


bench = Bench(__name__, {name: lambda size=size: SymbolQueue(*size) for name, size in CONFIGURATIONS.items()})


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("depth 13", "depth 8")))
def test_symbol_queue(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((1, 9), "depth must be at least 2, not 1"),
        ((0, 9), "depth must be at least 2, not 0"),
        ((8, 0), "width must be at least 1, not 0"),
    ],
)
def test_a_queue_without_room_is_refused(arguments, message):
    """A queue that could hold nothing is a mistake of the caller."""
    with pytest.raises(ValueError, match=message):
        SymbolQueue(*arguments)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("8", 9), "depth must be an integer, not '8'"),
        ((8, 9.0), "width must be an integer, not 9.0"),
    ],
)
def test_sizes_are_integers(arguments, message):
    """Half a symbol cannot be stored."""
    with pytest.raises(TypeError, match=message):
        SymbolQueue(*arguments)
