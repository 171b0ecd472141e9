"""Proof of hdl/cab/bus.py and protection.py."""

import pytest

from nectar.hdl.cab.bus import CpuBus
from nectar.hdl.cab.protection import Protection
from nectar.hdl.cab.registers import RegisterDecoder
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.protection import ProtectionProof

#: Module, place, fault. What is wrong with areas shows after ten cycles, and takes ten times as long to be found.
FAULTS = {
    "a refused write reaches the memory": ("bus", "self.may.eq(may)", "self.may.eq(1)"),
    "a domain that is off may do what its table says": (
        "protection",
        "half.eq(counts & Cat(pairs",
        "half.eq(inside & Cat(pairs",
    ),
    "an area that is refused in between is let in unseen": (
        "bus",
        "refused.eq(to_walk & area.refused)",
        "refused.eq(0)",
    ),
    "only the first page of an area counts": (
        "bus",
        "with m.If(~self.protection.granted | (page == last_page)):",
        "with m.If(1):",
    ),
    "a refused read tells what is there": (
        "bus",
        "Mux(from_memory & self.may, self.memory_data, 0)",
        "Mux(from_memory, self.memory_data, 0)",
    ),
    "the kernel's registers are like others": (
        "bus",
        'where.private.eq(self._within(address, "protection") | kernels)',
        'where.private.eq(self._within(address, "protection"))',
    ),
    "instructions need the right to read": ("bus", "Mux(access.execute, Kind.EXECUTE, Kind.READ)", "Kind.READ"),
    "an access that waits follows the pins": (
        "bus",
        "cpu_domain.eq(Mux(asked.kernel,",
        "cpu_domain.eq(Mux(pins.kernel,",
    ),
    "the next access is still in the old domain": ("bus", "| (kernels & write)", ""),
    "a look-up misses what is written in its cycle": (
        "bus",
        "free.eq(Mux(valid, ends & ~where.settles, ~settling))",
        "free.eq(Mux(valid, ends & ~where.settles, 1))",
    ),
    "a reset of the board loses the look-up of the next access": (
        "protection",
        "inside = Signal(reset_less=True)",
        "inside = Signal()",
    ),
}


def faulty(fault):
    """Bus and protection with that fault."""
    where, old, new = FAULTS[fault]
    module = broken(f"nectar.hdl.cab.{where}", old, new)
    return (module.CpuBus, Protection) if where == "bus" else (CpuBus, module.Protection)


@pytest.mark.parametrize("domains, pages", [(4, 16), pytest.param(2, 64, marks=pytest.mark.nightly), pytest.param(32, 16, marks=pytest.mark.nightly)])
def test_nothing_is_done_that_the_table_does_not_allow(domains, pages):
    """docs/cab.md, "Protection"."""
    outcome = prove(ProtectionProof(CpuBus, Protection, RegisterDecoder, domains, pages), f"protection {domains} {pages}")
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    outcome = prove(ProtectionProof(*faulty(fault), RegisterDecoder, 4, 16), f"protection {fault}", mode="bmc", depth=15)
    assert outcome.status == "FAIL", outcome
