"""Proof of hdl/hub/control/watchdog.py."""

import pytest

from nectar.hdl.hub.control.watchdog import Watchdog
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.watchdog import WatchdogProof

FAULTS = {
    "what has just come expires": ("Mux(tick, standing & still, 0)", "Mux(tick, standing, 0)"),
    "what moves in time expires": ("still.eq(standing & (", "still.eq(held & ("),
    "a tick is missed": ("standing & (still | tick.replicate(self.ports))", "standing & (still | (tick & ~bit).replicate(self.ports))"),
}


@pytest.mark.parametrize("log", [1, 3, 10])
def test_what_stands_still_expires_in_time_and_not_before(log):
    """H20."""
    outcome = prove(WatchdogProof(Watchdog, 3, log), f"watchdog {log}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    faulty = broken("nectar.hdl.hub.control.watchdog", *FAULTS[fault]).Watchdog
    outcome = prove(WatchdogProof(faulty, 2, 1), f"watchdog {fault}", mode="bmc", depth=12)
    assert outcome.status == "FAIL", outcome
