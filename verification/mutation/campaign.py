"""Runs the mutants of the targets against benches and proofs: which are killed, by what, and which survive.

As a program, ``python -m nectar.verification.mutation.campaign arbiter head``, it prints that, and the survivors as ``survivors.toml`` wants them.
"""

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ..bench import ROOT
from .equivalence import equivalent
from .mutants import mutate
from .targets import TARGETS, Target
from .transplant import NoPlace, transplant
from .trial import Trial

__all__ = ["CHECKS", "Material", "Report", "run"]

_HUB = "nectar.verification.hub.test_hub"
#: More seeds with which a bench is put to what the first has not found: it draws its stimulus, and so has several chances every day.
SEEDS = (2, 3)


@dataclass(frozen=True)
class Material:
    """A target with its mutants: ``text`` is the Verilog, ``directory`` where all of it is."""

    target: Target
    mutants: list
    text: str
    directory: Path


def own_bench(material, numbers):
    """Check: the claims of the component's bench."""
    target = material.target
    return Trial(material.text, target.bench, target.configuration, material.directory / "bench").put(numbers)


def more_seeds(material, numbers):
    """Check: the same claims with a few seeds more."""
    target, found = material.target, {}
    trial = Trial(material.text, target.bench, target.configuration, material.directory / "bench")
    for seed in SEEDS:
        left = [number for number in numbers if number not in found]
        found |= trial.put(left, seed) if left else {}
    return found


def around(material, numbers):
    """Check: the claims of its bench, which is one of what the component is a part of, with the mutants in every place there."""
    target = material.target
    text = transplant(target.whole(), target.component(), material.text)
    return Trial(text, target.bench, target.configuration, material.directory / "bench").put(numbers)


def whole_hub(material, numbers):
    """Check: the claims of the whole HUB's bench, on a HUB (of the first profile that has such a component) with the mutants in every place."""
    from ...hdl.hub.hub import Hub
    from ...hdl.hub.profile import HUB_PROFILES
    from ..hub.scene import NEEDED
    ports = material.target.ports
    if ports is None:
        return {}
    for profile in HUB_PROFILES.values():
        try:
            text = transplant(Hub(ports, profile), material.target.component(), material.text)
            break
        except NoPlace:
            continue
    else:
        return {}
    trial = Trial(text, _HUB, f"{ports} ports {profile.name}", material.directory / "hub")
    trial.claims = [claim for claim in trial.claims if NEEDED.get(claim, 2) <= ports]
    return trial.put(numbers)


#: Checks by name, as ``Target.checks`` lists them: each takes the Material and numbers of mutants, and returns number → Kill.
CHECKS = {"bench": own_bench, "seeds": more_seeds, "inside": around, "hub": whole_hub}


@dataclass(frozen=True)
class Report:
    """What came of the mutants of a target: ``kills``, by number, and ``equivalent``, those that are shown to be none."""

    target: Target
    mutants: list
    kills: dict
    equivalent: set

    @property
    def survivors(self):
        """Mutants that nothing found."""
        return [mutant for mutant in self.mutants if mutant.number not in self.kills and mutant.number not in self.equivalent]

    @property
    def share(self):
        """Killed, of those that are not equivalent."""
        count = len(self.mutants) - len(self.equivalent)
        return len(self.kills) / count if count else 1.0

    def summary(self):
        """One line."""
        by = Counter(kill.stage for kill in self.kills.values())
        return (f"{self.target.name:16} {len(self.mutants):4} mutants, {len(self.equivalent):3} equivalent, {len(self.kills):4} killed ("
                f"{', '.join(f'{stage} {count}' for stage, count in by.items())}), {len(self.survivors)} survive: {self.share:.1%}")


def run(target, *, sample=None, checks=None, progress=None):
    """Mutates ``target`` and checks all its mutants; returns a Report.

    ``sample``: only so many of its mutants. ``checks``: names; by default those of the target. ``progress``: called with lines of text.
    """
    tell = progress or (lambda line: None)
    directory = ROOT / "build" / "mutation" / (target.name if sample is None else f"{target.name}-{sample}")
    text, mutants = mutate(target.component(), directory, target.count, sample=sample)
    material = Material(target, mutants, text, directory)
    kills, alike = {}, None
    for name in target.checks if checks is None else checks:
        left = [mutant.number for mutant in mutants if mutant.number not in kills and mutant.number not in (alike or ())]
        found = CHECKS[name](material, left) if left else {}
        kills |= {number: replace(kill, stage=name) for number, kill in found.items()}
        left = [number for number in left if number not in kills]
        tell(f"{target.name}: {len(found)} killed by {name}, {len(left)} left")
        if alike is None:   # what takes long is put to no mutant that is none
            alike = equivalent(left, directory)
            tell(f"{target.name}: {len(alike)} are equivalent")
    return Report(target, mutants, kills, alike or set())


def main():
    """The program: runs the campaign on the targets that are named, or on all."""
    parser = argparse.ArgumentParser(prog="python -m nectar.verification.mutation.campaign", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    options = parser.parse_args()
    for name in options.targets or TARGETS:
        report = run(TARGETS[name], progress=lambda line: print(line, flush=True))
        print(report.summary())
        print("".join(f'"{mutant.name}" = ""\n' for mutant in report.survivors), end="", flush=True)


if __name__ == "__main__":
    main()
