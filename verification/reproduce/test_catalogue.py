"""The figures themselves, measured: those that take seconds every day, all of them at night."""

import pytest

from nectar.verification.reproduce.catalogue import FACTS
from nectar.verification.reproduce.facts import Verdict

#: Facts that have a simulation with cocotb of their own, or run for long.
LONG = {
    "C1.out",
    "C1.in",
    "C3.rate",
    "C4.latency",
    "C7",
    "H2.cycles",
    "S13.circuit",
    "S13.nodes",
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
    assert fact.verdict(found) is Verdict.HOLDS, found
