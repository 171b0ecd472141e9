"""Bench of hdl/hub/control/watchdog.py: what stands still for too long is noticed, and nothing else."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.watchdog import Watchdog
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

#: Ports, and the largest logarithm of the time: a counter of 32 bits is the same as one of 8, but nobody can wait for
#: its upper ones.
SIZES = {"2 ports": (2, 31), "2 ports, short": (2, 7), "16 ports": (16, 31)}


class Model:
    """Ticks, counted from the cycle in which the first thing is held."""

    def __init__(self, ports):
        self.ports = ports
        self.log = 0
        self.seen_before = set(), set()  # held and moved in the cycle before, which is when they count
        self.ran = False  # something was held two cycles ago
        self.on = True  # the time was not 0 in the cycle before
        self.running = 0  # cycles that the time runs
        self.still = set()  # held at the last tick, and not moved since
        self.expired = 0
        self.since = {}  # cycle since when a port stands still
        self.cycle = 0
        self.restarted = -1  # cycle in which the time began anew
        self.seen = {"expired": 0, "least": 99, "most": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        held, moved = self.seen_before
        self.seen_before = tuple({n for n in range(self.ports) if inputs[name] >> n & 1} for name in ("held", "moved"))
        active = bool(held) and self.log > 0
        shown = {"active": (bool(held) or self.ran) and self.on, "expired": self.expired}
        shown["in_time"] = self.expired ^ (1 << self.ports) - 1
        self.ran, self.on = bool(held), self.log > 0
        tick = active and not inputs["restart"] and self.running > 0 and self.running % (1 << self.log) == 0
        standing = held - moved
        for n in range(self.ports):
            if n in standing:
                self.since.setdefault(n, self.cycle)
            else:
                self.since.pop(n, None)
        expired = standing & self.still if tick else set()
        for n in expired:
            time = (self.cycle - self.since[n]) / (1 << self.log)
            self.seen["expired"] += 1
            if self.restarted < self.since[n]:
                self.seen |= {"least": min(self.seen["least"], time), "most": max(self.seen["most"], time)}
            self.since[n] = self.cycle
        self.expired = sum(1 << n for n in expired)
        self.still = standing & (self.still | (held if tick else set()))
        self.running = self.running + 1 if active and not inputs["restart"] else 0
        if inputs["restart"] or not self.log:
            self.still = set()
            self.restarted = self.cycle
        self.cycle += 1
        return shown


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def notices_what_stands_still(dut):
    """H20, docs/hub.md, Watchdog: nothing before the time is over, everything before twice of it is, and nothing if
    it is off."""
    model = Model(SIZES[inside()][0])
    lockstep = Lockstep(dut, ["log", "restart", "held", "moved"])
    await lockstep.start()
    held = 0
    for log in (2, 0, 4, 1, 5, 3):
        model.log = log
        for cycle in range(1200):
            for n in range(model.ports):
                if random.random() < (0.02 if cycle % 400 < 200 else 0.2):
                    held ^= 1 << n
            if random.random() < 0.01:
                held = 0
            moved = sum((random.random() < 0.02) << n for n in range(model.ports))
            inputs = {"log": log, "restart": cycle == 0 or random.random() < 0.002, "held": held, "moved": moved}
            await lockstep.step(inputs, model.step(inputs))
    assert model.seen["expired"] > 20 and 1 <= model.seen["least"] and model.seen["most"] <= 2, model.seen


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def counts_long_times(dut):
    """docs/hub.md, Watchdog: the time is measured by the bit of the counter that the logarithm names, as often as it
    is over."""
    lockstep = Lockstep(dut, ["log", "restart", "held", "moved"])
    await lockstep.start()
    longest = SIZES[inside()][1]
    for log in (4, 9, 11) if longest > 11 else range(1, longest + 1):
        await lockstep.step({"log": log, "restart": 1})
        for n in range(4 << max(log, 6)):
            await lockstep.step(
                {"log": log, "held": 2}, {"expired": 2 if n > 2 << log and n % (1 << log) == 2 % (1 << log) else 0}
            )


bench = Bench(__name__, {name: lambda size=size: Watchdog(*size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize(
    "longest, error, message",
    [
        (0, ValueError, "not 2\\*\\*0"),
        (32, ValueError, "not 2\\*\\*32"),
        ("8", TypeError, "must be an int, not '8'"),
        (True, TypeError, "must be an int, not True"),
    ],
)
def test_a_time_that_cannot_be_is_refused(longest, error, message):
    with pytest.raises(error, match=message):
        Watchdog(2, longest)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("16 ports", "2 ports")))
def test_watchdog(configuration, claim):
    bench.check(configuration, claim)
