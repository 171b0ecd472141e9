"""Bench of hdl/ipsc2/outgoing.py: nibbles, messages, RDY in every frame, DESTINATION READY."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.outgoing import Outgoing
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep
from nectar.verification.ipsc2.model import OutgoingModel
from nectar.verification.ipsc2.stimuli import LaneStimulus, lanes

COUNTS = {"1": 1, "4": 4, "9": 9}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_channel_is_idle_or_has_an_owner(dut):
    """D2, D3; docs/ipsc2.md, "Circuits", "Ready": whole nibbles when it is idle, the owner's pairs else, each RDY that
    of the message of the other direction; what comes back is the owner's."""
    count = COUNTS[inside()]
    lockstep = Lockstep(dut, ["asks", "status", "rdy", "rdy_valid", *lanes(count)])
    await lockstep.start()
    strobes = {f"lanes__{n}__strobe": 1 for n in range(count)}  # a reset in the midst of messages
    for ask, pause, end in ((0.05, 0.1, 0.1), (0.5, 0, 0.3), (1, 0.5, 0.5), (0.02, 0, 1), (0, 0, 0)):
        await lockstep.reset({"asks": (1 << count) - 1, **strobes})
        model, stimulus = OutgoingModel(count), LaneStimulus(count, ask, pause, end)
        give = (stimulus(model.selected) for _ in range(400))
        await lockstep.follow(
            model.step,
            (
                inputs
                | {
                    "status": random.getrandbits(1),
                    "rdy": random.getrandbits(1),
                    "rdy_valid": random.random() < 0.4,
                }
                for inputs in give
            ),
        )
        assert model.selected.granted > 2 or not ask


bench = Bench(__name__, {name: lambda count=count: Outgoing(count) for name, count in COUNTS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("1", "9")))
def test_outgoing(configuration, claim):
    bench.check(configuration, claim)
