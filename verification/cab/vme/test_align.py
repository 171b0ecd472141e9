"""Bench of hdl/cab/vme/align.py: a queue of bytes against a list."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.align import HELD_BYTES, Align
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock

INPUTS = ("clear", "put", "put_first", "put_count", "put_word", "get", "get_first", "get_count")


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def bytes_come_out_as_they_went_in(dut):
    """Any lanes in, any lanes out, no lane at all, too; both in one cycle, never more than fit and never more than
    there are."""
    clock = StepClock(dut)
    await clock.start(*INPUTS)
    held = []
    full = empty = 0
    for _ in range(6000):
        put_first, get_first = random.randrange(4), random.randrange(4)
        put_count, get_count = random.randint(0, 4 - put_first), random.randint(0, 4 - get_first)
        get = random.random() < 0.5 and get_count <= len(held)
        left = len(held) - get_count * get
        put = random.random() < 0.6 and left + put_count <= HELD_BYTES
        clear = random.random() < 0.01
        word = random.getrandbits(32)
        clock.drive(
            clear=clear,
            put=put,
            put_first=put_first,
            put_count=put_count,
            put_word=word,
            get=get,
            get_first=get_first,
            get_count=get_count,
        )
        await clock.settle()
        assert int(dut.level.value) == len(held)
        if get:
            seen = int(dut.get_word.value).to_bytes(4, "big")[get_first : get_first + get_count]
            assert list(seen) == held[:get_count]
            del held[:get_count]
        if put:
            held += word.to_bytes(4, "big")[put_first : put_first + put_count]
        if clear:
            held.clear()
        full += len(held) == HELD_BYTES
        empty += not held
        await clock.edge()
    assert full and empty


bench = Bench(__name__, {"align": Align}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_align(configuration, claim):
    """The one claim."""
    bench.check(configuration, claim)
