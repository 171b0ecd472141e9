"""The module ``time`` of a process on a node: simulated time. Specification: docs/sockets.md."""

import time
import types
from time import asctime, gmtime, strftime

from .process import call, current

__all__ = ["BEGIN", "MODULE"]

#: What ``time.time`` tells at the start of a simulation: 1 January 1989, in seconds since 1970.
BEGIN = 599_616_000


def _seconds():
    return current().node.now_us() / 1e6


def _now(seconds):
    return BEGIN + _seconds() if seconds is None else seconds


def _sleep(seconds):
    """As ``time.sleep``: simulated time passes."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    call(_rest(current().node, seconds * 1e6))


async def _rest(node, microseconds):
    await node.shared.rest(await node.door.now() + node.cycles(microseconds))


def _nanoseconds(function):
    return lambda: round(function() * 1e9)


def _wall():
    """As ``time.time``."""
    return BEGIN + _seconds()


def _gmtime(seconds=None):
    """As ``time.gmtime``."""
    return gmtime(_now(seconds))


def _strftime(form, moment=None):
    """As ``time.strftime``."""
    return strftime(form, _gmtime() if moment is None else moment)


def _asctime(moment=None):
    """As ``time.asctime``."""
    return asctime(_gmtime() if moment is None else moment)


_FUNCTIONS = {
    "sleep": _sleep,
    "time": _wall,
    "time_ns": _nanoseconds(_wall),
    "gmtime": _gmtime,
    "localtime": _gmtime,  # a node's zone is UTC
    "strftime": _strftime,
    "asctime": _asctime,
    "ctime": lambda seconds=None: _asctime(_gmtime(seconds)),
    "timezone": 0,
    "altzone": 0,
    "daylight": 0,
    "tzname": ("UTC", "UTC"),
}
for _name in ("monotonic", "perf_counter", "process_time", "thread_time"):
    _FUNCTIONS[_name] = lambda: _seconds()
    _FUNCTIONS[f"{_name}_ns"] = _nanoseconds(_seconds)

MODULE = types.ModuleType("time", "The time of a process on a node.")
vars(MODULE).update({name: value for name, value in vars(time).items() if not name.startswith("__")})
vars(MODULE).update({name: value for name, value in _FUNCTIONS.items() if hasattr(time, name)})
