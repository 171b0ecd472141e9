"""Proof of hdl/link/encoder.py and decoder.py."""

import pytest
from nectar.hdl.link.decoder import Decoder
from nectar.hdl.link.encoder import Encoder
from nectar.verification.formal.faults import cases
from nectar.verification.formal.line_code import LineCodeProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "nibbles change places": ("encoder", "Cat(nibbles[self.symbol[:4]], nibbles[self.symbol[4:8]])", "Cat(nibbles[self.symbol[4:8]], nibbles[self.symbol[:4]])"),
    "half a violation is taken for a byte": ("decoder", "m.If(low_valid & high_valid)", "m.If(low_valid)"),
    "a reserved code is sent as an idle": ("encoder", "self.word.eq(WORDS[RESERVED])", "self.word.eq(WORDS[0x100])"),
    "a violation comes out as a byte": ("decoder", "self.symbol.eq(VIOLATION), ", "self.symbol.eq(0), "),
}


def test_each_undoes_the_other():
    """docs/serial.md, "Code". There are no registers, so that a search of one cycle leaves nothing out."""
    outcome = prove(LineCodeProof(Encoder, Decoder), "line code", mode="bmc")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    part, *change = FAULTS[fault]
    faulty = broken(f"nectar.hdl.link.{part}", *change)
    parts = (faulty.Encoder, Decoder) if part == "encoder" else (Encoder, faulty.Decoder)
    outcome = prove(LineCodeProof(*parts), f"line code {fault}", mode="bmc", depth=2)
    assert outcome.status == "FAIL", outcome
