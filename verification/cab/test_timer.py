"""Bench of hdl/cab/timer.py: the count, the alarm, and that edges left out change nothing."""

import random

import cocotb
import pytest

from nectar.hdl.cab.timer import Timer
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock, lockstep

WORD = 0xFFFF_FFFF
INPUTS = ("slept", "timer_compare__write", "timer_compare__data", "timer_stop__write", "timer_stop__data",
          "timer_now__read", "timer_compare__read")


class Reference:
    """The timer in plain numbers that never wrap: when it fires is known when it is armed."""

    def __init__(self):
        self.now = 0           # clock edges since reset, slept ones too
        self.compare = 0       # what the register shows
        self.due = None        # the count at which it fires

    def step(self, inputs):
        """See ``lockstep``. ``slept`` comes behind a register: those edges precede this cycle."""
        self.now += inputs["slept"]
        fired = self.due is not None and self.now >= self.due
        if self.due is None:
            wake_in = WORD
        else:
            wake_in = max(self.due - self.now - 1, 0)
        outputs = {"timer_now__value": self.now & WORD, "timer_compare__value": self.compare, "fired": fired,
                   "wake_in": wake_in}
        if fired or inputs.get("timer_stop__write"):
            self.due = None
        if inputs.get("timer_compare__write"):
            self.compare = inputs["timer_compare__data"]
            ahead = (self.compare - self.now) & WORD
            self.due = self.now + (ahead if ahead <= 1 << 31 else ahead - (1 << 32))
        self.now += 1
        return outputs


def arm(reference, ahead):
    """Inputs that arm the timer ``ahead`` cycles from this one."""
    return {"timer_compare__write": 1, "timer_compare__data": reference.now + ahead & WORD}


QUIET = {"timer_compare__write": 0, "timer_stop__write": 0, "slept": 0}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def it_fires_once_when_the_count_is_reached(dut):
    """docs/cab.md, timer: armed for the near future, for now and for the past; rearmed and stopped at any time."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    fired = 0

    def step(inputs):
        nonlocal fired
        outputs = reference.step(inputs)
        fired += outputs["fired"]
        return outputs

    def stimuli():
        for _ in range(5000):
            kind = random.random()
            if kind < 0.06:
                yield QUIET | arm(reference, random.choice([0, 1, 2, 3, 10, 40, -1, -5, -1000, 2 - (1 << 31)]))
            elif kind < 0.08:
                yield QUIET | {"timer_stop__write": 1}
            elif kind < 0.10:
                yield QUIET | {"timer_compare__data": random.getrandbits(32), "timer_stop__data": 1}
            else:
                yield QUIET

    await lockstep(clock, step, stimuli())
    assert fired > 100


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_clock_may_stop_as_long_as_wake_in_says(dut):
    """docs/cab.md, stand-by: leaving out at most wake_in edges, the timer fires at the same count; TIMER_NOW misses
    none."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    fired = []
    allowed = 0

    def step(inputs):
        nonlocal allowed
        due = reference.due
        outputs = reference.step(inputs)
        if outputs["fired"]:
            assert reference.now - 1 == due, "late"
            fired.append(due)
        # While software arms the timer the clock runs.
        allowed = 0 if inputs["timer_compare__write"] else min(outputs["wake_in"], 1 << 25 if due is None else WORD)
        return outputs

    armed = 0
    for _ in range(3000):
        given = dict(QUIET)
        if reference.due is None and random.random() < 0.3:
            given |= arm(reference, random.choice([1, 2, 5, 100, 1 << 20, (1 << 31) - 1, 1 << 31]))
            armed += 1
        # These edges lie before the one that began this cycle: wake_in of the cycle before allows them.
        given["slept"] = random.choice([0, random.randint(0, allowed), allowed])
        if given["timer_compare__write"]:
            given["timer_compare__data"] = given["timer_compare__data"] + given["slept"] & WORD
        await lockstep(clock, step, [given])
    assert armed - len(fired) <= 1 and len(fired) > 200


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_overslept_alarm_is_not_lost(dut):
    """A board that is woken too late by something else fires at once."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    for late in (1, 7, 1 << 30):
        await lockstep(clock, reference.step, [QUIET | arm(reference, 50), QUIET])
        assert reference.due is not None
        await lockstep(clock, reference.step, [QUIET | {"slept": 48 + late}])
        assert reference.due is None
        await lockstep(clock, reference.step, [QUIET] * 3)


bench = Bench(__name__, {"timer": Timer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_timer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
