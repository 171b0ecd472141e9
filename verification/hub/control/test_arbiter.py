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
        self.last = count - 1

    def parts(self, asks):
        """In each group of four the one that a walk from behind the last comes to first; the group of the one
        picked."""
        inner, group = 0, 0
        for begin in range(0, self.count, 4):
            own = sorted((n for n in asks if begin <= n < begin + 4), key=lambda n: (n <= self.last, n))
            if own:
                inner |= 1 << own[0]
        if asks:
            group = 1 << min(asks, key=lambda n: (n <= self.last, n)) // 4
        return {"inner": inner, "group": group}

    def pick(self, asks):
        """Who is picked; None if nobody asks."""
        return min(asks, key=lambda n: (n <= self.last, n), default=None)

    def step(self, inputs):
        """Who is picked, and the same in parts; then whose turn it was."""
        asks = [n for n in range(self.count) if inputs["asks"] >> n & 1]
        picked = self.pick(asks)
        shown = {"pick": 0 if picked is None else 1 << picked} | self.parts(asks)
        if inputs["turn"]:
            self.last = inputs["turn"].bit_length() - 1
        return shown


def stimulus(share):
    """A function of a Model that gives random inputs: each member asks with probability ``share``; mostly the turn of
    the one who is picked counts, else of any, or of nobody."""

    def choose(model):
        asks = [n for n in range(model.count) if random.random() < share]
        turn = random.choice([model.pick(asks), model.pick(asks), random.randrange(model.count), None])
        return {"asks": sum(1 << n for n in asks), "turn": 0 if turn is None else 1 << turn}

    return choose


async def start(dut):
    lockstep = Lockstep(dut, ["asks", "turn"])
    await lockstep.start()
    return lockstep, Model(SIZES[inside()])


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def takes_turns_by_number(dut):
    """docs/hub.md: the controller takes turns, round robin by port number; whatever counts as a turn."""
    lockstep, model = await start(dut)
    for share in (0.1, 0.5, 0.9):
        await lockstep.follow(model.step, in_each_cycle(stimulus(share), model, 400))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def nobody_waits_for_more_than_the_others(dut):
    """docs/hub.md: a port waits for at most N - 1 others, if every pick is a turn; with all asking all the time each
    is picked once in ``count`` cycles."""
    lockstep, model = await start(dut)
    for share in (0.5, 1):
        asks, waited, picks = 0, [0] * model.count, []
        for _ in range(40 * model.count):
            asks |= sum((random.random() < share) << n for n in range(model.count))
            pick = 0 if (n := model.pick([n for n in range(model.count) if asks >> n & 1])) is None else 1 << n
            await lockstep.step({"asks": asks, "turn": pick}, model.step({"asks": asks, "turn": pick}))
            waited = [times + 1 if asks >> n & 1 and not pick >> n & 1 else 0 for n, times in enumerate(waited)]
            assert max(waited) < model.count
            asks &= ~pick
            picks.append(pick)
    assert len({*picks[: model.count]}) == model.count and picks == picks[: model.count] * 40


bench = Bench(__name__, {name: lambda count=count: Arbiter(count) for name, count in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("3",)))
def test_arbiter(configuration, claim):
    bench.check(configuration, claim)
