"""What a proof is: configurations in which it must hold, and faults that it must find.

Each module of this package that has proofs lists them in ``PROOFS``; ``test_proofs`` runs them all.
"""

import contextlib
import importlib
from dataclasses import dataclass, field
from pathlib import Path

from .prove import prove

__all__ = ["Attempt", "Proof", "all_proofs"]


@dataclass(frozen=True)
class Attempt:
    """One run of the prover.

    ``component``: is called without arguments and gives the proof's component. ``depth``, ``timeout``, ``mode``: as for
    ``prove``. ``nightly``: it is run in the night only.
    """

    component: object
    depth: int = 2
    timeout: int = 600
    mode: str = "prove"
    nightly: bool = False

    def run(self, name, faults=()):
        """The Outcome, with these faults in what is elaborated; ``name`` is that of the folder."""
        with contextlib.ExitStack() as stack:
            for fault in faults:
                stack.enter_context(fault.injected())
            return prove(self.component(), name, depth=self.depth, timeout=self.timeout, mode=self.mode)


@dataclass(frozen=True)
class Proof:
    """A proof, or a search of the first cycles, which shows nothing beyond.

    Parameters
    ----------
    name : str
        One word.
    claim, source : str
        What is shown, in a sentence; facts of the papers and chapters of the documents that say so.
    holds : dict
        Name → Attempt that must pass.
    search : Attempt
        Where faults are searched.
    faults : dict
        Name → Fault, or a tuple of Faults that make one together, none if the Attempt is what is wrong.
    searches : dict
        Name of a fault → Attempt, for those that have one of their own.
    everyday : int
        So many faults, the first, are searched every day, and all of them in the night. 0 where a search takes longer
        than the proof.
    """

    name: str
    claim: str
    source: str
    holds: dict
    search: Attempt
    faults: dict
    searches: dict = field(default_factory=dict)
    everyday: int = 1

    def find(self, fault):
        """The Outcome of the search for the fault of that name."""
        faults = self.faults[fault]
        attempt = self.searches.get(fault, self.search)
        return attempt.run(f"{self.name} {fault}", faults if isinstance(faults, tuple) else (faults,))

    def hold(self, case):
        """The Outcome of the attempt of that name."""
        return self.holds[case].run(f"{self.name} {case}")


def all_proofs():
    """Name of a module → its Proofs, for all modules beside this one."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.name.startswith(("test_", "_")):
            module = importlib.import_module(f"{__package__}.{path.stem}")
            if hasattr(module, "PROOFS"):
                found[path.stem] = module.PROOFS
    return found
