"""The scheduler of a CAB: threads as coroutines, round robin, never preempted; plain functions run inside of one.

Source: "The Design of Nectar" (1989), section 6.1. Ours: a thread that goes on after nobody else has run costs no
switch, since its register windows are still in place; the idle loop runs on the stack of the thread that ran last. How
threads wait and are ended is specified in docs/kernel.md.
"""

import inspect
from collections import deque

from ...hdl.host.events import EventGroup, EventKind
from ..arithmetic import ARITHMETIC, Work
from ..costs import PROTOTYPE
from ..door import BusError, Operation, OperationKind
from ..errors import EndThread, Fault, ProgramError, TimedOut
from .notes import Notes
from .plain import as_coroutine
from .thread import BLOCK, Thread

__all__ = ["Kernel", "awaitable", "checked", "forgo"]

_WAIT = Operation(int(OperationKind.WAIT))
_NOW = Operation(int(OperationKind.NOW))
_CPU = int(EventGroup.CPU)
_FOREIGN = (
    "a task can await only what its CAB offers, not what asyncio or another library does: "
    "'await cab.sleep(microseconds)' waits in simulated time"
)


class _Nobody:
    """What runs before the first thread does: a program's ``main``, which cannot wait for anything on a CAB."""

    task = pending = None
    message = 0

    def __setattr__(self, name, value):
        raise ProgramError("only a task can wait for something on a CAB: start one with system.spawn")


_NOBODY = _Nobody()


def checked(function):
    """``function`` if it can be a task: an async function, a plain one, another object that can be called.

    Raises TypeError, before anything runs.
    """
    if inspect.iscoroutine(function):
        function.close()
        raise TypeError(f"{function.__name__!r} has been called: give the function and its arguments, without a call")
    if not callable(function):
        raise TypeError(f"a task is a function, not {function!r}: give the function and its arguments, without a call")
    return function


def awaitable(call):
    """The awaitable of a call that is still to be made: of a function without arguments, or of an awaitable itself.

    Raises TypeError for anything else.
    """
    if inspect.isawaitable(call):
        return call
    if not callable(call):
        raise TypeError(
            f"what a time-out is for must be a function without arguments, or an awaitable, not {call!r}: "
            "in a plain function 'cab.within(100, cab.mailbox(1).receive)'"
        )
    return as_coroutine(call)


def forgo(call):
    """A call that was to be awaited is not: nobody forgot that."""
    if hasattr(call, "close"):
        call.close()


def _nothing(_):
    """Gives back what a thread was woken with: nothing."""


class Deadline:
    """Ends a wait of a thread by TimedOut when its time has come: the one that it is in, or its next."""

    __slots__ = ("kernel", "thread", "error", "timer")

    def __init__(self, kernel, timeout):
        self.kernel = kernel
        self.thread = kernel.current
        self.error = TimedOut(f"{self.thread.name} on {kernel.name} has not come to an end in {timeout} cycles")
        self.timer = None

    def fire(self, _, now):
        """At interrupt level: the time has come."""
        self.kernel.interrupt(self.thread, self.error)

    def over(self):
        """There is nothing more to be ended."""
        self.kernel.timers.cancel(self.timer)
        if self.thread.pending is self.error:
            self.thread.pending = None


