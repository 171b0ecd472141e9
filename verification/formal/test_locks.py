"""Proof of hdl/hub/control/locks.py."""

import pytest

from nectar.hdl.hub.control.locks import Locks
from nectar.verification.formal.faults import cases
from nectar.verification.formal.locks import LocksProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a lock is taken beside another's": ("*(self.held[i][o].eq(self.who[i]) for i in ports),",
                                         "*(self.held[i][o].eq(self.held[i][o] | self.who[i]) for i in ports),"),
    "what is given back stays": ("with m.If(self.release[i]):", "with m.If(self.release[i] & ~self.change.any()):"),
    "what is given back stays locked": ("self.locked[o].eq(0), ", ""),
    "a lock shuts nobody out": ("self.shut[i][o].eq(taken & ~self.who[i])", "self.shut[i][o].eq(0)"),
}


@pytest.mark.parametrize("ports", [3, pytest.param(16, marks=pytest.mark.nightly)])
def test_an_output_is_locked_by_one_input_and_both_sides_agree(ports):
    """docs/hub.md, "Controller and status table"."""
    outcome = prove(LocksProof(Locks, ports), f"locks {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.control.locks", *FAULTS[fault]).Locks
    outcome = prove(LocksProof(faulty, 3), f"locks {fault}", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
