"""Proof of hdl/cab/bus.py and protection.py."""

import pytest

from nectar.hdl.cab.bus import CpuBus
from nectar.hdl.cab.protection import Protection
from nectar.hdl.cab.registers import RegisterDecoder
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.protection import ProtectionProof

#: Module, place, fault.
FAULTS = {
    "an area that is refused in between is let in unseen": (
        "bus", "walked.eq(page_allowed & (page == last_page))",
        "walked.eq(page_allowed & (page == (area.address + area.length - 1)[PAGE_BITS:ADDRESS_BITS]))"),
    "a refused write reaches the memory": ("bus", "self.memory.valid.eq(inside & to_memory)", "self.memory.valid.eq(valid & to_memory)"),
    "only the first page of an area counts": ("bus", "walked.eq(page_allowed & (page == last_page))", "walked.eq(page_allowed)"),
    "the kernel's registers are like others": ("bus", "| (to_registers & (access.address[PAGE_BITS:12] == KERNEL_PAGE >> PAGE_BITS))", "| 0"),
    "instructions need the right to read": ("bus", "with m.Elif(access.execute):", "with m.Elif(0):"),
    "an access that waits follows the pins": ("bus", "cpu_domain.eq(Mux(asked.kernel,", "cpu_domain.eq(Mux(pins.kernel,"),
    "the next access is still in the old domain": ("protection", "self.current.eq(Mux(self.domain.write, self.domain.data.current, current))", "self.current.eq(current)"),
    "a domain that is off may do what its table says": ("protection", "Mux(inside & on.bit_select(domain[:domain_bits], 1), entry, 0)", "Mux(inside, entry, 0)"),
    "a look-up misses what is written in its cycle": ("protection", "read_port(transparent_for=(write,))", "read_port()"),
    "a reset of the board loses the look-up of the next access": ("protection", "inside = Signal(reset_less=True)", "inside = Signal()"),
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
    outcome = prove(ProtectionProof(*faulty(fault), RegisterDecoder, 4, 16), f"protection {fault}", mode="bmc", depth=11)
    assert outcome.status == "FAIL", outcome
