"""Bench of hdl/hub/reply_sender.py: replies in, symbols out."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.reply_sender import REPLY_ROOM, ReplySender
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep


class Model:
    """All symbols that wait, in one deque."""

    def __init__(self):
        self.symbols = deque()

    @property
    def full(self):
        """Whether four replies wait, the one that is being sent included."""
        return -(-len(self.symbols) // 4) == REPLY_ROOM

    def step(self, inputs):
        """What is next; then what goes and what comes."""
        shown = {"waiting": bool(self.symbols), "symbol": self.symbols[0] if self.symbols else None, "full": self.full}
        if inputs["take"]:
            self.symbols.popleft()
        if inputs["push"]:
            op, hub, value = inputs["reply"].to_bytes(3, "big")
            self.symbols.extend([Control.REPLY, op, hub, value])
        return shown


def stimulus(push, take):
    return lambda model: {"push": not model.full and random.random() < push, "reply": random.getrandbits(24),
                          "take": bool(model.symbols) and random.random() < take}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sends_replies_in_order_and_whole(dut):
    """docs/wire.md: control code, opcode, HUB ID, value; room for four."""
    lockstep, model = Lockstep(dut, ["reply", "push", "take"]), Model()
    await lockstep.reset()
    for push, take in ((0.2, 0.9), (1, 1), (1, 0.3), (0.1, 1), (1, 0), (0, 1)):
        await lockstep.run(model, stimulus(push, take), 300)
    assert not model.symbols and lockstep.read("waiting") == 0


bench = Bench(__name__, {"sender": ReplySender}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_reply_sender(configuration, claim):
    bench.check(configuration, claim)
