"""A thread of a CAB: a coroutine, what it waits for, how it ended.

Source: "The Design of Nectar" (1989), section 6.1: threads execute as a set of coroutines.
"""

import inspect

from ..errors import EndThread, ThreadEnded
from .plain import blocking, stack

__all__ = ["Thread", "BLOCK", "close", "words"]

#: What messages call threads: a name that begins with such a word needs no other before it.
_KINDS = ("task", "process", "rank")

#: Awaits after which a coroutine that is to end is left as it is.
_CLOSES = 100


def words(name, kind="task"):
    """What messages call a thread of that name: ``task job 1``; but ``task 1``, ``rank 3`` as they are."""
    return name if name.partition(" ")[0] in _KINDS else f"{kind} {name}"


def close(coroutine):
    """Ends a suspended coroutine where it stands: ``finally`` clauses run up to their first ``await``.

    No simulated time passes any more. Returns the first exception that they have raised, or None.
    """
    first = None
    chain = [coroutine]
    while (inner := getattr(chain[-1], "cr_await", None)) is not None and hasattr(inner, "close"):
        chain.append(inner)
    # From the inside out, since what an outer one would hear of an inner one that awaits once more is a RuntimeError.
    while chain:
        last = chain.pop()
        for _ in range(_CLOSES):
            try:
                last.close()
                break
            except Exception as error:
                if getattr(last, "cr_frame", None) is None:
                    first = first or error
                    break
                close(last.cr_await)
        else:
            first = first or RuntimeError("it awaits again and again although it is to end: let GeneratorExit pass")
    return first


class _Block:
    """``await BLOCK`` gives the CPU away until somebody wakes this thread; it evaluates to what ``wake`` was given.

    Such a wait cannot be ended and has no time-out: ``Kernel.block`` is what calls of tasks use.
    """

    __slots__ = ()

    def __await__(self):
        return (yield self)


BLOCK = _Block()


def _nothing(_):
    """Nothing to be undone."""


class _Calling:
    """See ``Thread.calling``."""

    __slots__ = ("_thread", "_call", "_outer")

    def __init__(self, thread, call):
        self._thread = thread
        self._call = call

    def __enter__(self):
        thread = self._thread
        self._outer = thread.call
        if self._outer is None:
            thread.call = self._call

    def __exit__(self, *error):
        self._thread.call = self._outer


class Thread:
    """Made by ``Kernel.spawn``.

    Members
    -------
    name : str
    ended : bool
    waits_for : object
        While it is blocked: what for; its ``str`` is shown when nothing can happen any more.
    call : object
        The call of a layer above the kernel that it is in, or None; shown in place of ``waits_for``. See ``calling``.
    task : ProtectedTask or None
        What the kernel knows of a protected one.

    Members for the kernel and its locks; protected tasks do not see them
    ---------------------------------------------------------------------
    coroutine : coroutine
    value : object
        What its next turn begins with.
    exception : BaseException or None
        The exception that its next turn begins with instead.
    joiners : dict of Thread → None
        Threads that wait for its end, in order (a dict as an ordered set).
    on_cancel : callable() or None
        While it is blocked and may be ended: takes it out of the queue in which it waits.
    on_undelivered : callable(value) or None
        While it has been woken and has not run since: gives back what it was woken with.
    pending : BaseException or None
        An exception for its next wait.
    locks : dict of Lock → None
        Locks that it holds (a dict as an ordered set).
    message : int
        Number of the recorded message for which it sends others; 0 for none.
    """

    __slots__ = (
        "name",
        "ended",
        "waits_for",
        "call",
        "task",
        "coroutine",
        "value",
        "exception",
        "joiners",
        "on_cancel",
        "on_undelivered",
        "pending",
        "locks",
        "message",
        "_kernel",
        "_result",
        "_error",
    )

    def __init__(self, kernel, coroutine, name):
        self.name = name
        self.ended = False
        self.waits_for = "the CPU"
        self.call = None
        self.task = None
        self._kernel = kernel
        self.coroutine = coroutine
        self.value = None
        self.exception = None
        self._result = None
        self._error = None
        self.joiners = {}
        self.on_cancel = None
        self.on_undelivered = _nothing
        self.pending = None
        self.locks = {}
        self.message = 0

    def __repr__(self):
        return f"<Thread {self.name}{' ended' if self.ended else ''}>"

    def __str__(self):
        return f"the end of {self.name}"

    @property
    def running(self):
        """Whether the host is in the midst of its code."""
        return getattr(self.coroutine, "cr_running", False)

    @property
    def blocked(self):
        """Whether it waits for somebody to wake it, or has not begun."""
        if inspect.getcoroutinestate(self.coroutine) == inspect.CORO_CREATED:
            return True
        return getattr(self.stack()[1], "gi_code", None) is _Block.__await__.__code__

    def stack(self):
        """See ``plain.stack``; of a protected task that of its own code."""
        frames, awaited = stack(self.coroutine)
        if self.task is not None and self.task.coroutine is not None:
            own, inner = stack(self.task.coroutine)
            if own:
                return frames + own, inner
        return frames, awaited

    def calling(self, call):
        """Context manager of a layer's call that may wait: ``call``, or its ``str``, is shown of a thread that waits in
        it, for example ``Bcast from rank 0``. Of calls inside each other the outermost is shown."""
        return _Calling(self, call)

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

    @blocking
    async def join(self, timeout_us=None):
        """Waits until the thread has ended; returns its result or raises its exception. TimedOut after
        ``timeout_us`` microseconds."""
        if not self.ended:
            kernel = self._kernel
            current = kernel.current
            if current is self:
                raise RuntimeError(f"{self.name} would wait for itself for ever")
            self.joiners[current] = None
            await kernel.block(self, lambda: self.joiners.pop(current), timeout=kernel.cycles(timeout_us))
        return self.result

    def end(self):
        """Ends the thread from outside, from both levels: at its wait, or at its next (docs/kernel.md). Nothing happens
        if it has ended.

        ``join`` raises ThreadEnded from then on.
        """
        if not self.ended:
            self._kernel.interrupt(self, EndThread())

    def close(self):
        """Ends it where it stands, see ``close``."""
        return close(self.coroutine)

    def stopped(self, error):
        """Its CAB has been stopped (docs/faults.md): it ends by ``error`` where it stands, and nobody there is told."""
        self.ended = True
        self._error = error

    def finish(self, result, error):
        """It has ended; the locks that it still holds are handed on."""
        if isinstance(error, EndThread):
            error = ThreadEnded(f"{self.name} on {self._kernel.name} was ended from outside")
        self.ended = True
        self._result = result
        self._error = error
        for lock in list(self.locks):
            lock.release()
