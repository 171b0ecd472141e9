"""Proof of hdl/hub/port/output_port.py and hdl/hub/port/crossbar_register.py."""

import pytest

from nectar.hdl.hub.port.output_port import OutputPort
from nectar.verification.formal.faults import cases
from nectar.verification.formal.output_port import OutputPortProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a reply waits for data": ("stays.eq(Mux(load, (readies != 0) | replies.waiting,", "stays.eq(Mux(load, (readies != 0) | replies.waiting & ~comes,"),
    "it closes although the register was not loaded": ("closes_beside.eq(load & taken &", "closes_beside.eq(taken &"),
    "a start does not clear the ready bit": ("start_enters.eq(fresh & valid & is_start(payload))", "start_enters.eq(0)"),
    "a ready signal that was sent sets the ready bit": ("m.Elif(self.ready_set | self.ready_arrived)",
                                                        "m.Elif(self.ready_set | self.ready_arrived | self.send_ready)"),
    "a start on its way does not count": ("& ~(taken & is_start(beside.symbol)) & ~start_behind", ""),
    "a mark outlives its connection": ("came.closes & ~self.ended)", "came.closes)"),
    "too many ready signals wipe out all": ("self.send_ready & ~rest.all()", "self.send_ready"),
}


@pytest.mark.parametrize("register", [True, False])
def test_sends_all_in_the_right_order_and_closes_behind_it(register):
    """H12, H13, H15; docs/hub.md, "Output side of a port"."""
    outcome = prove(OutputPortProof(OutputPort, register), f"output port {register}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.output_port", *FAULTS[fault]).OutputPort
    outcome = prove(OutputPortProof(faulty, False), f"output port {fault}", mode="bmc", depth=20 if "too many" in fault else 8)
    assert outcome.status == "FAIL", outcome
