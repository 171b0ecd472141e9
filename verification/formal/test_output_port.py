"""Proof of hdl/hub/output_port.py and hdl/hub/reply_sender.py."""

import pytest

from nectar.hdl.hub import output_port
from nectar.hdl.hub.output_port import OutputPort
from nectar.verification.formal.output_port import OutputPortProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a reply waits for data": ("offers_reply.eq(~offers_ready & replies.waiting)",
                               "offers_reply.eq(~offers_ready & replies.waiting & (pushed == taken))"),
    "it closes before the last symbol has left": ("self.closed.eq(load & offers_passage & front.closes)",
                                                  "self.closed.eq(self.push & self.passage.closes)"),
    "it closes although the register was not loaded": ("self.closed.eq(load & offers_passage", "self.closed.eq(offers_passage"),
    "a start does not clear the ready bit": ("[ready_bit.eq(0), starts_taken", "[ready_bit.eq(ready_bit), starts_taken"),
    "a ready signal that was sent sets the ready bit": ("m.If(self.ready_arrived)", "m.If(self.ready_arrived | self.send_ready)"),
    "a ready signal that arrives is forgotten": ("m.If(self.ready_arrived)", "m.If(self.ready_arrived & ~self.push)"),
    "a start on its way does not count": ("ready_bit & (starts_pushed == starts_taken)", "ready_bit"),
    "the newer symbol goes first": ("for place in places])[taken[0]]", "for place in places])[~taken[0]]"),
    "the sixteenth ready signal wipes out all": ("self.send_ready & ((readies - readies_sent)[:len(readies)] != READY_LIMIT)",
                                                 "self.send_ready"),
}
SENDER_FAULTS = {
    "the bytes of a reply change places": ("read_port.data.op, read_port.data.hub,", "read_port.data.hub, read_port.data.op,"),
    "the last place for a reply is not used": ("== REPLY_ROOM)", "== REPLY_ROOM - 1)"),
    "a reply ends early": ("(pushed != done) | (place != 0)", "(pushed != done) & (place != 3)"),
}


def test_sends_all_in_the_right_order_and_replies_in_bounded_time():
    """H12, H13, H15; docs/hub.md, "Output side of a port"."""
    outcome = prove(OutputPortProof(OutputPort), "output port")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.output_port", *FAULTS[fault]).OutputPort
    outcome = prove(OutputPortProof(faulty), f"output port {fault}", mode="bmc", depth=20 if "sixteenth" in fault else 8)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("fault", cases(SENDER_FAULTS))
def test_the_proof_finds_in_the_sender(fault, monkeypatch):
    monkeypatch.setattr(output_port, "ReplySender", broken("nectar.hdl.hub.reply_sender", *SENDER_FAULTS[fault]).ReplySender)
    outcome = prove(OutputPortProof(OutputPort), f"reply sender {fault}", mode="bmc", depth=10)
    assert outcome.status == "FAIL", outcome
