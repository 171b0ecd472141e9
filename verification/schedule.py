"""In which order pytest-xdist gives the tests to its workers, and how long each part of the regression took.

What is given out is a unit: a test file; of a bench, one configuration, whose claims share a simulation; of the
documents, one page; of the proofs, one configuration or one fault. The longest come first, so that no worker is left
alone with a long one at the end. How long a unit takes is what it took in the last run here (``build/durations.json``);
one that has not run yet counts as ``HEAVY`` says, or else by its number of tests.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["BUILD", "Durations", "LongestFirst", "NIGHTLY", "TOOK", "unit"]

ROOT = Path(__file__).resolve().parent.parent
#: Names of properties of a test's report: the seconds of processor time that it took, and those of them that it spent
#: on elaborating and compiling.
TOOK, BUILD = "processor_seconds", "build_seconds"
#: Where pytest's configuration has the names of the tests that are marked nightly, of all that were collected.
NIGHTLY = pytest.StashKey()
#: Seconds of processor time, roughly, of the units that take long, where nothing has been measured yet.
HEAVY = {
    "verification/software/backends/cable/test_machine.py": 86,
    "verification/system/test_send_file.py": 58,
    "verification/reproduce/test_catalogue.py": 49,
    "verification/sim/test_build.py": 45,
    "verification/hub/test_hub.py[5 ports modern]": 44,
    "verification/hub/test_hub.py[5 ports prototype]": 42,
    "verification/test_product.py": 30,
    "verification/sim/fast/test_cab.py": 25,
    "verification/cli/test_sweep.py": 25,
    "verification/cli/test_send_file.py": 23,
    "verification/cli/test_verilog.py": 22,
    "verification/cab/test_whole.py[everyday]": 22,
    "verification/sim/test_faults.py": 20,
    "verification/cli/test_interrupt.py": 20,
    "verification/sim/fast/test_hub.py": 18,
    "verification/boards/test_selftest.py": 17,
    "verification/test_product.py[modern]": 16,
    "verification/ipsc2/test_router.py[2 dimensions]": 16,
    "verification/cli/test_run_errors.py": 16,
    "verification/hub/test_reference.py": 14,
    "verification/mutation/test_mutation.py": 12,
    "verification/mutation/test_equivalence.py": 11,
    "verification/hub/control/test_central.py[3 ports]": 11,
    "verification/cab/vme/test_slave.py[16 MHz]": 11,
    "verification/cli/test_bench.py": 10,
    "verification/cab/test_cab.py[with VME]": 10,
}
#: Seconds of a test of which nothing is known.
_UNKNOWN = 0.1
_BENCH = re.compile(r"\bBench\(\s*__name__", re.M)
#: Files of which each parameter is a unit.
_BY_PARAMETER = {
    f"verification/{name}.py"
    for name in (
        "test_documents",
        "formal/test_proofs",
        "hub/test_fuzz",
        "mutation/test_campaign",
        "software/test_soak",
    )
}

_benches = {}


def _is_bench(file):
    if file not in _benches:
        path = ROOT / file
        _benches[file] = path.is_file() and bool(_BENCH.search(path.read_text()))
    return _benches[file]


def unit(nodeid):
    """The unit that a test belongs to: "verification/hub/test_hub.py[5 ports modern]", "verification/test_house.py"."""
    file, _, rest = nodeid.partition("::")
    if file in _BY_PARAMETER:
        found = re.fullmatch(r"\w+\[(.*)\]", rest)
    else:
        found = re.fullmatch(r"\w+\[(.*)-\w+\]", rest) if _is_bench(file) else None
    return f"{file}[{found[1]}]" if found else file


class Durations:
    """Seconds of processor time that each unit took, summed over its tests; kept in a file from run to run.

    Building is counted apart: it is known from the last time that something had to be built.

    Parameters
    ----------
    path : Path, optional
        The file.
    """

    def __init__(self, path=None):
        self.path = path or ROOT / "build" / "durations.json"
        try:
            self._known = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self._known = {}
        self._runs, self._builds = Counter(), Counter()

    def __contains__(self, name):
        """Whether it is known what the unit ``name`` took."""
        return name in self._known

    def seconds(self, name, tests=1, build=True):
        """What the unit ``name`` of so many tests may take, with or without its builds."""
        if name not in self._known:
            return HEAVY.get(name, tests * _UNKNOWN)
        took = self._known[name]
        return took["run"] + (took["build"] if build else 0)

    def add(self, report):
        """A test, or its set-up or end, has ended (a report of pytest)."""
        if report.when == "teardown":
            name, told = unit(report.nodeid), dict(report.user_properties)
            self._runs[name] += told.get(TOOK, 0) - told.get(BUILD, 0)
            self._builds[name] += told.get(BUILD, 0)

    def write(self):
        """Keeps what was seen in this run."""
        for name, seconds in self._runs.items():
            built = self._builds[name] or self._known.get(name, {}).get("build", 0)
            self._known[name] = {"build": round(built, 2), "run": round(max(0, seconds), 2)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(self._known, indent=0, sort_keys=True))
        os.replace(beside, self.path)


class LongestFirst(LoadScopeScheduling):
    """Gives out units, the longest first."""

    def __init__(self, config, log, durations):
        super().__init__(config, log)
        self._durations = durations

    def _split_scope(self, nodeid):
        return unit(nodeid)

    def _assign_work_unit(self, node):
        self.workqueue.move_to_end(
            max(self.workqueue, key=lambda name: self._durations.seconds(name, len(self.workqueue[name]))), last=False
        )
        super()._assign_work_unit(node)
