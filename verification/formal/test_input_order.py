"""Proof of hdl/hub/port/bypass.py together with hdl/hub/port/input_queue.py."""

import pytest

from nectar.hdl.hub.port.bypass import Bypass
from nectar.hdl.hub.port.input_queue import InputQueue
from nectar.verification.formal.faults import cases
from nectar.verification.formal.input_order import InputOrderProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a symbol goes past the queue": ("self.open.eq(self.empty & fresh & ~full)", "self.open.eq(fresh & ~full)"),
    "what was overwritten counts as there": ("fresh.eq(~self.pop_queue)", "fresh.eq(1)"),
    "it takes more than it has places": ("self.pop_queue.eq(self.oldest_valid & ~full)", "self.pop_queue.eq(self.oldest_valid)"),
    "a command is taken for a symbol": ("newest.eq(behind & self.pop | here)", "newest.eq(here)"),
    "a clearing leaves one": ("popped.eq(Mux(self.clear, next_pushed,", "popped.eq(Mux(self.clear, pushed,"),
}


@pytest.mark.parametrize("capacity", [9, pytest.param(64, marks=pytest.mark.nightly)])
def test_the_way_past_the_queue_keeps_the_order(capacity):
    """H14."""
    outcome = prove(InputOrderProof(InputQueue, Bypass, capacity), f"input order {capacity}", depth=3)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.bypass", *FAULTS[fault]).Bypass
    outcome = prove(InputOrderProof(InputQueue, faulty, 9), f"input order {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome
