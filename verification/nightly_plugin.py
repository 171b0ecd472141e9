"""Plugin of pytest, for a job of the night: takes the tests that belong to it, and writes down what came of them.

What a test notes with ``record_property`` becomes a figure of the job: numbers of the same name are added up, texts
are collected.
"""

import json
import os
from pathlib import Path

from .bench import Bench

__all__ = ["Outcome"]


class Outcome:
    """What came of the tests of a run."""

    def __init__(self):
        self._states = {}
        self._figures = {}

    def add(self, report):
        """A test, or its set-up or end, has ended (a report of pytest)."""
        order = ("passed", "skipped", "failed")
        self._states[report.nodeid] = max(self._states.get(report.nodeid, "passed"), report.outcome, key=order.index)
        for name, value in report.user_properties if report.when == "call" else ():
            if isinstance(value, str):
                self._figures[name] = sorted({*self._figures.get(name, ()), value}, key=lambda text: (len(text), text))
            else:
                self._figures[name] = self._figures.get(name, 0) + value

    def told(self):
        """A dict for JSON: numbers of tests ``passed`` and ``skipped``, IDs of those that ``failed``, ``figures``."""
        states = list(self._states.values())
        failed = sorted(nodeid for nodeid, state in self._states.items() if state == "failed")
        return {
            "passed": states.count("passed"),
            "skipped": states.count("skipped"),
            "failed": failed,
            "figures": self._figures,
        }


_outcome = Outcome()


def pytest_addoption(parser):
    """What belongs to the job, and where its outcome is written."""
    group = parser.getgroup("a job of the night")
    group.addoption(
        "--beginning",
        action="append",
        default=[],
        metavar="TEXT",
        help="run only tests whose IDs begin with TEXT; may be given several times",
    )
    group.addoption("--claims-only", action="store_true", help="run only claims of benches")
    group.addoption("--outcome", metavar="FILE", help="write to FILE what came of it, once all tests have ended")


def pytest_collection_modifyitems(config, items):
    """Leaves out what does not belong to the job."""

    def belongs(item):
        asked = item.callspec.params.keys() if hasattr(item, "callspec") else set()
        claim = isinstance(getattr(item.module, "bench", None), Bench) and asked >= {"configuration", "claim"}
        return item.nodeid.startswith(tuple(config.option.beginning)) and (claim or not config.option.claims_only)

    if config.option.beginning:
        chosen = [item for item in items if belongs(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def pytest_runtest_logreport(report):
    """Counts the test."""
    _outcome.add(report)


def pytest_sessionfinish(session, exitstatus):
    """Writes the outcome of a run that was not cut off; workers do not."""
    path = session.config.option.outcome
    if path and not hasattr(session.config, "workerinput") and exitstatus in (0, 1):
        beside = Path(f"{path}.{os.getpid()}")
        beside.write_text(json.dumps(_outcome.told()))
        os.replace(beside, path)
