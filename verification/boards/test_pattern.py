"""Bench of boards/pattern.py: the bytes are those of the plain function, and packets differ."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from nectar.boards.pattern import LENGTH, Pattern, pattern
from nectar.verification.bench import Bench
from nectar.verification.harness import start_clock


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_bytes_are_those_of_the_function_whatever_the_pauses(dut):
    """Also for the packet whose bytes would all be 0."""
    start_clock(dut.clk)
    for source, number in [(0xE1, 0xAC), (0, 0), *((random.randrange(256), random.randrange(256)) for _ in range(20))]:
        dut.source.value, dut.number.value, dut.start.value, dut.step.value = source, number, 1, random.getrandbits(1)
        await FallingEdge(dut.clk)
        dut.start.value = 0
        for byte in pattern(source, number)[2:]:
            dut.step.value = 0
            for _ in range(random.choice([0, 0, 1, 3])):
                await FallingEdge(dut.clk)
            assert int(dut.byte.value) == byte
            dut.step.value = 1
            await FallingEdge(dut.clk)


bench = Bench(__name__, {"the one": Pattern}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_pattern(configuration, claim):
    bench.check(configuration, claim)


def test_packets_differ_and_use_many_bytes():
    packets = {tuple(pattern(source, number)[2:]) for source in range(16) for number in range(256)}
    assert len(packets) == 16 * 256
    assert all(len(set(packet)) > LENGTH // 4 for packet in packets)
