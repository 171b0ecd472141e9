"""Proof of hdl/hub/status_table.py."""

import pytest

from nectar.hdl.hub.status_table import StatusTable
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.status_table import StatusTableProof

FAULTS = {
    "a close leaves the mask of the input": ("(self.targets[i] | granted) & ~released", "(self.targets[i] | granted) & ~self.closed"),
    "a grant wins over a close": ("(self.connected | self.grant_output) & ~released", "self.connected & ~released | self.grant_output"),
    "a grant is not noted": ("(self.targets[i] | granted) & ~released", "self.targets[i] & ~released"),
    "every input gets the output": ("m.If(self.grant_input[i])", "m.If(self.grant_input.any())"),
}


@pytest.mark.parametrize("ports", [3, 16])
def test_an_output_has_one_input_and_a_grant_stands_in_the_next_cycle(ports):
    """H10 and H4."""
    outcome = prove(StatusTableProof(StatusTable, ports), f"status table {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.status_table", *FAULTS[fault]).StatusTable
    outcome = prove(StatusTableProof(faulty, 3), f"status table {fault}", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
