"""Jobs of a build, side by side, and the compiler that they call."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from ..cache import BuildError
from .host import cores

__all__ = ["Jobs", "compiler", "run"]


class Jobs:
    """Jobs on all cores. A job may add more. The first that fails ends all."""

    def __init__(self, progress):
        self._progress = progress
        self._pool = ThreadPoolExecutor(max_workers=cores())
        self._waiting = set()
        self._guard = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._pool.shutdown(wait=False, cancel_futures=True)
        while not all(job.done() for job in self._waiting):
            _end_all()  # again and again: a job may be about to start its next command
            time.sleep(0.02)
        self._progress.clear()

    def add(self, work):
        with self._guard:
            self._waiting.add(self._pool.submit(work))

    def finish(self):
        """Returns when all jobs are done; raises what one of them raised."""
        while True:
            with self._guard:
                waiting = set(self._waiting)
            if not waiting:
                return
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for job in done:
                job.result()
            with self._guard:
                self._waiting -= done
            self._progress.show()


_running = set()


def _end_all():
    """Ends every compiler that still runs, with the processes that it has started."""
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def run(command, what, environment=None):
    """Runs a command; BuildError with the first line that looks like an error when it fails."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
        process_group=0,
    )
    _running.add(process)
    try:
        output, _ = process.communicate()
    finally:
        _running.discard(process)
    if process.returncode:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        line = next((line for line in lines if "rror" in line), lines[-1] if lines else "it said nothing")
        raise BuildError(f"{what} failed (exit code {process.returncode}): {line}")


def compiler():
    """The C++ compiler's command (list of str) and what it says of its version. Raises BuildError if there is none."""
    named = os.environ.get("CXX")
    for command in [shlex.split(named)] if named else [["c++"], ["g++"], ["clang++"]]:
        if command and shutil.which(command[0]):
            outcome = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            return command, " ".join(command) + outcome.stdout
    if named:
        raise BuildError(f"CXX names {named!r}, which is not there; set CXX to a C++ compiler or unset it")
    raise BuildError("no C++ compiler was found; install g++ or clang++, or name one in the environment variable CXX")
