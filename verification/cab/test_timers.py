"""Bench of hdl/cab/timers.py: the count, the alarms, and that edges left out change nothing."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.cab.registers import banks
from nectar.hdl.cab.timer_registers import TIMER_BANK, TIMERS
from nectar.hdl.cab.timers import TIMER_REGISTERS, Timers
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

WORD = 0xFFFF_FFFF
WORDS = [register.name for register in banks()[TIMER_BANK]]
COMPARE = [WORDS.index("TIMER_COMPARE"), *(WORDS.index(f"TIMER{n}_COMPARE") for n in range(1, TIMERS))]
PERIOD = [WORDS.index(f"TIMER{n}_PERIOD") for n in range(TIMERS)]
INPUTS = (
    "slept",
    "clear",
    *(f"{TIMER_BANK}__{pin}" for pin in ("index", "write", "data")),
    *(
        f"{name}__{pin}"
        for name in TIMER_REGISTERS
        for pin in ("read", "write", "data")
        if ("r" if pin == "read" else "w") in REG[name.upper()].access
    ),
)
QUIET = dict.fromkeys(INPUTS, 0)


def write(word, value):
    """Inputs that write a word of the bank."""
    return {f"{TIMER_BANK}__write": 1, f"{TIMER_BANK}__index": word, f"{TIMER_BANK}__data": value & WORD}


class Reference:
    """The timers in plain numbers that never wrap: when one is due is known when it is armed."""

    def __init__(self):
        self.now = 0  # clock edges since reset, slept ones too
        self.words = [0] * (2 * TIMERS)  # what the registers show
        self.due = [None] * TIMERS  # the count at which each has its time
        self.again = False  # timer 0 has gone off and will be armed in its turn
        self.seen = 0
        self.fires = self.voids = 0
        self.unknown = 0  # cycles for which wake_in is not known
        self.skips = False  # edges were left out before this cycle, not by eights

    @property
    def wake_in(self):
        """What it is in the cycle that comes."""
        waits = [due - self.now - 1 for due in self.due if due is not None]
        return 0 if self.unknown else max(min(waits), 0) if waits else WORD

    def step(self, inputs):
        """See ``lockstep``. The edges of ``slept`` are those behind this cycle."""
        turn = self.now % TIMERS
        written = inputs[f"{TIMER_BANK}__index"] if inputs[f"{TIMER_BANK}__write"] else None
        reached = [due is not None and self.now >= due for due in self.due]
        has_turn = reached[turn] and (turn != 0 or self.again)
        done = has_turn and written is None
        fires = [done and turn == n for n in range(TIMERS)]
        fires[0] = reached[0] and not self.again
        self.fires += sum(fires)
        self.voids += has_turn and not done
        outputs = {
            "timer_now__value": self.now & WORD,
            "fired": any(fires),
            "wake_in": self.wake_in,
            "timer_fired__value": self.seen,
            "timer_armed__value": sum((due is not None) << n for n, due in enumerate(self.due)),
            f"{TIMER_BANK}__value": self.words[inputs[f"{TIMER_BANK}__index"]],
        }
        if inputs["timer_fired__write"]:
            self.seen &= ~inputs["timer_fired__data"]
        elif inputs["clear"]:
            self.seen = 0
        self.seen |= sum(fired << n for n, fired in enumerate(fires))
        stops = WORD if inputs["clear"] else inputs["timer_stop__data"] if inputs["timer_stop__write"] else 0
        changed = fires[0] or has_turn or inputs["timer_stop__write"] or inputs["clear"] or written in COMPARE
        self.unknown = (
            TIMERS + 2 if changed else TIMERS + 1 if self.unknown and self.skips else max(self.unknown - 1, 0)
        )
        if fires[0]:
            self.again = self.words[PERIOD[0]] != 0
            self.due[0] = self.due[0] if self.again else None
        if done:
            period = self.words[PERIOD[turn]]
            self.due[turn] = self.due[turn] + period if period else None
            self.words[COMPARE[turn]] = self.words[COMPARE[turn]] + period & WORD
            self.again = self.again and turn != 0
        if inputs["clear"]:
            self.words = [0] * len(self.words)
        for n in range(TIMERS):
            if stops >> n & 1:
                self.due[n] = None
                self.again = self.again and n != 0
            if written == COMPARE[n]:
                ahead = (inputs[f"{TIMER_BANK}__data"] - self.now) & WORD
                self.due[n] = self.now + (ahead if ahead <= 1 << 31 else ahead - (1 << 32))
                self.again = self.again and n != 0
        if written is not None:
            self.words[written] = inputs[f"{TIMER_BANK}__data"]
        self.skips = inputs["slept"] % TIMERS != 0
        self.now += 1 + inputs["slept"]
        return outputs


def arm(reference, n, ahead):
    """Inputs that arm timer ``n`` ``ahead`` cycles from this one."""
    return write(COMPARE[n], reference.now + ahead)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def each_fires_when_the_count_is_reached_once_or_periodically(dut):
    """C6, docs/cab.md, timers: armed for the near future, for now and for the past; several at once; rearmed, given a
    period and stopped at any time."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()

    def stimuli():
        for number in range(8000):
            kind, n = random.random(), random.randrange(TIMERS)
            given = QUIET | {
                f"{TIMER_BANK}__index": random.randrange(2 * TIMERS),
                f"{TIMER_BANK}__data": random.getrandbits(32),
            }
            if kind < 0.08:
                given |= arm(reference, n, random.choice([0, 1, 2, 3, 10, 40, -1, -5, -1000, 2000 - (1 << 31)]))
            elif kind < 0.10:
                given |= {"timer_stop__write": 1, "timer_stop__data": random.getrandbits(TIMERS)}
            elif kind < 0.12:
                given |= write(PERIOD[n], random.choice([0, 0, 1, 2, 5, 8, 30, 100]))
            elif kind < 0.15:
                given |= {"timer_fired__write": 1, "timer_fired__data": random.getrandbits(TIMERS)}
            elif kind < 0.2:
                given |= {"timer_stop__data": random.getrandbits(TIMERS)}
            given["clear"] = number % 500 == 499
            yield given

    await clock.follow(reference.step, stimuli())
    assert reference.fires > 300 and reference.voids > 10


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def the_clock_may_stop_as_long_as_wake_in_says(dut):
    """docs/cab.md, stand-by: leaving out at most wake_in edges, timer 0 fires when its time is reached and its period
    added, and the others in their next turn that no write and no alarm of theirs has taken, whichever of them comes
    first; TIMER_NOW misses no edge."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    taken = [0] * TIMERS  # turns that a write or its last alarm has taken from it since it was due
    added = 0  # behind which cycle timer 0 may go off again

    def step(inputs):
        nonlocal added
        before, again, now = list(reference.due), reference.again, reference.now
        outputs = reference.step(inputs)
        added = now if again and not reference.again else added
        for n, due in enumerate(before):
            if due is None or now < due:
                taken[n] = 0
            elif n == 0:
                assert again or now == max(due, added + 1), "late"
            elif reference.due[n] != due:
                assert now - due == (n - due) % TIMERS + TIMERS * taken[n], "late"
                following = now if reference.due[n] is None else reference.due[n]
                taken[n] = max((now - following) // TIMERS + 1, 0)
            elif now % TIMERS == n:
                taken[n] += inputs[f"{TIMER_BANK}__write"]
        return outputs

    for _ in range(6000):
        given = dict(QUIET)
        n = random.randrange(TIMERS)
        if reference.due[n] is None and random.random() < 0.2:
            given |= arm(reference, n, random.choice([1, 2, 5, 100, 1 << 20, (1 << 31) - 1, 1 << 31]))
        elif random.random() < 0.02:
            given |= write(PERIOD[n], random.choice([0, 20, 1000, 1 << 30]))
        elif reference.seen and random.random() < 0.5:
            given |= {"timer_fired__write": 1, "timer_fired__data": reference.seen}
        if not any(given[name] for name in INPUTS if name.endswith("__write")):
            allowed = min(reference.wake_in, 1 << 25 if not any(due is not None for due in reference.due) else WORD)
            given["slept"] = random.choice([0, random.randint(0, allowed), allowed])
        await clock.follow(step, [given])
    assert reference.fires > 200


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def wake_in_holds_for_any_count_and_any_times(dut):
    """docs/cab.md, timers and stand-by: wherever in its 32 bits the count is, and however far ahead some timers go
    off and go off again, edges are left out up to the first of them, some and then the rest."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    for _ in range(100):
        await clock.follow(reference.step, [QUIET | {"clear": 1}, *[QUIET] * (TIMERS + 3)])
        await clock.follow(reference.step, [QUIET | {"slept": random.getrandbits(32)}])
        for n in random.sample(range(TIMERS), random.randint(1, 3)):
            await clock.follow(reference.step, [QUIET | write(PERIOD[n], random.getrandbits(31))])
            await clock.follow(reference.step, [QUIET | arm(reference, n, random.randint(50, 1 << 31))])
        await clock.follow(reference.step, [QUIET] * (TIMERS + 3))
        first = min(due for due in reference.due if due is not None)
        before, some = reference.fires, random.randint(0, first - reference.now - 2)
        await clock.follow(reference.step, [QUIET | {"slept": some}])
        await clock.follow(reference.step, [QUIET | {"slept": first - reference.now - 1}])
        await clock.follow(reference.step, [QUIET] * (2 * TIMERS + 3))
        assert reference.fires > before


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_overslept_alarm_is_not_lost(dut):
    """A board that is woken too late by something else fires at once or in the timer's next turn, also if that is
    while it looks for the first; an alarm with a period catches up, one in each turn."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    for n in range(TIMERS):
        for late in (1, 7, 1 << 30):
            for searched in (0, 2, 5, 9, 12):
                await clock.follow(reference.step, [QUIET | arm(reference, n, 50), *[QUIET] * searched])
                assert reference.due[n] is not None
                await clock.follow(reference.step, [QUIET | {"slept": 48 + late - searched}])
                await clock.follow(reference.step, [QUIET] * TIMERS)
                assert reference.due[n] is None
                await clock.follow(reference.step, [QUIET] * random.randrange(12))
    for n in (0, 5):
        before = reference.fires
        await clock.follow(reference.step, [QUIET | write(PERIOD[n], 10)])
        first = reference.now + 10
        await clock.follow(reference.step, [QUIET | arm(reference, n, 10)])
        await clock.follow(reference.step, [QUIET | {"slept": 100}, *[QUIET] * 1000])
        assert reference.fires - before == sum(
            due + ((n - due) % TIMERS if n else 0) < reference.now for due in range(first, reference.now, 10)
        )
        await clock.follow(reference.step, [QUIET | {"timer_stop__write": 1, "timer_stop__data": 1 << n}])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def steady_writes_delay_no_alarm_of_timer_0(dut):
    """docs/cab.md, timers: a write to any time makes a turn void, so a timer whose turns are all taken waits; timer
    0 does not."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    await clock.follow(reference.step, [QUIET | arm(reference, 0, 20), QUIET | arm(reference, 3, 20)])
    await clock.follow(reference.step, [QUIET | write(PERIOD[6], number) for number in range(100)])
    assert reference.seen == 1 << 0 and reference.due[3] is not None
    await clock.follow(reference.step, [QUIET] * TIMERS)
    assert reference.seen == 1 << 0 | 1 << 3


bench = Bench(__name__, {"timers": Timers}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_timers(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
