"""Claims about the naive way of co-simulation that the engine's speed is measured against."""

import importlib.util

import pytest

from nectar.verification.benchmarks import naive, workloads
from nectar.verification.benchmarks.outcome import NotInstalled


@pytest.mark.nightly
@pytest.mark.parametrize("talkers, messages", [(16, 2), (3, 5)])
def test_it_simulates_what_the_engine_simulates(talkers, messages):
    """A comparison of speeds means something only if both do the same: the same simulated time, the same bytes."""
    slow, fast = naive.ring(talkers, messages), workloads.ring(talkers, messages)
    assert (slow.simulated_ps, slow.carried) == (fast.simulated_ps, fast.carried)
    assert slow.seconds > fast.seconds


def test_without_cocotb_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        NotInstalled, match=r"cocotb is not installed; .* pip install -c .*constraints\.txt'? -e .*\[test\]'"
    ):
        naive.ring(2, 1)
