"""Bench of hdl/host/gate.py: which edges pass, and what the clock looks like between them."""

import random

import cocotb
import pytest
from cocotb.triggers import Timer

from nectar.hdl.host.gate import ClockGate
from nectar.verification.bench import Bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def exactly_the_edges_that_are_wanted_pass(dut):
    """docs/cable.md: the wish may change at any time while the clock is high, as what comes from registers does, and
    no pulse is short for it."""
    dut.enable.value = 0
    dut.clk.value = 1
    await Timer(1, unit="ns")
    for _ in range(2000):
        wanted = random.getrandbits(1)
        before = int(dut.clock.value)
        for _ in range(3):  # it settles
            dut.enable.value = random.getrandbits(1)
            await Timer(1, unit="ns")
            assert int(dut.clock.value) == before
        dut.enable.value = wanted
        await Timer(1, unit="ns")
        dut.clk.value = 0
        for _ in range(3):
            await Timer(1, unit="ns")
            assert not int(dut.clock.value)
        dut.clk.value = 1
        await Timer(1, unit="ns")
        assert int(dut.clock.value) == wanted


bench = Bench(__name__, {"gate": ClockGate}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_gate(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
