"""Proof of hdl/cab/output.py."""

import pytest

from nectar.hdl.cab.output import OutputRegister
from nectar.verification.formal.faults import cases
from nectar.verification.formal.output_register import OutputRegisterProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a third symbol is asked for": ("self.room.eq(~spare_valid)", "self.room.eq(1)"),
    "a third symbol fills over the second": ("with m.If(~spare_valid):", "with m.If(self.push.valid):"),
    "the second is lost": ("with m.Elif(self.push.valid):", "with m.Elif(self.push.valid & 0):"),
    "a start that waits behind is not seen": ("(spare_valid & spare.start)", "(spare_valid & 0)"),
    "what stays is told to have left": ("self.left.eq(leaves & front.notify)", "self.left.eq(front_valid & front.notify)"),
}


def test_keeps_order_and_content_of_two():
    """docs/cab.md, "Fiber out"."""
    outcome = prove(OutputRegisterProof(OutputRegister), "output register")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.cab.output", *FAULTS[fault]).OutputRegister
    outcome = prove(OutputRegisterProof(faulty), f"output register {fault}", mode="bmc", depth=6)
    assert outcome.status == "FAIL", outcome
