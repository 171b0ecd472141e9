"""The folder of a sweep: ``sweep.json`` says what is swept, ``runs.jsonl`` holds a line for each run that has ended."""

import contextlib
import fcntl
import json
import os
from dataclasses import fields
from pathlib import Path

from .. import __version__
from ..cli.errors import UsageError
from ..cli.results import save
from .grid import Sweep

__all__ = ["Folder"]

#: Format of the two files.
_FORMAT = 1


class Folder:
    """The folder at ``path``. Raises UsageError, which names ``option``, whenever it cannot be read or written.

    A row is a dict: what ``nectar.sweep.run.run`` returns, with ``number``, ``values``, ``repeat`` and ``seed``."""

    def __init__(self, path, option="-o"):
        self.path, self._option = Path(path), option
        self._runs = self.path / "runs.jsonl"
        self._file = None
        self._rows = {}  # by the numbers of their runs

    @property
    def rows(self):
        """The runs that have ended, in the order of the sweep."""
        return [self._rows[number] for number in sorted(self._rows)]

    def _refuse(self, why, error=None):
        raise UsageError(f"{self._option} {self.path}: {why}") from error

    @contextlib.contextmanager
    def _failing(self):
        try:
            yield
        except OSError as error:
            self._refuse(f"it cannot be used: {error.strerror}", error)

    def described(self):
        """What ``sweep.json`` says; None if there is none."""
        try:
            with self._failing():
                content = json.loads((self.path / "sweep.json").read_text())
        except UsageError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
                return None
            raise
        except ValueError:
            content = {}
        if not isinstance(content, dict) or content.get("format") != _FORMAT or not _is_sweep(content.get("sweep")):
            self._refuse("its sweep.json is of another version of nectar, or damaged; give another folder")
        return content

    @contextlib.contextmanager
    def made(self):
        """Context manager: makes the directory, if it is not there. If it ends with an error, a directory that it has
        made goes again."""
        with self._failing():
            new = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if not os.access(self.path, os.W_OK):
                self._refuse("permission denied")
        try:
            yield
        except BaseException:
            if new:
                with contextlib.suppress(OSError):  # it is not empty, or gone
                    self.path.rmdir()
            raise

    @contextlib.contextmanager
    def writing(self, sweep, program, version):
        """Holds the folder for this sweep of a program and a nectar with these digests. Whoever holds it may
        ``add``. If it ends with an error before a first row, the files that it has made go again."""
        with self._failing():
            new = not any(self.path.iterdir())
        wanted = {
            "format": _FORMAT,
            "version": __version__,
            "sweep": sweep.as_object(),
            "program": program,
            "nectar": version,
        }
        if not new:
            self._compare(self.described(), wanted)
        with self._failing(), open(self._runs, "ab") as self._file:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._refuse("another sweep is writing there")
            if new:
                save(self.path / "sweep.json", (json.dumps(wanted, indent=1) + "\n").encode())
            os.truncate(self._runs, self.read())
            try:
                yield self
            except BaseException:
                if new and not self._rows:
                    for made in self._runs, self.path / "sweep.json":
                        made.unlink(missing_ok=True)
                raise

    def _compare(self, found, wanted):
        """Refuses a folder that belongs to something else."""
        other = "give another folder, or delete it"
        if found is None:
            self._refuse(f"the directory is not empty and holds no sweep; {other}")
        if found["sweep"] != wanted["sweep"]:
            self._refuse(f"it holds another sweep, of {_told(found['sweep'])}; {other}")
        if found.get("program") != wanted["program"]:
            self._refuse(f"it holds results of another version of the program; {other}")
        if (found.get("version"), found.get("nectar")) != (wanted["version"], wanted["nectar"]):
            self._refuse(f"it holds results of another version of nectar; {other}")

    def read(self):
        """Reads ``rows``; returns how many bytes hold them. What stands behind the last whole line was cut off while it
        was written, and does not count."""
        with self._failing():
            data = self._runs.read_bytes()
        end = data.rfind(b"\n") + 1
        rows = {}
        for number, line in enumerate(data[:end].splitlines(), 1):
            try:
                row = json.loads(line)
                rows[row["number"]] = row
            except (ValueError, KeyError, TypeError) as error:
                self._refuse(f"runs.jsonl:{number} is not a result; mend or delete this line", error)
        self._rows = rows
        return end

    def add(self, row):
        """Keeps a row: it is on the disk when this returns."""
        with self._failing():
            self._file.write(json.dumps(row).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self._rows[row["number"]] = row

    def save(self, name, data):
        """Writes the file ``name`` of the folder, whole or not at all."""
        with self._failing():
            (self.path / name).parent.mkdir(exist_ok=True)
            save(self.path / name, data)
        return self.path / name


def _is_sweep(found):
    """Whether a Sweep can be made of it."""
    return isinstance(found, dict) and found.keys() == {field.name for field in fields(Sweep)}


def _told(sweep):
    values = " ".join(f"{name}={','.join(values)}" for name, values in sweep["values"].items())
    times = f", {sweep['repeat']} times each" if sweep["repeat"] > 1 else ""
    return f"{sweep['program']} over {values or 'nothing'}{times}"
