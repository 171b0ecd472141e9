"""Bench of hdl/link/crossing.py: order and content between any two clocks."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

from nectar.hdl.link.crossing import FiberCrossing
from nectar.verification.bench import Bench
from nectar.verification.harness import FiberMonitor, FiberSink, FiberSource, RunningClock
from nectar.verification.link.channel import IDLE, random_symbols


class Losses:
    """Counts what is told to be lost."""

    def __init__(self, clock):
        self.clock = clock
        self.count = 0

    def drive(self):
        """It drives nothing."""

    def sample(self):
        """Looks at a cycle."""
        self.count += self.clock.pin("lost")


async def fresh(dut, board, line):
    """Both clocks and both resets."""
    for name in "board__tx__valid", "board__tx__payload", "fiber__rx__valid", "fiber__rx__payload", "fiber__tx__ready":
        getattr(dut, name).value = 0
    dut.rst.value = dut.line_rst.value = 1
    board.start()
    line.start()
    longer = max(board.period_ps, line.period_ps)
    await Timer(10 * longer, "ps")
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.line_clk)
    dut.line_rst.value = 0
    await Timer(10 * longer, "ps")


async def exchange(dut, board, line, arriving, leaving, pace=1.0, pauses=1.0):
    """Sends both ways, with clocks of these periods in ps; returns what arrived, what left, how many were lost."""
    board, line = RunningClock(dut, "clk", board), RunningClock(dut, "line_clk", line)
    await fresh(dut, board, line)
    arrived = board.attach(FiberMonitor(board, "board__rx"))
    left, lost = line.attach(FiberSink(line, "fiber__tx", pause=1 - pauses)), line.attach(Losses(line))
    coming = line.attach(FiberSource(line, "fiber__rx", pause=1 - pace))
    going = board.attach(FiberSource(board, "board__tx", pause=1 - pauses))
    coming.send(arriving)
    going.send(leaving)
    board.follow()
    line.follow()
    await coming.finish(100_000)
    await going.finish(100_000)
    await Timer(100 * max(board.period_ps, line.period_ps), "ps")
    board.stop()
    line.stop()
    return arrived.items, left.items, lost.count


def without_idles(symbols):
    """What is passed on."""
    return [symbol for symbol in symbols if symbol != IDLE]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def order_and_content_are_kept_both_ways(dut):
    """docs/serial.md, "Another clock": a board's clock faster than the line's, as fast, slower but not slower than
    symbols come."""
    for board, line, pace in (7000, 8000, 1.0), (70000, 8000, 0.08), (8002, 8000, 0.9), (3000, 10000, 1.0):
        arriving, leaving = random_symbols(150, idle=0.1), random_symbols(150, idle=0.1)
        arrived, left, lost = await exchange(
            dut, board, line, arriving, leaving, pace if line < board else 1.0, random.choice([1.0, 0.3])
        )
        assert left == without_idles(leaving)
        if pace == 0.08:  # chance may bring more at once than fits
            assert len(arrived) + lost == len(without_idles(arriving))
        else:
            assert (arrived, lost) == (without_idles(arriving), 0)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_finds_no_room_is_told(dut):
    """A board's clock that is too slow: what is lost is counted, what is not comes in order."""
    arriving = random_symbols(100)
    arrived, _, lost = await exchange(dut, 30000, 8000, arriving, [])
    rest = iter(arriving)
    assert lost > 20 and len(arrived) + lost == len(arriving) and all(symbol in rest for symbol in arrived)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_symbol_leaves_in_each_cycle_of_the_slower_clock(dut):
    """docs/serial.md, "Another clock": a board that always has a symbol, a fiber that always takes one."""
    for periods in (8000, 8000), (7000, 8000), (8000, 3000), (2000, 8000):
        board, line = RunningClock(dut, "clk", periods[0]), RunningClock(dut, "line_clk", periods[1])
        await fresh(dut, board, line)
        left = line.attach(FiberSink(line, "fiber__tx"))
        symbols = random_symbols(300, idle=0)
        board.attach(FiberSource(board, "board__tx")).send(symbols)
        board.follow()
        line.follow()
        await Timer(50 * max(periods), "ps")
        before = len(left.items)
        await Timer(100 * max(periods), "ps")
        board.stop()
        line.stop()
        assert 99 <= len(left.items) - before <= 101 and left.items == symbols[: len(left.items)], periods


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_fiber_that_stands_still_holds_the_board_up(dut):
    """docs/serial.md, "Another clock": nothing is lost, whatever the fiber does."""
    for periods in (8000, 8000), (2000, 8000), (9000, 2000):
        board, line = RunningClock(dut, "clk", periods[0]), RunningClock(dut, "line_clk", periods[1])
        await fresh(dut, board, line)
        stands = True
        left = line.attach(FiberSink(line, "fiber__tx", pause=lambda: stands))
        going = board.attach(FiberSource(board, "board__tx"))
        symbols = random_symbols(100, idle=0)
        going.send(symbols)
        board.follow()
        line.follow()
        await Timer(60 * max(periods), "ps")
        assert not left.items and 80 < len(going.queue) < 95
        stands = False
        await going.finish(100_000)
        await Timer(60 * max(periods), "ps")
        board.stop()
        line.stop()
        assert left.items == symbols


bench = Bench(__name__, {"crossing": FiberCrossing}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_crossing(configuration, claim):
    bench.check(configuration, claim)
