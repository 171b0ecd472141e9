"""Bench of hdl/host/framer.py: what it sends is what the host's own deframer understands."""

import random

import cocotb
import pytest

from nectar.hdl.host.framer import Framer
from nectar.hdl.host.numbers import ESCAPE, FLAG
from nectar.software.backends.cable.words import frame
from nectar.verification.bench import Bench
from nectar.verification.cab.lockstep import HandClock


def _word():
    """A word in which bytes that must be escaped are frequent."""
    return int.from_bytes(random.choice((FLAG, ESCAPE, 0x5E, 0, random.getrandbits(8))) for _ in range(4))


async def _sent(dut, frames, patience):
    """The bytes that come out; with ``patience`` < 1 words come and bytes are taken now and then only."""
    clock = HandClock(dut)
    await clock.start("words__valid", "words__payload", "bytes__ready")
    left = [(word, n == len(words) - 1) for words in frames for n, word in enumerate(words)]
    out = b""
    held = None
    quiet = 0
    while left or quiet < 60:
        ready = random.random() < patience
        offer = bool(left) and (bool(clock.inputs["words__valid"]) or random.random() < patience)
        word, last = left[0] if left else (0, False)
        clock.drive(bytes__ready=ready, words__valid=offer, words__payload=word | last << 32)
        await clock.settle()
        valid, payload = bool(clock.handle("bytes__valid").value), clock.handle("bytes__payload").value.to_unsigned()
        assert held is None or (valid, payload) == held, "a byte that was offered has changed"
        held = (valid, payload) if valid and not ready else None
        quiet = 0 if valid else quiet + 1
        if valid and ready:
            out += bytes([payload])
        if offer and clock.handle("words__ready").value:
            left.pop(0)
            clock.inputs["words__valid"] = None
        await clock.edge()
    return out


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def frames_are_those_of_the_page(dut):
    """docs/cable.md: flags, bytes most significant first, escapes, CRC-32; with and without pauses."""
    for patience in (1, 0.5, 0.1):
        frames = [[_word() for _ in range(random.choice((1, 2, 3, 20)))] for _ in range(25)]
        assert await _sent(dut, frames, patience) == b"".join(map(frame, frames))


bench = Bench(__name__, {"framer": Framer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_framer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
