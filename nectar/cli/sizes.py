"""Sizes as people write them."""

import re

from .errors import UsageError

__all__ = ["octets", "size_text"]

_UNITS = {"T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d*)?|\.\d+) *([kMGT]?)(?:B|byte)?")


def octets(text, option):
    """The size ``text`` (``500M``, ``1.5 Gbyte``, ``0``) that ``option`` was given, in bytes (int)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option} {text}: not a size; write a number of bytes, with k, M, G or T, as in 500M")
    return round(float(match[1]) * _UNITS[match[2]])


def size_text(size):
    """A ``size`` in bytes in the unit that suits it: ``17 byte``, ``1.2 Gbyte``."""
    unit = next(unit for unit, value in _UNITS.items() if size >= value or value == 1)
    return f"{size / _UNITS[unit]:.1f} {unit}byte" if unit else f"{size} byte"
