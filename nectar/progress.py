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
        self._alike = set()  # those whose jobs are alike
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
            self._end(name, begun)

    def each(self, name, jobs, ends):
        """Yields what ``ends`` yields, each of which is the end of one of the ``jobs``, all alike, of the step
        ``name``. What is left is told, too."""
        with self._guard:
            begun = self._steps.setdefault(name, time.monotonic())
            self._alike.add(name)
            self.expect(name, jobs)
        for end in ends:
            self._end(name, begun)
            yield end

    def _end(self, name, begun):
        """A job of a step that began then has ended."""
        with self._guard:
            self._jobs[name] -= 1
            if not self._jobs[name]:
                del self._steps[name]
                if not self._live.terminal:
                    self.say(f"{self._far()}{name}: {time.monotonic() - begun:.0f} s")

    def _far(self):
        """How many of several steps have ended."""
        if len(self._jobs) == 1:
            return ""
        return f"[{sum(not left for left in self._jobs.values())}/{len(self._jobs)}] "

    def _left(self, name):
        """How much of a step is done, and how long the rest will take."""
        size = self._sizes[name]
        done = size - self._jobs[name]
        if not done or name not in self._alike:
            return f"{name} ({done} of {size})"
        rest = (time.monotonic() - self._steps[name]) / done * self._jobs[name]
        return f"{name} ({done} of {size}, about {rest:.0f} s left)"

    def _doing(self):
        """How far it is, and what is under way."""
        with self._guard:
            names = [name if self._sizes[name] == 1 else self._left(name) for name in self._steps]
            return f"{self._far()}{', '.join(names) or 'starting'}, {self._live.seconds:.0f} s"

    def show(self):
        """Brings the changing line up to date."""
        self._live.show(self._doing)

    def clear(self):
        """Removes the changing line."""
        self._live.clear()
