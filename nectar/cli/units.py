"""Times as people write them."""

import re

from ..software.times import time_text
from .errors import UsageError

__all__ = ["LONGEST", "picoseconds", "seconds", "time_text"]

_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "\u00b5s": 10**6, "\u03bcs": 10**6, "ms": 10**9, "s": 10**12}
#: Latest time that the engine counts to, in picoseconds.
LONGEST = 2**63 - 1
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *([a-z\u00b5\u03bc]+)")


def picoseconds(text, option):
    """The time ``text`` (``10ms``, ``2.5us``, ``0s``) that ``option`` was given, in picoseconds (int)."""
    match = _TIME.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"{option} {text}: not a time; write a number and ps, ns, us, ms or s, as in 10ms")
    time = round(float(match[1]) * _UNITS[match[2]]) if len(match[1]) < 300 else LONGEST + 1
    if time > LONGEST:
        raise UsageError(f"{option} {text}: longer than the {LONGEST // 10**12} s that can be simulated")
    return time


def seconds(text, option):
    """The same in seconds (float)."""
    return picoseconds(text, option) / 1e12
