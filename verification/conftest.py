"""Tells the seed of the run at its head and how a failure is repeated at its end; gives the longest tests to the
workers first. Ctrl-C works in all processes that tests start."""

import contextlib
import functools
import gc
import importlib
import signal
from pathlib import Path

import pytest

from nectar.sim.build import Build
from nectar.verification import repeat, schedule, seeds
from nectar.verification.bench import Bench
from nectar.verification.machine import processor_seconds

# A regression that was started in the background ignores Ctrl-C, and one behind ``nohup`` the end of the terminal; so
# would every process that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No full search for garbage: in tests that elaborate designs it takes 14 % of the time, in those of the software 2 %.
gc.set_threshold(700, 20, 1_000)

_durations = schedule.Durations()
_BEGUN = pytest.StashKey()


class _Timed:
    """Counts the processor time that a function takes, in ``seconds``."""

    def __init__(self):
        self.seconds = 0

    def __call__(self, function):
        @functools.wraps(function)
        def timed(*arguments, **options):
            begun = processor_seconds()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += processor_seconds() - begun

        return timed


#: What was spent on building the simulator and simulated boards; benches count their own.
_simulator = _Timed()
Build.make = _simulator(Build.make)


def pytest_configure(config):
    """A seed that is none ends the run before it begins."""
    try:
        seeds.seed()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header():
    """The line that repeats the run."""
    return f"everything random follows NECTAR_SEED={seeds.seed()}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """In a fresh clone each worker compiles all test files while it collects them. Every second worker begins with the
    last of them, so that two workers find half of the files compiled by each other."""
    number = getattr(session.config, "workerinput", {}).get("workerid", "gw0").removeprefix("gw")
    if int(number) % 2:
        for path in sorted((schedule.ROOT / "verification").rglob("test_*.py"), reverse=True):
            if any(path.is_relative_to(Path(chosen.partition("::")[0]).resolve()) for chosen in session.config.args):
                name = ".".join(path.relative_to(schedule.ROOT).with_suffix("").parts)
                with contextlib.suppress(Exception, pytest.skip.Exception):  # told when it is collected
                    importlib.import_module(name)


def pytest_collection_finish(session):
    """A bench simulates only the claims that were chosen."""
    for item in session.items:
        bench = getattr(item.module, "bench", None)
        asked = item.callspec.params if hasattr(item, "callspec") else {}
        if isinstance(bench, Bench) and asked.keys() >= {"configuration", "claim"}:
            bench.choose(asked["configuration"], asked["claim"])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """The longest first."""
    return schedule.LongestFirst(config, log, _durations)


def pytest_runtest_logreport(report):
    """Counts the time of each unit."""
    _durations.add(report)


def pytest_runtest_setup(item):
    """The processor time of a test counts from here."""
    item.stash[_BEGUN] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Tells how much processor time a test took, and how much of it went into building."""
    try:
        return (yield)
    finally:
        bench = getattr(item.module, "bench", None)
        built = (bench.take_build_seconds() if isinstance(bench, Bench) else 0) + _simulator.seconds
        _simulator.seconds = 0
        begun = item.stash.get(_BEGUN, processor_seconds())  # a test that a mark skips was never set up
        item.user_properties += [(schedule.TOOK, processor_seconds() - begun), (schedule.BUILD, built)]


def pytest_addoption(parser):
    """--units FILE: only the units (schedule.unit) that the file names, a line each."""
    parser.addoption("--units", metavar="FILE", help="run only the units of tests that FILE names, a line each")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Notes what is marked nightly, before it is left out; leaves out what is in no unit that was asked for."""
    config.stash[schedule.NIGHTLY] = [item.nodeid for item in items if item.get_closest_marker("nightly")]
    if config.option.units:
        wanted = set(Path(config.option.units).read_text().splitlines())
        kept = [item for item in items if schedule.unit(item.nodeid) in wanted]
        config.hook.pytest_deselected(items=[item for item in items if schedule.unit(item.nodeid) not in wanted])
        items[:] = kept


def pytest_terminal_summary(terminalreporter, config):
    """For each test that failed the command that runs it again, alone and with the same seed."""
    failed = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    if failed:
        terminalreporter.section("to repeat a failure")
        for nodeid in dict.fromkeys(report.nodeid for report in failed):
            terminalreporter.line(repeat.command(nodeid, config.rootpath))


def pytest_sessionfinish(session):
    """Keeps the times of everyday tests, but not those of a worker, which only the controller adds up."""
    everyday = session.config.option.markexpr == "not nightly" and session.config.rootpath == schedule.ROOT
    if everyday and not hasattr(session.config, "workerinput"):
        _durations.write()
