"""Bench of hdl/hub/control/arbiter.py: turns."""

import random

import cocotb
import pytest

from nectar.hdl.hub.control.arbiter import Arbiter
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.specs.arbiter import ArbiterSpec
from nectar.verification.specs.spec import Follower

SIZES = {"1": 1, "3": 3, "16": 16}


async def start(dut):
    lockstep = Lockstep(dut, ["asks", "keep", "back"])
    await lockstep.start()
    return lockstep, Follower(ArbiterSpec(SIZES[inside()]))


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
                    "asks": sum((random.random() < share) << n for n in range(model.spec.count)),
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
    count = model.spec.count
    members = range(count)
    for last in members:
        for one in members:
            other = last if one > last else (last + 1) % count
            for in_vain in (
                (),
                ((1, 0),),
                ((0, 0), (0, 1)),
            ):  # keep and back of a pick of ``one``, and of the cycle behind
                steps = [(1 << last, 0, 0), *((0 if back else 1 << one, keep, back) for keep, back in in_vain)]
                for asks, keep, back in [*steps, (1 << one | 1 << other, 0, 0)]:
                    inputs = {"asks": asks, "keep": keep, "back": back}
                    await lockstep.step(inputs, model.step(inputs))
                assert model.state.last == (one if one > last else other)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def only_one_of_any_two_is_picked(dut):
    """docs/hub.md: behind any turn and a cycle in which nobody asks, any two that ask alone; then all ask, which shows
    whose the turn was."""
    lockstep, model = await start(dut)
    count = model.spec.count
    for last in range(count):
        for one in range(count):
            for other in range(one):
                for asks in (1 << last, 0, 1 << one | 1 << other, (1 << count) - 1):
                    inputs = {"asks": asks, "keep": 0, "back": 0}
                    await lockstep.step(inputs, model.step(inputs))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def serves_all_that_ask_without_pause_equally(dut):
    """With all asking all the time each is picked once in ``count`` cycles."""
    lockstep, model = await start(dut)
    picks = []
    count = model.spec.count
    for _ in range(4 * count):
        [pick] = await lockstep.step({"asks": (1 << count) - 1}, outputs=["pick"])
        picks.append(pick)
    assert picks == [1 << n for n in range(count)] * 4


bench = Bench(__name__, {name: lambda count=count: Arbiter(count) for name, count in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("3", "1")))
def test_arbiter(configuration, claim):
    bench.check(configuration, claim)
