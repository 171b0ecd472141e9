"""Bench of hdl/cab/output.py: two symbols of room, nothing lost, nothing doubled, and what is told of what has left."""

import random

import cocotb
import pytest

from nectar.hdl.cab.output import OutputRegister
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

SYMBOLS = [symbol for symbol in range(512) if symbol != Control.IDLE]


class Reference:
    """A list of at most two (symbol, notify)."""

    def __init__(self):
        self.inside = []
        self.left = None  # what the fiber took in the cycle before
        self.taken = 0

    def step(self, inputs):
        """See ``lockstep``."""
        left, inside = self.left, list(self.inside)
        outputs = {
            "tx__valid": bool(inside),
            "room": len(inside) < 2,
            "taken": left is not None,
            "left": left is not None and left[1],
            "start_left": left is not None and left[0] == Control.START,
            "start_inside": any(symbol == Control.START for symbol, _ in [*inside, *([left] if left else [])]),
        }
        if inside:
            outputs["tx__payload"] = inside[0][0]
        # Software must not be told that all has left before it is told of the last one.
        outputs["empty"] = not inside and not outputs["left"] and not outputs["start_left"]
        self.left = self.inside.pop(0) if inside and inputs["tx__ready"] else None
        self.taken += self.left is not None
        if inputs["push__valid"] and len(inside) < 2:
            payload = inputs["push__payload"]
            self.inside.append((payload & 0x1FF, payload >> 9 & 1))
        return outputs


INPUTS = ("push__payload", "push__valid", "tx__ready")


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
    reference = Reference()
    for push, take in ((0.5, 0.5), (1, 0.3), (0.3, 1), (0.9, 0.9), (0.1, 0.1)):
        await clock.follow(reference.step, stimuli(1500, push, take))
    await clock.follow(reference.step, stimuli(5, 0, 1))
    assert not reference.inside


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_stream_leaves_in_every_cycle(dut):
    """C1: the full rate, when the fiber takes a symbol in each cycle."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    reference = Reference()
    await clock.follow(reference.step, stimuli(500, 1, 1))
    assert reference.taken == 499


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_withdraws_what_is_here_and_tells_nothing_of_it(dut):
    """docs/cab.md, "Interrupts and reset": RESET lasts for one cycle; in the next nothing is offered, and nothing is
    told to have been taken."""
    clock = Lockstep(dut)
    await clock.start(*INPUTS)
    for _ in range(100):
        await clock.follow(Reference().step, stimuli(random.randrange(8), 0.8, 0.4))
        clock.drive(push__valid=random.getrandbits(1), tx__ready=random.getrandbits(1))
        await clock.reset()
    await clock.follow(Reference().step, stimuli(5, 0, 1))


bench = Bench(__name__, {"output register": OutputRegister}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_output(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
