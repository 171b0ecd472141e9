"""Proofs of hdl/hub/reply_buffer.py and hdl/hub/reply_bus.py."""

import pytest

from nectar.hdl.hub.reply_buffer import ReplyBuffer
from nectar.hdl.hub.reply_bus import ReplyBus
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.replies import ReplyBufferProof, ReplyBusProof

BUFFER_FAULTS = {
    "a reply is written over another": ("(self.arrived_valid | self.answer.valid) & ~full", "(self.arrived_valid | self.answer.valid)"),
    "an answer is taken together with a reply": ("~self.arrived_valid & ~full", "~full"),
    "a reply counts as an answer": ("write_port.data.own.eq(~self.arrived_valid)", "write_port.data.own.eq(self.answer.valid)"),
}
BUS_FAULTS = {
    "a reply goes where there is no room": ("(target & ~self.full).any()", "target.any()"),
    "a lost reply is not told of": ("self.lost.eq(origin)", "self.lost.eq(0)"),
    "an answer follows the connection": ("with m.If(taken.own):", "with m.If(0):"),
    "a reply without a way goes the last one's": ("                m.d.sync += target.eq(0)", "                m.d.sync += target.eq(target)"),
}


def test_buffer_keeps_replies_in_order_and_tells_of_what_it_loses():
    """docs/hub.md, "Replies"."""
    outcome = prove(ReplyBufferProof(ReplyBuffer), "reply buffer")
    assert outcome.passed, outcome


@pytest.mark.parametrize("ports", [3, 16])
def test_bus_takes_every_reply_to_its_output_in_bounded_time(ports):
    """H12."""
    outcome = prove(ReplyBusProof(ReplyBus, ports), f"reply bus {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(BUFFER_FAULTS))
def test_the_proof_of_the_buffer_finds(fault):
    faulty = broken("nectar.hdl.hub.reply_buffer", *BUFFER_FAULTS[fault]).ReplyBuffer
    outcome = prove(ReplyBufferProof(faulty), f"reply buffer {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("fault", cases(BUS_FAULTS))
def test_the_proof_of_the_bus_finds(fault):
    faulty = broken("nectar.hdl.hub.reply_bus", *BUS_FAULTS[fault]).ReplyBus
    outcome = prove(ReplyBusProof(faulty, 3), f"reply bus {fault}", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
