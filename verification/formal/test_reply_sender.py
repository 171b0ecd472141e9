"""Proof of hdl/hub/port/reply_sender.py."""

import pytest

from nectar.hdl.hub.port.reply_sender import ReplySender
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.reply_sender import ReplySenderProof

FAULTS = {
    "answers always go first": ("self.answer.valid & ~(own & some)", "self.answer.valid"),
    "the bytes of an answer change places": ("Mux(at[1], reply.value, reply.op)", "Mux(at[1], reply.op, reply.value)"),
    "a reply that finds no room is written over another": ("self.push & ~self.full", "self.push"),
    "the last place for a reply is not used": ("== REPLY_ROOM - 1)", "== REPLY_ROOM - 2)"),
}


def test_sends_replies_and_answers_in_turns_unchanged_and_in_bounded_time():
    """H12."""
    outcome = prove(ReplySenderProof(ReplySender), "reply sender")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.reply_sender", *FAULTS[fault]).ReplySender
    outcome = prove(ReplySenderProof(faulty), f"reply sender {fault}", mode="bmc", depth=16)
    assert outcome.status == "FAIL", outcome
