"""Bench of hdl/cab/errors.py: counters that see several events in a cycle and stop at their highest value."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG
from nectar.hdl.cab.errors import EVENT_BITS, ErrorCounters
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

FIELDS = REG["ERRORS"].fields


class Reference:
    """One number for each field."""

    def __init__(self):
        self.counts = {field: 0 for field in FIELDS}

    def step(self, inputs):
        """See ``lockstep``."""
        before = dict(self.counts)
        for field in FIELDS:
            self.counts[field] = min(self.counts[field] + inputs[field.name], (1 << field.width) - 1)
        return {
            "errors__value": sum(field.put(count) for field, count in before.items()),
            "moved": before != self.counts,
        }


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_event_counts_and_the_highest_count_stays(dut):
    """addresses.ERRORS: each counter stops at 255; ERROR tells only of a counter that moves."""
    clock = Lockstep(dut)
    for slow in FIELDS:
        await clock.start("errors__read", *(field.name for field in FIELDS))
        reference = Reference()
        # Each at its own pace, one of them slowly enough never to reach the end.
        rates = {field: 0.02 if field is slow else random.choice([0.5, 0.1, 0.2]) for field in FIELDS}
        await clock.follow(
            reference.step,
            (
                {
                    field.name: random.randrange(1 << EVENT_BITS) if random.random() < rate else 0
                    for field, rate in rates.items()
                }
                for _ in range(2500)
            ),
        )
        assert all((count == 255) == (field is not slow) for field, count in reference.counts.items())


bench = Bench(__name__, {"errors": ErrorCounters}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_errors(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
