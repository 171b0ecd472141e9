"""Proof of hdl/cab/vme/transfer.py."""

import pytest

from nectar.hdl.cab.vme.transfer import Transfer
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.transfer_vme import VmeTransferProof

FAULTS = {
    "whole words are written": (
        "memory.select.eq(Cat(*((near[:2] < lane + 1) & (lane < near[:2] + near_count) "
        "for lane in reversed(range(LANES)))))",
        "memory.select.eq(Cat(*((near[:2] < lane + 1) & (lane < LANES) for lane in reversed(range(LANES)))))",
    ),
    "what flies is forgotten": (
        "align.level + Mux(flying, 1 << flying_size, 0) + count <= HELD_BYTES",
        "align.level + count <= HELD_BYTES",
    ),
    "a word is read before there is room for it": (
        "(align.level <= HELD_BYTES - LANES)",
        "(align.level <= HELD_BYTES - LANES + 1)",
    ),
    "an area is longer by one": ("near_left.eq(job.length), far.eq", "near_left.eq(job.length + 1), far.eq"),
    "an error does not end the job": (
        "m.d.sync += [ends.eq(1), self.berr.eq(port.berr)",
        "m.d.sync += [ends.eq(0), self.berr.eq(port.berr)",
    ),
    "it ends while bytes are here": ("(align.level == 0) & ((near_left == 0) | ends)", "((near_left == 0) | ends)"),
}


@pytest.mark.parametrize("data_bytes", [4 << 10, 1 << 20])
def test_touches_its_entry_and_nothing_else(data_bytes):
    """docs/vme.md."""
    outcome = prove(VmeTransferProof(Transfer, data_bytes), f"vme transfer {data_bytes}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.cab.vme.transfer", *FAULTS[fault]).Transfer
    outcome = prove(VmeTransferProof(faulty, 4 << 10), f"vme transfer {fault}", mode="bmc", depth=9, timeout=60)
    assert outcome.status == "FAIL", outcome
