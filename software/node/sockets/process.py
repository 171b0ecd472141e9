"""A process of a node as its sockets, its clock and its threads see it. Specification: docs/sockets.md."""

import errno
import functools

from ...errors import ProgramError, TimedOut
from ...kernel.plain import Placed, in_plain_task, wait
from .errors import os_error, wrong

__all__ = ["Process", "call", "current", "running"]

#: The first number of a descriptor: the host's files have others.
_FIRST = 1000
_running = None


def running():
    """The Process whose code runs now, or None."""
    return _running


def current():
    """The Process that calls. OSError EOPNOTSUPP outside of any."""
    if _running is None or not in_plain_task():
        raise wrong(
            errno.EOPNOTSUPP,
            "sockets of a node work in a plain function that runs as a process of the node: start it by node.spawn",
        )
    return _running


def call(coroutine):
    """What ``coroutine`` gives; the calling process blocks. Errors of the transports become OSErrors."""
    try:
        current()
    except OSError:
        coroutine.close()
        raise
    try:
        return wait(coroutine)
    except TimedOut as error:
        raise TimeoutError("timed out") from error
    except ProgramError as error:
        raise os_error(error) from error


class Process:
    """One process of a node, plain functions in it.

    Parameters
    ----------
    node : Node
    python : Python

    Members
    -------
    network : Network
    default_timeout : float or None
        Of new sockets, in seconds.
    threads : dict of Thread → int
        Those of it that have not ended, and the idents by which Python knows them.
    handles : list of Handle
        Of those of them for which the end of the process waits.
    """

    def __init__(self, node, python):
        self.node = node
        self.network = node.network
        self.default_timeout = None
        self.threads = {}
        self.handles = []
        self._over = False  # its main function has ended, and with it its threads
        self._idents = 0
        self._sentinels = {}  # Thread -> locks that are released at its end
        self._python = python
        self._descriptors = {}
        self._next = _FIRST

    # -- its code ------------------------------------------------------------------------------------
    def enter(self):
        """Its code goes on."""
        global _running
        self._python.interpreter.begin()
        self._python.enter()
        _running = self

    def leave(self):
        """Its code waits, or has ended."""
        global _running
        _running = None
        self._python.interpreter.end()

    def runs(self, function):
        """``function`` as what a process runs: with its modules in place, and with an end of the process."""

        @functools.wraps(function)
        def process(*args):
            try:
                value = function(*args)
                self._join()
            except GeneratorExit:  # the system is closed
                raise
            except SystemExit as end:
                self._close()
                if end.code in (None, 0):
                    return None
                raise ProgramError(f"a process of {self.node.name} has ended itself with {end.code}") from end
            except BaseException:
                self._close()
                raise
            self._close()
            return value

        return Placed(process, self)

    def start(self, function, args, options):
        """Starts a thread of it: ``function(*args, **options)``. Returns its ident."""

        def thread():
            try:
                function(*args, **options)
            except SystemExit:
                pass
            except BaseException:
                if not self._over:
                    raise
            finally:
                del self.threads[self.node.kernel.current]
                for lock in self._sentinels.pop(self.node.kernel.current, []):
                    lock.release()

        made = self.node.spawn_thread(Placed(thread, self), f"thread of {self.node.kernel.current.name}")
        return self._ident(made)

    def _ident(self, thread):
        self._idents += 1
        self.threads[thread] = self._idents
        return self._idents

    def at_end(self, lock):
        """``lock`` is released when the thread ends that runs now."""
        self._sentinels.setdefault(self.node.kernel.current, []).append(lock)

    @property
    def ident(self):
        """The ident of the thread that runs."""
        thread = self.node.kernel.current
        return self.threads.get(thread) or self._ident(thread)

    def _join(self):
        """Waits for its threads, as Python does at the end of a program."""
        threading = self._python.module("threading")
        if threading is not None:
            threading._shutdown()

    def _close(self):
        """Its end: its threads are ended, its sockets are closed."""
        self._over = True
        mine = self.node.kernel.current
        for thread in [thread for thread in self.threads if thread is not mine and not thread.ended]:
            thread.end()
        for number in list(self._descriptors):
            try:
                call(self.close(number))
            except OSError:
                pass  # nobody is there to hear of it

    # -- descriptors ---------------------------------------------------------------------------------
    def keep(self, description):
        """Gives a description a number."""
        number, self._next = self._next, self._next + 1
        description.users += 1
        self._descriptors[number] = description
        return number

    def description(self, number):
        """What has that number. OSError EBADF if nothing has."""
        if number not in self._descriptors:
            raise wrong(errno.EBADF, "the socket is closed, or is another process's")
        return self._descriptors[number]

    async def close(self, number):
        """The number is free; what it stands for ends with its last number."""
        description = self.description(number)
        del self._descriptors[number]
        description.users -= 1
        if not description.users:
            await description.close()
