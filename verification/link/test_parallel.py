"""Bench of hdl/link/parallel.py: order and content by any neighbour's clock, and what a cable does that is pulled."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

from nectar.hdl.link.parallel import ParallelPhy
from nectar.verification.bench import Bench
from nectar.verification.harness import FiberMonitor, FiberSource, RunningClock, StepClock, begin
from nectar.verification.link.channel import IDLE, random_symbols

#: Period of the board's clock, ps.
PERIOD = 10000


async def fresh(dut):
    """After a reset, with no neighbour."""
    await begin(dut, fiber__tx__valid=0, fiber__tx__payload=0, wires__rx_data=IDLE, wires__rx_strobe=0, clear=0)


async def neighbour(dut, symbols, half):
    """Sends symbols; the strobe changes every ``half`` ps, the data with its falling edge."""
    for symbol in symbols:
        dut.wires__rx_strobe.value, dut.wires__rx_data.value = 0, symbol
        await Timer(half, "ps")
        dut.wires__rx_strobe.value = 1
        await Timer(half, "ps")


def watch(dut):
    """A monitor of what the board is given, and the clock that it follows until that is stopped."""
    clock = RunningClock(dut)
    monitor = clock.attach(FiberMonitor(clock, "fiber__rx"))
    clock.follow()
    return clock, monitor.items


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_the_neighbour_sends_arrives_by_any_clock(dut):
    """docs/serial.md, "Nine wires and a strobe": its clock slower, 200 ppm off, almost twice as fast; nothing is
    lost, idles are dropped."""
    for half in 43000, 10002, 9998, 10000, 5300:
        await fresh(dut)
        symbols = random_symbols(200, idle=0.1)
        clock, arrived = watch(dut)
        await Timer(random.randrange(PERIOD), "ps")
        await neighbour(dut, [*[IDLE] * 8, *symbols, *[IDLE] * 4], half)
        await Timer(10 * PERIOD, "ps")
        clock.stop()
        assert arrived == [symbol for symbol in symbols if symbol != IDLE], half
        assert dut.lost.value == 0


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_the_board_sends_stands_around_the_strobe(dut):
    """The data are the same a cycle before each rising edge and a cycle behind it; each symbol once, idles where
    there was none; the strobe always runs."""
    for probability in 1, 0.3:
        clock = StepClock(dut)
        source = clock.attach(
            FiberSource(clock, "fiber__tx", pause=1 - probability, fill=lambda: random.getrandbits(9))
        )
        taken, strobes = clock.attach(FiberMonitor(clock, "fiber__tx")).items, []
        clock.drive(wires__rx_data=IDLE, wires__rx_strobe=0)
        await clock.start("fiber__tx__valid", "fiber__tx__payload", "clear")
        source.send(random_symbols(100))
        said, data, rest = [], [], 10
        while rest:
            await clock.cycle()
            strobes.append(clock.pin("wires__tx_strobe"))
            data.append(clock.pin("wires__tx_data"))
            if len(strobes) > 1:
                assert strobes[-1] != strobes[-2]
                if strobes[-1] and len(strobes) > 2:
                    assert data[-1] == data[-2]
                    said.append(data[-1])
            rest -= source.idle
        assert len(taken) == 100 and [symbol for symbol in said if symbol != IDLE] == taken
        if probability == 1:
            assert said[said.index(taken[0]) :][:100] == taken, "full rate"


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_cable_may_be_pulled_and_plugged_at_any_time(dut):
    """It is seen within 20 cycles that the strobe stands still; what comes after it runs again is delivered."""
    await fresh(dut)
    clock, arrived = watch(dut)
    for level in 0, 1, 0:
        assert dut.up.value == 0
        symbols = random_symbols(50)
        await neighbour(dut, [*[IDLE] * 6, *symbols, *[IDLE] * 4], 10100)
        assert dut.up.value == 1
        dut.wires__rx_strobe.value = level
        for _ in range(12):
            await FallingEdge(dut.clk)
        assert dut.up.value == 1, "it is not called silent between two strobes of a slow neighbour"
        for _ in range(14):
            await FallingEdge(dut.clk)
        assert dut.up.value == 0 and arrived == symbols
        arrived.clear()
    clock.stop()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_finds_no_room_is_told(dut):
    """A neighbour that gets far more than twice as fast."""
    await fresh(dut)
    symbols = random_symbols(100)
    clock, arrived = watch(dut)
    await neighbour(dut, [IDLE] * 8, 10000)
    await neighbour(dut, [*symbols, *[IDLE] * 60], 1300)
    clock.stop()
    rest = iter(symbols)
    assert dut.lost.value == 1 and len(arrived) < 100 and all(symbol in rest for symbol in arrived)
    await FallingEdge(dut.clk)
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    dut.clear.value = 0
    await FallingEdge(dut.clk)
    assert dut.lost.value == 0


bench = Bench(__name__, {"wires": ParallelPhy}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_parallel_phy(configuration, claim):
    bench.check(configuration, claim)
