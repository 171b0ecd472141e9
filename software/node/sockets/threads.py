"""The module ``_thread`` of a process on a node, above which Python's ``threading`` runs: its threads are threads of
the node's kernel, its locks hold up these and not the host. Specification: docs/sockets.md."""

import errno
import sys
import traceback
import types
from collections import deque
from functools import partial
from typing import NamedTuple

from ...errors import EndThread
from .errors import wrong
from .process import call, current, running

__all__ = ["MODULE", "refuse"]

_MOST_SECONDS = 4e9


def refuse(*_, **__):
    """A thread of the host cannot be started by a process of a node."""
    raise wrong(errno.EOPNOTSUPP, "import threading in the process: that of the program's top is the host's")


class Lock:
    """As ``_thread.lock``."""

    def __init__(self):
        self._held = False
        self._waiting = deque()  # for each thread that waits: how to wake it, a list that is empty until it has it

    def __repr__(self):
        return f"<{'locked' if self._held else 'unlocked'} lock of a node's process>"

    def acquire(self, blocking=True, timeout=-1):
        """Takes the lock; False if it is not free, or has not become so in ``timeout`` seconds."""
        if timeout != -1 and (not blocking or timeout < 0):
            raise ValueError("can't specify a timeout for a non-blocking call, or a negative one")
        if not self._held:
            self._held = True
            return True
        return bool(blocking and timeout != 0 and call(self._wait(current().node, timeout)))

    async def _wait(self, node, timeout):
        kernel, mine = node.kernel, []
        wake = partial(kernel.wake, kernel.current) if timeout == -1 else lambda: None
        self._waiting.append((wake, mine))
        try:
            if timeout == -1:
                await kernel.block("a lock of a program", lambda: None, lambda _: self.release())
            else:
                end = await node.door.now() + node.cycles(min(timeout, _MOST_SECONDS) * 1e6)
                await node.shared.rest(end, lambda: mine)
        finally:
            if not mine:
                self._waiting = deque(each for each in self._waiting if each[1] is not mine)
        return bool(mine)

    def release(self):
        """Gives the lock to who waits longest. RuntimeError if nobody has it."""
        if not self._held:
            raise RuntimeError("release unlocked lock")
        if not self._waiting:
            self._held = False
            return
        wake, got = self._waiting.popleft()
        got.append(True)
        wake()

    def locked(self):
        """Whether somebody has it."""
        return self._held

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self.__init__()


class Handle:
    """As ``_thread._ThreadHandle`` of Python 3.13."""

    def __init__(self):
        self.ident = None
        self._done = Lock()
        self._done.acquire()
        self._over = False

    def is_done(self):
        """Whether the thread has ended."""
        return self._over

    def set_done(self):
        """The thread has ended."""
        if not self._over:
            self._over = True
            self._done.release()

    _set_done = set_done  # its name in Python

    def join(self, timeout=None):
        """Waits until it has ended, ``timeout`` seconds at most."""
        if not self._over and self._done.acquire(True, -1 if timeout is None or timeout < 0 else timeout):
            self._done.release()


class Local:
    """As ``_thread._local``: attributes that each thread has for itself."""

    def __init__(self, *args, **options):
        object.__setattr__(self, "_kept", {})
        object.__setattr__(self, "_made_with", (args, options))

    def _mine(self):
        ident = _ident()
        kept = object.__getattribute__(self, "_kept")
        if ident not in kept:
            kept[ident] = {}
            args, options = object.__getattribute__(self, "_made_with")
            if type(self).__init__ is not Local.__init__ and len(kept) > 1:
                type(self).__init__(self, *args, **options)
        return kept[ident]

    def __getattribute__(self, name):
        if name in ("_mine", "__class__"):
            return object.__getattribute__(self, name)
        mine = object.__getattribute__(self, "_mine")()
        if name == "__dict__":
            return mine
        return mine[name] if name in mine else object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        self._mine()[name] = value

    def __delattr__(self, name):
        try:
            del self._mine()[name]
        except KeyError:
            raise AttributeError(name) from None


def _ident():
    process = running()
    return 0 if process is None else process.ident


def _start(function, args=(), options=None):
    """As ``_thread.start_new_thread``."""
    return current().start(function, args, options or {})


def _start_joinable(function, handle=None, daemon=True):
    handle = Handle() if handle is None else handle

    def thread():
        try:
            function()
        finally:
            handle.set_done()

    if not daemon:
        current().handles.append(handle)
    handle.ident = current().start(thread, (), {})
    return handle


def _shutdown():
    """Waits for the threads that are no daemons."""
    for handle in current().handles:
        handle.join()


def _main_handle(ident):
    handle = Handle()
    handle.ident = ident
    return handle


def _sentinel():
    """A lock that is released when the thread ends that has called this."""
    lock = Lock()
    current().at_end(lock)
    return lock


class _Failure(NamedTuple):
    """As ``threading.ExceptHookArgs``."""

    exc_type: type
    exc_value: BaseException
    exc_traceback: types.TracebackType
    thread: object


def _failed(failure):
    """As ``threading.excepthook``: tells of the exception that has ended a thread."""
    if not issubclass(failure.exc_type, (SystemExit, EndThread)):
        name = _ident() if failure.thread is None else failure.thread.name
        print(f"Exception in thread {name}:", file=sys.stderr)
        traceback.print_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)


def _exit():
    """As ``_thread.exit``."""
    raise SystemExit


MODULE = types.ModuleType("_thread", "The threads of a process on a node.")
vars(MODULE).update(
    error=RuntimeError,
    LockType=Lock,
    lock=Lock,
    allocate_lock=Lock,
    allocate=Lock,
    _local=Local,
    _excepthook=_failed,
    _ExceptHookArgs=_Failure._make,
    _set_sentinel=_sentinel,
    _ThreadHandle=Handle,
    _make_thread_handle=_main_handle,
    _get_main_thread_ident=lambda: 1,
    _is_main_interpreter=lambda: True,
    _shutdown=_shutdown,
    daemon_threads_allowed=lambda: True,
    start_new_thread=_start,
    start_new=_start,
    start_joinable_thread=_start_joinable,
    get_ident=_ident,
    get_native_id=_ident,
    exit=_exit,
    exit_thread=_exit,
    interrupt_main=lambda signum=2: refuse(),
    stack_size=lambda size=0: 0,
    TIMEOUT_MAX=_MOST_SECONDS,
    _count=lambda: len(current().threads),
)
