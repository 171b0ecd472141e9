"""Bench of boards/clocktree.py without a PLL: when the resets end. What PLLs are set to is in test_clocks.py."""

import cocotb
import pytest
from amaranth.hdl import ClockSignal, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from nectar.boards.clocks import Clocks
from nectar.boards.clocktree import ClockTree
from nectar.verification.bench import Bench

#: Cycles of 20 us.
WAIT = 240


class Board(wiring.Component):
    """An oscillator of 12 MHz and a button, and what comes of them."""

    oscillator: In(1)
    button: In(1)
    sync_reset: Out(1)
    line_reset: Out(1)
    same: Out(1, init=1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.tree = tree = ClockTree("ice40", Clocks(12_000_000, 12_000_000), 12_000_000)
        m.domains += tree.domains()
        m.d.comb += [
            tree.oscillator.eq(self.oscillator),
            tree.reset.eq(self.button),
            self.sync_reset.eq(ResetSignal("sync")),
            self.line_reset.eq(ResetSignal("line")),
            self.same.eq((ClockSignal("sync") == self.oscillator) & (ClockSignal("line") == self.oscillator)),
        ]
        return m


async def ends(dut):
    """Cycles until both resets have ended, which they do within three of each other."""
    for cycle in range(2 * WAIT):
        await RisingEdge(dut.oscillator)
        states = int(dut.sync_reset.value), int(dut.line_reset.value)
        assert int(dut.same.value)
        if states == (0, 0):
            return cycle
    raise AssertionError("a reset never ends")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def resets_last_20_us_after_the_start_and_after_the_button(dut):
    """Boards start by themselves; the button starts them again, whenever it is pressed."""
    dut.button.value = 0
    Clock(dut.oscillator, 80, unit="ns").start()
    assert WAIT <= await ends(dut) <= WAIT + 10
    for pressed in 1, 7, 500:
        dut.button.value = 1
        for cycle in range(max(pressed, 6)):
            await RisingEdge(dut.oscillator)
            if cycle + 1 >= pressed:
                dut.button.value = 0
        assert int(dut.sync_reset.value) and int(dut.line_reset.value)
        assert WAIT - 10 <= await ends(dut) <= WAIT + 10


bench = Bench(__name__, {"12 MHz": Board}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_clocktree(configuration, claim):
    bench.check(configuration, claim)
