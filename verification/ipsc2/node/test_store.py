"""Bench of hdl/ipsc2/node/store.py: head, body, what has no place, and what software does at the wrong time."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.node.store import Store
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep

#: Bytes of the memory, its words, and bits of the address of one.
SIZE = 256
WORDS, BITS = SIZE // 4, 6
INPUTS = "head", "arm", "body", "set_body", "words__payload", "words__valid", "done"


class Reference:
    """docs/ipsc2-node.md, "DMA"."""

    def __init__(self):
        self.head, self.body = [0, 0], [0, 0]
        self.armed = self.arrived = self.begun = False
        self.stored = self.in_body = self.too_long = self.state = 0

    def place(self):
        """Where the next word goes, or None."""
        return self.head if self.head[1] else self.body if self.body[1] else None

    def step(self, inputs):
        """See ``lockstep``."""
        word, valid, place = inputs["words__payload"], inputs["words__valid"], self.place()
        wants = self.armed and valid and place is not None
        taken = self.armed and valid and (place is None or inputs["done"])
        expected = {
            "wants": wants,
            "armed": self.armed,
            "arrived": self.arrived,
            "body_left": self.body[1],
            "words__ready": taken if valid else None,
        }
        if wants:
            expected |= {"address": place[0], "write_data": word & 0xFFFFFFFF}
        if self.arrived:
            bad, cut = self.state & 1, self.state >> 1
            expected |= {"stored": self.stored, "in_body": self.in_body, "too_long": self.too_long}
            expected |= {"bad": bad, "cut": cut}
        uses_body = self.begun and self.in_body
        if inputs["set_body"] and not uses_body:
            self.body = [inputs["body"] % WORDS, inputs["body"] >> BITS]
        if inputs["arm"] and not self.begun and not taken:
            self.head = [inputs["head"] % WORDS, inputs["head"] >> BITS]
            self.armed, self.arrived, self.stored, self.in_body, self.too_long = True, False, 0, 0, 0
        if taken:
            self.begun = True
            if place is None:
                self.too_long = 1
            else:
                self.in_body |= place is not self.head
                place[0] += 1
                place[1] -= 1
                self.stored += 1
            if word >> 32 & 1:
                self.begun = self.armed = False
                self.arrived, self.state = True, word >> 33
                if self.in_body:
                    self.body[1] = 0
        return expected


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_fill_the_head_and_then_the_body(dut):
    """D5; docs/ipsc2-node.md, "DMA": a body that is not used stays; words without a place are dropped and told of; the
    registers are written at any time in which DMA has not the bus."""
    rounds = [(0.3, 0.3, 4), (0.1, 0.05, 6), (0.6, 0.9, 4), (0.01, 0.3, WORDS), (0.004, 0.5, WORDS)]
    for ends, arms, most in [*rounds, (0.04, 0.4, 20), (0.1, 0.4, WORDS)]:
        clock = Lockstep(dut, INPUTS)
        await clock.start()
        model = Reference()

        def place(most=most):
            address = random.choice([0, random.randrange(WORDS)])
            room = WORDS - address
            return address | random.choice([random.randrange(min(most, room) + 1), min(most, room)]) << BITS

        def stimuli(ends=ends, arms=arms, model=model, place=place):
            word, valid = 0, False
            for _ in range(2500):
                if not valid:
                    word, valid = random.getrandbits(32), random.random() < 0.8
                    word |= (random.random() < ends) << 32
                    word |= random.getrandbits(2) << 33 if word >> 32 else 0
                there = model.place() is not None
                # When a word has been written DMA has the bus, so the CPU does nothing then.
                done = model.armed and valid and there and random.random() < 0.4
                takes = model.armed and valid and (done or not there)
                yield {
                    "head": place(),
                    "arm": not done and random.random() < arms,
                    "body": place(),
                    "set_body": not done and random.random() < 0.2,
                    "words__payload": word,
                    "words__valid": valid,
                    "done": done,
                }
                valid = valid and not takes

        await clock.follow(model.step, stimuli())


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def places_as_large_as_the_memory_are_filled(dut):
    """docs/ipsc2-node.md, "DMA": head, body or both have room for all words of the memory; then more words come."""
    clock = Lockstep(dut, INPUTS)
    await clock.start()
    model = Reference()
    idle = dict.fromkeys(INPUTS, 0)

    def stimuli():
        for head, body in ((WORDS, WORDS), (WORDS, 0), (0, WORDS), (WORDS - 1, 0), (WORDS, WORDS)):
            for room in (WORDS - head - body, 0, 1, 3):
                yield idle | {"head": head << BITS, "body": body << BITS, "arm": 1, "set_body": 1}
                count = max(head + body + room, 1)
                for number in range(count):
                    word = random.getrandbits(32) | (number == count - 1) << 32
                    for done in (0, 1) if model.place() is not None else (0,):
                        yield idle | {"words__payload": word, "words__valid": 1, "done": done}
                yield idle

    await clock.follow(model.step, stimuli())


bench = Bench(__name__, {"256 bytes": lambda: Store(SIZE)}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_store(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
