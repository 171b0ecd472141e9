"""The fast CAB shows at its pins what the RTL shows, in every cycle; and in whole systems nobody can tell them apart.

Specification: docs/cab.md."""

import json
import subprocess

import pytest

from nectar.sim import build
from nectar.sim.topology import load
from nectar.verification import seeds
from nectar.verification.sim.fast import cab_boards
from nectar.verification.sim.test_sleep import record


def lockstep(seed, cycles):
    """Steps both boards; what the program counts. AssertionError, with the cycles before it, at a difference."""
    outcome = subprocess.run([cab_boards.lockstep(), str(seed), str(cycles)], capture_output=True, text=True)
    assert outcome.returncode == 0, f"seed {seed}\n{outcome.stdout}{outcome.stderr}"
    return json.loads(outcome.stdout)


def everything(runs, cycles):
    """Runs from seeds of their own; each kind of stimulus must have been there."""
    total = {}
    for number in range(runs):
        for what, count in lockstep(seeds.rng("fast CAB", number).randrange(1 << 32), cycles).items():
            total[what] = total.get(what, 0) + count
    assert total["cycles"] == runs * cycles
    for what in "accesses", "refused", "symbols_in", "symbols_out", "slept":
        assert total[what] > cycles / 10, what
    assert total["packets_in"] > cycles / 1000 and total["packets_out"] > cycles / 1000


def test_both_show_the_same_in_every_cycle():
    everything(8, 100_000)


@pytest.mark.nightly
def test_both_show_the_same_in_every_cycle_of_a_long_run():
    everything(100, 500_000)


@pytest.mark.parametrize("name, seed", [("hub:4", 1), ("figure7", 2)])
def test_a_system_of_fast_cabs_does_the_same_at_the_same_time(name, seed, monkeypatch):
    """Every symbol on every fiber, every packet, every reading of a clock, the time of the end."""
    topology = load(name)
    expected, cycles = record(topology, seed)
    sizes = sorted({hub.ports for hub in topology.hubs.values()})
    library = cab_boards.engine(sizes)
    monkeypatch.setattr(build, "library", lambda *arguments, **options: library)
    seen, fast_cycles = record(topology, seed)
    assert seen == expected
    assert cycles == fast_cycles
