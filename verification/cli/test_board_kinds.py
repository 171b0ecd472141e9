"""``nectar run --boards fast --rtl NAMES``: what is refused before anything runs (docs/engine.md, "Fast boards")."""

import os
import re

import pytest

from nectar.sim.machines.nectar import kinds_of
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load

PROGRAM = 'TOPOLOGY = "hub:2"\n\n\nasync def main(system, arguments):\n    pass\n'
CABS = ["--boards", "fast", "--rtl", "CAB1,CAB2"]


@pytest.mark.parametrize(
    "options, line",
    [
        (["--boards", "slow"], r"--boards slow: boards are rtl or fast"),
        (["--rtl", "CAB1"], r"--rtl needs --boards fast: .*"),
        (["--boards", "fast", "--rtl", ","], r"--rtl ,: a name is missing; .*"),
        (["--boards", "fast", "--rtl", "HUB1,"], r"--rtl HUB1,: a name is missing; .*"),
        (
            ["--boards", "fast", "--rtl", "HUB9"],
            r"--boards fast: there is no board 'HUB9' to be RTL; .* HUB1, CAB1, CAB2",
        ),
        ([*CABS, "--profile", "modern"], r"--boards fast: fast HUBs have the profile prototype, not modern; .*"),
        ([*CABS, "--waves", "w.vcd"], r"--waves: HUB1 is a fast board, which has no waveforms; .*"),
        ([*CABS, "--waves", "w.vcd", "--wave-boards", "HUB1"], r"--waves: HUB1 is a fast board, .*"),
    ],
)
def test_wrong_boards_are_refused_in_one_line(here, options, line):
    got = here.refused("run", here.program(PROGRAM), *options)
    assert re.fullmatch(line, got), got
    assert os.listdir(here.folder) == ["program.py"]


def test_boards_mix_by_name():
    kinds = kinds_of(load("hub:3"), PROTOTYPE, ["CAB2"], "fast", ["CAB1", "CAB2", "CAB3"])
    assert kinds == {"HUB1": "fasthub16", "CAB1": "cab", "CAB2": "vmecab", "CAB3": "cab"}
    assert kinds_of(load("hub:1"), PROTOTYPE) == {"HUB1": "hub16", "CAB1": "cab"}
