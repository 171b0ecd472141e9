"""Search in hdl/hub/control/central.py."""

import pytest

from nectar.hdl.hub.control import central
from nectar.hdl.hub.control.central import Central
from nectar.verification.formal.centre import CentreProof
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove

FAULTS = {
    "two supervisor commands in a row get one response": ("supervisor", "Supervisor", "step[-1] & more, self.command_valid)",
                                                         "0, self.command_valid)"),
    "a connection is forced beside another": ("supervisor", "Supervisor", "with m.If(~force | ~mine):", "with m.If(~force):"),
}


@pytest.mark.parametrize("depth", [15, pytest.param(26, marks=pytest.mark.nightly)])
def test_an_output_has_one_input_whatever_is_forced(depth, record_property):
    """H10, and one response for each command, in the first cycles after a reset."""
    record_property("depth", str(depth))
    outcome = prove(CentreProof(Central, 3, 0), f"centre {depth}", mode="bmc", depth=depth)
    assert outcome.status == "PASS", outcome


@pytest.mark.parametrize("fault", cases(FAULTS, everyday=1))
def test_the_search_finds(fault, monkeypatch):
    name, part, old, new = FAULTS[fault]
    monkeypatch.setattr(central, part, getattr(broken(f"nectar.hdl.hub.{name}", old, new), part))
    outcome = prove(CentreProof(Central, 3, 0), f"centre {fault}", mode="bmc", depth=26)
    assert outcome.status == "FAIL", outcome
