"""Where built simulators, and what else takes time to make, are kept: directory, lock, seals.

The directory is ``$NECTAR_CACHE_DIR``, else ``$XDG_CACHE_HOME/nectar``, else ``~/.cache/nectar``. Whatever is in it may
be deleted at any time. Beside what is kept as NAME stands its seal, .NAME.sha256, in the format of the program
sha256sum: what does not agree with its seal is not taken.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

__all__ = ["BuildError", "Cache", "digest", "directory"]

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


def directory():
    """The cache directory that the environment names; it need not be there."""
    named = os.environ.get("NECTAR_CACHE_DIR")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "nectar"


def _seal_of(path):
    """Where the seal of what is kept at ``path`` stands."""
    return path.with_name(f".{path.name}.sha256")


def _seal(path, name):
    """The seal of a file, or of a directory of files, that is kept as ``name``."""
    files = [(file, f"{name}/{file.name}") for file in sorted(path.iterdir())] if path.is_dir() else [(path, name)]
    lines = []
    for file, told in files:
        with open(file, "rb") as content:
            lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {told}\n")
    return "".join(lines)


class Cache:
    """The cache directory; made if it is not there.

    Parameters
    ----------
    path : Path or None
        The directory; by default the one described above.

    Members
    -------
    damaged : set of str
        What was found, but differs from its seal, and has not been kept anew since.

    Raises BuildError when it cannot be made or written.
    """

    def __init__(self, path=None):
        self.path = path = directory() if path is None else Path(path)
        self.damaged = set()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.refused(error) from None

    def refused(self, error):
        """A BuildError for an OSError in the cache directory."""
        return BuildError(
            f"the cache directory {self.path} cannot be written ({error.strerror or error}); make room or give "
            "yourself the right to write there, or set NECTAR_CACHE_DIR to another directory"
        )

    @contextlib.contextmanager
    def locked(self, progress=None, work="builds the simulator"):
        """Holds off every other process that does the ``work``; ``progress`` tells that it waits for one.

        What interrupted ones have left is deleted.
        """
        try:
            lock = open(self.path / "lock", "a")
        except OSError as error:
            raise self.refused(error) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if progress is not None:
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
        """Path of what is kept as ``name``, or None if it is not there or damaged. It counts as used."""
        path = self.path / name
        seal = _seal_of(path)
        try:
            whole = seal.read_text() == _seal(path, name)
        except OSError:
            whole = False
        if not whole:
            if os.path.lexists(path):
                self.damaged.add(name)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
            os.utime(seal)
        return path

    def keep(self, made, name):
        """Moves what was ``made`` in a workshop to its place, all at once, with its seal. Returns the new path."""
        path = self.path / name
        seal = made.with_name(f"{made.name}.seal")
        seal.write_text(_seal(made, name))
        if path.is_dir():  # it is damaged, and nothing can take its place as a file would
            path.unlink() if path.is_symlink() else shutil.rmtree(path)
        os.rename(seal, _seal_of(path))
        os.rename(made, path)
        self.damaged.discard(name)
        return path

    def seal(self, name):
        """Seals what another program has put into the directory as ``name``."""
        path = self.path / name
        _seal_of(path).write_text(_seal(path, name))

    def survey(self):
        """(bytes that all takes, names of what is kept and damaged)."""
        files = [path for path in self.path.rglob("*") if path.is_file()]
        kept = [path.name.removeprefix(".").removesuffix(".sha256") for path in self.path.glob(".*.sha256")]
        damaged = [name for name in kept if os.path.lexists(self.path / name) and not self.find(name)]
        total = 0
        for path in files:
            with contextlib.suppress(FileNotFoundError):  # another process has moved or deleted it meanwhile
                total += path.stat().st_size
        return total, damaged

    def clean(self):
        """Deletes what has not been used for a month; call with the lock held."""
        oldest = time.time() - _KEEP_DAYS * 86400
        for path in self.path.iterdir():
            with contextlib.suppress(OSError):
                if path.name != "lock" and path.stat().st_mtime < oldest:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
