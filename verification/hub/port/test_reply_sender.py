"""Bench of hdl/hub/port/reply_sender.py: replies and answers in, symbols out."""

import random

import cocotb
import pytest

from nectar.hdl.hub.port.reply_sender import ReplySender
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.hub.port.reply_model import ReplyModel


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
        ReplyModel(),
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
