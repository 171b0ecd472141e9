"""Search in hdl/hub/port/input_port.py."""

import pytest

from nectar.hdl.hub.port.input_port import InputPort
from nectar.verification.formal.faults import cases
from nectar.verification.formal.input_side import InputSideProof
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "what passes the queue enters it, too": ("receiver.past.eq(bypass.open)", "receiver.past.eq(0)"),
    "a ready signal is asked for when a start arrives": ("self.send_ready.eq(head.start_left | halt)", "self.send_ready.eq(self.rx_kind.frame | halt)"),
    "what comes is not what passes": ("bypass.coming.eq(self.coming)", "bypass.coming.eq(self.rx_symbol)"),
}


@pytest.mark.parametrize("bypass", [False, True])
@pytest.mark.parametrize("depth", [9, pytest.param(16, marks=pytest.mark.nightly)])
def test_symbols_leave_in_order_and_ready_signals_with_starts(bypass, depth, record_property):
    """H14, H15, in the first cycles after a reset."""
    record_property("depth", str(depth))
    outcome = prove(InputSideProof(InputPort, bypass, 24), f"input side {bypass} {depth}", mode="bmc", depth=depth, timeout=3600)
    assert outcome.status == "PASS", outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_search_finds(fault):
    faulty = broken("nectar.hdl.hub.port.input_port", *FAULTS[fault]).InputPort
    outcome = prove(InputSideProof(faulty, True, 24), f"input side {fault}", mode="bmc", depth=9)
    assert outcome.status == "FAIL", outcome
