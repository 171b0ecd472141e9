"""Lockstep: inputs that fall back to 0, masks, resets, and the first difference told as it is."""

import random

import cocotb
import pytest

from nectar.hdl.cab.counter import Counter
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, StepClock, begin, in_each_cycle


class Model:
    """A counter of four bits; ``wrong``: the cycle in which it counts twice."""

    def __init__(self, wrong=None):
        self.value = self.cycle = 0
        self.wrong = wrong

    def step(self, inputs):
        shown = {"value": self.value}
        self.value = self.value + inputs["event"] + (self.cycle == self.wrong) & 15
        self.cycle += 1
        return shown


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_component_follows_its_model(dut):
    lockstep = Lockstep(dut, ["event"])
    await lockstep.start()
    await lockstep.follow(Model().step, ({"event": random.getrandbits(1)} for _ in range(200)))
    assert lockstep.cycles == 200
    await lockstep.reset({"event": 1})
    model = Model()
    await lockstep.follow(model.step, in_each_cycle(lambda model: {"event": model.value < 9}, model, 30))
    assert lockstep.cycles == 30 and lockstep.pin("value") == model.value == 9


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_first_difference_is_told(dut):
    """Cycle, output, what it is and what the model says."""
    lockstep = Lockstep(dut, ["event"])
    await lockstep.start()
    with pytest.raises(AssertionError, match=r"^cycle 6: value is 0x6, expected 0x7; inputs \{'event': 1\}"):
        await lockstep.follow(Model(wrong=5).step, [{"event": 1}] * 20)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_input_that_is_not_named_is_0_or_as_before(dut):
    """0 if the inputs were listed; without a list it keeps its value."""
    lockstep = Lockstep(dut, ["event"])
    await lockstep.start()
    for _ in range(3):
        await lockstep.step({"event": 1})
        await lockstep.step({})
    assert await lockstep.step({}, {"value": 3}, ["value"]) == [3]
    with pytest.raises(AssertionError, match="no such inputs: {'events'}"):
        await lockstep.step({"events": 1})
    keeps = Lockstep(dut)
    await keeps.start("event")
    await keeps.step({"event": 1})
    for value in (1, 2, 3):
        await keeps.step({}, {"value": value})


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pins_may_be_driven_and_read_together(dut):
    """A mask of pins."""
    lockstep = Lockstep(dut, ["both"], {"both": ["event", "rst"]})
    await lockstep.start()
    await lockstep.step({"both": 1})
    await lockstep.step({"both": 3}, {"value": 1, "both": 3})
    await lockstep.step({}, {"value": 0, "both": 0})


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_clock_counts_its_cycles(dut):
    """One by one, many at a time, behind a reset of one cycle; and a clock that runs by itself is started once."""
    clock = StepClock(dut)
    await clock.start("event")
    clock.drive(event=1)
    await clock.cycle()
    await clock.run(10)
    assert clock.cycles == clock.pin("value") == 11
    with pytest.raises(AssertionError, match="not within 20 cycles"):
        await clock.until(lambda: False, 20)
    await clock.reset()
    assert clock.pin("value") == 0
    for _ in range(2):
        await begin(dut, event=0)
        assert clock.pin("value") == 0


bench = Bench(__name__, {"4 bits": lambda: Counter(4)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_lockstep(configuration, claim):
    bench.check(configuration, claim)
