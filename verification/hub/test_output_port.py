"""Bench of hdl/hub/output_port.py: precedence, the ready bit, closing."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.output_port import READY_LIMIT, OutputPort
from nectar.hdl.hub.reply_sender import REPLY_ROOM
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.hub.lockstep import Lockstep

CLOSES = 1 << 9
INPUTS = ["passage", "push", "send_ready", "ready_arrived", "reply", "reply_push", "tx__ready"]


class Model:
    """Output side of a port as docs/hub.md describes it."""

    def __init__(self):
        self.register = None   # symbol in the output register
        self.passages = deque()
        self.replies = deque()  # symbols
        self.readies = 0
        self.ready_bit = True
        self.closed = False
        self.sent = []

    @property
    def reply_full(self):
        """Whether four replies wait, the one that is being sent included."""
        return -(-len(self.replies) // 4) == REPLY_ROOM

    @property
    def space(self):
        """Whether the crossbar may send a symbol."""
        return len(self.passages) < 2

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        starts = any(passage & 0x1FF == Control.START for passage in self.passages)
        shown = {"tx__valid": self.register is not None, "tx__payload": self.register, "space": self.space,
                 "reply_full": self.reply_full, "ready": self.ready_bit and not starts, "closed": self.closed,
                 "busy": self.register is not None or bool(self.passages or self.replies or self.readies or self.closed)}
        self.closed = False
        if inputs["ready_arrived"]:
            self.ready_bit = True
        room = READY_LIMIT - self.readies
        if self.register is None or inputs["tx__ready"]:
            if self.register is not None:
                self.sent.append(self.register)
            if self.readies:
                self.readies -= 1
                self.register = Control.READY
            elif self.replies:
                self.register = self.replies.popleft()
            elif self.passages:
                passage = self.passages.popleft()
                self.register = passage & 0x1FF
                self.closed = bool(passage & CLOSES)
                if self.register == Control.START:
                    self.ready_bit = False
            else:
                self.register = None
        if inputs["send_ready"] and room:
            self.readies += 1
        if inputs["push"]:
            self.passages.append(inputs["passage"])
        if inputs["reply_push"]:
            op, hub, value = inputs["reply"].to_bytes(3, "big")
            self.replies.extend([Control.REPLY, op, hub, value])
        return shown


def stimulus(push, take, ready=0.05, reply=0.05):
    """Random inputs within the rules of the component."""
    return lambda model: {
        "push": model.space and random.random() < push,
        "passage": random.choice([Control.START, Control.END, 0x55, random.getrandbits(8)]) | (random.random() < 0.1) * CLOSES,
        "send_ready": random.random() < ready, "ready_arrived": random.random() < 0.1,
        "reply_push": not model.reply_full and random.random() < reply, "reply": random.getrandbits(24),
        "tx__ready": random.random() < take}


async def start(dut):
    lockstep = Lockstep(dut, INPUTS)
    await lockstep.reset()
    return lockstep, Model()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sends_in_the_order_of_precedence(dut):
    """H12, H13, H15: ready, then replies, then data; start clears the ready bit and close all closes as they enter the register."""
    lockstep, model = await start(dut)
    for push, take, ready, reply in ((1, 1, 0.05, 0.05), (0.5, 0.8, 0.1, 0.1), (1, 0.3, 0.02, 0.02), (0.1, 1, 0.3, 0.3), (1, 0, 0.3, 0.1)):
        await lockstep.run(model, stimulus(push, take, ready, reply), 400)
    await lockstep.run(model, stimulus(0, 1, 0, 0), 100)
    assert lockstep.read("busy") == 0 and not (model.passages or model.replies or model.readies)
    assert {Control.START, Control.READY, Control.REPLY} < set(model.sent)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def streams_without_gaps(dut):
    """H3: with the fiber always free a symbol a cycle, each two cycles after it came."""
    lockstep, model = await start(dut)
    await lockstep.run(model, stimulus(1, 1, 0, 0), 200)
    assert len(model.sent) == 200 - 2


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_start_that_waits_counts_as_sent_for_test_open(dut):
    """H15: while a start waits for the output register behind a busy fiber, the output is not ready for another packet."""
    lockstep, _ = await start(dut)
    await lockstep.step({"push": 1, "passage": 0x11}, {"ready": 1})
    await lockstep.step({"push": 1, "passage": 0x12}, {"ready": 1})
    await lockstep.step({"push": 1, "passage": Control.START}, {"ready": 1, "tx__valid": 1, "tx__payload": 0x11})
    for _ in range(5):
        await lockstep.step({}, {"ready": 0, "tx__payload": 0x11})
    await lockstep.step({"ready_arrived": 1}, {"ready": 0})
    await lockstep.step({"tx__ready": 1}, {"ready": 0, "tx__payload": 0x11})
    await lockstep.step({"tx__ready": 1}, {"ready": 0, "tx__payload": 0x12})
    await lockstep.step({"ready_arrived": 1}, {"ready": 0, "tx__payload": Control.START})
    await lockstep.step({}, {"ready": 1})


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_start_wins_over_a_ready_signal_of_the_same_cycle(dut):
    """docs/hub.md: if a start enters the register in the cycle in which a ready signal arrives the bit becomes 0."""
    lockstep, _ = await start(dut)
    await lockstep.step({"push": 1, "passage": Control.START}, {"ready": 1})
    await lockstep.step({"ready_arrived": 1}, {"tx__valid": 0})
    await lockstep.step({}, {"ready": 0, "tx__valid": 1, "tx__payload": Control.START})
    await lockstep.step({"ready_arrived": 1}, {"ready": 0})
    await lockstep.step({}, {"ready": 1})


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def ready_signals_wait_up_to_the_limit(dut):
    """docs/hub.md: up to 15 ready signals wait for a fiber that takes nothing; one more stands in the output register."""
    lockstep, model = await start(dut)
    await lockstep.run(model, lambda model: stimulus(0, 0, 1, 0)(model) | {"ready_arrived": 0}, 40)
    await lockstep.run(model, stimulus(0, 1, 0, 0), 40)
    assert model.sent == [Control.READY] * (READY_LIMIT + 1)


bench = Bench(__name__, {"port": OutputPort}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_output_port(configuration, claim):
    bench.check(configuration, claim)
