"""Bench of hdl/hub/port/skid_buffer.py: order, room, marks."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.hub.port.skid_buffer import SkidBuffer
from nectar.hdl.link.symbol import Control
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle

CLOSES = 1 << 9
CONFIGURATIONS = {"two places": False, "three places, late": True}


class Model:
    """Two places, or if it is ``late`` three, and the symbol that comes."""

    def __init__(self):
        self.late = CONFIGURATIONS[inside()]
        self.places = deque()
        self.space = True  # a symbol may come
        self.passed = []
        self.seen = {"unmarked": 0, "start": 0, "full": 0, "through": 0}

    def step(self, inputs):
        """Outputs of this cycle; then what it changes."""
        here = [*self.places, *([inputs["beat"]] if inputs["push"] else [])]
        shown = {
            "space": len(self.places) < 2,
            "waits": bool(self.places),
            "oldest": self.places[0] if self.places else None,
            "start": any(place & 0x1FF == Control.START for place in self.places),
        }
        self.seen["start"] += shown["start"]
        self.seen["full"] += len(self.places) == (3 if self.late else 2)
        self.seen["through"] += not self.places and bool(here) and inputs["pop"]
        if inputs["pop"] and here:
            self.passed.append(here.pop(0))
        if inputs["ended"]:
            self.seen["unmarked"] += any(place & CLOSES for place in here)
            here = [place & ~CLOSES for place in here]
        self.places = deque(here)
        self.space = shown["space"] if self.late else len(here) < 2
        return shown


def stimulus(push, take, ended=0.0):
    """Random inputs within the rules of the component."""
    return lambda model: {
        "push": model.space and random.random() < push,
        "pop": random.random() < take,
        "ended": random.random() < ended,
        "beat": random.choice([Control.START, Control.END, Control.COMMAND, *random.randbytes(2)])
        | random.getrandbits(1) * CLOSES,
    }


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_order_and_lets_a_stream_flow(dut):
    """H3: a symbol a cycle, also when the stream was held up; H13: a mark goes when its connection has ended
    otherwise."""
    lockstep, model = Lockstep(dut, ["beat", "push", "ended", "pop"]), Model()
    await lockstep.start()
    for push, take, ended in ((1, 1, 0), (0.5, 0.5, 0.1), (1, 0.3, 0.2), (0.3, 1, 0.2), (0, 1, 0)):
        await lockstep.follow(model.step, in_each_cycle(stimulus(push, take, ended), model, 600))
    assert all(model.seen.values()) and not model.places, model.seen
    for stall in range(1, 8):
        await lockstep.follow(model.step, in_each_cycle(stimulus(1, 0), model, stall))
        passed = len(model.passed)
        await lockstep.follow(model.step, in_each_cycle(stimulus(1, 1), model, 20))
        assert len(model.passed) == passed + 20


bench = Bench(
    __name__, {name: lambda late=late: SkidBuffer(late) for name, late in CONFIGURATIONS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_skid_buffer(configuration, claim):
    bench.check(configuration, claim)
