"""Bench of hdl/cab/vme/lanes.py: bytes on the lines and in the word, every combination."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.lanes import Lanes
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock

#: (LWORD*, DS1*, DS0*, A01), 1 when asserted → address of the first byte in the word, bytes; ANSI/IEEE 1014, section
#: 2.3.
TRANSFERS = {
    (1, 1, 1, 0): (0, 4),
    (0, 1, 1, 0): (0, 2),
    (0, 1, 1, 1): (2, 2),
    (0, 1, 0, 0): (0, 1),
    (0, 0, 1, 0): (1, 1),
    (0, 1, 0, 1): (2, 1),
    (0, 0, 1, 1): (3, 1),
}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_transfer_has_its_bytes_in_their_lanes(dut):
    """ANSI/IEEE 1014, section 2.3: what is no byte, aligned halfword or word is told to be bad."""
    clock = StepClock(dut)
    await clock.start("wide", "strobe", "high", "lines_in", "word_in")
    for number in range(16):
        wide, even, odd, high = (number >> bit & 1 for bit in range(4))
        for _ in range(10):
            lines, word = random.getrandbits(32), random.getrandbits(32)
            clock.drive(wide=wide, strobe=even << 1 | odd, high=high, lines_in=lines, word_in=word)
            await clock.settle()
            seen = {name: clock.pin(name) for name in ("bad", "select", "drive", "lines_out", "word_out")}
            transfer = TRANSFERS.get((wide, even, odd, high))
            assert seen["bad"] == (transfer is None)
            if transfer is None:
                continue
            first, size = transfer
            assert seen["select"] == sum(8 >> lane for lane in range(first, first + size))
            assert seen["drive"] == (3 if size == 4 else 1)
            for lane in range(first, first + size):
                line = 24 - 8 * lane if size == 4 else 8 - 8 * (lane & 1)
                assert seen["lines_out"] >> line & 0xFF == word >> 24 - 8 * lane & 0xFF
                assert seen["word_out"] >> 24 - 8 * lane & 0xFF == lines >> line & 0xFF


bench = Bench(__name__, {"lanes": Lanes}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_lanes(configuration, claim):
    """All 16 combinations."""
    bench.check(configuration, claim)
