"""The same programs on RTL boards and on fast boards: what differs, as the table in docs/engine.md.

    python -m nectar.verification.sim.fast.calibration [PAGE]

prints the table, and writes it into PAGE, in the place of the table that is there. Simulated time, so that it does not
depend on the machine. It takes some minutes."""

import statistics
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from nectar.sim.recording import Recording
from nectar.verification.cli.examples import EXAMPLES, PROGRAMS

__all__ = ["CASES", "COLUMNS", "MEDIAN", "WORST", "Row", "compare", "measure", "rewritten", "table"]

#: How much the time of an event may differ, as a share of the time since the start: in the median, and at worst.
MEDIAN, WORST = 0.01, 0.03
#: Heads of the columns.
COLUMNS = ("program", "events", "same events in the same order", "median deviation", "worst deviation")
_FAULTS = ["--faults", "CAB1-HUB1.P8:errors=1e-3"]
#: What is run: name → command and options, program, arguments. All examples, and one with damaged symbols.
CASES = {name: (command, name, arguments) for name, (command, arguments) in PROGRAMS.items()} | {
    "request, 1 in 1000 symbols of CAB1 damaged": (["run", *_FAULTS], "request", [])
}
_NECTAR = [sys.executable, "-c", "from nectar.cli import main; raise SystemExit(main())"]


class Row(NamedTuple):
    """What came of a program; the deviations as shares, NaN if the events are not the same."""

    program: str
    events: int
    same: bool
    median: float
    worst: float

    @property
    def exact(self):
        """Whether nothing differs."""
        return self.same and self.worst == 0


def _without_times(event):
    """Everything of an event but its times."""
    if event is None:
        return None
    return type(event), *(value for name, value in event._asdict().items() if not name.endswith("_ps"))


def compare(program, rtl, fast):
    """The Row of two lists of events."""
    same = all(_without_times(a) == _without_times(b) for a, b in zip_longest(rtl, fast))
    if not same or not rtl:
        return Row(program, len(rtl), same, *[float("nan")] * 2)
    deviations = [abs(b.time_ps - a.time_ps) / max(a.time_ps, 1) for a, b in zip(rtl, fast, strict=True)]
    return Row(program, len(rtl), True, statistics.median(deviations), max(deviations))


def measure(case):
    """The Row of one of CASES: messages and packets that were recorded. CalledProcessError if a program fails."""
    (command, *options), name, arguments = CASES[case]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "LICENSE").write_text((EXAMPLES.parent / "LICENSE").read_text())
        for boards in ("rtl", "fast"):
            file = Path(folder) / f"{boards}.events"
            words = [command, *options, "--boards", boards, "--record", file, EXAMPLES / f"{name}.py", *arguments]
            subprocess.run(
                [*_NECTAR, *map(str, words)], cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL
            )
            with Recording(file) as recording:
                found.append(list(recording.events()))
    return compare(case, *found)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def table(rows):
    """The lines of the table."""
    lines = [_line(COLUMNS), f"|{'---|' * len(COLUMNS)}"]
    for row in rows:
        deviations = (f"{100 * value:.2g} %" for value in (row.median, row.worst))
        lines.append(_line([row.program, f"{row.events:,}", "yes" if row.same else "no", *deviations]))
    return lines


def rewritten(text, lines):
    """The text of a page with ``lines`` in the place of its table."""
    page = text.split("\n")
    begin = page.index(_line(COLUMNS))
    end = next(number for number in range(begin, len(page)) if not page[number].startswith("|"))
    return "\n".join([*page[:begin], *lines, *page[end:]])


def main(arguments):
    """Exit code 1: something differs by more than it may."""
    rows = []
    for case in CASES:
        rows.append(measure(case))
        print(*table(rows)[0 if len(rows) == 1 else -1 :], sep="\n", flush=True)
    for page in arguments:
        Path(page).write_text(rewritten(Path(page).read_text(), table(rows)))
    return int(any(not row.same or row.median > MEDIAN or row.worst > WORST for row in rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
