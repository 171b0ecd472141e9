"""Bench of hdl/hub/port/reply_sender.py: replies and answers in, symbols out."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.reply_sender import REPLY_ROOM, ReplySender
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, in_each_cycle


class Model:
    """Replies that wait, an answer that waits, and the symbols of the one that is being sent."""

    def __init__(self):
        self.replies = deque()  # bytes
        self.coming = []
        self.answer = None
        self.symbols = None  # of the one that is being sent
        self.own = False  # it is the answer
        self.seen = {"own": 0, "other": 0, "own in turn": 0, "other in turn": 0, "refused": 0}

    @property
    def full(self):
        """Whether four replies wait, the one that is being sent included."""
        return len(self.replies) == REPLY_ROOM

    @property
    def waiting(self):
        """Whether there is a symbol to send."""
        return bool(self.replies or self.answer)

    def step(self, inputs):
        """What is next; then what goes and what comes."""
        if not self.symbols and self.waiting:
            turn = bool(self.answer) and (not self.own or not self.replies)
            if inputs["take"]:
                self.seen["own" if turn else "other"] += 1
                if self.answer and self.replies:
                    self.seen["own in turn" if turn else "other in turn"] += 1
                self.own = turn
                self.symbols = deque([Control.REPLY, *(self.answer if turn else self.replies[0])])
        symbol = self.symbols[0] if self.symbols else Control.REPLY
        last = inputs["take"] and self.symbols and len(self.symbols) == 1
        full = self.full
        shown = {
            "waiting": self.waiting,
            "symbol": 0 if inputs["muted"] else symbol if self.waiting else None,
            "full": full,
            "answer__ready": bool(last and self.own),
        }
        self.seen["refused"] += inputs["push"] and full
        if inputs["take"]:
            self.symbols.popleft()
        if last:
            if self.own:
                self.answer = None
            else:
                self.replies.popleft()
        if inputs["push"] and (self.coming or not full):
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
