"""Proof of hdl/cab/slots.py."""

import pytest

from nectar.hdl.cab.slots import Slots
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.slots import SlotsProof

FAULTS = {
    "fiber in goes first, whosever slot it is": ("owner.eq(self.wants.bit_select(slot, 1))", "owner.eq(self.wants.bit_select(slot, 1) & ~self.wants[0])"),
    "the schedule stands still": ("m.d.sync += count.eq(slot + 1)", "m.d.sync += count.eq(slot)"),
    "the schedule forgets the cycles that were slept through": ("m.d.sync += count.eq(slot + 1)", "m.d.sync += count.eq(count + 1)"),
    "two have a slot that is not wanted": ("earlier = earlier | self.wants[user.value]", "earlier = self.wants[user.value]"),
    "a slot that is not wanted is lost": ("self.wants[user.value] & ~earlier", "0 & ~earlier"),
}


def test_gives_everybody_his_slot_within_a_frame():
    """docs/cab.md, "Data memory"."""
    outcome = prove(SlotsProof(Slots), "slots")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.cab.slots", *FAULTS[fault]).Slots
    outcome = prove(SlotsProof(faulty), f"slots {fault}", mode="bmc", depth=6)
    assert outcome.status == "FAIL", outcome
