"""A thread of a CAB: a coroutine, what it waits for, how it ended.

Source: "The Design of Nectar" (1989), section 6.1: threads execute as a set of coroutines.
"""

__all__ = ["Thread", "BLOCK"]


class _Block:
    """``await BLOCK`` gives the CPU away until somebody wakes this thread; it evaluates to what ``wake`` was given."""

    __slots__ = ()

    def __await__(self):
        return (yield None)


BLOCK = _Block()


class Thread:
    """Made by ``Kernel.spawn``.

    Members
    -------
    name : str
    ended : bool
    waits_for : object
        While it is blocked: what for; its ``str`` is shown when nothing can happen any more.
    """

    __slots__ = ("name", "ended", "waits_for", "_kernel", "_coroutine", "_value", "_raise", "_result", "_error", "_joiners")

    def __init__(self, kernel, coroutine, name):
        self.name = name
        self.ended = False
        self.waits_for = "the CPU"
        self._kernel = kernel
        self._coroutine = coroutine
        self._value = None      # what its next turn begins with
        self._raise = None      # or the exception that it begins with
        self._result = None
        self._error = None
        self._joiners = []

    def __repr__(self):
        return f"<Thread {self.name}{' ended' if self.ended else ''}>"

    def __str__(self):
        return f"the end of {self.name}"

    @property
    def running(self):
        """Whether the host is in the midst of its code."""
        return getattr(self._coroutine, "cr_running", False)

    @property
    def result(self):
        """What the thread returned. RuntimeError before it has ended; its own exception if it ended by one."""
        if not self.ended:
            raise RuntimeError(f"{self.name} has not ended yet: join it, or let the system run first")
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def error(self):
        """The exception that ended it, or None."""
        return self._error

    async def join(self):
        """Waits until the thread has ended; returns its result or raises its exception."""
        if not self.ended:
            current = self._kernel.current
            if current is self:
                raise RuntimeError(f"{self.name} would wait for itself for ever")
            self._joiners.append(current)
            current.waits_for = self
            await BLOCK
        return self.result
