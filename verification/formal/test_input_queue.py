"""Proof of hdl/hub/queue.py."""

import pytest

from nectar.hdl.hub.queue import InputQueue
from nectar.hdl.link.queue import QUEUE_DEPTH
from nectar.verification.formal.input_queue import InputQueueProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "a command leaves one slot only": ("taken + Mux(self.oldest.command, COMMAND_LENGTH, 1)", "taken + 1"),
    "what is cut stays": ("end.eq(Mux(self.cut, committed, written))", "end.eq(written)"),
    "the head sees what is not committed": ("with m.If(self.write & self.commit):", "with m.If(self.write):"),
    "a command stands behind its own symbols": ("Mux(self.first, committed, end)", "end"),
    "it takes one more than it has room for": ("taken + self.capacity - written", "taken + self.capacity + 1 - written"),
    "it is full too early": ("self.full.eq(room == 0)", "self.full.eq(room <= 1)"),
    "an entry is offered twice": ("self.valid.eq(self.pending)", "self.valid.eq(committed != taken)"),
}


@pytest.mark.parametrize("capacity", [6, pytest.param(QUEUE_DEPTH, marks=pytest.mark.nightly)])
def test_keeps_order_and_content_and_never_overflows(capacity):
    """docs/hub.md, "Input side of a port"; section 4.2.3."""
    outcome = prove(InputQueueProof(InputQueue, capacity), f"input queue {capacity}")
    assert outcome.passed, outcome


@pytest.mark.nightly
def test_no_entry_hides_a_part_of_the_next():
    """What the proof assumes of the entries before the one it follows holds in the first 14 cycles of a small queue."""
    outcome = prove(InputQueueProof(InputQueue, 5, alone=False), "input queue all", mode="bmc", depth=14)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.queue", *FAULTS[fault]).InputQueue
    outcome = prove(InputQueueProof(faulty, 4), f"input queue {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome
