"""Mutual exclusion among threads that may block while they hold something.

Threads are never preempted, so only what spans an ``await`` of a block needs a lock.
"""

from collections import deque

from .thread import BLOCK

__all__ = ["Lock"]


class Lock:
    """Held by one thread at a time; handed on in the order of asking.

    Members
    -------
    holder : Thread or None
    """

    __slots__ = ("kernel", "holder", "_what", "_waiting")

    def __init__(self, kernel, what):
        self.kernel = kernel
        self.holder = None
        self._what = what
        self._waiting = deque()

    def __str__(self):
        return self._what

    async def acquire(self):
        """Waits until the lock is free, and takes it."""
        kernel = self.kernel
        kernel.door.spend(kernel.costs.lock)
        thread = kernel.current
        if self.holder is None:
            self.holder = thread
            return
        self._waiting.append(thread)
        thread.waits_for = self
        await BLOCK

    def release(self):
        """Gives it to the next thread that waits, or to nobody."""
        if self._waiting:
            self.holder = self._waiting.popleft()
            self.kernel.wake(self.holder)
        else:
            self.holder = None
