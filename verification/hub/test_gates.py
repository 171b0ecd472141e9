"""The netlist of a HUB passes the HUB's own bench: the same claims as in test_hub.py, on an FPGA's cells instead of
the RTL."""

import importlib.util

import pytest

from nectar.hdl.hub.profile import HUB_PROFILES
from nectar.verification.bench import Bench
from nectar.verification.hub import gates, test_hub
from nectar.verification.hub.pins import PACKED, packed
from nectar.verification.hub.testbench import NEEDED

globals().update({name: getattr(test_hub, name) for name in test_hub.bench.claims()})


def _netlist(ports, profile):
    return lambda: packed(gates.netlist(ports, HUB_PROFILES[profile]))


bench = Bench(
    __name__,
    {
        f"{ports} ports {profile}": _netlist(ports, profile)
        for ports, profile in ((2, "modern"), (4, "modern"), (4, "prototype"))
    },
    top=PACKED,
    ports_only=True,
)


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("pyosys") is None, reason="pyosys is not installed")
@pytest.mark.parametrize(
    "configuration, claim", [case for case in bench.cases() if int(case[0].split()[0]) >= NEEDED.get(case[1], 2)]
)
def test_the_netlist_does_what_the_hub_does(configuration, claim, record_property):
    """Each claim on each netlist."""
    record_property("netlists of", configuration)
    bench.check(configuration, claim)
