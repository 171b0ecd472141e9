"""Runs the mutants of the targets against benches and proofs: which are killed, by what, and which survive.

As a program, ``python -m nectar.verification.mutation.campaign hub/control/arbiter``, it prints that, and the survivors
as ``survivors.toml`` wants them."""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ...many import SpreadError, spread
from ..bench import ROOT
from .equivalence import equivalent, unreached
from .mutants import mutate
from .targets import TARGETS, Target
from .transplant import NoPlace, transplant
from .trial import Trial

__all__ = ["CHECKS", "Material", "Report", "run"]

_HUB = "nectar.verification.hub.test_hub"
#: More seeds with which a bench is put to what the first has not found: it draws its stimulus, and so has several
#: chances every day.
SEEDS = (2, 3)
#: What a beginning is, of the time that a claim takes.
_BEGINNING = 0.03


@dataclass(frozen=True)
class Material:
    """A target with its mutants: ``text`` is the Verilog, ``directory`` where all of it is."""

    target: Target
    mutants: list
    text: str
    directory: Path


def _trial(material):
    """The claims of the bench of a target; if it is a part of what that is a bench of, the mutants are in every
    place there."""
    target = material.target
    text = material.text if target.part is None else transplant(target.whole(), target.component(), material.text)
    return Trial(text, target.bench, target.configuration, material.directory / "bench")


def beginning(material, numbers):
    """Check: the beginnings of the claims of the component's bench. Most mutants end here; those that are none meet
    no more than that."""
    return _trial(material).put(numbers, share=_BEGINNING)


def own_bench(material, numbers):
    """Check: the claims of the component's bench."""
    return _trial(material).put(numbers)


def benches_of_parts(material, numbers):
    """Check: the claims of the benches of its parts that are benches of the whole."""
    target, found = material.target, {}
    for part in TARGETS.values():
        left = [number for number in numbers if number not in found]
        if left and part.part and (part.place[0], part.configuration) == (target.place[0], target.configuration):
            found |= Trial(material.text, part.bench, part.configuration, material.directory / "bench").put(left)
    return found


def more_seeds(material, numbers):
    """Check: the same claims with a few seeds more."""
    trial, found = _trial(material), {}
    for seed in SEEDS:
        left = [number for number in numbers if number not in found]
        found |= trial.put(left, seed) if left else {}
    return found


def whole_hub(material, numbers):
    """Check: the claims of the whole HUB's bench, on a HUB (of the first profile that has such a component) with the
    mutants in every place."""
    from ...hdl.hub.hub import Hub
    from ...hdl.hub.profile import HUB_PROFILES
    from ..hub.pins import packed
    from ..hub.testbench import NEEDED

    ports = material.target.ports
    if ports is None:
        return {}
    for profile in HUB_PROFILES.values():
        try:
            text = packed(transplant(Hub(ports, profile), material.target.component(), material.text))
            break
        except NoPlace:
            continue
    else:
        return {}
    trial = Trial(text, _HUB, f"{ports} ports {profile.name}", material.directory / "hub")
    trial.claims = [claim for claim in trial.claims if NEEDED.get(claim, 2) <= ports]
    return trial.put(numbers)


#: Checks by name, as ``Target.checks`` lists them: each takes the Material and numbers of mutants, and returns number
#: → Kill.
CHECKS = {"beginning": beginning, "bench": own_bench, "parts": benches_of_parts, "seeds": more_seeds, "hub": whole_hub}


@dataclass(frozen=True)
class Report:
    """What came of the mutants of a target: ``kills``, by number, and ``equivalent``, those that are shown to be
    none."""

    target: Target
    mutants: list
    kills: dict
    equivalent: set

    @property
    def survivors(self):
        """Mutants that nothing found."""
        return [
            mutant
            for mutant in self.mutants
            if mutant.number not in self.kills and mutant.number not in self.equivalent
        ]

    @property
    def share(self):
        """Killed, of those that are not equivalent."""
        count = len(self.mutants) - len(self.equivalent)
        return len(self.kills) / count if count else 1.0

    def summary(self):
        """One line."""
        by = Counter(kill.stage for kill in self.kills.values())
        return (
            f"{self.target.name:16} {len(self.mutants):4} mutants, {len(self.equivalent):3} equivalent, "
            f"{len(self.kills):4} killed ("
            f"{', '.join(f'{stage} {count}' for stage, count in by.items())}), {len(self.survivors)} survive: "
            f"{self.share:.1%}"
        )


def run(target, *, sample=None, checks=None, progress=None):
    """Mutates ``target`` and checks all its mutants; returns a Report.

    ``sample``: only so many of its mutants. ``checks``: names; by default those of the target. ``progress``: called
    with lines of text."""
    tell = progress or (lambda line: None)
    directory = ROOT / "build" / "mutation" / (target.name if sample is None else f"{target.name}-{sample}")
    text, mutants = mutate(target.component(), directory, target.count, sample=sample)
    material = Material(target, mutants, text, directory)
    kills, alike = {}, set()
    ways = iter(
        (equivalent, unreached)
    )  # what takes long is for few mutants, and the next check for none that is equivalent
    for name in target.checks if checks is None else checks:
        left = [mutant.number for mutant in mutants if mutant.number not in kills and mutant.number not in alike]
        found = CHECKS[name](material, left) if left else {}
        kills |= {number: replace(kill, stage=name) for number, kill in found.items()}
        left = [number for number in left if number not in kills]
        tell(f"{target.name}: {len(found)} killed by {name}, {len(left)} left")
        if (way := next(ways, None)) is not None:
            alike |= way(left, directory)
            tell(f"{target.name}: {len(alike)} are equivalent")
    return Report(target, mutants, kills, alike)


def _told(name):
    """What the program prints of the target ``name``: its summary, and its survivors."""
    report = run(TARGETS[name], progress=lambda line: print(line, file=sys.stderr, flush=True))
    return "".join([f"{report.summary()}\n", *(f'"{mutant.name}" = ""\n' for mutant in report.survivors)])


def main():
    """The program: runs the campaign on the targets that are named, or on all."""
    parser = argparse.ArgumentParser(prog="python -m nectar.verification.mutation.campaign", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run them on a Dask cluster, as tcp://host:8786")
    options = parser.parse_args()
    for name in options.targets:
        if name not in TARGETS:
            parser.error(f"there is no target {name}; there are {', '.join(TARGETS)}")
    failed = False
    try:
        names = options.targets or list(TARGETS)
        for ended in spread(_told, names, scheduler=options.scheduler, what="targets"):
            if ended.error is None:
                print(ended.result, end="", flush=True)
            else:
                failed = True
                print(f"{names[ended.number]}: {ended.error}", flush=True)
    except SpreadError as error:
        parser.error(str(error))
    return 1 if failed else 0


if __name__ == "__main__":
    from nectar.verification.mutation.campaign import main  # workers import what this module sends them

    sys.exit(main())
