"""Proof of hdl/hub/controller.py."""

import pytest

from nectar.hdl.hub.controller import Controller
from nectar.verification.formal.controller import ControllerProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "an open that is refused takes the output": ("m.If(done_now & ~chosen.status)", "m.If(~chosen.status)"),
    "what is taken counts as free": ("(self.targets[i] | ~self.connected) & ", ""),
    "a test open does not look at the ready bit": ("entry.test.eq((request.op & TEST).any())", "entry.test.eq(0)"),
    "a port opens itself": ("opens & (request.param == i)", "opens & 0"),
    "a decision in every other cycle only": ("turns.asks.eq(can_decide)", "turns.asks.eq(Mux(self.response_valid.any(), 0, can_decide))"),
    "refusals never come": ("can_decide[i].eq(entry.at_once | possible[i])", "can_decide[i].eq(possible[i])"),
    "a retry is refused at once": ("bad | ~opens | ~(request.op & RETRY).any()", "1"),
    "a request that comes with a decision is lost": ("pending.eq((pending & ~turns.pick) | asks)",
                                                     "pending.eq(Mux(turns.pick.any(), pending & ~turns.pick, pending | asks))"),
    "the wrong input is told of the connection": ("self.grant_index.eq(index)", "self.grant_index.eq(0)"),
    "the table is read too early": ("response_valid, response_done, response_value = cross(decided, done, value)",
                                    "response_valid, response_done, response_value = cross(decided, done, chosen.param)"),
}


@pytest.mark.parametrize("ports, backplane", [(3, 0), (4, 2), pytest.param(16, 1, marks=pytest.mark.nightly)])
def test_decides_one_request_a_cycle_grants_truly_and_starves_nobody(ports, backplane):
    """H4, H10, and docs/hub.md, "Controller and status table"."""
    outcome = prove(ControllerProof(Controller, ports, backplane), f"controller {ports} {backplane}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.controller", *FAULTS[fault]).Controller
    outcome = prove(ControllerProof(faulty, 3, backplane=0), f"controller {fault}", mode="bmc", depth=7)
    assert outcome.status == "FAIL", outcome
