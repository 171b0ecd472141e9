"""Bench of hdl/ipsc2/selected.py: one owner, in turns, for a message."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.selected import Selected
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.ipsc2.model import SelectedModel
from nectar.verification.ipsc2.stimuli import LaneStimulus, lanes

COUNTS = {"1": 1, "3": 3, "9": 9}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def one_owner_at_a_time_in_turns(dut):
    """D1, D3; docs/ipsc2.md, "Circuits": from the cycle behind the decision to the last pair of the message."""
    count = COUNTS[inside()]
    lockstep = Lockstep(dut, ["asks", "open", *lanes(count)])
    await lockstep.start()
    strobes = {f"lanes__{n}__strobe": 1 for n in range(count)}  # a reset in the midst of messages
    for ask, pause, end in ((0.05, 0.1, 0.1), (0.5, 0, 0.3), (1, 0.5, 0.5), (0.02, 0, 1)):
        await lockstep.reset({"asks": (1 << count) - 1, "open": 1, **strobes})
        model, stimulus = SelectedModel(count), LaneStimulus(count, ask, pause, end)
        give = in_each_cycle(stimulus, model, 400)
        await lockstep.follow(model.step, (inputs | {"open": random.random() < 0.6} for inputs in give))
        assert model.granted > 2


bench = Bench(__name__, {name: lambda count=count: Selected(count) for name, count in COUNTS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("1", "9")))
def test_selected(configuration, claim):
    bench.check(configuration, claim)


def test_nobody_to_choose_from_is_refused():
    with pytest.raises(ValueError, match="an arbiter needs at least 1 to choose from, not 0"):
        Selected(0)
