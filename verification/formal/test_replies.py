"""Proofs of hdl/hub/port/reply_buffer.py and hdl/hub/reply_bus.py."""

import pytest

from nectar.hdl.hub.port.reply_buffer import ReplyBuffer
from nectar.hdl.hub.reply_bus import ReplyBus
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.replies import ReplyBufferProof, ReplyBusProof

BUFFER_FAULTS = {
    "a reply is written over another": ("write_port.en.eq(self.strobe & ~full)", "write_port.en.eq(self.strobe)"),
    "a lost reply is not told of": ("(self.place == COMMAND_LENGTH - 1) & no_room)", "(self.place == COMMAND_LENGTH - 1) & no_room & 0)"),
    "a reply that is cut short is kept": ("(self.place == COMMAND_LENGTH - 1) & ~no_room", "(self.place != 1) & ~no_room"),
}
BUS_FAULTS = {
    "a reply goes where there is no room": ("(out_place != 0) & fits", "(out_place != 0)"),
    "a lost reply is not told of": ("(out_place == 1) & routed & ~room, out_origin, 0)", "(out_place == 1) & routed & ~room, 0, 0)"),
    "a hello is passed on": ("routed.eq(greets | ~hello & connected)", "routed.eq(greets | connected)"),
    "a reply stays on the bus's list": ("(place == _LAST) & ~asking)", "(place == _LAST) & asking)"),
    "any reply closes its connection": ("opcode & (read == Op.CLOSE_ALL_REPLY) & ~read_asking", "opcode & ~read_asking"),
}


def test_buffer_keeps_replies_in_order_and_tells_of_what_it_loses():
    """docs/hub.md, "Replies"."""
    outcome = prove(ReplyBufferProof(ReplyBuffer), "reply buffer")
    assert outcome.passed, outcome


@pytest.mark.parametrize("ports", [3, pytest.param(16, marks=pytest.mark.nightly)])
def test_bus_takes_every_reply_to_its_output_in_bounded_time(ports):
    """H12."""
    outcome = prove(ReplyBusProof(ReplyBus, ports), f"reply bus {ports}", depth=6)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(BUFFER_FAULTS))
def test_the_proof_of_the_buffer_finds(fault):
    faulty = broken("nectar.hdl.hub.port.reply_buffer", *BUFFER_FAULTS[fault]).ReplyBuffer
    outcome = prove(ReplyBufferProof(faulty), f"reply buffer {fault}", mode="bmc", depth=18)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("fault", cases(BUS_FAULTS))
def test_the_proof_of_the_bus_finds(fault):
    faulty = broken("nectar.hdl.hub.reply_bus", *BUS_FAULTS[fault]).ReplyBus
    outcome = prove(ReplyBusProof(faulty, 3), f"reply bus {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome
