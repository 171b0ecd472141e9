"""How far a build is, told while it goes on."""

import contextlib
import threading
import time

from .live import Live

__all__ = ["Progress"]


class Progress:
    """Tells on a stream, stderr by default, what a build is doing and how far it is.

    On a terminal that is a line that changes, elsewhere a line for each step, and one now and then.
    """

    def __init__(self, stream=None):
        self._live = Live(stream, patience=0)
        self._steps = {}  # those under way: name → when they began
        self._jobs = {}  # steps that are known → how many of their jobs are still to end
        self._sizes = {}  # the same → how many they have
        self._guard = threading.RLock()

    def say(self, text):
        """A line of its own."""
        self._live.say(text)

    def expect(self, name, jobs=1):
        """The step ``name`` is to come; it consists of so many jobs."""
        with self._guard:
            self._jobs[name] = self._sizes[name] = jobs

    def skip(self, name):
        """The step ``name`` will not come after all."""
        with self._guard:
            self._jobs.pop(name, None)
            self._sizes.pop(name, None)

    @contextlib.contextmanager
    def step(self, name):
        """Something that takes time, or one job of it; may be called from several threads."""
        with self._guard:
            begun = self._steps.setdefault(name, time.monotonic())
            if name not in self._jobs:
                self.expect(name)
        try:
            yield
        finally:
            with self._guard:
                self._jobs[name] -= 1
                if not self._jobs[name]:
                    del self._steps[name]
                    if not self._live.terminal:
                        self.say(f"{self._far()} {name}: {time.monotonic() - begun:.0f} s")

    def _far(self):
        return f"[{sum(not left for left in self._jobs.values())}/{len(self._jobs)}]"

    def _doing(self):
        """How far it is, and what is under way."""
        with self._guard:
            names = [
                name if (size := self._sizes[name]) == 1 else f"{name} ({size - self._jobs[name]} of {size})"
                for name in self._steps
            ]
            return f"{self._far()} {self._live.seconds:.0f} s: {', '.join(names) or 'starting'}"

    def show(self):
        """Brings the changing line up to date."""
        self._live.show(self._doing)

    def clear(self):
        """Removes the changing line."""
        self._live.clear()
