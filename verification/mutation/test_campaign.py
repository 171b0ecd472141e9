"""The benches of the components of HUB and CAB find small faults: a sample every day, everything at night."""

import tomllib
from pathlib import Path

import pytest

from nectar.many import Ended
from nectar.verification.mutation import campaign
from nectar.verification.mutation.campaign import run
from nectar.verification.mutation.targets import TARGETS

#: What must be killed of the mutants that are not equivalent.
LEAST = 0.95
#: Components of the daily sample, and mutants of each.
SAMPLE = {"hub/control/arbiter": 8, "cab/scatter": 4}

VERIFICATION = Path(__file__).resolve().parent.parent
HDL = VERIFICATION.parent / "hdl"
#: Folders, and what of them is no target: whole boards, and what has two clocks, whose mutants yosys cannot compare.
FOLDERS = {
    "hub": {"hub"},
    "hub/control": set(),
    "hub/monitor": set(),
    "hub/port": set(),
    "cab": {"cab"},
    "cab/vme": set(),
    "ipsc2": set(),
    "ipsc2/node": {"node"},
    "link": {"crossing", "parallel"},
}
EXPLAINED = tomllib.loads((Path(__file__).parent / "survivors.toml").read_text())


def test_every_component_with_a_bench_is_a_target():
    """In one variant or several; except for the whole ones, whose benches are what the others' mutants meet in the end,
    and those with two clocks."""
    expected = set()
    for folder, wholes in FOLDERS.items():
        benches = {path.stem.removeprefix("test_") for path in (VERIFICATION / folder).glob("test_*.py")}
        components = {
            path.stem
            for path in (HDL / folder).glob("*.py")
            if any(base in path.read_text() for base in ("wiring.Component", "(HubPart)"))
        } - wholes
        expected |= {f"{folder}/{name}" for name in components & benches}
    assert {name.partition("-")[0] for name in TARGETS} == expected


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_a_configuration_of_its_bench(name):
    assert TARGETS[name].component() is not None


def test_the_program_tells_what_each_target_came_to(monkeypatch, capsys):
    """In the order in which they end; one that cannot be judged does not end the others."""

    def spread(function, names, *, scheduler, **more):
        assert (names, scheduler) == (["cab/slots", "link/bits"], "tcp://host:1")
        return iter([Ended(1, "link/bits: all\n"), Ended(0, error=ValueError("no bench"))])

    monkeypatch.setattr(campaign, "spread", spread)
    monkeypatch.setattr("sys.argv", ["campaign", "cab/slots", "link/bits", "--scheduler", "tcp://host:1"])
    assert campaign.main() == 1
    assert capsys.readouterr().out == "link/bits: all\ncab/slots: no bench\n"


def test_a_target_that_there_is_not_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["campaign", "cab/nothing"])
    with pytest.raises(SystemExit) as caught:
        campaign.main()
    assert caught.value.code == 2 and "there is no target cab/nothing; there are " in capsys.readouterr().err


def test_every_survivor_has_its_reason():
    assert EXPLAINED.keys() <= TARGETS.keys()
    assert all(len(reason.split()) > 3 for reasons in EXPLAINED.values() for reason in reasons.values())


def test_a_sample_of_mutants_is_found():
    """By the components' own benches alone."""
    reports = [
        run(TARGETS[name], sample=count, checks=["bench", "seeds"], progress=print) for name, count in SAMPLE.items()
    ]
    for report in reports:
        print(report.summary(), *(mutant.name for mutant in report.survivors), sep="\n")
    found = sum(len(report.kills) for report in reports)
    left = [
        f"{report.target.name}: {mutant.name}"
        for report in reports
        for mutant in report.survivors
        if mutant.name not in EXPLAINED.get(report.target.name, {})
    ]
    assert found >= 8 and found >= LEAST * (found + len(left)), left


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_found_or_explained(name, record_property):
    report = run(TARGETS[name], progress=print)
    print(report.summary())
    for what in ("mutants", "equivalent", "kills", "survivors"):
        record_property({"kills": "killed"}.get(what, what), len(getattr(report, what)))
    explained = EXPLAINED.get(name, {})
    assert explained.keys() <= {mutant.name for mutant in report.mutants}, (
        "survivors.toml explains what there is no more"
    )
    unexplained = [mutant.name for mutant in report.survivors if mutant.name not in explained]
    assert not unexplained
    assert report.share >= LEAST
