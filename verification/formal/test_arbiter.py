"""Proof of hdl/hub/control/arbiter.py."""

import pytest

from nectar.hdl.hub.control.arbiter import Arbiter
from nectar.verification.formal.arbiter import ArbiterProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "the lowest number always wins": ("early | late & ~first[g].replicate(len(group))", "late"),
    "no turn is taken": ("m.d.sync += behind.eq(after)", "m.d.sync += behind.eq(behind)"),
    "nobody is picked when all behind are silent": ("early & sooner.replicate(len(group)) | late &", "early & sooner.replicate(len(group)) | 0 &"),
    "two groups pick at once": ("later.eq(~asking[:g].any() & ", "later.eq("),
}


@pytest.mark.parametrize("count", [1, 3, 9, pytest.param(16, marks=pytest.mark.nightly)])
def test_takes_turns_and_lets_nobody_wait_for_more_than_all_others(count):
    """docs/hub.md, "Controller and status table": at most N - 1 others go before who asks without pause."""
    outcome = prove(ArbiterProof(Arbiter, count), f"arbiter {count}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.control.arbiter", *FAULTS[fault]).Arbiter
    outcome = prove(ArbiterProof(faulty, 6), f"arbiter {fault}", mode="bmc", depth=6)
    assert outcome.status == "FAIL", outcome
