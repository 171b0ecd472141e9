"""Proof of hdl/cab/scatter.py."""

import pytest

from nectar.hdl.cab import scatter
from nectar.verification.formal.faults import cases
from nectar.verification.formal.prove import broken, prove
from nectar.verification.formal.scatter import FifoSearch, Row, ScatterProof

FAULTS = {
    "an area of RX_START that comes while the list is emptied is lost": (
        "with m.Elif(self.areas.valid & self.areas.ready & ~list_.r_rdy):", "with m.Elif(self.areas.ready & ~list_.r_rdy):"),
    "an area may lie anywhere": ("~list_.w_rdy | ~area_inside(address, self.rx_area.data.length, self.data_bytes)", "~list_.w_rdy"),
    "the last area goes first": ("Mux(list_.r_rdy, list_.r_data, final)", "Mux(~final_waits, list_.r_data, final)"),
    "areas of a packet that is over are given to the next": ("m.d.sync += [running.eq(0), final_waits.eq(0), emptying.eq(1)]", "m.d.sync += [running.eq(0), emptying.eq(1)]"),
    "areas are taken before RX_START": ("list_.r_en.eq(emptying | (running & self.areas.ready))", "list_.r_en.eq(emptying | self.areas.ready)"),
}


@pytest.mark.parametrize("data_bytes", [4 << 10, 1 << 20])
def test_gives_the_areas_that_were_named(data_bytes):
    """docs/cab.md, "Fiber in"."""
    outcome = prove(ScatterProof(scatter, data_bytes, 3), f"scatter {data_bytes}", timeout=100)
    assert outcome.passed, outcome


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_the_proof_finds(fault):
    outcome = prove(ScatterProof(broken("nectar.hdl.cab.scatter", *FAULTS[fault]), 4 << 10, 2), f"scatter {fault}", mode="bmc", depth=9, timeout=90)
    assert outcome.status == "FAIL", outcome


@pytest.mark.parametrize("depth", [2, 3])
def test_a_row_of_registers_does_what_the_fifo_does(depth):
    """In the first cycles after a reset, enough to go around."""
    outcome = prove(FifoSearch(4, depth), f"fifo {depth}", mode="bmc", depth=8, timeout=100)
    assert outcome.passed, outcome


def test_the_search_finds_a_fifo_with_a_place_less():
    outcome = prove(FifoSearch(4, 3, lambda width, depth: Row(width=width, depth=depth - 1)), "fifo with a place less", mode="bmc", depth=5)
    assert outcome.status == "FAIL", outcome
