"""Proof of hdl/hub/head.py and hdl/hub/close_all.py."""

import pytest

from nectar.hdl.hub import head
from nectar.hdl.hub.head import Head
from nectar.verification.formal.faults import cases
from nectar.verification.formal.head import HeadProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "nothing waits for a close all": ("with m.If(leaves & close_all.last & connected):\n                    m.next = \"CLOSING\"",
                                      "with m.If(leaves & close_all.last & connected):\n                    m.next = \"PASS\""),
    "a ready signal is sent for what still waits": ("self.start_left.eq(leaves & is_start", "self.start_left.eq(self.valid & is_start"),
    "no ready signal for a start that is dropped": ("self.start_left.eq(leaves & is_start", "self.start_left.eq(self.move & is_start"),
    "a symbol goes on when one output can take it": ("blocked.eq((self.targets & ~self.space).any())",
                                                     "blocked.eq(connected & ~(self.targets & self.space).any())"),
    "a command is taken before the one before is answered": ("takes.eq(passing & self.valid & own & ~asked &",
                                                             "takes.eq(passing & self.valid & own &"),
    "a close of a port that there is not closes another": ("self.close_one.eq(close_one & self.mine & ~bad)", "self.close_one.eq(close_one & self.mine)"),
    "an answer is written over another": ("own & ~asked & ~answering & ~self.halt)", "own & ~asked & ~self.halt)"),
}
DETECTOR_FAULTS = {
    "a close all is marked too early": ("self.last.eq(place == COMMAND_LENGTH - 1)", "self.last.eq(place == COMMAND_LENGTH - 2)"),
    "every command is a close all": ("(place == 1) & (self.symbol == Op.CLOSE_ALL)", "(place == 1)"),
}


@pytest.mark.parametrize("ports", [4, pytest.param(16, marks=pytest.mark.nightly)])
def test_obeys_commands_passes_on_the_rest_and_holds_what_follows_a_close_all(ports):
    """H13, H15; docs/hub.md, "Input side of a port"."""
    outcome = prove(HeadProof(Head, ports), f"head {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.head", *FAULTS[fault]).Head
    outcome = prove(HeadProof(faulty, 3), f"head {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("fault", cases(DETECTOR_FAULTS))
def test_the_proof_finds_in_the_detector(fault, monkeypatch):
    monkeypatch.setattr(head, "CloseAllDetector", broken("nectar.hdl.hub.close_all", *DETECTOR_FAULTS[fault]).CloseAllDetector)
    outcome = prove(HeadProof(Head, 3), f"close all detector {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome
