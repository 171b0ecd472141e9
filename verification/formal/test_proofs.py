"""All proofs: each holds, and finds each of its faults."""

import pytest

from nectar.verification.formal.proof import all_proofs

PROOFS = [proof for proofs in all_proofs().values() for proof in proofs]


def _case(proof, name, nightly):
    return pytest.param(proof, name, id=f"{proof.name}-{name}", marks=pytest.mark.nightly if nightly else ())


@pytest.mark.parametrize(
    "proof, case", [_case(proof, name, attempt.nightly) for proof in PROOFS for name, attempt in proof.holds.items()]
)
def test_the_proof_holds(proof, case, record_property):
    if proof.holds[case].mode == "bmc":
        record_property("depth", str(proof.holds[case].depth))
    outcome = proof.hold(case)
    assert outcome.passed, f"{proof.claim} ({proof.source}): {outcome}"


@pytest.mark.parametrize(
    "proof, fault", [_case(proof, name, n >= proof.everyday) for proof in PROOFS for n, name in enumerate(proof.faults)]
)
def test_the_proof_finds(proof, fault):
    outcome = proof.find(fault)
    assert outcome.status == "FAIL", f"{proof.claim} ({proof.source}): {outcome}"


def test_no_two_proofs_have_a_name():
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
