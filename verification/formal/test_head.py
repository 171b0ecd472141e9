"""Proof of hdl/hub/port/head.py."""

import pytest

from nectar.hdl.hub.port.head import Head
from nectar.verification.formal.faults import cases
from nectar.verification.formal.head import HeadProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "nothing waits for a close all": ("next_closing.eq(leaves & last & connected |", "next_closing.eq("),
    "a ready signal is sent for what still waits": ("self.start_left.eq(leaves & is_start", "self.start_left.eq(self.valid & is_start"),
    "no ready signal for a start that is dropped": ("self.start_left.eq(leaves & is_start", "self.start_left.eq(leaves & connected & is_start"),
    "a symbol goes on when one output can take it": ("blocked.eq((self.targets & ~self.space).any())",
                                                     "blocked.eq(connected & ~(self.targets & self.space).any())"),
    "a command is taken before the one before is answered": ("willing.eq(passes & ~self.halt & ~asked &", "willing.eq(passes & ~self.halt &"),
    "an answer is written over another": ("~self.halt & ~asked & ~answering)", "~self.halt & ~asked)"),
    "a close of a port that there is not closes another": ("executes & close_one & self.mine & ~bad", "executes & close_one & self.mine"),
    "a close all is marked too early": ("self.passage.closes.eq(last)", "self.passage.closes.eq(last_but_one)"),
    "every command is a close all": ("closes.eq(is_closing(self.entry))", "closes.eq(is_command(self.entry))"),
}


@pytest.mark.parametrize("ports", [4, pytest.param(16, marks=pytest.mark.nightly)])
def test_obeys_commands_passes_on_the_rest_and_holds_what_follows_a_close_all(ports):
    """H13, H15; docs/hub.md, "Input side of a port"."""
    outcome = prove(HeadProof(Head, ports), f"head {ports}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.port.head", *FAULTS[fault]).Head
    outcome = prove(HeadProof(faulty, 3), f"head {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome
