"""Bench of hdl/hub/port/reply_sender.py: replies and answers in, symbols out."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.reply_sender import ReplySender
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.specs.reply_sender import ReplySenderSpec
from nectar.verification.specs.spec import Follower


class Model:
    """What is sent when, as specified; the replies that wait, and the answer."""

    def __init__(self):
        self.spec = Follower(ReplySenderSpec())
        self.replies = deque()  # bytes
        self.coming = []
        self.answer = None
        self.seen = {"own": 0, "other": 0, "own in turn": 0, "other in turn": 0, "refused": 0}

    @property
    def waiting(self):
        """Whether there is a symbol to send."""
        return bool(self.replies or self.answer)

    def step(self, inputs):
        """What is next; then what goes and what comes."""
        at, shown = self.spec.state.at, self.spec.step(inputs)
        keeps, own = shown.pop("keeps"), bool(shown.pop("sends_own"))
        symbols = [Control.REPLY, *((self.answer if own else self.replies[0]) if self.waiting else ())]
        shown["symbol"] = 0 if inputs["muted"] else symbols[at] if self.waiting else None
        self.seen["refused"] += inputs["push"] and shown["full"]
        if inputs["take"] and at == 0:
            self.seen["own" if own else "other"] += 1
            if self.answer and self.replies:
                self.seen["own in turn" if own else "other in turn"] += 1
        if inputs["take"] and at == len(symbols) - 1:
            if own:
                self.answer = None
            else:
                self.replies.popleft()
        if keeps:
            self.coming.append(inputs["byte"])
            if len(self.coming) == 3:
                self.replies.append(bytes(self.coming))
                self.coming = []
        return shown


def stimulus(push, answer, take):
    def inputs(model):
        if model.answer is None and random.random() < answer:
            model.answer = random.randbytes(3)
        pushes = bool(model.coming) or random.random() < push
        return {
            "push": pushes,
            "place": len(model.coming) + 1 if pushes else random.randrange(4),
            "byte": random.getrandbits(8),
            "answer__valid": model.answer is not None,
            "answer__payload": int.from_bytes(model.answer or random.randbytes(3), "big"),
            "take": model.waiting and random.random() < take,
            "muted": random.random() < 0.2,
        }

    return inputs


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sends_replies_in_order_and_whole(dut):
    """docs/wire.md: control code, opcode, HUB ID, value; room for four; answers and replies in turns."""
    lockstep, model = (
        Lockstep(dut, ["byte", "place", "push", "answer__payload", "answer__valid", "take", "muted"]),
        Model(),
    )
    await lockstep.start()
    for push, answer, take in (
        (0.1, 0.1, 0.9),
        (1, 1, 1),
        (1, 0.5, 0.3),
        (0.1, 0, 1),
        (0, 0.3, 1),
        (1, 1, 0),
        (0, 0, 1),
    ):
        await lockstep.follow(model.step, in_each_cycle(stimulus(push, answer, take), model, 400))
    assert not model.waiting and lockstep.pin("waiting") == 0
    assert all(model.seen.values()), model.seen


bench = Bench(__name__, {"sender": ReplySender}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_reply_sender(configuration, claim):
    bench.check(configuration, claim)
