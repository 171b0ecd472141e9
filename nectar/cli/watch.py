"""Watches a running program: shows how far it is, and ends it when simulated time stands still too long.

Tasks are coroutines that share the host's one thread with the simulator: one that computes without ever awaiting
anything would stop everything for good. A timer of the host therefore looks, a few times a second, at what the
simulated time has become.
"""

import os
import signal
import sys
import time

from .errors import WRONG
from .units import time_text

__all__ = ["Stalled", "Watch"]

#: Seconds between two looks.
_PERIOD = 0.2
#: Seconds before progress is shown.
_PATIENCE = 2.0
#: How many times Stalled is raised before the process is ended for a program that catches it.
_TRIES = 5


class Stalled(BaseException):
    """Simulated time stood still for too long; the message says where. No ``except Exception`` of a program stops it."""


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
    """

    def __init__(self, now, stall, describe):
        self._now = now
        self._stall = stall
        self._describe = describe
        self._show = sys.stderr.isatty()
        self._shown = False
        self._tries = 0

    def __enter__(self):
        self._begin = self._moved = time.monotonic()
        self._time = self._now()
        self._before = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, _PERIOD, _PERIOD)
        return self

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        self._clear()

    def _clear(self):
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

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
            self._clear()
            os.write(2, f"nectar: {where}\n".encode())
            os._exit(WRONG)
        if self._show and host - self._begin >= _PATIENCE:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{time_text(simulated)} simulated in {host - self._begin:.0f} s")
            sys.stderr.flush()
