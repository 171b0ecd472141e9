"""Bench of hdl/cab/crc32.py against zlib."""

import random
import zlib

import cocotb
import pytest

from nectar.hdl.cab.crc32 import Crc32
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep


class Reference:
    """The bytes since the last start, and zlib."""

    def __init__(self):
        self.data = b""

    def step(self, inputs):
        """See ``lockstep``."""
        outputs = {"crc": zlib.crc32(self.data)}
        if inputs["start"]:
            self.data = b""
        elif inputs["valid"]:
            self.data += bytes([inputs["data"]])
        return outputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def it_is_the_crc_of_zlib(dut):
    """docs/cab.md, fiber out: CRC-32 as in zlib, over all bytes since the start, with pauses and restarts."""
    clock = Lockstep(dut)
    await clock.start("start", "valid", "data")

    def stimuli():
        for density in (1, 0.5):
            for _ in range(2000):
                yield {
                    "start": random.random() < 0.01,
                    "valid": random.random() < density,
                    "data": random.getrandbits(8),
                }

    await clock.follow(Reference().step, stimuli())


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_check_value_is_that_of_the_standard(dut):
    """IEEE 802.3: the nine digits 123456789 give 0xCBF43926; no byte at all gives 0."""
    clock = Lockstep(dut)
    await clock.start("start", "valid", "data")
    await clock.follow(lambda inputs: {"crc": 0}, [{"valid": 0}])
    await clock.follow(lambda inputs: {}, [{"valid": 1, "data": byte} for byte in b"123456789"])
    await clock.follow(lambda inputs: {"crc": 0xCBF43926}, [{"valid": 0}] * 3)


bench = Bench(__name__, {"crc": Crc32}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_crc32(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
