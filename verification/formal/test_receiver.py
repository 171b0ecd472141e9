"""Proof of hdl/hub/port/symbol_decoder.py and hdl/hub/port/input_register.py."""

import pytest

from nectar.hdl.hub.port.symbol_decoder import SymbolDecoder
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.receiver import ReceiverProof

FAULTS = {
    "a fragment stays": ("with m.Elif(kind.frame | kind.command):", "with m.Elif(kind.frame | kind.command & (place == 0)):"),
    "a command is shown byte by byte": ("| last & Mux(ours,", "| inside & Mux(ours,"),
    "a command without room enters the queue": ("~self.taken, ~spoiled)", "~self.taken, 1)"),
    "a flush needs room": ("flushes | ~spoiled & ~self.taken", "~spoiled & ~self.taken"),
    "close all is taken out of the stream": ("named & ~never", "named"),
    "commands for others are taken out too": ("for_us.eq(named & ~never", "for_us.eq(~never"),
    "a full queue takes a symbol": ("self.commit.eq(self.plain & ~self.full &", "self.commit.eq(self.plain &"),
    "what goes past the queue enters it, too": ("& ~self.past", ""),
    "a command is taken twice": ("~spoiled & ~self.taken", "~spoiled"),
    "what was discarded goes on": ("alive.eq(self.enabled & ~void & ~self.discard)", "alive.eq(self.enabled & ~self.discard)"),
}
REGISTER_FAULTS = {
    "a disabled port hears": ("with m.If(self.enabled):", "with m.If(1):"),
    "a reserved code is nothing": ("kind.reserved.eq(valid & symbol[8] &", "kind.reserved.eq(0 & symbol[8] &"),
}


def test_writes_whole_commands_and_nothing_into_a_full_queue():
    """docs/wire.md, "Frames"; H15."""
    outcome = prove(ReceiverProof(SymbolDecoder), "receiver")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.symbol_decoder", *FAULTS[fault]).Receiver
    outcome = prove(ReceiverProof(faulty), f"receiver {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("fault", cases(REGISTER_FAULTS))
def test_the_proof_finds_in_the_input_register(fault):
    faulty = broken("nectar.hdl.hub.port.input_register", *REGISTER_FAULTS[fault]).InputRegister
    outcome = prove(ReceiverProof(SymbolDecoder, faulty), f"input register {fault}", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
