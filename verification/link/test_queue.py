"""Bench of hdl/link/queue.py: order, content, room and time of a port's input queue."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from nectar.hdl.link.queue import QUEUE_DEPTH, SymbolQueue
from nectar.verification.bench import Bench, inside

CONFIGURATIONS = {"depth 2": (2, 9), "depth 8": (8, 9), "depth 13": (13, 10), "full size": (QUEUE_DEPTH, 9)}


class Reference:
    """The queue as a deque: an entry comes out three cycles after it went in, or one after the one before it left.

    ``step`` takes the inputs of a cycle and gives what the outputs must be in that same cycle.
    """

    def __init__(self, depth):
        self.depth = depth
        self.entries = deque()  # (first cycle in which it may be at the output, payload)
        self.cycle = 0

    def step(self, payload, push, ready, clear):
        """Returns (head or None, level, overflow) of this cycle and moves on to the next."""
        entries = self.entries
        head = entries[0][1] if entries and entries[0][0] <= self.cycle else None
        level = len(entries)
        overflow = push and level == self.depth
        if head is not None and ready:
            entries.popleft()
        if push and not overflow:
            entries.append((self.cycle + 3, payload))
        if clear:
            entries.clear()
        self.cycle += 1
        return head, level, overflow


async def start(dut):
    """Clock and reset; returns in the cycle in which the queue works."""
    dut.push__valid.value = dut.output__ready.value = dut.clear.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start(start_high=False)
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def drive(dut, reference, cycles, *, push, ready, clear=0.0):
    """Random inputs, each 1 with the given probability; every output is compared in every cycle."""
    width = len(dut.push__payload)
    seen = {"passed": 0, "lost": 0, "cleared": 0}
    for _ in range(cycles):
        payload = random.getrandbits(width)
        inputs = random.random() < push, random.random() < ready, random.random() < clear
        dut.push__payload.value = payload
        dut.push__valid.value, dut.output__ready.value, dut.clear.value = inputs
        await ReadOnly()
        head, level, overflow = reference.step(payload, *inputs)
        assert int(dut.output__valid.value) == (head is not None), f"cycle {reference.cycle}: valid"
        if head is not None:
            assert int(dut.output__payload.value) == head, f"cycle {reference.cycle}: payload"
        assert int(dut.level.value) == level, f"cycle {reference.cycle}: level"
        assert int(dut.overflow.value) == overflow, f"cycle {reference.cycle}: overflow"
        seen["passed"] += head is not None and inputs[1]
        seen["lost"] += overflow
        seen["cleared"] += inputs[2] and level > 0
        await RisingEdge(dut.clk)
    return seen


async def drain(dut, reference):
    """Takes out all that is left."""
    await drive(dut, reference, reference.depth + 3, push=0, ready=1)
    assert not reference.entries and int(dut.level.value) == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def random_traffic_keeps_order_and_content(dut):
    """docs/hub.md, input side 2: with idle cycles on both sides, nothing is lost unless the queue is full."""
    depth = CONFIGURATIONS[inside()][0]
    await start(dut)
    reference = Reference(depth)
    for push, ready in ((0.5, 0.5), (0.9, 0.3), (0.3, 0.9), (1, 0.5), (0.5, 1)):
        seen = await drive(dut, reference, 1500, push=push, ready=ready)
        assert seen["passed"] > 300
    await drain(dut, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_stream_moves_in_every_cycle(dut):
    """H3: bytes are pipelined; one symbol in and one out in each cycle, nothing lost, whatever the level."""
    await start(dut)
    depth = CONFIGURATIONS[inside()][0]
    reference = Reference(depth)
    # A queue of two entries is full with what is under way; with room for more a stream never meets a full queue.
    seen = await drive(dut, reference, 3000, push=1, ready=1)
    assert seen["lost"] == 0 and seen["passed"] >= 2997 if depth > 2 else seen["passed"] >= 1000
    await drain(dut, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_full_queue_drops_what_comes_and_keeps_what_it_has(dut):
    """docs/hub.md, input side 2: a symbol that finds the queue full is dropped, and said so."""
    depth = CONFIGURATIONS[inside()][0]
    await start(dut)
    reference = Reference(depth)
    seen = await drive(dut, reference, depth + 50, push=1, ready=0)
    assert seen["lost"] == 50 and len(reference.entries) == depth
    seen = await drive(dut, reference, 200, push=1, ready=0.5)
    assert seen["lost"] > 50
    await drain(dut, reference)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def clear_empties_the_queue_at_any_time(dut):
    """H21: the input buffers can be reset; what comes after that is not disturbed."""
    depth = CONFIGURATIONS[inside()][0]
    await start(dut)
    reference = Reference(depth)
    seen = await drive(dut, reference, 4000, push=0.7, ready=0.5, clear=0.05)
    assert seen["cleared"] > 50
    await drain(dut, reference)


bench = Bench(__name__, {name: lambda size=size: SymbolQueue(*size) for name, size in CONFIGURATIONS.items()})


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("depth 13",)))
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
