"""Calls of a program that nobody awaits: each is noticed when Python throws it away, and is an error."""

import ast
import linecache
import re
import sys
import traceback
import warnings

from ..software.kernel import plain
from .errors import FAILED, UsageError, chain

__all__ = ["Awaits", "ForgottenAwait"]

#: What Python says, and where it says that the coroutine was made: by whom, the innermost last.
_MESSAGE = re.compile(r"coroutine '(?P<name>.+)' was never awaited")
_ORIGIN = re.compile(r'^ +File "(?P<file>.+)", line (?P<line>\d+), in ', re.M)

#: What machines have in common → as programs know it (docs/programs.md), on whatever machine.
_KNOWN = {"Computers": "System", "Processor": "Cab"}


def _known(name):
    """A method's name with its class, as programs know it."""
    owner, dot, method = name.rpartition(".")
    return f"{_KNOWN.get(owner, owner)}{dot}{method}"


class ForgottenAwait(UsageError):
    """A call of the program was never awaited, so it did nothing."""

    status = FAILED


class Awaits:
    """Context manager: leaving it raises ForgottenAwait if a call made in it was never awaited.

    Members
    -------
    on_found : callable(ForgottenAwait) or None
        Called once, at the first.
    """

    def __init__(self):
        self.on_found = None
        self._found = {}  # what is said of each, as a set in their order

    def __enter__(self):
        self._depth = sys.get_coroutine_origin_tracking_depth()
        sys.set_coroutine_origin_tracking_depth(2)  # a call of a CAB's is made in ``plain``, for the program
        self._filters = warnings.catch_warnings()
        self._filters.__enter__()
        warnings.filterwarnings("always", _MESSAGE.pattern.partition("(")[0], RuntimeWarning)
        self._before, warnings.showwarning = warnings.showwarning, self._show
        return self

    def __exit__(self, kind, error, trace):
        try:
            for each in chain(error):  # what stands in their frames is thrown away now, not behind the message
                traceback.clear_frames(each.__traceback__)
            del trace
            each = None
            if error is None or isinstance(error, Exception):
                self.check(error)
        finally:
            sys.set_coroutine_origin_tracking_depth(self._depth)
            self._filters.__exit__(None, None, None)

    def check(self, error=None):
        """Raises ForgottenAwait if anything was found; ``error`` is what went wrong besides."""
        if not self._found:
            return
        found, first = self._error(), next(iter(self._found))
        self._found = {}
        if error is None:
            raise found
        if first in str(error):  # it is what has ended the run
            raise ForgottenAwait(str(error)) from error
        raise ForgottenAwait(f"{found}; then: {error}") from error

    def _error(self):
        first, *others = self._found
        more = f" (and {len(others)} more)" if others else ""
        return ForgottenAwait(f"{first}{more}")

    def _show(self, message, category, file, line, *more):
        said = str(message)
        match = category is RuntimeWarning and _MESSAGE.match(said)
        if not match:
            self._before(message, category, file, line, *more)
            return
        origins = list(_ORIGIN.finditer(said))
        by_plain = any(origin["file"] == plain.__file__ for origin in origins)
        origins = [origin for origin in origins if origin["file"] != plain.__file__]
        if origins:
            file, line = origins[-1]["file"], origins[-1]["line"]
        first, name = not self._found, _known(match["name"])
        text = f"{file}:{line}: 'await' is missing before the call of {name}, which has done nothing"
        if by_plain and not _in_async(file, int(line)):
            text = (
                f"{file}:{line}: {name} blocks only in a plain function that runs as a task; here it has done nothing"
            )
        self._found[text] = None
        if first and self.on_found is not None:
            self.on_found(self._error())


def _in_async(file, line):
    """Whether that line of a program stands in an async function."""
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    if not lines:
        return True
    inner = None
    for node in ast.walk(ast.parse("".join(lines))):
        is_function = isinstance(node, (ast.AsyncFunctionDef, ast.FunctionDef, ast.Lambda))
        if is_function and node.lineno <= line <= node.end_lineno and (inner is None or inner.lineno <= node.lineno):
            inner = node
    return isinstance(inner, ast.AsyncFunctionDef)
