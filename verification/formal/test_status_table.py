"""Proof of hdl/hub/control/status_table.py."""

import pytest

from nectar.hdl.hub.control.status_table import StatusTable
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.status_table import StatusTableProof

FAULTS = {
    "a close by the output leaves the mask of the input": ("low[o % 4])) & ~self.closed[o])", "low[o % 4])))"),
    "a grant is not noted": ("self.enter | (self.close_one & self.mine)", "self.close_one & self.mine"),
    "an input closes what is not its own": ("(self.close_one & self.mine)", "self.close_one"),
    "the owner is not noted": ("m.d.sync += self.owner[o].eq(self.entered_input)", "m.d.sync += self.owner[o].eq(self.owner[o])"),
}


@pytest.mark.parametrize("ports", [3, 16])
def test_an_output_has_one_input_and_a_grant_stands_in_the_next_cycle(ports):
    """H10 and H4."""
    outcome = prove(StatusTableProof(StatusTable, ports), f"status table {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.control.status_table", *FAULTS[fault]).StatusTable
    outcome = prove(StatusTableProof(faulty, 3), f"status table {fault}", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
