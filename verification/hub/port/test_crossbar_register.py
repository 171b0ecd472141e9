"""Bench of hdl/hub/port/crossbar_register.py: order, room, marks."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.crossbar_register import CrossbarRegister
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench
from nectar.verification.harness import Lockstep, in_each_cycle

CLOSES = 1 << 9


class Model:
    """Two places."""

    def __init__(self):
        self.places = deque()
        self.seen = {"unmarked": 0, "unmarked as it comes": 0, "start": 0, "full": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        shown = {
            "space": len(self.places) < 2,
            "output__valid": bool(self.places),
            "output__payload": self.places[0] if self.places else None,
            "start": any(place & 0x1FF == Control.START for place in self.places),
        }
        self.seen["start"] += shown["start"]
        self.seen["full"] += not shown["space"]
        if inputs["output__ready"] and self.places:
            self.places.popleft()
        if inputs["ended"]:
            self.seen["unmarked"] += any(place & CLOSES for place in self.places)
            self.seen["unmarked as it comes"] += bool(inputs["push"] and inputs["beat"] & CLOSES)
        if inputs["push"]:
            self.places.append(inputs["beat"])
        if inputs["ended"]:
            self.places = deque(place & ~CLOSES for place in self.places)
        return shown


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order_and_lets_a_stream_flow(dut):
    """H3: a symbol a cycle; H13: a mark goes when its connection has ended otherwise."""
    lockstep, model = Lockstep(dut, ["beat", "push", "ended", "output__ready"]), Model()
    await lockstep.start()
    for push, take, ended in ((1, 1, 0), (0.5, 0.5, 0.1), (1, 0.3, 0.2), (0.3, 1, 0.2), (0, 1, 0)):
        await lockstep.follow(
            model.step,
            in_each_cycle(
                lambda model: {
                    "push": len(model.places) < 2 and random.random() < push,
                    "output__ready": random.random() < take,
                    "ended": random.random() < ended,
                    "beat": random.choice([Control.START, Control.END, 0x02, random.getrandbits(8)])
                    | random.getrandbits(1) * CLOSES,
                },
                model,
                300,
            ),
        )
    assert all(model.seen.values()), model.seen


bench = Bench(__name__, {"register": CrossbarRegister}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_crossbar_register(configuration, claim):
    bench.check(configuration, claim)
