"""Proof of heads, crossbar, status table and output ports together."""

import pytest

from nectar.hdl.hub.port.head import Head
from nectar.hdl.hub.port.output_port import OutputPort
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.transfer import TransferProof

FAULTS = {
    "it closes before the last symbol has left": ("output_port", "self.closed.eq(closes_beside | closes_here & comes",
                                                  "self.closed.eq(self.push & self.passage.closes"),
    "a mark outlives its connection": ("output_port", "with m.Elif(self.ended):", "with m.Elif(0):"),
    "nothing waits for a close all": ("head", "next_closing.eq(leaves & last & connected |", "next_closing.eq("),
    "a head does not look for room": ("head", "blocked.eq((self.targets & ~self.space).any())", "blocked.eq(0)"),
}


@pytest.mark.parametrize("ports, direct", [(2, False), (2, True), pytest.param(3, False, marks=pytest.mark.nightly),
                                           pytest.param(3, True, marks=pytest.mark.nightly)])
def test_nothing_overtakes_or_follows_a_close_all(ports, direct):
    """H13."""
    outcome = prove(TransferProof(Head, ports, direct), f"transfer {ports} {direct}", depth=3)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    name, old, new = FAULTS[fault]
    classes = {"Head": Head, "OutputPort": OutputPort}
    classes |= {item: value for item, value in vars(broken(f"nectar.hdl.hub.{name}", old, new)).items() if item in classes}
    outcome = prove(TransferProof(classes["Head"], 2, True, classes["OutputPort"]), f"transfer {fault}", mode="bmc", depth=14)
    assert outcome.status == "FAIL", outcome
