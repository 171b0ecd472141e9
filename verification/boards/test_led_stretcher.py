"""Bench of boards/led_stretcher.py."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from nectar.boards.led_stretcher import LedStretcher
from nectar.verification.bench import Bench
from nectar.verification.harness import begin

BITS = 4


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def it_is_on_for_as_long_as_it_says_after_the_last_event(dut):
    """On from the second cycle behind an event, for 2**bits cycles."""
    await begin(dut, cycles=1, event=0)
    since, next_event = None, False
    for _ in range(3000):
        event, next_event = next_event, random.random() < random.choice([0.01, 0.1])
        dut.event.value = next_event
        await FallingEdge(dut.clk)
        since = 0 if event else None if since is None else since + 1
        assert int(dut.light.value) == (since is not None and since < 2**BITS), since


bench = Bench(__name__, {"4 bits": lambda: LedStretcher(BITS)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_led_stretcher(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize("bits", [0, 33])
def test_a_light_of_another_length_is_refused(bits):
    with pytest.raises(ValueError, match=rf"a light glows for 2\*\*1 to 2\*\*32 cycles, not 2\*\*{bits}"):
        LedStretcher(bits)
