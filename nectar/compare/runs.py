"""A program on a machine, in a process of its own, and what it answers."""

import ast
import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..cli import parse
from ..cli.errors import UsageError

__all__ = ["Ran", "check", "difference", "is_ranked", "ran"]

_COMMAND = [sys.executable, "-c", "import sys; from nectar.cli import main; sys.exit(main())"]
#: A figure with a unit of time or of a rate, in what a program prints.
_TIMED = re.compile(
    r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)? *(ps|ns|us|\u00b5s|\u03bcs|ms|s|min|[kMG]?(bit|byte)/s|times|%)(?![A-Za-z])"
)


@dataclass(frozen=True)
class Ran:
    """A program that has ended: its ``answers``, in their order, and the simulated time in nanoseconds. ``given``:
    whether the answers are results that the program has marked, not lines that it has printed."""

    answers: list
    given: bool
    simulated_ns: float


def is_ranked(path):
    """Whether the program is one for mpi4py: it has no ``async def main`` of its own. Raises UsageError."""
    try:
        tree = ast.parse(Path(path).read_bytes(), path)
    except OSError as error:
        raise UsageError(f"{path}: the program cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path}:{getattr(error, 'lineno', None) or 1}: no Python program: {error}") from error
    return not any(isinstance(item, ast.AsyncFunctionDef) and item.name == "main" for item in tree.body)


def _words(machine, program, arguments, topology, ranks):
    """The subcommand, its options, the program and its arguments."""
    words = ["--machine", machine, "--topology", topology, program, *arguments]
    return ["run", *words] if ranks is None else ["mpirun", "-n", str(ranks), *words]


def check(machine, program, arguments, topology, ranks=None):
    """Raises the UsageError of whatever can be told before the program is run; as for ``ran``."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # a program may print when it is loaded
            options = parse(_words(machine, program, arguments, topology, ranks))
            options.module.check(options)
    except UsageError as error:
        raise UsageError(f"{machine}, {topology}: {error}") from error


def ran(machine, program, arguments, topology, ranks=None):
    """Runs the program on the machine of that name; returns a Ran.

    ``topology``: its name. ``ranks``: of a program for mpi4py; None for a program with ``main``. Raises UsageError if
    it ends with an error, or a check of its own does not hold.
    """
    with tempfile.TemporaryFile() as file:
        name, *words = _words(machine, program, arguments, topology, ranks)
        done = subprocess.run(
            [*_COMMAND, name, f"--json=/dev/fd/{file.fileno()}", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            pass_fds=[file.fileno()],
            check=False,
        )
        file.seek(0)
        text = file.read()
    results = json.loads(text)["results"] if text else []
    failed = [result["id"] for result in results if result["ok"] is False]
    if failed:
        raise UsageError(f"{machine}, {topology}: {failed[0]} of {program} does not hold")
    if done.returncode or not results:
        raise UsageError(f"{machine}, {topology}: {_error(done)}")
    (time_ns,) = (result["value"] for result in results if result["id"] == "run.simulated_time")
    marked = [(result["id"], result["value"]) for result in results if result.get("answer")]
    printed = sorted(_TIMED.sub("#", line).strip() for line in done.stdout.splitlines())
    return Ran(marked or printed, bool(marked), time_ns)


def _error(done):
    """The line of error of a process that has ended."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    ours = [line.removeprefix("nectar: ") for line in lines if line.startswith("nectar: ")]
    return (ours or lines or [f"the program ended with exit code {done.returncode}"])[-1]


def difference(one, other):
    """The first answers of two Rans that differ, as a pair of texts; None if there are none."""
    for place in range(max(len(one.answers), len(other.answers))):
        pair = [_told(each.answers[place]) if place < len(each.answers) else "nothing" for each in (one, other)]
        if pair[0] != pair[1]:
            return tuple(pair)
    return None


def _told(answer):
    return f"{answer[0]} = {answer[1]!r}" if isinstance(answer, tuple) else repr(answer)
