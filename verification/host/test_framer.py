"""Bench of hdl/host/framer.py: what it sends is what the host's own deframer understands."""

import random

import cocotb
import pytest

from nectar.hdl.host.framer import Framer
from nectar.hdl.host.numbers import ESCAPE, FLAG
from nectar.software.backends.cable.words import frame
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock, StreamSink, StreamSource


def _word():
    """A word in which bytes that must be escaped are frequent."""
    return int.from_bytes(random.choice((FLAG, ESCAPE, 0x5E, 0, random.getrandbits(8))) for _ in range(4))


async def _sent(dut, frames, patience):
    """The bytes that come out; with ``patience`` < 1 words come and bytes are taken now and then only."""
    clock = StepClock(dut)
    sink = clock.attach(StreamSink(clock, "bytes", pause=1 - patience))
    source = clock.attach(StreamSource(clock, "words", pause=1 - patience))
    await clock.start("words__valid", "words__payload", "bytes__ready")
    source.send(word | (n == len(words) - 1) << 32 for words in frames for n, word in enumerate(words))
    await source.finish(100_000)
    offers = None
    while offers != sink.offers:
        offers = sink.offers
        for _ in range(60):
            await clock.cycle()
    return bytes(sink.items)


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
