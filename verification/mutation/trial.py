"""One bench put to mutants: one compiled model, one simulation in which every claim meets every mutant."""

import importlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..bench import ROOT
from ..simulation import simulate
from .inside import FOUND, ORDER

__all__ = ["CampaignError", "Kill", "Trial"]

_INSIDE = f"{__package__}.inside"
_CONFIGURATION = "NECTAR_CONFIGURATION"


class CampaignError(RuntimeError):
    """A campaign cannot say anything: the bench does not pass without a mutant, or the model cannot be built."""


@dataclass(frozen=True)
class Kill:
    """How a mutant was found: the ``claim`` (or property) that failed, its ``reason``, and at which ``stage`` of a
    campaign."""

    claim: str
    reason: str
    stage: str = ""


@dataclass
class Trial:
    """The claims of a bench, put to mutants in one compiled model. Raises CampaignError if the bench has no such
    configuration.

    Parameters
    ----------
    text : str
        Verilog with the module that the bench simulates, and its input ``mutant``.
    bench : str
        Module of the bench, which has a Bench ``bench``.
    configuration : str
        The configuration that ``text`` is of.
    directory : Path
        Where it is built and runs.
    claims : list of str, optional
        Claims to put; all of the bench if left out.
    """

    text: str
    bench: str
    configuration: str
    directory: Path
    claims: list = field(default=None)

    def __post_init__(self):
        self._bench = importlib.import_module(self.bench).bench
        if self.configuration not in self._bench.configurations:
            raise CampaignError(
                f"{self.bench} has no configuration {self.configuration!r}; it has "
                f"{', '.join(self._bench.configurations)}"
            )
        if self.claims is None:
            self.claims = self._bench.claims()

    def put(self, numbers, seed=1, share=None):
        """Puts the claims to the mutants ``numbers``; returns number → Kill for those that are found. ``share``: only
        the beginning of each, so much of its time.

        A mutant that ends the whole simulation counts as found. Raises CampaignError if the bench does not pass without
        a mutant, or does not run."""
        found, left = {}, [0, *numbers]
        while left:
            outcome, done = self._run(left, seed, share)
            found |= {number: kill for number, kill in done.items() if kill is not None}
            rest = [number for number in left if number not in done]
            if rest and rest == left and rest[0] == 0:
                raise CampaignError(f"{self.bench} ({self.configuration}) does not run: {outcome.log[-3000:]}")
            if rest:
                found[rest[0]] = Kill("the simulation", "it ended before its time")
            left = rest[1:]
            if 0 in found:
                raise CampaignError(f"{self.bench} ({self.configuration}) fails without any mutant: {found[0]}")
        return found

    def _run(self, numbers, seed, share):
        """One simulation; returns its Outcome, and number → Kill or None for the mutants that are decided."""
        self.directory.mkdir(parents=True, exist_ok=True)
        notes = self.directory / FOUND
        notes.unlink(missing_ok=True)
        order = {"bench": self.bench, "claims": self.claims, "mutants": list(numbers), "share": share}
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        # A netlist whose vectors are changed bit by bit may look as if it depended on itself.
        outcome = simulate(
            self.text,
            _INSIDE,
            top=self._bench.top,
            directory=self.directory,
            flags=[*self._bench.flags, "-Wno-UNOPTFLAT"],
            ports_only=True,
            seed=seed,
            environment={
                ORDER: json.dumps(order),
                _CONFIGURATION: self.configuration,
                "PYTHONPATH": path,
                "COCOTB_LOG_LEVEL": "CRITICAL",
                "GPI_LOG_LEVEL": "CRITICAL",
            },
        )
        passed, done = {}, {}
        for line in notes.read_text().splitlines() if notes.exists() else ():
            note = json.loads(line)
            if note.get("begun"):
                continue
            if note["reason"]:
                done[note["mutant"]] = Kill(note["claim"], note["reason"])
            else:
                passed[note["mutant"]] = passed.get(note["mutant"], 0) + 1
        done |= {number: None for number, count in passed.items() if count == len(self.claims) and number not in done}
        return outcome, done
