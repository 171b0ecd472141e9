"""Bench of hdl/ipsc2/node/fetch.py: each word of each area once, in order, however memory and FIFO wait."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.ipsc2.node.fetch import AREAS, Fetch
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

#: Bytes of the memory, its words, and bits of the address of one.
SIZE = 256
WORDS, BITS = SIZE // 4, 6
INPUTS = "areas__payload", "areas__valid", "done", "read_data", "words__ready"


class Reference:
    """docs/ipsc2-node.md, "DMA": a list of areas."""

    def __init__(self):
        self.areas = deque()
        self.read = 0

    def step(self, inputs):
        """See ``lockstep``."""
        expected = {"areas__ready": len(self.areas) < AREAS, "count": len(self.areas)}
        if self.areas:
            address, words, last = self.areas[0]
            expected |= {"wants": inputs["words__ready"], "address": address + self.read}
            if inputs["done"]:
                final = self.read + 1 == words and last
                expected |= {"words__valid": 1, "words__payload": inputs["read_data"] | final << 32}
        else:
            expected["wants"] = 0
        if not inputs["done"]:
            expected["words__valid"] = 0
        if inputs["areas__valid"] and len(self.areas) < AREAS:
            word = inputs["areas__payload"]
            self.areas.append((word % WORDS, word >> BITS & 2 * WORDS - 1, word >> 2 * BITS + 1))
        if inputs["done"]:
            self.read += 1
            if self.read == words:
                self.areas.popleft()
                self.read = 0
        return expected


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def areas_are_read_word_by_word_and_the_last_word_of_a_message_is_marked(dut):
    """D4; docs/ipsc2-node.md, "DMA"."""
    for offers, answers, room in [(0.1, 0.3, 0.9), (0.9, 1, 0.5), (0.3, 0.2, 1)]:
        clock = Lockstep(dut, INPUTS)
        await clock.start()
        model = Reference()

        def stimuli(offers=offers, answers=answers, room=room, model=model):
            for _ in range(1500):
                ready = random.random() < room
                address = random.choice([0, random.randrange(WORDS)])
                words = random.choice([1, 1, 2, 3, WORDS, random.randrange(1, WORDS)])
                yield {
                    "areas__payload": address
                    | min(words, WORDS - address) << BITS
                    | random.getrandbits(1) << 2 * BITS + 1,
                    "areas__valid": random.random() < offers,
                    "words__ready": ready,
                    "done": bool(model.areas) and ready and random.random() < answers,
                    "read_data": random.getrandbits(32),
                }

        await clock.follow(model.step, stimuli())


bench = Bench(__name__, {"256 bytes": lambda: Fetch(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_fetch(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
