"""Loads the programs of ``examples/`` and runs them in this process."""

import importlib.util
import io
import re
import sys
from contextlib import contextmanager, redirect_stdout
from typing import NamedTuple

from nectar.verification.bench import ROOT
from nectar.verification.software.helpers import drive, simulated

__all__ = ["FULL", "Row", "Ran", "as_stated", "modules", "run", "rows"]

#: Numbers of CABs of the table at full size.
FULL = [1, 2, 4, 8, 16]
#: How far a speed-up may be from what the page says, as a share of it: routes, time-outs and costs change a little.
NEAR = 0.03
_PAGE = ROOT / "docs" / "programs.md"
_ROW = re.compile(r" *(\d+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+) %")


class Row(NamedTuple):
    """A line of a table of ``software.speedup``; ``communication`` in percent."""

    cabs: int
    time_ms: float
    speedup: float
    ideal: int
    communication: float


class Ran(NamedTuple):
    """A run: ``text`` that it printed, ``results`` that it reported by their ids."""

    text: str
    results: dict


@contextmanager
def modules(name):
    """The program ``examples/NAME.py`` as a module, which may import the modules beside it. They are forgotten at the
    end: another program may have some of the same names."""
    path = ROOT / "examples" / f"{name}.py"
    before = set(sys.modules)
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(path.parent))
        for each in set(sys.modules) - before:
            if str(getattr(sys.modules[each], "__file__", None)).startswith(f"{path.parent}/"):
                del sys.modules[each]


def run(program, *arguments, topology="hub:4", boards="fast", faults=()):
    """Runs ``main`` of a module with ``arguments`` as a user would give them."""
    nodes = [f"CAB{number}" for number in range(1, int(topology.partition(":")[2]) + 1)]
    nodes = nodes if getattr(program, "NODES", False) else ()
    printed = io.StringIO()
    with simulated(topology, faults, boards=boards, nodes=nodes) as system, redirect_stdout(printed):
        drive(program.main(system, [str(argument) for argument in arguments]))
        results = {result["id"]: result["value"] for result in system.results}
    return Ran(printed.getvalue(), results)


def rows(text):
    """The lines of the table in what a program has printed."""
    found = [_ROW.fullmatch(line) for line in text.splitlines()]
    return [Row(int(m[1]), float(m[2]), float(m[3]), int(m[4]), float(m[5])) for m in found if m]


def as_stated(name, table):
    """Compares the speed-ups of a full table with those that docs/programs.md gives for ``name``."""
    (line,) = [line for line in _PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    stated = [float(cell) for cell in line.split("|")[3:8]]
    assert [row.cabs for row in table] == FULL
    wrong = [row for row, speedup in zip(table, stated, strict=True) if abs(row.speedup / speedup - 1) > NEAR]
    assert not wrong, f"{_PAGE.name} says {stated}"
    assert all(row.speedup <= row.ideal for row in table)
