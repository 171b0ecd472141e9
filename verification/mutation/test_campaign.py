"""The benches of the HUB's components find small faults: a sample every day, everything at night."""

import tomllib
from pathlib import Path

import pytest

from nectar.verification.mutation.campaign import run
from nectar.verification.mutation.targets import TARGETS

#: What must be killed of the mutants that are not equivalent.
LEAST = 0.95
#: Components of the daily sample, and mutants of each.
SAMPLE, EACH = ("arbiter", "reply_buffer", "status_table", "reply_sender"), 10

HDL = Path(__file__).resolve().parent.parent.parent / "hdl" / "hub"
HUB = Path(__file__).resolve().parent.parent / "hub"
EXPLAINED = tomllib.loads((Path(__file__).parent / "survivors.toml").read_text())


def test_every_component_of_the_hub_with_a_bench_is_a_target():
    """Except for the whole: its bench is what the others' mutants meet in the end."""
    benches = {path.stem.removeprefix("test_") for path in HUB.glob("test_*.py")}
    components = {path.stem for path in HDL.glob("*.py") if "wiring.Component" in path.read_text()} - {"hub"}
    assert TARGETS.keys() == components & benches


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_a_configuration_of_its_bench(name):
    assert TARGETS[name].component() is not None


def test_every_survivor_has_its_reason():
    assert EXPLAINED.keys() <= TARGETS.keys()
    assert all(len(reason.split()) > 3 for reasons in EXPLAINED.values() for reason in reasons.values())


def test_a_sample_of_mutants_is_found():
    """By the components' own benches alone."""
    reports = [run(TARGETS[name], sample=EACH, checks=["bench"], progress=print) for name in SAMPLE]
    for report in reports:
        print(report.summary(), *(mutant.name for mutant in report.survivors), sep="\n")
    found = sum(len(report.kills) for report in reports)
    left = [f"{report.target.name}: {mutant.name}" for report in reports for mutant in report.survivors
            if mutant.name not in EXPLAINED.get(report.target.name, {})]
    assert found >= 20 and found >= LEAST * (found + len(left)), left


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_found_or_explained(name):
    report = run(TARGETS[name], progress=print)
    print(report.summary())
    explained = EXPLAINED.get(name, {})
    assert explained.keys() <= {mutant.name for mutant in report.mutants}, "survivors.toml explains what there is no more"
    unexplained = [mutant.name for mutant in report.survivors if mutant.name not in explained]
    assert not unexplained
    assert report.share >= LEAST
