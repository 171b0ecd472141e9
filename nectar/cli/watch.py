"""Watches a running program: shows how far it is, and ends it when simulated time stands still too long.

Tasks are coroutines that share the host's one thread with the simulator: one that computes without ever awaiting
anything would stop everything for good. A timer of the host therefore looks, a few times a second, at what the
simulated time has become.
"""

import os
import signal
import time

from ..live import Live
from .errors import WRONG

__all__ = ["Stalled", "Watch"]

#: Seconds between two looks.
_PERIOD = 0.2
#: How many times Stalled is raised before the process is ended for a program that catches it.
_TRIES = 5


class Stalled(BaseException):
    """Simulated time stood still for too long; the message says where. No ``except Exception`` of a program stops
    it."""


class Watch:
    """Context manager that watches what runs inside it.

    Parameters
    ----------
    now : callable
        Simulated time in picoseconds.
    stall : float
        Seconds of the host for which simulated time may stand still; 0: for ever.
    describe : callable
        Says where the program stands, given the innermost stack frame.
    news : callable
        Gives what is to be told at once, a line, or None.
    far : callable
        Says how far the program is, given the simulated time in picoseconds and the seconds that it has run.
    """

    def __init__(self, now, stall, describe, news, far):
        self._now = now
        self._news = news
        self._stall = stall
        self._far = far
        self._describe = describe
        self._tries = 0

    def __enter__(self):
        self._moved = time.monotonic()
        self._live = Live()
        self._time = self._now()
        self._before = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, _PERIOD, _PERIOD)
        return self

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        self._tell()
        self._live.clear()

    def _tell(self):
        if line := self._news():
            self._live.say(line)

    def _look(self, number, frame):
        host = time.monotonic()
        simulated = self._now()
        if simulated != self._time:
            self._time = simulated
            self._moved = host
            self._tries = 0
        elif self._stall and host - self._moved >= self._stall:
            self._tries += 1
            where = self._describe(frame)
            if self._tries <= _TRIES:
                raise Stalled(where)
            self._live.clear()
            os.write(2, f"nectar: {where}\n".encode())
            os._exit(WRONG)
        self._tell()
        self._live.show(lambda: self._far(simulated, self._live.seconds))
