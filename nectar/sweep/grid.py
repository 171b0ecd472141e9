"""The runs of a sweep: every combination of the values, so often as it is repeated."""

import csv
import itertools
from dataclasses import asdict, dataclass

from ..cli.errors import UsageError

__all__ = ["OPTIONS", "Run", "Sweep", "values_of"]

#: Options of ``nectar run`` that a sweep may set; another name is an option of the program.
OPTIONS = (
    "topology",
    "profile",
    "boards",
    "rtl",
    "threads",
    "faults",
    "seed",
    "routes",
    "max-time",
    "stall-time",
)
#: Those that decide which boards are simulated: they are checked in every combination.
BOARDS = ("topology", "profile", "boards", "rtl")
#: Options that name a file, or a board at this machine: for one run only.
_FOR_ONE = (
    "waves",
    "wave-boards",
    "wave-window",
    "wave-limit",
    "record",
    "report",
    "trace",
    "pcap",
    "json",
    "on",
    "baud",
)


@dataclass(frozen=True)
class Run:
    """One run: its ``number`` in the sweep, from 0 on, the ``values`` by name (text, as the user wrote it), which
    ``repeat`` it is, from 1 on, and the ``seed`` of its faults."""

    number: int
    values: dict
    repeat: int
    seed: int

    def told(self):
        """The run in a few words."""
        return " ".join([*(f"{name}={value}" for name, value in self.values.items()), f"repeat {self.repeat}"])


@dataclass(frozen=True)
class Sweep:
    """What is swept.

    Parameters
    ----------
    program : str
        Name of the program's file.
    values : dict of str → list of str
        For each name the values it takes.
    repeat : int
        Runs of each combination. Each has a seed of its own: that of the sweep, 1 by default, and the next ones.
    arguments : list of str
        What each run hands to the program besides.
    """

    program: str
    values: dict
    repeat: int = 1
    arguments: tuple = ()

    def combinations(self):
        """Each combination of values, a dict; the last name changes fastest."""
        return [dict(zip(self.values, values, strict=True)) for values in itertools.product(*self.values.values())]

    def runs(self):
        """Every Run, in order."""
        each = itertools.product(self.combinations(), range(1, self.repeat + 1))
        return [
            Run(number, values, repeat, int(values.get("seed", 1)) + repeat - 1)
            for number, (values, repeat) in enumerate(each)
        ]

    def words(self, values, seed=None):
        """What stands behind ``nectar run`` for these values. A run has one thread unless the sweep says otherwise:
        there are as many runs at a time as processor cores."""
        ours = {name: value for name, value in values.items() if name in OPTIONS}
        ours.setdefault("threads", "1")
        if seed is not None:
            ours["seed"] = seed
        theirs = [word for name, value in values.items() if name not in OPTIONS for word in (f"--{name}", value)]
        return [*(f"--{name}={value}" for name, value in ours.items()), self.program, "--", *theirs, *self.arguments]

    def checks(self):
        """The combinations to check before anything runs: each value at least once, those of the boards in all
        combinations."""
        first = {name: values[0] for name, values in self.values.items()}
        found = [first]
        boards = [name for name in self.values if name in BOARDS]
        for chosen in itertools.product(*(self.values[name] for name in boards)):
            found.append(first | dict(zip(boards, chosen, strict=True)))
        found += [first | {name: value} for name, values in self.values.items() for value in values]
        return [values for number, values in enumerate(found) if values not in found[:number]]

    def as_object(self):
        """The sweep as its folder keeps it."""
        return asdict(self) | {"arguments": list(self.arguments)}


def values_of(words):
    """The values of each name in ``--set`` words, each ``NAME=A,B,C``: a dict of lists. A value with a comma stands in
    double quotes. A name that comes again takes more values. Raises UsageError."""
    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("_", "-") if name.strip().replace("_", "-") in OPTIONS else name.strip()
        if not name or not equals or name.startswith("-"):
            raise UsageError(f"--set {word}: write a name and its values, as in --set size=64,1024")
        if name in _FOR_ONE:
            raise UsageError(f"--set {word}: --{name} is for one run; 'nectar run --{name}' shows what happens in it")
        try:
            (values,) = csv.reader([text], skipinitialspace=True, strict=True)
        except (csv.Error, ValueError):
            raise UsageError(f"--set {word}: a quote is open, or has text behind it") from None
        values = [value.strip() for value in values]
        if not values or "" in values:
            raise UsageError(f"--set {word}: a value is missing")
        found.setdefault(name, [])
        for value in values:
            if value in found[name]:
                raise UsageError(f"--set {word}: {name} has the value {value} twice")
            found[name].append(value)
    for value in found.get("seed", ()):
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"--set seed={value}: not a seed; give a whole number from 0 on")
    return found