class Kernel:
    """Runs the threads of one CAB.

    Parameters
    ----------
    door : Door
    name : str
        The CAB's, for messages.
    costs : Costs
        CPU cycles of the primitives.
    arithmetic : Arithmetic
        CPU cycles of a program's own operations.

    Members
    -------
    current : Thread
        The one that runs; meaningless at interrupt level and before the first.
    failed : (Thread or None, Exception) or None
        The first exception that no thread was there to hear; None stands for no thread in particular.
    on_end : callable or None
        Called with each thread that has ended.
    on_fail : callable or None
        Called without arguments once ``failed`` is set.
    on_room : callable or None
        Called when memory or a place in a mailbox has become free; set while someone wants to know.
    boot : list of callables
        Called once, before the first thread and with interrupts held off, to set up the board.
    timers : Timers
    memory : Memory
        The CAB's; they name themselves here.
    cab_id : int or None
        The CAB's ID, as the source of messages from itself.
    spawned : int
        Threads made so far.
    notes : Notes
        What it tells a recording of messages.
    ready : deque of Thread
        The threads that are to run, the next first.
    guards : list of Lock
        The locks that hold off the end of a thread.
    """

    __slots__ = (
        "door",
        "name",
        "costs",
        "arithmetic",
        "current",
        "failed",
        "on_end",
        "on_fail",
        "notes",
        "on_room",
        "boot",
        "timers",
        "memory",
        "cab_id",
        "guards",
        "spawned",
        "ready",
        "_threads",
    )

    def __init__(self, door, name="CAB", costs=PROTOTYPE, arithmetic=ARITHMETIC):
        self.door = door
        self.name = name
        self.costs = costs
        self.arithmetic = arithmetic
        self.current = _NOBODY
        self.failed = None
        self.on_end = None
        self.on_fail = None
        self.notes = Notes(self)
        self.on_room = None
        self.boot = []
        self.timers = self.memory = self.cab_id = None
        self.guards = []
        self.ready = deque()
        self._threads = {}  # those that have not ended, in the order of their making (a dict as an ordered set)
        self.spawned = 0

    @property
    def threads(self):
        """The threads that have not ended."""
        return list(self._threads)

    @property
    def idle(self):
        """Whether every thread waits."""
        return not self.ready

    # -- threads -------------------------------------------------------------------------------------
    def spawn(self, function, *args, name=None):
        """Makes a thread of ``function(*args)``, async or plain, and queues it. Returns the Thread."""
        coroutine = as_coroutine(checked(function), *args)
        self.spawned += 1
        thread = Thread(self, coroutine, name or f"{getattr(function, '__name__', 'thread')} {self.spawned}")
        thread.on_undelivered = _nothing
        self._threads[thread] = None
        self.ready.append(thread)
        self.door.spend(self.costs.thread_spawn)
        return thread

    def wake(self, thread, value=None):
        """Lets a blocked ``thread`` go on with ``value``. From threads and from interrupt level; costs nothing by
        itself."""
        thread.value = value
        thread.on_cancel = None
        self.ready.append(thread)

    def fail(self, thread, error):
        """Raises ``error`` in the wait of a thread that its waker has taken out of its queue. From both levels, as
        ``wake``."""
        thread.on_cancel = thread.on_undelivered = None
        thread.exception = error
        self.ready.append(thread)

    async def pause(self):
        """Lets the other threads that are ready run first."""
        await self.door.now()  # else time would stand still while threads that only compute take turns
        self.check_pending()
        thread = self.current
        thread.on_undelivered = _nothing
        self.ready.append(thread)
        await BLOCK

    # -- waiting -------------------------------------------------------------------------------------
    def span(self, microseconds):
        """A time to sleep or to compute for, in CPU cycles. ValueError for what is none."""
        try:
            cycles = round(microseconds * self.door.cpu_hz / 1_000_000)
        except (TypeError, ValueError, OverflowError):
            cycles = -1
        if cycles < 0:
            raise ValueError(f"a time is a number of microseconds, 0 or more, not {microseconds!r}")
        return cycles

    def computation(self, time):
        """CPU cycles of a computation: a Work, or microseconds as of ``span``."""
        return round(time.cycles_by(self.arithmetic)) if isinstance(time, Work) else self.span(time)

    def compute_us(self, time):
        """The same in microseconds (float)."""
        if isinstance(time, Work):
            return time.cycles_by(self.arithmetic) * 1_000_000 / self.door.cpu_hz
        return time

    def cycles(self, microseconds):
        """A time-out in CPU cycles; None for None, which is none. ValueError if it is beyond what a timer reaches."""
        if microseconds is None:
            return None
        cycles = round(microseconds * self.door.cpu_hz / 1_000_000)
        if cycles > self.timers.reach:
            raise ValueError(f"a time-out of {microseconds} us is longer than a timer reaches: wait in several steps")
        return cycles

    async def block(self, what, on_cancel, on_undelivered=_nothing, timeout=None):
        """Gives the CPU away until somebody wakes the current thread; returns what ``wake`` was given.

        ``what`` is shown of a thread that waits for ever. The caller has put the thread into a queue before;
        ``on_cancel()`` takes it out of it. That is called, at either level, when ``timeout`` CPU cycles are over
        (TimedOut is raised) or when the thread is ended. ``on_undelivered(value)`` is called in place of a return when
        the thread has been woken with ``value`` but is ended before it runs: it gives the value to whoever is next.

        Without ``on_cancel`` (None) the wait can be neither ended nor timed: for waits that are bounded otherwise.
        """
        thread = self.current
        thread.waits_for = what
        if on_cancel is None:
            return await BLOCK
        if thread.pending is not None and not self._guarded(thread):
            on_cancel()
            self._deliver(thread)
        if timeout is None:
            thread.on_cancel, thread.on_undelivered = on_cancel, on_undelivered
            return await BLOCK
        if timeout <= 0:
            on_cancel()
            raise self._timed_out(thread)
        thread.on_cancel, thread.on_undelivered = on_cancel, on_undelivered
        try:
            timer = await self.timers.after(timeout, self._expire, thread)
        except BusError:  # of a store that was posted before: the wait does not come about
            if thread.on_cancel is None:
                on_undelivered(await BLOCK)
            else:
                thread.on_cancel = thread.on_undelivered = None
                on_cancel()
            raise
        try:
            return await BLOCK
        finally:
            self.timers.cancel(timer)

    def _expire(self, thread, now):
        if thread.on_cancel is not None:
            self._throw(thread, self._timed_out(thread))

    def _timed_out(self, thread):
        return TimedOut(f"{thread.name} on {self.name} has waited too long for {thread.waits_for}")

    async def within(self, microseconds, call):
        """The result of ``call``, a function without arguments or an awaitable; TimedOut in a wait of the current
        thread in it that lasts beyond that time."""
        call = awaitable(call)
        try:
            deadline = await self.deadline(self.cycles(microseconds))
        except BaseException:
            forgo(call)
            raise
        try:
            return await call
        finally:
            deadline.over()

    async def deadline(self, timeout):
        """A Deadline of the current thread in ``timeout`` CPU cycles, until its ``over`` is called."""
        deadline = Deadline(self, timeout)
        deadline.timer = await self.timers.after(timeout, deadline.fire)
        return deadline

    def interrupt(self, thread, error):
        """Raises ``error`` in a wait of ``thread``: the one that it is in if that may be ended, else the next that
        may. From both levels."""
        if self._guarded(thread):
            self._keep(thread, error)
        elif thread.on_cancel is not None:
            self._throw(thread, error)
        elif thread.on_undelivered is not None:
            on_undelivered, value = thread.on_undelivered, thread.value
            thread.on_undelivered = thread.value = None
            thread.exception = error
            on_undelivered(value)
        else:
            self._keep(thread, error)

    def _guarded(self, thread):
        return any(lock.holder is thread for lock in self.guards)

    def _keep(self, thread, error):
        if not isinstance(thread.pending, EndThread):
            thread.pending = error

    def check_pending(self):
        """Raises what has been kept for the next wait of the current thread: at the start of each call that might
        wait."""
        if self.current.pending is not None:
            self._deliver(self.current)

    def _deliver(self, thread):
        if thread.pending is not None and not self._guarded(thread):
            error, thread.pending = thread.pending, None
            raise error

    def _throw(self, thread, error):
        thread.on_cancel()
        self.door.spend(self.costs.wake)
        self.fail(thread, error)

    # -- running -------------------------------------------------------------------------------------
    def main(self):
        """The CAB's main coroutine (a generator with ``send`` and ``throw``): the dispatcher."""
        door, ready, costs = self.door, self.ready, self.costs
        last = None
        recorded = door.groups & _CPU
        try:
            # An interrupt between two of them would find what others have not begun, and they would undo what it does.
            door.mask()
            for function in self.boot:
                function()
            door.unmask()
            while True:
                if recorded and not ready:
                    door.note(EventKind.IDLE)
                while not ready:
                    try:
                        yield _WAIT
                    except BusError as error:
                        # A store that failed after its thread had blocked: no longer known whose it was.
                        self._fail(None, error)
                thread = ready.popleft()
                cost = costs.dispatch if thread is last or last is None else costs.dispatch + costs.thread_switch
                door.spent += cost
                last = thread
                if recorded:
                    door.note(EventKind.THREAD, a=door.name(thread.name), b=cost)
                self.current = thread
                value, thread.value = thread.value, None
                error, thread.exception = thread.exception, None
                thread.on_undelivered = None
                coroutine = thread.coroutine
                send = coroutine.send
                try:
                    while True:
                        operation = send(value) if error is None else coroutine.throw(error)
                        if operation is BLOCK:
                            break
                        if type(operation) is not Operation:
                            error = TypeError(_FOREIGN)
                            continue
                        error = None
                        try:
                            value = yield operation
                        except BusError as failure:
                            error = failure
                except StopIteration as stop:
                    result, error = stop.value, None
                    try:
                        yield _NOW  # a thread has ended when all that it posted is done
                    except BusError as failure:
                        result, error = None, failure
                    self._end(thread, result, error)
                except (Exception, EndThread) as failure:
                    self._end(thread, None, failure)
        finally:
            self.close()

    def _end(self, thread, result, error):
        self.door.spend(self.costs.thread_end)
        thread.finish(result, error)
        del self._threads[thread]
        for joiner in thread.joiners:
            self.wake(joiner)
        if self.on_end is not None:
            self.on_end(thread)
        if error is not None and not thread.joiners and not isinstance(error, (EndThread, Fault)):
            self._fail(thread, error)

    def _fail(self, thread, error):
        if self.failed is None:
            self.failed = (thread, error)
            if self.on_fail is not None:
                self.on_fail()

    def close(self):
        """Ends every thread where it stands; their ``finally`` clauses run, and what these raise is a failure.

        May be called twice.
        """
        self.ready.clear()
        while self._threads:
            thread = next(iter(self._threads))
            error = thread.close()
            del self._threads[thread]
            if error is not None:
                self._fail(thread, error)
