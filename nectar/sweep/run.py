"""One run of a sweep, here or on a worker of a cluster: ``nectar run`` in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from ..cli.errors import UsageError

__all__ = ["Job", "Ready", "run"]

COMMAND = [sys.executable, "-c", "import sys; from nectar.cli import main; sys.exit(main())"]


@dataclass(frozen=True)
class Job:
    """What a worker needs for a run: the ``words`` behind ``nectar run``, and the ``folder`` from which it starts."""

    words: tuple
    folder: str


@dataclass(frozen=True)
class Ready:
    """Looks, on a worker, whether the sweep can run there, and has the simulator built: ``words`` are those of
    ``nectar sweep --check``, ``said`` what it prints where the sweep was started. Raises UsageError."""

    words: tuple
    folder: str
    said: str

    def __call__(self):
        if not os.path.isdir(self.folder):
            raise UsageError(
                f"there is no directory {self.folder}; workers need the files of the sweep at the same place"
            )
        done = subprocess.run(
            [*COMMAND, "sweep", *self.words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise UsageError(_error(done))
        if done.stdout.split() != self.said.split():
            raise UsageError("its nectar, or its copy of the program, is another one than here; give both the same")


def run(job):
    """Runs a Job; returns a dict: ``results`` as ``nectar run --json`` writes them, ``simulated_ns`` (None if the run
    did not end), ``host_s``, and ``error``, one line or None."""
    begun = time.monotonic()
    try:
        with tempfile.TemporaryFile() as file:
            option = f"--json=/dev/fd/{file.fileno()}"
            done = subprocess.run(
                [*COMMAND, "run", option, *job.words],
                cwd=job.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=[file.fileno()],
            )
            file.seek(0)
            text = file.read()
    except OSError as error:
        return _row(begun, [], f"{error.filename or 'the run'}: {error.strerror}")
    results = json.loads(text)["results"] if text else []
    return _row(begun, results, None if results and done.returncode in (0, 1) else _error(done))


def _row(begun, results, error):
    times = [result["value"] for result in results if result["id"] == "run.simulated_time"]
    return {
        "results": [result for result in results if result["id"] != "run.simulated_time"],
        "simulated_ns": times[0] if times else None,
        "host_s": round(time.monotonic() - begun, 3),
        "error": error,
    }


def _error(done):
    """The error of a process that has ended, in one line: its last line of error, with the list below it if there is
    one."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    ours = [number for number, line in enumerate(lines) if line.startswith("nectar: ")]
    if done.returncode < 0:
        return f"ended by {signal.Signals(-done.returncode).name}"
    if not ours:
        return (lines or [f"ended with exit code {done.returncode}"])[-1]
    first, *listed = lines[ours[-1] :]
    return " ".join([first.removeprefix("nectar: "), "; ".join(map(str.strip, listed))]).strip()
