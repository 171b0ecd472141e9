"""Bench of hdl/cab/timers.py: the count, the alarms, and that edges left out change nothing."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG, TIMERS
from nectar.hdl.cab.timers import TIMER_REGISTERS, Timers
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock, lockstep

WORD = 0xFFFF_FFFF
COMPARES = ["timer_compare", *(f"timer{n}_compare" for n in range(1, TIMERS))]
PERIODS = [f"timer{n}_period" for n in range(TIMERS)]
INPUTS = ("slept", "clear", *(f"{name}__{pin}" for name in TIMER_REGISTERS for pin in ("read", "write", "data")
                              if ("r" if pin == "read" else "w") in REG[name.upper()].access))
QUIET = dict.fromkeys(INPUTS, 0)


class Reference:
    """The timers in plain numbers that never wrap: when one fires is known when it is armed."""

    def __init__(self):
        self.now = 0                     # clock edges since reset, slept ones too
        self.compare = [0] * TIMERS      # what the registers show
        self.period = [0] * TIMERS
        self.due = [None] * TIMERS       # the count at which each fires
        self.seen = 0
        self.fires = 0
        self.unknown = 0                 # cycles for which wake_in is not known

    def step(self, inputs):
        """See ``lockstep``. ``slept`` comes behind a register: those edges precede this cycle."""
        self.now += inputs["slept"]
        fires = [due is not None and self.now >= due for due in self.due]
        self.fires += sum(fires)
        waits = [due - self.now - 1 for due in self.due if due is not None]
        wake_in = 0 if self.unknown else max(min(waits), 0) if waits else WORD
        outputs = {"timer_now__value": self.now & WORD, "fired": any(fires), "wake_in": wake_in,
                   "timer_fired__value": self.seen,
                   "timer_armed__value": sum((due is not None) << n for n, due in enumerate(self.due))}
        outputs |= {f"{COMPARES[n]}__value": self.compare[n] for n in range(TIMERS)}
        outputs |= {f"{PERIODS[n]}__value": self.period[n] for n in range(TIMERS)}
        if inputs["timer_fired__write"]:
            self.seen &= ~inputs["timer_fired__data"]
        elif inputs["clear"]:
            self.seen = 0
        stops = inputs["timer_stop__data"] if inputs["timer_stop__write"] else 0
        changed = any(fires) or stops or inputs["clear"] or any(inputs[f"{name}__write"] for name in COMPARES)
        self.unknown = TIMERS if changed else max(self.unknown - 1, 0)
        for n in range(TIMERS):
            if fires[n]:
                self.seen |= 1 << n
                period = self.period[n]
                self.due[n] = self.due[n] + period if period else None
                self.compare[n] = self.compare[n] + period & WORD
            if stops >> n & 1 or inputs["clear"]:
                self.due[n] = None
            if inputs[f"{COMPARES[n]}__write"]:
                self.compare[n] = inputs[f"{COMPARES[n]}__data"]
                ahead = (self.compare[n] - self.now) & WORD
                self.due[n] = self.now + (ahead if ahead <= 1 << 31 else ahead - (1 << 32))
            if inputs[f"{PERIODS[n]}__write"]:
                self.period[n] = inputs[f"{PERIODS[n]}__data"]
        self.now += 1
        return outputs


def arm(reference, n, ahead):
    """Inputs that arm timer ``n`` ``ahead`` cycles from this one."""
    return {f"{COMPARES[n]}__write": 1, f"{COMPARES[n]}__data": reference.now + ahead & WORD}


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def each_fires_when_the_count_is_reached_once_or_periodically(dut):
    """C6, docs/cab.md, timers: armed for the near future, for now and for the past; several at once; rearmed, given a period and
    stopped at any time."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()

    def stimuli():
        for number in range(8000):
            kind, n = random.random(), random.randrange(TIMERS)
            given = dict(QUIET)
            if kind < 0.08:
                given |= arm(reference, n, random.choice([0, 1, 2, 3, 10, 40, -1, -5, -1000, 2 - (1 << 31)]))
            elif kind < 0.10:
                given |= {"timer_stop__write": 1, "timer_stop__data": random.getrandbits(TIMERS)}
            elif kind < 0.12:
                given |= {f"{PERIODS[n]}__write": 1, f"{PERIODS[n]}__data": random.choice([0, 0, 1, 2, 5, 30, 100])}
            elif kind < 0.15:
                given |= {"timer_fired__write": 1, "timer_fired__data": random.getrandbits(TIMERS)}
            elif kind < 0.2:
                given |= {"timer_stop__data": random.getrandbits(TIMERS), "timer_compare__data": random.getrandbits(32)}
            given["clear"] = number % 500 == 499
            yield given

    await lockstep(clock, reference.step, stimuli())
    assert reference.fires > 300


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def the_clock_may_stop_as_long_as_wake_in_says(dut):
    """docs/cab.md, stand-by: leaving out at most wake_in edges, no alarm is late, whichever of them comes first; TIMER_NOW misses
    no edge."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    allowed = 0

    def step(inputs):
        nonlocal allowed
        before = list(reference.due)
        outputs = reference.step(inputs)
        if outputs["fired"]:
            # The cycle was that of an alarm, to the cycle, unless several with a period catch up.
            assert min(due for due in before if due is not None) == reference.now - 1, "late"
        writes = any(inputs[name] for name in INPUTS if name.endswith("__write"))
        nearest = [due for due in reference.due if due is not None]
        allowed = 0 if writes else min(outputs["wake_in"], 1 << 25 if not nearest else WORD)
        return outputs

    for _ in range(4000):
        given = dict(QUIET)
        n = random.randrange(TIMERS)
        if reference.due[n] is None and random.random() < 0.2:
            given |= arm(reference, n, random.choice([1, 2, 5, 100, 1 << 20, (1 << 31) - 1, 1 << 31]))
        elif random.random() < 0.02:
            # A period that cannot bring two alarms of one timer into one cycle.
            given |= {f"{PERIODS[n]}__write": 1, f"{PERIODS[n]}__data": random.choice([0, 3, 1000, 1 << 30])}
        given["slept"] = random.choice([0, random.randint(0, allowed), allowed])
        name = f"{COMPARES[n]}__data"
        if given[f"{COMPARES[n]}__write"]:
            given[name] = given[name] + given["slept"] & WORD
        await lockstep(clock, step, [given])
    assert reference.fires > 200


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_overslept_alarm_is_not_lost(dut):
    """A board that is woken too late by something else fires at once; an alarm with a period catches up, one a cycle."""
    clock = HandClock(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    for late in (1, 7, 1 << 30):
        await lockstep(clock, reference.step, [QUIET | arm(reference, 3, 50), QUIET])
        assert reference.due[3] is not None
        await lockstep(clock, reference.step, [QUIET | {"slept": 48 + late}])
        assert reference.due[3] is None
        await lockstep(clock, reference.step, [QUIET] * 3)
    before = reference.fires
    await lockstep(clock, reference.step, [QUIET | {"timer5_period__write": 1, "timer5_period__data": 10}, QUIET | arm(reference, 5, 10)])
    await lockstep(clock, reference.step, [QUIET | {"slept": 100}, *[QUIET] * 40])
    assert reference.fires - before == 14


bench = Bench(__name__, {"timers": Timers}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_timers(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
