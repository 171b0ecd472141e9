"""When things may have been so in a HUB, and when they must have been so, as far as its pins tell.

The pins show when a command arrived and when something was seen that came after it; in between, at an unknown time, it
was obeyed. So each change of a table has a window of time, and a claim about a moment is wrong only if nothing that may
have been makes it right."""

from collections import deque
from dataclasses import dataclass, field
from math import inf

__all__ = ["LEAD", "SLACK", "Window", "Tenure", "Lock", "ReadyBit"]

#: Symbols by which one copy of a multicast may be ahead of another: those in its crossbar and output registers, and two
#: to spare.
LEAD = 4
#: Cycles by which an event inside may lie before or behind what the pins show of it.
SLACK = 4


@dataclass
class Window:
    """Something happened at one time from ``begin`` to ``end``."""

    begin: float
    end: float = inf


@dataclass
class Tenure:
    """A connection: it stood from a time between ``begin`` and ``first`` to one between ``sure`` and ``end``.

    A close may be done while the last symbols before it are held up on their way out; a close all is not. In cycle
    ``asked`` a close all reply for another HUB was sent over it, whose reply closes it; ``closed`` is when a command
    was obeyed that closed it."""

    owner: int
    begin: float
    first: float = inf
    sure: float = -inf
    end: float = inf
    asked: float = inf
    closed: Window = field(default_factory=lambda: Window(inf))
    offered: deque = field(default_factory=lambda: deque(maxlen=LEAD))

    def possible(self, begin, end):
        """Whether the connection may have stood at some time from ``begin`` to ``end``."""
        return self.begin < end and self.end + SLACK >= begin

    def certain(self, begin, end):
        """Whether it must have stood all the time from ``begin`` to ``end``."""
        return self.first <= begin and end <= self.sure - SLACK

    def passes(self, begin, end):
        """Whether it may have ended at some time from ``begin`` to ``end``."""
        return self.possible(begin, end) and self.sure <= end + SLACK


@dataclass
class Lock:
    """A lock that input ``owner`` held from a time in ``taken`` to one in ``given`` (None: to the end)."""

    owner: int
    taken: Window
    given: Window | None = None

    def possible(self, begin, end):
        """Whether it may have been held at some time from ``begin`` to ``end``."""
        return self.taken.begin <= end and (self.given is None or self.given.end + SLACK >= begin)

    def certain(self, begin, end):
        """Whether it must have been held all the time from ``begin`` to ``end``."""
        return self.taken.end <= begin and (self.given is None or end <= self.given.begin)

    def passes(self, begin, end):
        """Whether it may have been given back at some time from ``begin`` to ``end``."""
        return self.given is not None and self.possible(begin, end) and self.given.begin <= end + SLACK

    def clashes(self, other):
        """Whether there is a time at which both must have been held."""
        begin = max(self.taken.end, other.taken.end)
        return begin < inf and self.certain(begin, begin + 1) and other.certain(begin, begin + 1)


class ReadyBit:
    """What may have set and cleared a ready bit, and when; it is 1 at first."""

    def __init__(self):
        self.sets = [Window(-inf, -inf)]
        self.clears = []

    @staticmethod
    def _possible(causes, undone, begin, end):
        return any(
            cause.begin - SLACK <= end
            and not any(cause.end + SLACK < other.begin and other.end + SLACK < begin for other in undone)
            for cause in causes
        )

    def may_be(self, value, begin, end):
        """Whether the bit may have had ``value`` at some time from ``begin`` to ``end``."""
        causes, undone = (self.sets, self.clears) if value else (self.clears, self.sets)
        near = [window for window in undone if window.end + SLACK < begin]
        recent = sorted(near, key=lambda window: window.end)[-8:]
        return self._possible(causes, recent, begin, end)
