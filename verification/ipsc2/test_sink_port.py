"""Bench of hdl/ipsc2/sink_port.py: one message at a time, with a cycle between."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.sink_port import SinkPort
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.ipsc2.model import SinkPortModel
from nectar.verification.ipsc2.stimuli import LaneStimulus, lanes

COUNTS = {"1": 1, "4": 4, "8": 8}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def messages_come_in_one_behind_the_other(dut):
    """docs/ipsc2.md, "Node sink": open for the message, closed between two; ready only while it is open."""
    count = COUNTS[inside()]
    lockstep = Lockstep(dut, ["asks", "sink__ready", *lanes(count, status=False)])
    await lockstep.start()
    strobes = {f"lanes__{n}__strobe": 1 for n in range(count)}  # a reset in the midst of messages
    for ask, pause, end in ((0.05, 0.1, 0.1), (0.5, 0, 0.3), (1, 0.5, 0.5), (0.02, 0, 1)):
        await lockstep.reset({"asks": (1 << count) - 1, **strobes})
        model, stimulus = SinkPortModel(count), LaneStimulus(count, ask, pause, end)
        give = (stimulus(model.selected) | {"sink__ready": random.getrandbits(1)} for _ in range(400))
        await lockstep.follow(model.step, give)
        assert model.selected.granted > 2


bench = Bench(__name__, {name: lambda count=count: SinkPort(count) for name, count in COUNTS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("1", "8")))
def test_sink_port(configuration, claim):
    bench.check(configuration, claim)
