"""Proof of hdl/cab/tx_reader.py."""

import pytest

from nectar.hdl.cab.tx_reader import TxReader
from nectar.verification.formal.faults import cases
from nectar.verification.formal.gather import GatherProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a word more than the area has is read": ("final.eq(reach <= LANES)", "final.eq(reach < LANES)"),
    "the second word begins where the first did": ("                    first.eq(0),\n", "                    first.eq(first),\n"),
    "the last word is sent whole": ("item.last.eq(Mux(final, reach - 1, LANES - 1))", "item.last.eq(LANES - 1)"),
    "a word is read without room for it": ("m.d.comb += self.memory.valid.eq(self.items.ready)", "m.d.comb += self.memory.valid.eq(1)"),
    "every word begins a packet": ("                    start.eq(0),\n", "                    start.eq(start),\n"),
}


@pytest.mark.parametrize("data_bytes", [4 << 10, 1 << 20])
def test_reads_its_areas_and_nothing_else(data_bytes):
    """docs/cab.md, "Fiber out"."""
    outcome = prove(GatherProof(TxReader, data_bytes), f"gather {data_bytes}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.cab.tx_reader", *FAULTS[fault]).Gather
    outcome = prove(GatherProof(faulty, 4 << 10), f"gather {fault}", mode="bmc", depth=8, timeout=60)
    assert outcome.status == "FAIL", outcome
