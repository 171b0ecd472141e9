"""Bench of hdl/hub/reply_buffer.py: replies and answers in one queue."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.reply_buffer import ARRIVED_ROOM, ReplyBuffer
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep

OWN = 1 << 24


class Model:
    """A deque; an answer steps back for a reply."""

    def __init__(self):
        self.waiting = deque()
        self.seen = {"lost": 0, "answers": 0, "held up": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        full = len(self.waiting) == ARRIVED_ROOM
        arrives = inputs["arrived_valid"]
        accepts = not arrives and not full
        shown = {"lost": arrives and full, "answer__ready": accepts, "output__valid": bool(self.waiting),
                 "output__payload": self.waiting[0] if self.waiting else None}
        if self.waiting and inputs["output__ready"]:
            self.waiting.popleft()
        if arrives and not full:
            self.waiting.append(inputs["arrived"])
        if inputs["answer__valid"] and accepts:
            self.waiting.append(inputs["answer__payload"] | OWN)
        self.seen["lost"] += shown["lost"]
        self.seen["answers"] += inputs["answer__valid"] and accepts
        self.seen["held up"] += inputs["answer__valid"] and not accepts
        return shown


class Stimulus:
    """Replies at random; an answer that waits stays as it is."""

    def __init__(self, arrive, answer, take):
        self.arrive, self.answer, self.take = arrive, answer, take
        self.pending = None

    def __call__(self, model):
        if self.pending is None and random.random() < self.answer:
            self.pending = random.getrandbits(24)
        inputs = {"arrived_valid": random.random() < self.arrive, "arrived": random.getrandbits(24),
                  "answer__valid": self.pending is not None, "answer__payload": self.pending or 0,
                  "output__ready": random.random() < self.take}
        if not inputs["arrived_valid"] and len(model.waiting) < ARRIVED_ROOM:
            self.pending = None
        return inputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order_and_loses_only_replies_that_find_no_room(dut):
    """docs/hub.md, Replies: what arrives on top of the room is lost and told; an answer waits instead."""
    lockstep = Lockstep(dut, ["arrived", "arrived_valid", "answer__payload", "answer__valid", "output__ready"])
    model = Model()
    await lockstep.reset()
    for arrive, answer, take in ((0.1, 0.3, 0.9), (0.3, 0.3, 0.5), (0.25, 0.5, 1), (0.5, 0.5, 0.1), (0, 0, 1)):
        await lockstep.run(model, Stimulus(arrive, answer, take), 300)
    assert all(model.seen.values()), model.seen
    assert not model.waiting and lockstep.read("output__valid") == 0


bench = Bench(__name__, {"buffer": ReplyBuffer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_reply_buffer(configuration, claim):
    bench.check(configuration, claim)
