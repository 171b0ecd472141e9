"""The figures themselves, measured: those that take seconds every day, all of them at night."""

import pytest

from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.facts import Rule, Verdict

#: Facts that have a simulation with cocotb or a compiled HUB of their own, or run for long.
LONG = {
    "C1.out",
    "C1.in",
    "C3.rate",
    "C4.latency",
    "C7",
    "H2.cycles",
    "H2.time",
    "H3.cycles",
    "H3.time",
    "H4",
    "H5",
    "H6",
    "H14",
    "S13.circuit",
    "S13.nodes",
    "S13.rate",
    "S7.nodes",
    "S8.mpi-bcast",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] if name in LONG else []) for name in FACTS]
)
def test_every_figure_of_the_papers_holds(name):
    fact = FACTS[name]
    found = fact.measure()
    print(f"{name}: {found.value} {fact.unit}, paper {fact.paper}: {found.how}")
    assert fact.verdict(found) is (Verdict.NO_FIGURE if fact.rule is Rule.WORDS else Verdict.HOLDS), found


def test_a_hop_more_costs_the_cycles_of_the_page():
    """D3; docs/ipsc2.md, "Circuits": for a hop more the probe takes 9 or 10 ticks and the wire's one, a status from the
    pair with RDY to the next one on the way back at least 3 and that one, at most 9 more; a message 2 and that one."""
    tick = 8 / 7 * 0.0625
    there, back = (10, 11), (4, 13)
    hop, transit = FACTS["D3.hop"].measure().value, FACTS["D3.transit"].measure().value
    assert (there[0] + back[0]) * tick - 0.07 <= hop <= (there[1] + back[1]) * tick + 0.07
    assert transit - hop == pytest.approx(3 * tick, abs=0.07)
