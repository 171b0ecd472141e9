"""Proof of hdl/hub/control/central.py: who changes supervisor state."""

import pytest

from nectar.hdl.hub.control import central
from nectar.hdl.hub.control.central import Central
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.supervision import SupervisionProof

FAULTS = {
    "a port that may not supervises": ("controller", "Controller", "turns.pick & self.allowed & Cat(", "turns.pick & Cat("),
    "any command of a port that may supervises": ("controller", "Controller", "self.allowed & Cat(request.op[7] for request in self.request)",
                                                  "self.allowed"),
    "refused commands are carried out": ("answers", "Answers", "self.command_valid.eq(supervises)", "self.command_valid.eq(valid)"),
}


@pytest.mark.parametrize("ports", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_user_command_never_changes_supervisor_state(ports):
    """docs/hub.md, "Controller and status table"."""
    outcome = prove(SupervisionProof(Central, ports), f"supervision {ports}", depth=3)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault, monkeypatch):
    name, part, old, new = FAULTS[fault]
    monkeypatch.setattr(central, part, getattr(broken(f"nectar.hdl.hub.{name}", old, new), part))
    outcome = prove(SupervisionProof(Central, 2), f"supervision {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome
