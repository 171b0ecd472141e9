"""Bench of hdl/link/elastic.py: nothing lost, no run torn, between clocks that differ."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

from nectar.hdl.link.elastic import ElasticBuffer
from nectar.verification.bench import Bench
from nectar.verification.harness import begin, ports

#: Cycles of a symbol's time in these benches; on a fiber there are ten or more.
SLOT = 8


class Reference:
    """docs/serial.md, "Elastic buffer". ``step`` takes what comes in a cycle; returns (overflow in this cycle, what
    is at the output in the next)."""

    def __init__(self):
        self.entries, self.over = deque(), True

    def step(self, push, idle, slot):
        """``push``: a symbol or None."""
        entries = self.entries
        leaves = None
        level = len(entries)
        if slot and entries and (not entries[0][1] or self.over or level >= 2):
            leaves = entries.popleft()[0]
        overflow = push is not None and level == 8
        if push is not None and not overflow:
            entries.append((push, self.over))
            self.over = False
        self.over = self.over or idle
        return overflow, leaves


async def step(dut, reference, push, idle, slot):
    """One cycle; returns what leaves behind it."""
    pins = ports(dut)
    pins.push__valid.value = push is not None
    pins.push__payload.value = random.getrandbits(9) if push is None else push
    pins.idle.value, pins.slot.value = idle, slot
    overflow, leaves = reference.step(push, idle, slot)
    await Timer(1, "ns")
    assert bool(pins.overflow.value) == overflow
    await FallingEdge(dut.clk)
    assert bool(pins.output__valid.value) == (leaves is not None)
    assert leaves is None or pins.output__payload.value == leaves
    return overflow, leaves


async def fresh(dut):
    """After a reset."""
    await begin(dut, push__valid=0, push__payload=0, idle=0, slot=0)
    assert not dut.output__valid.value, "nothing of before the reset leaves behind it"
    return Reference()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_traffic_keeps_order_and_content(dut):
    """docs/serial.md, "Elastic buffer": whatever comes at whatever pace, each output is that of the model; what
    finds no room is told."""
    reference, lost = await fresh(dut), 0
    for _ in range(40):
        push, idle, slot = (random.choice([0.1, 0.5, 0.9]) for _ in range(3))
        for _ in range(60):
            symbol = random.getrandbits(9) if random.random() < push else None
            overflow, _ = await step(dut, reference, symbol, random.random() < idle * 0.3, random.random() < slot)
            lost += overflow
    assert lost > 10


async def stream(dut, ppm, runs, idles):
    """Sends runs of so many symbols, so many idles behind each, from a clock that is faster by ``ppm``. Returns
    (cycle, symbol) of all that left and of all that came."""
    reference = await fresh(dut)
    period = SLOT / (1 + ppm * 1e-6)
    words = [word for number, run in enumerate(runs) for word in [*((number, n) for n in range(run)), *[None] * idles]]
    start, phase = random.uniform(0, SLOT), random.randrange(SLOT)
    arrivals = {int(start + n * period): n for n in range(len(words))}
    left, names = [], deque()
    for cycle in range(int(start + len(words) * period) + 8 * SLOT):
        n = arrivals.get(cycle)
        word = words[n] if n is not None else None
        if word is not None:
            names.append(word)
        overflow, leaves = await step(
            dut,
            reference,
            None if word is None else word[1] & 511,
            n is not None and word is None,
            cycle % SLOT == phase,
        )
        assert not overflow, f"{ppm} ppm: lost in run {word}"
        if leaves is not None:
            name = names.popleft()
            assert name[1] & 511 == leaves
            left.append((cycle, name))
    assert not names
    return left


def check_runs(left):
    """No idle between two symbols of a run."""
    for (one, name), (other, following) in zip(left, left[1:], strict=False):
        assert name[0] != following[0] or other - one == SLOT, f"torn between {name} and {following}"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_run_of_4500_symbols_is_neither_torn_nor_lost(dut):
    """docs/serial.md, "Elastic buffer": at 200 ppm either way."""
    for ppm in 200, -200:
        check_runs(await stream(dut, ppm, [4500], 2))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def full_rate_is_kept_for_ever(dut):
    """Runs as a sender makes them, scaled: 2046 symbols at 200 ppm are 200 at 2046 ppm; so many that a symbol gained
    or lost in each would be seen."""
    for ppm in 2046, -2046:
        left = await stream(dut, ppm, [200] * 12, 2)
        check_runs(left)
        assert len(left) == 12 * 200


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def short_runs_and_lone_symbols_leave_at_once(dut):
    """A symbol between idles waits for no other: it leaves within three symbols' times."""
    for ppm in 200, -200:
        runs = [random.choice([1, 1, 2, 3, 10]) for _ in range(150)]
        left = await stream(dut, ppm, runs, random.choice([1, 3]))
        check_runs(left)
        assert len(left) == sum(runs)
    reference = await fresh(dut)
    entered = None
    for cycle in range(5 * SLOT):
        push, idle = cycle == 5, cycle == 5 + SLOT
        entered = cycle if push else entered
        _, leaves = await step(dut, reference, 77 if push else None, idle, cycle % SLOT == 0)
        if leaves is not None:
            assert cycle - entered <= 3 * SLOT
            return
    assert False, "it never left"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_of_one_cycle_empties_it(dut):
    """What was inside is forgotten, also what was about to leave in that very cycle."""
    await fresh(dut)
    for _ in range(20):
        reference = Reference()
        for _ in range(random.randrange(12)):
            await step(dut, reference, random.getrandbits(9), random.random() < 0.2, random.random() < 0.3)
        dut.push__valid.value, dut.slot.value, dut.rst.value = 0, 1, 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        assert not dut.output__valid.value


bench = Bench(__name__, {"buffer": ElasticBuffer}, ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("a_run_of_4500_symbols_is_neither_torn_nor_lost",))
)
def test_elastic_buffer(configuration, claim):
    bench.check(configuration, claim)
