"""Bench of hdl/ipsc2/element.py: probes are routed, messages passed, what is wrong is told."""

import random
from collections import Counter

import cocotb
import pytest

from nectar.hdl.ipsc2.element import Element
from nectar.hdl.ipsc2.formats import CHANNELS, EXTERNAL
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.ipsc2.model import ElementModel
from nectar.verification.ipsc2.stimuli import ElementStimulus, EndStimulus

#: Name → channel on which messages come, dimensions.
SIZES = {
    "channel 1 of 7": (1, 7),
    "channel 0 of 3": (0, 3),
    "channel 6 of 7": (6, 7),
    "external": (EXTERNAL, 5),
    "remote": (CHANNELS, 7),
}
INPUTS = ["rx__data", "rx__strobe", "granted"]


def lowest(arrived):
    """The first bit of the probe that counts."""
    return 0 if arrived == EXTERNAL else min(arrived + 1, CHANNELS)


def following(model):
    """``step`` of the model, which keeps what it has shown."""

    def step(inputs):
        model.shown = model.step(inputs)
        return model.shown

    return step


async def run(dut, rounds, cycles, **how):
    """Rounds of random traffic, each from a reset in the midst of the one before; what was seen in all."""
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    seen = Counter()
    for _ in range(rounds):
        await lockstep.reset({"rx__data": random.getrandbits(2), "rx__strobe": 1})
        model = ElementModel(*SIZES[inside()])
        await lockstep.follow(following(model), in_each_cycle(ElementStimulus(**how), model, cycles))
        seen.update(model.seen)
    return seen


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def messages_take_their_route(dut):
    """D1, D2, D3; docs/ipsc2.md, "Routes", "Circuits": probe, grant, short probe, message, release by its end."""
    seen = await run(dut, 3, 1200)
    assert seen["messages"] > 10 and not seen["wrong"] and not seen["early"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_strobe_may_pause_anywhere(dut):
    """docs/ipsc2.md, "Time": nothing moves, nothing is lost."""
    for pause in 0.1, 0.5, 0.9:
        seen = await run(dut, 2, 1000, pause=pause, patience=3)
    seen = await run(dut, 2, 1500, pause=0.3)
    assert seen["messages"] > 5


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_message_may_end_before_it_is_passed_on(dut):
    """docs/ipsc2.md, "An end before the circuit stands": before the grant, in each cycle from the grant on, behind the
    probe; with pauses; and the next message comes close behind."""
    seen = await run(dut, 8, 1200, give_up=0.3, patience=30)
    seen.update(await run(dut, 20, 200, give_up=0.6, patience=8))
    assert not seen["wrong"] and not seen["early"] and seen["messages"] > 10
    assert seen["taken back"] > 20 and seen["ended in ask"] > 10 and seen["ended in pass"] > 3
    assert seen["closed"] > 10
    for pause in 0.1, 0.4:
        seen.update(await run(dut, 6, 400, give_up=0.5, patience=6, pause=pause))
    assert not seen["wrong"] and not seen["early"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def it_may_end_in_each_cycle_around_the_grant(dut):
    """docs/ipsc2.md, "An end before the circuit stands": with and without a pause, and with the next probe directly
    behind the word, before what has been granted is at its end."""
    seen = Counter()
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.start()
    for wait in range(18):
        for gap in range(3):
            await lockstep.reset()
            model = ElementModel(*SIZES[inside()])
            await lockstep.follow(following(model), in_each_cycle(EndStimulus(wait, gap), model, 110))
            seen.update(model.seen)
            assert model.state == "idle" and not model.closing
    assert not seen["wrong"] and not seen["early"]
    outcomes = [seen[name] for name in ("messages", "taken back", "ended in ask", "ended in pass")]
    assert sum(outcomes) == 2 * 54 and outcomes[0] >= 54 and min(outcomes) >= 3, outcomes


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_is_wrong_is_told_and_nothing_else_is_changed(dut):
    """docs/ipsc2.md, "What can go wrong": pairs that begin no frame, words before the path stands, upper bits of a
    probe, probes for channels that there are not."""
    seen = await run(dut, 60, 60, wrong=0.3, patience=4, absent=0.5)
    seen.update(await run(dut, 10, 150, wrong=0.05, pause=0.2, absent=0.2, give_up=0.1))
    assert seen["wrong"] > 20 and seen["early"] > 3
    arrived, dimensions = SIZES[inside()]
    assert (seen["lost"] > 0) == (dimensions < 7 and arrived < CHANNELS)


bench = Bench(
    __name__,
    {name: lambda size=size: Element(lowest(size[0]), size[1]) for name, size in SIZES.items()},
    ports_only=True,
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("channel 0 of 3", "channel 6 of 7", "remote")))
def test_element(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ((1, 0), ValueError, "dimensions must be 1 to 7, not 0"),
        ((1, 8), ValueError, "dimensions must be 1 to 7, not 8"),
        ((1, "3"), TypeError, "dimensions must be an int, not '3'"),
        ((1, True), TypeError, "dimensions must be an int, not True"),
        ((9, 3), ValueError, "lowest must be 0 to 8, not 9"),
        ((-1, 3), ValueError, "lowest must be 0 to 8, not -1"),
        ((None, 3), TypeError, "lowest must be an int, not None"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        Element(*parameters)
