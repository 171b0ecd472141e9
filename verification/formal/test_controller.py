"""Proof of hdl/hub/control/controller.py."""

import pytest

from nectar.hdl.hub.control.controller import Controller
from nectar.verification.formal.controller import ControllerProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "what was decided in the cycle before is forgotten": ("hit[i].eq(same & ", "hit[i].eq(0 & "),
    "an open that is refused takes the output": (
        "self.enter.eq(turns.pick & may_enter & ~hit)",
        "self.enter.eq(turns.pick & opening)",
    ),
    "a lock shuts nobody out": ("free.eq(~self.shut[i].bit_select(index, 1))", "free.eq(1)"),
    "a test open does not look at the ready bit": ("(ready | ~tests[i])", "1"),
    "a port opens itself": ("Cat(0 if o == i else enabled for", "Cat(enabled for"),
    "a retry is refused at once": ("self.give_up[i] | ~waits[i] |", "1 |"),
    "a request that comes with a decision is lost": (
        "waiting.eq(asking & ~(turns.pick & counts))",
        "waiting.eq(Mux(turns.pick.any(), waiting & ~(turns.pick & counts), asking))",
    ),
    "who is not allowed to supervises": ("turns.pick & self.allowed & Cat(", "turns.pick & Cat("),
    "a lock that is under way is forgotten": (" & ~(same_before & locked_before)", ""),
    "a lock that is decided keeps an input from what it has": (
        "((opens[i] | locks[i]) & ~has)",
        "(opens[i] | locks[i])",
    ),
    "a lock that is under way keeps an input from what it has": (
        "(self.mine[i] | (~self.connected.bit_select(index, 1) & free & clear))",
        "((self.mine[i] | ~self.connected.bit_select(index, 1) & free) & clear)",
    ),
    "who is picked in vain is decided": ("counts[i].eq(at_once[i] | ~hit[i])", "counts[i].eq(1)"),
}


@pytest.mark.parametrize("ports, backplane", [(3, 0), (3, 1), pytest.param(4, 2, marks=pytest.mark.nightly),
                                              pytest.param(6, 1, marks=pytest.mark.nightly)])
def test_decides_one_request_a_cycle_grants_truly_and_starves_nobody(ports, backplane):
    """H4, H9, H10, and docs/hub.md, "Controller and status table"."""
    outcome = prove(ControllerProof(Controller, ports, backplane), f"controller {ports} {backplane}", depth=5)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.control.controller", *FAULTS[fault]).Controller
    outcome = prove(ControllerProof(faulty, 3, backplane=0), f"controller {fault}", mode="bmc", depth=8)
    assert outcome.status == "FAIL", outcome
