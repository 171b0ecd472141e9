"""Bench of hdl/cab/output.py: two symbols of room, nothing lost, nothing doubled, and what is told of what has left."""

import random

import cocotb
import pytest

from nectar.hdl.cab.output import OutputRegister
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep
from nectar.verification.specs.output import OutputSpec
from nectar.verification.specs.spec import Follower

SYMBOLS = [symbol for symbol in range(512) if symbol != Control.IDLE]


INPUTS = OutputSpec.inputs


def stimuli(cycles, push, take):
    """Random symbols, with START often, the fiber taking with the given probability."""
    for _ in range(cycles):
        start = int(Control.START)
        symbol = random.choice([random.choice(SYMBOLS), start, start ^ 1 << random.randrange(9)])
        symbol = start if symbol == Control.IDLE else symbol
        yield {
            "push__payload": symbol | random.getrandbits(1) << 9 | (symbol == start) << 10,
            "push__valid": random.random() < push,
            "tx__ready": random.random() < take,
        }


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_enters_leaves_in_order_and_what_leaves_is_told_of(dut):
    """docs/wire.md, pins: a symbol offered stays; docs/cab.md: an entry has left when the fiber has taken its last
    symbol."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Follower(OutputSpec())
    for push, take in ((0.5, 0.5), (1, 0.3), (0.3, 1), (0.9, 0.9), (0.1, 0.1)):
        await clock.follow(reference.step, stimuli(1500, push, take))
    await clock.follow(reference.step, stimuli(5, 0, 1))
    assert not reference.state.count


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_stream_leaves_in_every_cycle(dut):
    """C1: the full rate, when the fiber takes a symbol in each cycle."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    taken = 0
    for inputs in stimuli(500, 1, 1):
        taken += (await clock.step(inputs, outputs=["taken"]))[0]
    assert taken == 498, "the first one enters, leaves in the cycle behind it, and is told a cycle later"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_withdraws_what_is_here_and_tells_nothing_of_it(dut):
    """docs/cab.md, "Interrupts and reset": RESET lasts for one cycle; in the next nothing is offered, and nothing is
    told to have been taken."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    for _ in range(100):
        await clock.follow(Follower(OutputSpec()).step, stimuli(random.randrange(8), 0.8, 0.4))
        clock.drive(push__valid=random.getrandbits(1), tx__ready=random.getrandbits(1))
        await clock.reset()
    await clock.follow(Follower(OutputSpec()).step, stimuli(5, 0, 1))


bench = Bench(__name__, {"output register": OutputRegister}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_output(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
