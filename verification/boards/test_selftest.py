"""Bench of boards/selftest.py: passed on a good HUB, failed on each broken one."""

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import ClockCycles

from nectar.boards.interface import BoardInterface
from nectar.boards.selftest import SelftestTop
from nectar.verification.bench import Bench
from nectar.verification.boards.broken import FAULTS, BrokenHub
from nectar.verification.harness import begin

PORTS = 3
#: Packets that each port has to get; cycles in which it does; exponent of the patience.
ENOUGH, LONG, PATIENCE = 20, 6_000, 12


class WithBrokenHub(wiring.Component):
    """The self-test with a HUB that has the ``fault``, by number, or none."""

    fault: In(range(len(FAULTS) + 1))
    leds: Out(8)

    def elaborate(self, platform):
        m = Module()
        hub = BrokenHub(PORTS)
        m.submodules.top = top = SelftestTop(
            BoardInterface(leds=8), ports=PORTS, enough=ENOUGH, patience=PATIENCE, hub=hub
        )
        m.d.comb += [hub.fault.eq(self.fault), self.leds.eq(top.leds)]
        return m


async def lights(dut, cycles, fault=0):
    """After a reset and so many cycles: passed, failed, and the ports with something wrong."""
    await begin(dut, fault=fault)
    assert int(dut.leds.value) == 0
    await ClockCycles(dut.clk, cycles)
    leds = int(dut.leds.value)
    return bool(leds & 1), bool(leds & 2), leds >> 3


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_good_hub_passes_and_goes_on_passing(dut):
    """docs/boards.md, "selftest": the lights, soon after the start and much later."""
    for cycles in LONG, 40_000:
        assert await lights(dut, cycles) == (True, False, 0)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def it_has_not_passed_before_every_port_has_got_enough(dut):
    """Neither light is on while too few packets have come."""
    assert await lights(dut, 70 * ENOUGH) == (False, False, 0)


def _claim(number, fault):
    @cocotb.test(name=f"a_hub_fails_of_which_a_port_is_{fault.replace(' ', '_')}", timeout_time=10, timeout_unit="ms")
    async def fails(dut):
        """A fault at port 1, or at 0 and 1: failed, never passed again, and a port is lit."""
        passed, failed, ports = await lights(dut, 40_000, number)
        assert failed and not passed and ports
        if fault in ("flipped", "lost", "doubled", "start lost"):
            assert ports & 0b10

    return fails


for index, name in enumerate(FAULTS):
    globals()[f"fails_{index}"] = _claim(index + 1, name)

bench = Bench(__name__, {"3 ports": WithBrokenHub}, ports_only=True)
#: Names of the claims as cocotb knows them.
CLAIMS = [
    "a_good_hub_passes_and_goes_on_passing",
    "it_has_not_passed_before_every_port_has_got_enough",
    *(f"a_hub_fails_of_which_a_port_is_{fault.replace(' ', '_')}" for fault in FAULTS),
]


@pytest.mark.parametrize("claim", CLAIMS)
def test_selftest(claim):
    bench.check("3 ports", claim)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"ports": 1}, "a HUB has 2 to 128 ports, not 1"),
        ({"profile": "fast"}, "a HUB has no profile 'fast'"),
        ({"hub_id": 255}, "the ID of a HUB is 0 to 254, not 255"),
        ({"enough": 0}, "enough is 1 to 255 packets, not 0"),
    ],
)
def test_parameters_that_there_are_not_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SelftestTop(**parameters)
