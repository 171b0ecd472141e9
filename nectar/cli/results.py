"""Results: what ``--json FILE`` writes, and the files that a subcommand writes at all."""

import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__
from .errors import UsageError

__all__ = ["Result", "add_json_option", "check_apart", "check_target", "is_stream", "save", "save_json"]


@dataclass(frozen=True)
class Result:
    """One thing that a subcommand found out.

    ``id`` names it for good, ``value`` is in ``unit`` (None: a bare number or a text), ``target`` is what it is
    measured against, ``ok`` whether it meets that (None: there is nothing to meet), ``more`` holds anything else.
    """

    id: str
    value: object
    unit: str | None = None
    target: object = None
    ok: bool | None = None
    more: dict = field(default_factory=dict)

    @classmethod
    def of(cls, reported):
        """The result of a dict that holds all of this by name, as programs report it."""
        more = dict(reported)
        return cls(*(more.pop(name) for name in ("id", "value", "unit", "target", "ok")), more)

    def as_object(self):
        """The result as it stands in the JSON file."""
        return {
            "id": self.id,
            "value": self.value,
            "unit": self.unit,
            "target": self.target,
            "ok": self.ok,
            **self.more,
        }


def add_json_option(parser):
    """Gives a subcommand ``--json FILE``."""
    parser.add_argument("--json", metavar="FILE", help="also write the results to FILE")


def check_target(option, path):
    """Raises UsageError, before any work is done, if the file ``path`` of ``option`` cannot be written."""
    if path is None:
        return
    if not os.fspath(path):
        raise UsageError(f"{option}: the name of the file is empty")
    if is_stream(path):
        return
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        reason = "it is a directory"
    elif not folder.is_dir():
        reason = f"there is no directory {folder}"
    elif not os.access(target if target.exists() else folder, os.W_OK):
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        reason = "the file system is read-only" if read_only else "permission denied"
    elif target.exists() or (reason := _refusal(folder)) is None:
        return
    raise UsageError(f"{option} {path} cannot be written: {reason}")


def _refusal(folder):
    """Why ``folder`` takes no new file; None if it does."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror
    return None


def check_apart(written, read=()):
    """Raises UsageError if a file that is to be written is also read, or written twice.

    ``written``, ``read``: pairs of an option, or of words for what has none, and its file; None where it is not given.
    """
    files = [(what, os.path.realpath(path)) for what, path in read if path]
    for what, path in written:
        if not path:
            continue
        file = os.path.realpath(path)
        for other, theirs in files:
            if theirs == file and not os.path.exists(file) or _linked(theirs, file):
                raise UsageError(f"{what} {path}: {other} is the same file; give another name")
        files.append((what, file))


def _linked(a, b):
    """Whether two paths are names of one file that exists."""
    return os.path.isfile(a) and os.path.isfile(b) and os.path.samefile(a, b)


def is_stream(path):
    """Whether ``path`` is no file that could be replaced: ``/dev/stdout``, a pipe, a terminal."""
    if os.path.isdir(path) or not os.path.exists(path):
        return False
    return os.fspath(path).startswith(("/dev/", "/proc/")) or not os.path.isfile(path)


def save(path, data):
    """Writes the bytes ``data`` to ``path``: whole, or not at all. What is no file takes them as they come."""
    if is_stream(path):
        sys.stdout.flush()
        with open(path, "ab") as file:
            file.write(data)
        return
    target = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=f".{os.path.basename(target)}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_json(path, results):
    """Writes ``results`` (Result objects) to ``path`` as ``{"version": ..., "results": [...]}``; no path, no file."""
    if path is None:
        return
    content = {"version": __version__, "results": [result.as_object() for result in results]}
    try:
        save(path, (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise UsageError(f"--json {path} cannot be written: {error.strerror}") from error
