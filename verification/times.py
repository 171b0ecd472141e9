"""Where the time of a run of the tests goes: a table from the reports that pytest writes in JUnit's format.

::

    make test PYTEST_FLAGS=--junitxml=build/junit.xml
    .venv/bin/python -m nectar.verification.times build/junit.xml

With ``--before OLD.xml`` a second run, of the same machine, stands beside it. The times are seconds of processor time,
as each test notes them (``conftest``); a test that notes none counts with its time on the clock. Building is what is
spent on elaborating and compiling benches, the simulator and simulated boards in the tests' own process.
"""

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from .schedule import BUILD, TOOK

__all__ = ["Part", "parts", "table"]

#: Rows that are shown; what takes less is summed up.
ROWS = 14


@dataclass
class Part:
    """Tests of one folder or file: their ``number``, seconds that they ``run``, and ``build``."""

    number: int = 0
    run: float = 0
    build: float = 0

    @property
    def seconds(self):
        """Both."""
        return self.run + self.build

    def add(self, other):
        """Adds another Part to this one."""
        self.number += other.number
        self.run += other.run
        self.build += other.build


def parts(path):
    """Name of each folder below ``verification``, and of each file there, → its Part, from the report at ``path``.
    Raises OSError, ValueError if it is no report."""
    found = {}
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} is no report in JUnit's format: {error}") from None
    for case in cases:
        told = {item.get("name"): item.get("value") for item in case.iter("property")}
        build = float(told.get(BUILD, 0))
        took = float(told.get(TOOK, case.get("time", 0)))
        name = case.get("classname", "").removeprefix("verification.").partition(".")[0]
        found.setdefault(name, Part()).add(Part(1, max(0.0, took - build), build))
    return found


def table(now, before=None):
    """The lines of the table, in Markdown: what takes longest first, then all others, then the sum. ``now`` and
    ``before`` are as ``parts`` gives them."""
    names = sorted({**now, **(before or {})}, key=lambda name: -now.get(name, Part()).seconds)
    rows = [(f"`{name}`", [name]) for name in names[:ROWS]]
    if names[ROWS:]:
        rows.append(("all others", names[ROWS:]))
    rows.append(("in all", names))
    runs = [run for run in (before, now) if run is not None]
    titles = [
        f"{what}{when}" for when in ([" before", ""] if before else [""]) for what in ("tests", "run, s", "build, s")
    ]
    lines = [f"| part | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
    for title, chosen in rows:
        cells = []
        for run in runs:
            total = Part()
            for name in chosen:
                total.add(run.get(name, Part()))
            cells += [f"{total.number}", f"{total.run:.0f}", f"{total.build:.0f}"]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def main(words=None):
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m nectar.verification.times", description=__doc__.partition("\n")[0])
    parser.add_argument("report", help="report of a run: make test PYTEST_FLAGS=--junitxml=FILE")
    parser.add_argument("--before", metavar="REPORT", help="a second run, to stand beside it")
    options = parser.parse_args(words)
    try:
        print(*table(parts(options.report), parts(options.before) if options.before else None), sep="\n")
    except (OSError, ValueError) as error:
        print(f"times: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
