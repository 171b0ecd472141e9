"""Proof of hdl/link/elastic.py."""

import pytest
from nectar.hdl.link.elastic import ElasticBuffer
from nectar.verification.formal.elastic import ElasticProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a run leaves without a head start": ("HEAD_START = 2", "HEAD_START = 1"),
    "too large a head start": ("(level >= HEAD_START)", "(level >= 7)"),
    "the wrong place is read": ("read.addr.eq(popped[:-1])", "read.addr.eq(pushed[:-1])"),
    "idles do not end a run": ("with m.If(self.idle):\n            m.d.sync += over.eq(1)", "with m.If(self.idle):\n            m.d.sync += over.eq(0)"),
}


def test_neither_overflows_nor_tears_a_run():
    """docs/serial.md, "Elastic buffer"."""
    outcome = prove(ElasticProof(ElasticBuffer), "elastic buffer")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.link.elastic", *FAULTS[fault]).ElasticBuffer
    outcome = prove(ElasticProof(faulty), f"elastic {fault}", mode="bmc", depth=60)
    assert outcome.status == "FAIL", outcome
