"""Where built simulators are kept: directory, lock, progress, errors.

The directory is ``$NECTAR_CACHE_DIR``, else ``$XDG_CACHE_HOME/nectar``, else ``~/.cache/nectar``. Whatever is in it may be
deleted at any time.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

__all__ = ["BuildError", "Cache", "Progress", "digest"]

#: Days after which what was not used is deleted.
_KEEP_DAYS = 30


class BuildError(Exception):
    """The simulator cannot be built; the message is one line that says what to do."""


def digest(*parts):
    """Name for what was made from ``parts`` (str or bytes)."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode())
        total.update(data)
    return total.hexdigest()[:24]


class Cache:
    """The cache directory; made if it is not there.

    Parameters
    ----------
    path : Path or None
        The directory; by default the one described above.

    Raises BuildError when it cannot be made or written.
    """

    def __init__(self, path=None):
        if path is None:
            named = os.environ.get("NECTAR_CACHE_DIR")
            base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
            path = Path(named) if named else Path(base) / "nectar"
        self.path = path = Path(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.refused(error) from None

    def refused(self, error):
        """A BuildError for an OSError in the cache directory."""
        return BuildError(f"the cache directory {self.path} cannot be written ({error.strerror or error}); make room or give "
                          "yourself the right to write there, or set NECTAR_CACHE_DIR to another directory")

    @contextlib.contextmanager
    def locked(self, progress, work="builds the simulator"):
        """Holds off every other process that does the ``work``. What interrupted ones have left is deleted."""
        try:
            lock = open(self.path / "lock", "a")
        except OSError as error:
            raise self.refused(error) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                progress.say(f"waiting for another process that {work}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            for left in self.path.glob("tmp-*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    @contextlib.contextmanager
    def workshop(self):
        """A directory for a build; it is gone afterwards, whatever happens."""
        try:
            directory = Path(tempfile.mkdtemp(prefix="tmp-", dir=self.path))
        except OSError as error:
            raise self.refused(error) from None
        try:
            yield directory
        except OSError as error:
            raise self.refused(error) from error
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def find(self, name):
        """Path of what is kept as ``name``, or None. It counts as used."""
        path = self.path / name
        if not path.exists():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return path

    def keep(self, made, name):
        """Moves what was ``made`` in a workshop to its place, all at once. Returns the new path."""
        path = self.path / name
        os.rename(made, path)
        return path

    def clean(self):
        """Deletes what has not been used for a month; call with the lock held."""
        oldest = time.time() - _KEEP_DAYS * 86400
        for path in self.path.iterdir():
            with contextlib.suppress(OSError):
                if path.name != "lock" and path.stat().st_mtime < oldest:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


class Progress:
    """Tells on a stream, stderr by default, what a build is doing: a line that changes on a terminal, else a line a step."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._clear = "\r\033[K" if self._live else ""
        self._begun = time.monotonic()
        self._steps = {}      # those under way: name → when they began
        self._jobs = {}       # how many jobs of a step are still to end
        self._guard = threading.Lock()

    def say(self, text):
        """A line of its own."""
        self._stream.write(f"{self._clear}nectar: {text}\n")
        self._stream.flush()

    def expect(self, name, jobs):
        """The step ``name`` consists of so many jobs."""
        with self._guard:
            self._jobs[name] = jobs

    @contextlib.contextmanager
    def step(self, name):
        """Something that takes time, or one job of it; may be called from several threads."""
        with self._guard:
            begun = self._steps.setdefault(name, time.monotonic())
        try:
            yield
        finally:
            with self._guard:
                self._jobs[name] = left = self._jobs.get(name, 1) - 1
                if not left:
                    del self._steps[name]
                    if not self._live:
                        self.say(f"{name}: {time.monotonic() - begun:.0f} s")

    def show(self):
        """Brings the changing line up to date."""
        if self._live:
            with self._guard:
                names = ", ".join(self._steps)
            self._stream.write(f"\r\033[Knectar: building the simulator, {time.monotonic() - self._begun:.0f} s: {names[:60]}")
            self._stream.flush()

    def clear(self):
        """Removes the changing line."""
        self._stream.write(self._clear)
        self._stream.flush()
