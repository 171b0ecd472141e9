"""Mutual exclusion among threads that may block while they hold something.

Threads are never preempted, so only what spans an ``await`` of a block needs a lock. Specification: docs/kernel.md.
"""

from collections import deque

from .plain import BlockingContext, blocking

__all__ = ["Lock"]


class Lock(BlockingContext):
    """Held by one thread at a time; handed on in the order of asking.

    Parameters
    ----------
    kernel : Kernel
    what : str
        What it stands for, as shown of a thread that waits for it.
    guard : bool
        Whether it guards something that must be brought to an end: a thread that holds it or waits for it is not ended
        and has no time-outs until it has let go. Only for locks that are never held for long.

    Members
    -------
    holder : Thread or None
    """

    __slots__ = ("kernel", "holder", "_what", "_waiting", "_guard")

    def __init__(self, kernel, what, guard=False):
        self.kernel = kernel
        self.holder = None
        self._what = what
        self._waiting = deque()
        self._guard = guard
        if guard:
            kernel.guards.append(self)

    def __str__(self):
        return self._what

    @blocking
    async def acquire(self, timeout_us=None):
        """Waits until the lock is free, and takes it. TimedOut after ``timeout_us`` microseconds."""
        if not self._guard:
            self.kernel.check_pending()
        await self._take(self._guard, self.kernel.cycles(timeout_us))

    async def _take(self, surely, timeout=None):
        """Takes the lock; ``surely``: the wait cannot be ended."""
        kernel = self.kernel
        kernel.door.spend(kernel.costs.lock)
        thread = kernel.current
        if self.holder is None:
            self._give(thread)
            return
        waiting = self._waiting
        waiting.append(thread)
        on_cancel = None if surely else lambda: waiting.remove(thread)
        await kernel.block(self, on_cancel, lambda _: self.release(), timeout)

    async def retake(self):
        """Takes the lock again for a condition that has let go of it: the wait can be neither ended nor timed."""
        await self._take(True)

    def _give(self, thread):
        self.holder = thread
        thread.locks[self] = None

    def release(self):
        """Gives it to the next thread that waits, or to nobody."""
        if self.holder is not None:
            self.holder.locks.pop(self, None)
        if self._waiting:
            thread = self._waiting.popleft()
            self._give(thread)
            self.kernel.wake(thread)
        else:
            self.holder = None

    async def __aenter__(self):
        await self.acquire()
        return self

    async def __aexit__(self, *error):
        self.release()
