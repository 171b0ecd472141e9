"""Bench of hdl/hub/control/arbiter.py: turns."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.arbiter import Arbiter
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle

SIZES = {"1": 1, "3": 3, "16": 16}


class Model:
    """Turns as a walk around a ring."""

    def __init__(self, count):
        self.count = count
        self.last = self.before = count - 1  # whose turn was last; the same in the cycle before
        self.waited = [0] * count

    def step(self, inputs):
        """Who is picked; also notes how many others went before each that asks."""
        asks = [n for n in range(self.count) if inputs["asks"] >> n & 1]
        before, self.before = self.before, self.last
        for distance in range(1, self.count + 1):
            n = (self.last + distance) % self.count
            if n in asks:
                break
        else:
            self.last = before if inputs.get("back") else self.last
            return {"pick": 0}
        if inputs.get("keep"):
            return {"pick": 1 << n}
        self.last = n
        for other in range(self.count):
            self.waited[other] = self.waited[other] + 1 if other in asks and other != n else 0
        assert max(self.waited) < self.count, "the model itself lets somebody wait too long"
        return {"pick": 1 << n}


async def start(dut):
    lockstep = Lockstep(dut, ["asks", "keep", "back"])
    await lockstep.start()
    return lockstep, Model(SIZES[inside()])


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def takes_turns_by_number(dut):
    """docs/hub.md: the controller takes turns, round robin by port number, so that a port waits for at most N - 1
    others."""
    lockstep, model = await start(dut)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        await lockstep.follow(
            model.step,
            in_each_cycle(
                lambda model: {
                    "asks": sum((random.random() < share) << n for n in range(model.count)),
                    "keep": random.random() < 0.2,
                    "back": random.random() < 0.3,
                },
                model,
                400,
            ),
        )


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_next_is_the_one_behind_the_last_turn(dut):
    """docs/hub.md: of two that ask, whoever had the last turn; also behind a pick in vain, which is no turn, whether
    that is known at once or a cycle later, when nobody is picked."""
    lockstep, model = await start(dut)
    members = range(model.count)
    for last in members:
        for one in members:
            other = last if one > last else (last + 1) % model.count
            for in_vain in (
                (),
                ((1, 0),),
                ((0, 0), (0, 1)),
            ):  # keep and back of a pick of ``one``, and of the cycle behind
                steps = [(1 << last, 0, 0), *((0 if back else 1 << one, keep, back) for keep, back in in_vain)]
                for asks, keep, back in [*steps, (1 << one | 1 << other, 0, 0)]:
                    inputs = {"asks": asks, "keep": keep, "back": back}
                    await lockstep.step(inputs, model.step(inputs))
                assert model.last == (one if one > last else other)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def serves_all_that_ask_without_pause_equally(dut):
    """With all asking all the time each is picked once in ``count`` cycles."""
    lockstep, model = await start(dut)
    picks = []
    for _ in range(4 * model.count):
        [pick] = await lockstep.step({"asks": (1 << model.count) - 1}, outputs=["pick"])
        picks.append(pick)
    assert picks == [1 << n for n in range(model.count)] * 4


bench = Bench(__name__, {name: lambda count=count: Arbiter(count) for name, count in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("3", "1")))
def test_arbiter(configuration, claim):
    bench.check(configuration, claim)
