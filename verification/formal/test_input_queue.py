"""Proofs of hdl/hub/port/input_queue.py."""

import pytest

from nectar.hdl.hub.port.input_queue import InputQueue
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.verification.formal.faults import cases
from nectar.verification.formal.honest_sender import HonestSenderProof
from nectar.verification.formal.input_queue import InputQueueProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "it takes one more than it has room for": ("self.full.eq(count == least)", "self.full.eq(count == least - 1)"),
    "the head sees what is not committed": ("commits.eq(self.commit)", "commits.eq(self.write)"),
    "only the last place is committed": ("committed.eq(address)", "committed.eq(committed + 1)"),
    "an entry is offered twice": ("reads.eq(read_port.en & some & ~late)", "reads.eq(~self.valid & some & ~late)"),
    "what is committed while it is cleared is lost": ("count.eq(~commits)", "count.eq(1)"),
    "of two that are committed while it is cleared one is lost": ("late.eq(self.clear & commits & self.amount[1])", "late.eq(0)"),
}


@pytest.mark.parametrize("capacity", [9, pytest.param(QUEUE_DEPTH, marks=pytest.mark.nightly)])
def test_keeps_order_and_content_and_never_overflows(capacity):
    """H14; docs/hub.md, "Input side of a port"; section 4.2.3."""
    outcome = prove(InputQueueProof(InputQueue, capacity), f"input queue {capacity}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.input_queue", *FAULTS[fault]).InputQueue
    outcome = prove(InputQueueProof(faulty, 9), f"input queue {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("capacity, longest, stolen", [(9, 7, 2), (QUEUE_DEPTH, 1024 + 64, 64)])
def test_has_room_for_all_that_a_sender_sends_who_honours_the_ready_bit(capacity, longest, stolen):
    """H14, H15."""
    outcome = prove(HonestSenderProof(InputQueue, capacity, longest, stolen), f"honest sender {capacity}")
    assert outcome.passed, outcome


def test_the_proof_finds_a_packet_that_is_too_long():
    """With one symbol more in a packet, or one more stolen cycle, the room is too small."""
    for longest, stolen in ((9, 1), (8, 2)):
        outcome = prove(HonestSenderProof(InputQueue, 9, longest, stolen), f"dishonest sender {longest}", mode="bmc", depth=32)
        assert outcome.status == "FAIL", outcome
