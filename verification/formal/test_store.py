"""Proof of hdl/cab/rx_writer.py."""

import pytest

from nectar.hdl.cab.rx_writer import RxWriter
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.store import StoreProof

FAULTS = {
    "an area has one byte more": ("length = self.areas.payload.length\n", "length = self.areas.payload.length + 1\n"),
    "bytes of the word before are written again": ("                select.eq(0),\n", "                select.eq(select),\n"),
    "a word that ends early goes to the next place": ("m.d.sync += self.memory.address.eq((address - 1)[_LANE_BITS:])",
                                                      "m.d.sync += self.memory.address.eq((address + 1)[_LANE_BITS:])"),
    "the end of an area does not end its word": ("completes.eq((lane == LANES - 1) | last)", "completes.eq(lane == LANES - 1)"),
    "a word is taken while the one before waits": ("self.ready.eq(some & (free | ~completes))", "self.ready.eq(some)"),
    "all is told to be written too early": ("self.empty.eq((select == 0) & ~self.memory.valid)", "self.empty.eq(select == 0)"),
}


@pytest.mark.parametrize("data_bytes", [4 << 10, 1 << 20])
def test_writes_what_it_took_where_it_may_and_nothing_else(data_bytes):
    """docs/cab.md, "Fiber in"."""
    outcome = prove(StoreProof(RxWriter, data_bytes), f"store {data_bytes}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.cab.rx_writer", *FAULTS[fault]).Store
    outcome = prove(StoreProof(faulty, 4 << 10), f"store {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome
