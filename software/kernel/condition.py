"""Conditions: threads that wait until another one, or an interrupt handler, says that something may have changed.

Specification: docs/kernel.md. They are Mesa's: a woken thread looks again at what it waited for.
"""

from collections import deque

from .plain import blocking

__all__ = ["Condition"]


class Condition:
    """Threads that wait, in their order.

    Parameters
    ----------
    kernel : Kernel
    what : str
        What it stands for, as shown of a thread that waits for it.
    lock : Lock or None
        What ``wait`` lets go of while it waits. None: nothing needs it, since threads are not preempted.
    """

    __slots__ = ("kernel", "lock", "_what", "_waiting")

    def __init__(self, kernel, what, lock=None):
        self.kernel = kernel
        self.lock = lock
        self._what = what
        self._waiting = deque()

    def __str__(self):
        return self._what

    @blocking
    async def wait(self, timeout_us=None):
        """Lets go of the lock, waits for a signal, takes the lock again. TimedOut after ``timeout_us`` microseconds,
        the lock held as well.

        Raises RuntimeError if the thread does not hold the lock.
        """
        kernel, lock = self.kernel, self.lock
        thread, waiting = kernel.current, self._waiting
        if lock is not None and lock.holder is not thread:
            raise RuntimeError(f"{thread.name} waits for {self} without holding {lock}: acquire it first")
        kernel.door.spend(kernel.costs.condition_wait)
        timeout = kernel.cycles(timeout_us)
        waiting.append(thread)
        if lock is not None:
            lock.release()
        try:
            await kernel.block(self, lambda: waiting.remove(thread), lambda _: self._pass(), timeout)
        except GeneratorExit:  # the kernel is closed: nobody will ever give the lock
            raise
        except BaseException:
            await self._again()
            raise
        await self._again()

    async def _again(self):
        if self.lock is not None:
            await self.lock.retake()

    def signal(self):
        """Wakes the thread that waits longest, if any does. From both levels."""
        self.kernel.door.spend(self.kernel.costs.condition_signal)
        self._pass()

    def _pass(self):
        if self._waiting:
            self.kernel.door.spend(self.kernel.costs.wake)
            self.kernel.wake(self._waiting.popleft())

    def broadcast(self):
        """Wakes all threads that wait now. From both levels."""
        self.kernel.door.spend(self.kernel.costs.condition_signal)
        while self._waiting:
            self._pass()
