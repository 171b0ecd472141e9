"""Which process calls: whoever runs the processes says so once."""

from .constants import UNDEFINED

__all__ = ["process", "told_by"]

_told_by = [lambda: UNDEFINED]


def told_by(function):
    """From now on ``function()`` gives the calling process, its rank in COMM_WORLD."""
    _told_by[0] = function


def process():
    """Rank in COMM_WORLD of the process that calls; UNDEFINED outside of any."""
    return _told_by[0]()
