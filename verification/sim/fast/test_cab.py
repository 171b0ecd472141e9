"""The fast CAB shows at its pins what the RTL shows, in every cycle; and in whole systems nobody can tell them apart.

Specification: docs/cab.md."""

import json
import subprocess
from collections import Counter

import pytest

from nectar.sim import build
from nectar.sim.topology import load
from nectar.verification import seeds
from nectar.verification.sim.fast import cab_boards
from nectar.verification.sim.test_sleep import record


def lockstep(kind, seed, cycles):
    """Steps both boards; what the program counts. AssertionError, with the cycles around it, at a difference."""
    outcome = subprocess.run([cab_boards.lockstep(), kind, str(seed), str(cycles)], capture_output=True, text=True)
    assert outcome.returncode == 0, f"{kind}, seed {seed}\n{outcome.stdout}{outcome.stderr}"
    return json.loads(outcome.stdout)


def everything(kind, runs, cycles):
    """Runs from seeds of their own; each kind of stimulus must have been there."""
    total = Counter()
    for number in range(runs):
        total.update(lockstep(kind, seeds.rng("fast", kind, number).randrange(1 << 32), cycles))
    assert total["cycles"] == runs * cycles
    assert min(total[what] for what in ("accesses", "refused", "symbols_in", "symbols_out", "slept")) > cycles / 10
    assert min(total["packets_in"], total["packets_out"]) > cycles / 1000
    if kind == "vmecab":
        assert min(total["node_accesses"], total["node_refused"]) > cycles / 1000
        assert min(total["not_granted"], total["windows"]) > 0


@pytest.mark.parametrize("kind", ["cab", "vmecab"])
def test_both_show_the_same_in_every_cycle(kind):
    everything(kind, 10, 60_000)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["cab", "vmecab"])
def test_both_show_the_same_in_every_cycle_of_a_long_run(kind):
    everything(kind, 100, 300_000)


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
