"""Bench of hdl/cab/counter.py: every event counts, all the way round."""

import random

import cocotb
import pytest

from nectar.hdl.cab.counter import Counter
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep

#: Bits of each configuration.
BITS = {"1 bit": 1, "9 bits": 9, "32 bits": 32}


class Reference:
    """One number."""

    def __init__(self, bits):
        self.bits = bits
        self.events = 0

    def step(self, inputs):
        """See ``lockstep``."""
        outputs = {"value": self.events % (1 << self.bits)}
        self.events += inputs["event"]
        return outputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_event_counts_modulo_the_power_of_two(dut):
    """Counter: no event is lost or counted twice; behind the highest count comes 0, wherever that is within reach."""
    clock = Lockstep(dut)
    await clock.start("event")
    reference = Reference(BITS[inside()])
    for rate in (0.5, 1):
        await clock.follow(reference.step, ({"event": random.random() < rate} for _ in range(1500)))
    assert reference.events > 2 << 9


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_begins_anew(dut):
    """Counter: 0 behind a reset at any count."""
    clock = Lockstep(dut)
    for _ in range(20):
        await clock.start("event")
        reference = Reference(BITS[inside()])
        await clock.follow(reference.step, ({"event": random.random() < 0.9} for _ in range(random.randrange(600))))
        await clock.reset()


bench = Bench(__name__, {name: lambda bits=bits: Counter(bits) for name, bits in BITS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("32 bits", "1 bit")))
def test_counter(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
