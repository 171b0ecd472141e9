"""Bench of hdl/ipsc2/frames.py: the frames in any row of pairs."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import SHORT_PROBE_PAIRS, WORD_PAIRS
from nectar.hdl.ipsc2.frames import Frames
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import Lockstep, in_each_cycle
from nectar.verification.ipsc2.model import FramesModel

PAIRS = {"short": SHORT_PROBE_PAIRS, "long": WORD_PAIRS}


def stimulus(pause, probe, padding):
    """Any pairs."""
    return lambda model: {
        "data": random.choice([0, 0, 3, random.getrandbits(2)]),
        "strobe": random.random() >= pause,
        "probe": random.random() < probe,
        "padding": random.random() < padding,
    }


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def frames_are_found_in_any_row_of_pairs(dut):
    """D2; docs/ipsc2.md, "Formats": start bits, RDY, EOM; with pauses, and with pairs that begin no frame."""
    lockstep = Lockstep(dut, ["data", "strobe", "probe", "padding"])
    await lockstep.start()
    for pause, probe, padding in ((0, 0.5, 0), (0.3, 0.2, 0.3), (0.7, 0.5, 0.9), (0, 0, 0), (0.1, 1, 0)):
        await lockstep.reset()
        model = FramesModel(PAIRS[inside()])
        await lockstep.follow(model.step, in_each_cycle(stimulus(pause, probe, padding), model, 500))


bench = Bench(__name__, {name: lambda pairs=pairs: Frames(pairs) for name, pairs in PAIRS.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_frames(configuration, claim):
    bench.check(configuration, claim)


def test_a_probe_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a probe has 6 or 10 pairs, not 8"):
        Frames(8)
