"""Bench of hdl/hub/port/reply_buffer.py: replies come and go by the byte, in order, each whole."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.reply_buffer import ReplyBuffer
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.specs.reply_buffer import ReplyBufferSpec
from nectar.verification.specs.spec import Follower


class Model:
    """Which replies there are, as specified, and their bytes."""

    def __init__(self):
        self.spec = Follower(ReplyBufferSpec())
        self.waiting = deque()
        self.arriving = []
        self.seen = {"lost": 0, "kept": 0, "cut": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        place, shown = inputs["source__place"], self.spec.step(inputs)
        shown["source__byte"] = self.waiting[0][place - 1] if self.waiting and place else None
        kept = shown.pop("kept")
        if inputs["source__pop"]:
            self.waiting.popleft()
        if inputs["strobe"]:
            if inputs["place"] == 1:
                self.seen["cut"] += bool(self.arriving)
                self.arriving = []
            self.arriving.append(inputs["byte"])
        if kept:
            self.waiting.append(self.arriving)
        if kept or shown["lost"]:
            self.seen["kept" if kept else "lost"] += 1
            self.arriving = []
        return shown


class Stimulus:
    """Bytes of replies, some of which are cut short, and takers that look at any byte."""

    def __init__(self, arrive, take):
        self.arrive, self.take = arrive, take

    def __call__(self, model):
        strobe = random.random() < self.arrive
        place = 1 if random.random() < 0.05 else len(model.arriving) + 1
        if not strobe:
            place = random.randrange(4)  # it means nothing
        return {
            "strobe": strobe,
            "place": place,
            "byte": random.getrandbits(8),
            "source__place": random.randrange(4),
            "source__pop": bool(model.waiting) and random.random() < self.take,
        }


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order_and_loses_only_replies_that_find_no_room(dut):
    """docs/hub.md, Replies: a reply that arrives while four wait is lost and told, all others leave in order."""
    lockstep, model = Lockstep(dut, ["byte", "place", "strobe", "source__place", "source__pop"]), Model()
    await lockstep.start()
    for arrive, take in ((0.3, 0.3), (1, 0.3), (1, 0.05), (0.5, 0.1), (0, 1)):
        await lockstep.follow(model.step, in_each_cycle(Stimulus(arrive, take), model, 600))
    assert all(model.seen.values()), model.seen
    assert not model.waiting and lockstep.pin("source__valid") == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_cycle_forgets_all_replies(dut):
    """docs/hub.md, "Reset hub": those that wait, and one of which a part has arrived."""
    lockstep = Lockstep(dut, ["byte", "place", "strobe", "source__place", "source__pop"])
    await lockstep.start()
    for cycles in range(1, 40):
        model = Model()
        await lockstep.follow(model.step, in_each_cycle(Stimulus(1, 0.2), model, cycles))
        await lockstep.reset()
        model = Model()
        await lockstep.follow(model.step, in_each_cycle(Stimulus(0.9, 0.5), model, 12))
        await lockstep.reset()


bench = Bench(__name__, {"buffer": ReplyBuffer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_reply_buffer(configuration, claim):
    bench.check(configuration, claim)
