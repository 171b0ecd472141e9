"""Proof of hdl/link/queue.py."""

import pytest

from nectar.hdl.link.queue import QUEUE_DEPTH, SymbolQueue
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.symbol_queue import SymbolQueueProof

FAULTS = {
    "the last place is not used": ("self.level == self.depth)),", "self.level == self.depth - 1)),"),
    "a full queue is written over": ("store.eq(self.push.valid & ~self.overflow)", "store.eq(self.push.valid)"),
    "the head goes back when the queue is cleared": ("taken.eq(taken), ahead.eq(0)", "taken.eq(head), ahead.eq(0)"),
    "the register is written over": ("ahead & (~self.output.valid | self.output.ready)", "ahead & (self.output.ready | 1)"),
    "the head is read a cycle late": ("read.addr.eq(head)", "read.addr.eq(taken)"),
    "an entry is offered too early": ("following != written, taken != written)", "following != written, taken != written + store)"),
}


@pytest.mark.parametrize("depth", [5, QUEUE_DEPTH])
def test_loses_nothing_but_what_finds_it_full_and_keeps_the_order(depth):
    """docs/hub.md, "Input side of a port"; section 4.2.3."""
    outcome = prove(SymbolQueueProof(SymbolQueue, depth), f"symbol queue {depth}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.link.queue", *FAULTS[fault]).SymbolQueue
    outcome = prove(SymbolQueueProof(faulty, 2), f"symbol queue {fault}", mode="bmc", depth=7)
    assert outcome.status == "FAIL", outcome
