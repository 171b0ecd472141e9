"""Bench of hdl/link/crossing.py: order and content between any two clocks."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from nectar.hdl.link.crossing import FiberCrossing
from nectar.verification.bench import Bench
from nectar.verification.link.channel import IDLE
from nectar.verification.link.lines import random_symbols


async def fresh(dut, board, line):
    """Both clocks, with these periods in ps, and both resets."""
    for name in "board__tx__valid", "board__tx__payload", "fiber__rx__valid", "fiber__rx__payload", "fiber__tx__ready":
        getattr(dut, name).value = 0
    dut.rst.value = dut.line_rst.value = 1
    clocks = [
        cocotb.start_soon(Clock(clock, period, unit="ps").start())
        for clock, period in ((dut.clk, board), (dut.line_clk, line))
    ]
    await Timer(10 * max(board, line), "ps")
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.line_clk)
    dut.line_rst.value = 0
    await Timer(10 * max(board, line), "ps")
    return clocks


async def offer(clock, valid, payload, ready, symbols, probability):
    """Gives symbols with pauses; ``ready`` may be None: then none can be refused."""
    await RisingEdge(clock)
    for symbol in symbols:
        while random.random() >= probability:
            valid.value = 0
            await RisingEdge(clock)
        valid.value, payload.value = 1, symbol
        while True:
            await FallingEdge(clock)
            taken = ready is None or bool(ready.value)
            await RisingEdge(clock)
            if taken:
                break
    valid.value = 0


async def collect(clock, valid, payload, ready, probability, into, lost=None):
    """Takes symbols for ever; counts in ``lost`` what is told to be lost."""
    await RisingEdge(clock)
    while True:
        if ready is not None:
            ready.value = random.random() < probability
        await FallingEdge(clock)
        if valid.value and (ready is None or ready.value):
            into.append(int(payload.value))
        if lost is not None:
            lost[0] += int(lost[1].value)
        await RisingEdge(clock)


async def exchange(dut, board, line, arriving, leaving, pace=1.0, pauses=1.0):
    """Sends both ways; returns what arrived, what left, how many were lost."""
    clocks = await fresh(dut, board, line)
    arrived, left, lost = [], [], [0, dut.lost]
    tasks = [
        cocotb.start_soon(collect(dut.clk, dut.board__rx__valid, dut.board__rx__payload, None, 1, arrived)),
        cocotb.start_soon(
            collect(
                dut.line_clk, dut.fiber__tx__valid, dut.fiber__tx__payload, dut.fiber__tx__ready, pauses, left, lost
            )
        ),
    ]
    ways = [
        cocotb.start_soon(offer(dut.line_clk, dut.fiber__rx__valid, dut.fiber__rx__payload, None, arriving, pace)),
        cocotb.start_soon(
            offer(dut.clk, dut.board__tx__valid, dut.board__tx__payload, dut.board__tx__ready, leaving, pauses)
        ),
    ]
    for way in ways:
        await way
    await Timer(100 * max(board, line), "ps")
    for task in [*tasks, *clocks]:
        task.cancel()
    return arrived, left, lost[0]


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


bench = Bench(__name__, {"crossing": FiberCrossing}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_crossing(configuration, claim):
    bench.check(configuration, claim)
