"""Bench of hdl/cab/internet.py: against the vectors of RFC 1071 and a sum done in the plainest way."""

import random

import cocotb
import pytest

from nectar.hdl.cab.internet import InternetSum
from nectar.verification.bench import Bench
from nectar.verification.cab.reference_fiber import internet_checksum
from nectar.verification.harness import Lockstep


def test_the_reference_is_that_of_the_standard():
    """RFC 1071, section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 have the sum ddf2; and a header of IPv4 whose checksum
    is known."""
    assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2 ^ 0xFFFF
    assert internet_checksum(bytes.fromhex("45000073000040004011 0000 c0a80001c0a800c7".replace(" ", ""))) == 0xB861
    assert internet_checksum(b"") == 0xFFFF and internet_checksum(b"\xff\xff") == 0
    # RFC 1071, section 1: what holds data and its checksum sums up to nothing.
    data = random.randbytes(100)
    assert internet_checksum(data + internet_checksum(data).to_bytes(2, "big")) == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def it_is_the_internet_checksum_of_what_came_since_the_start(dut):
    """C6, RFC 1071: with and without pauses, odd and even numbers of bytes, many carries."""
    clock = Lockstep(dut)
    await clock.start("start", "valid", "data")
    seen = bytearray()

    def step(inputs):
        outputs = {"checksum": internet_checksum(seen)}
        if inputs["start"]:
            seen.clear()
        elif inputs["valid"]:
            seen.append(inputs["data"])
        return outputs

    def stimuli():
        for _ in range(5000):
            yield {
                "start": random.random() < 0.02,
                "valid": random.random() < 0.8,
                "data": random.choice([0xFF, 0, random.getrandbits(8), 0xFF]),
            }

    await clock.follow(step, [{"start": 0, "valid": 1, "data": byte} for byte in bytes.fromhex("0001f203f4f5f6f7")])
    await clock.follow(step, stimuli())


bench = Bench(__name__, {"internet": InternetSum}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_internet(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
