"""What a protected task sees of its CAB. Every call is a trap into the kernel; loads and stores are the task's own.

Specification: docs/kernel.md, "Protected tasks".
"""

from dataclasses import is_dataclass
from enum import Enum

from .condition import Condition
from .kernel import awaitable, forgo
from .lock import Lock
from .mailbox import Mailbox
from .message import Message
from .plain import BlockingContext, blocking, is_call
from .thread import Thread
from .usermemory import UserDoor, UserMemory, UserMessage

__all__ = ["show"]

_SOFTWARE = __name__.rpartition(".kernel.")[0]
#: What a task sees of the CAB besides what is below: protocols, files of the node.
_PROTOCOLS = ("datagram", "stream", "request", "multicast", "node")
#: Things of the kernel that nobody has to close for a task.
_PLAIN = (Thread, Lock, Condition)
#: Of those that have public members for the kernel too: what tasks see.
_SHOWN = {
    Thread: frozenset(("name", "ended", "waits_for", "running", "result", "error", "join", "end")),
    Lock: frozenset(("holder", "acquire", "release")),
}


def show(task, value):
    """``value`` as the ProtectedTask ``task`` may have it."""
    if value is task.cab:
        return UserCab(task)
    if isinstance(value, Gate):
        value = value._target
    if isinstance(value, UserMessage):
        value = value._message
    if isinstance(value, Message):
        if id(value) not in task.messages:
            task.hold(value)
        return UserMessage(task, value)
    if isinstance(value, Mailbox):
        return UserMailbox(task, value)
    if type(value) in (tuple, list):
        shown = type(value)(show(task, each) for each in value)
        return value if all(old is new for old, new in zip(value, shown)) else shown
    return Gate(task, value) if _is_kernels(value) else value


def _is_kernels(value):
    """Whether it is something of the kernel's with a life of its own, not just a value."""
    return (
        type(value).__module__.startswith(_SOFTWARE)
        and not isinstance(value, (Enum, BaseException))
        and not is_dataclass(value)
    )


def _plain(value):
    """What the kernel takes for ``value`` that the task has."""
    if isinstance(value, Gate):
        return value._target
    if isinstance(value, UserMessage):
        return value._kernels()
    if type(value) in (tuple, list):
        return type(value)(_plain(each) for each in value)
    return value


class Gate(BlockingContext):
    """Something of the kernel's whose methods a task may call."""

    __slots__ = ("_task", "_target")

    def __init__(self, task, target):
        self._task = task
        self._target = target

    def __repr__(self):
        return repr(self._target)

    def __getattr__(self, name):
        task = self._task
        shown = _SHOWN.get(type(self._target))
        if name.startswith("_") or shown is not None and name not in shown:
            raise AttributeError(f"{name} is not for protected tasks")
        value = getattr(self._target, name)
        if is_call(value):

            @blocking
            async def call(*args, **options):
                return await task.wait(self._wait, value, args, options)

            call.__qualname__ = value.__qualname__
            return call
        if callable(value):
            return lambda *args, **options: task.call(self._call, value, args, options)
        if _is_kernels(value):
            raise AttributeError(f"{name} is the kernel's: protected tasks call methods only")
        return value

    def _call(self, function, args, options):
        return self._note(function(*map(_plain, args), **_options(options)))

    async def _wait(self, function, args, options):
        for each in args:
            if isinstance(each, UserMessage):
                await self._task.move(each._kernels())
        result = self._note(await function(*map(_plain, args), **_options(options)))
        if isinstance(result, UserMessage):
            await self._task.move(result._message)
        return result

    def _note(self, value):
        """What a call has returned, as the task sees it; what may have to be closed is noted."""
        shown = show(self._task, value)
        for each in shown if type(shown) in (tuple, list) else (shown,):
            if type(each) is Gate and not isinstance(each._target, _PLAIN):
                self._task.keep(each._target)
        return shown

    async def __aenter__(self):
        await self._task.wait(self._target.__aenter__)
        return self

    async def __aexit__(self, *error):
        await self._task.wait(self._target.__aexit__, *error)


def _options(options):
    return {name: _plain(value) for name, value in options.items()}


class UserMailbox(Gate):
    """A mailbox: anybody may write; who reads first owns it (docs/kernel.md)."""

    __slots__ = ()

    def __len__(self):
        return len(self._target)

    def __getattr__(self, name):
        if name in ("keep", "unkeep", "arrive", "on_arrival", "owner"):
            raise AttributeError(f"{name} is not for protected tasks")
        return Gate.__getattr__(self, name)

    def _owned(self, function, *args):
        self._task.own(self._target)
        return show(self._task, function(*args))

    @blocking
    async def take(self, match=None, timeout_us=None):
        """As ``Mailbox.take``."""
        return await self._task.wait(self._take, match, timeout_us)

    async def _take(self, match, timeout_us):
        self._task.own(self._target)
        message = await self._target.take(match, timeout_us)
        shown = show(self._task, message)
        await self._task.move(message)
        return shown

    def try_take(self, match=None):
        """As ``Mailbox.try_take``."""
        return self._task.call(self._owned, self._target.try_take, match)

    receive, try_receive = take, try_take

    def open(self):
        """As ``Mailbox.open``; it is the task's."""
        self._task.call(self._owned, self._target.open)

    def close(self):
        """As ``Mailbox.close``; only the task that reads from it may."""
        self._task.call(self._owned, self._target.close)

    @blocking
    async def reserve(self, length, timeout_us=None):
        """As ``Mailbox.reserve``."""
        return show(self._task, await self._task.wait(self._reserve, length, timeout_us))

    async def _reserve(self, length, timeout_us):
        message = await self._target.reserve(length, timeout_us, paged=True)
        self._task.hold(message)
        return message

    def try_reserve(self, length):
        """As ``Mailbox.try_reserve``."""
        return self._task.call(self._try_reserve, length)

    def _try_reserve(self, length):
        return show(self._task, self._target.try_reserve(length, self._task.cab.id, paged=True))

    def commit(self, message, length=None):
        """As ``Mailbox.commit``."""
        self._task.call(self._commit, message, length)

    def _commit(self, message, length):
        kernels = message._kernels()
        if (
            not kernels.reserved
            or kernels.mailbox is not self._target
            or length is not None
            and not 0 <= length <= kernels.length
        ):
            return self._target.commit(kernels, length)  # which says what is wrong
        self._task.let_go(kernels)
        message._message = None
        self._target.commit(kernels, length)

    def release(self, message):
        """As ``Mailbox.release``."""
        message.free()

    @blocking
    async def put(self, message, timeout_us=None):
        """As ``Mailbox.put``."""
        await self._task.wait(self._put, message, timeout_us)

    async def _put(self, message, timeout_us):
        task, kernels = self._task, message._kernels()
        self._loose(kernels)
        kernels.order = 0
        task.let_go(kernels)
        try:
            await self._target.put(kernels, timeout_us)
        except BaseException:
            if not kernels.order:  # it did not go in
                task.hold(kernels)
            raise
        message._message = None

    def try_put(self, message):
        """As ``Mailbox.try_put``."""
        return self._task.call(self._try_put, message)

    def _try_put(self, message):
        task, kernels = self._task, message._kernels()
        self._loose(kernels)
        task.let_go(kernels)
        done = False
        try:
            done = self._target.try_put(kernels)
        finally:
            if not done:
                task.hold(kernels)
        if done:
            message._message = None
        return done

    @staticmethod
    def _loose(message):
        if message.reserved:
            raise ValueError(f"{message!r} has a place in {message.mailbox}: commit it there")


class UserCab:
    """A CAB, for a protected task."""

    __slots__ = ("_task", "name", "id", "memory", "door")

    def __init__(self, task):
        self._task = task
        self.name = task.cab.name
        self.id = task.cab.id
        self.memory = UserMemory(task)
        self.door = UserDoor(task.door)

    def __repr__(self):
        return f"<Cab {self.name}, ID {self.id}, for {self._task.name}>"

    def __getattr__(self, name):
        if name not in _PROTOCOLS:
            raise AttributeError(f"a protected task has no {name}: see docs/kernel.md for what it has")
        return Gate(self._task, getattr(self._task.cab, name))

    def mailbox(self, number):
        """As ``Cab.mailbox``."""
        return UserMailbox(self._task, self._task.call(self._task.cab.mailbox, number))

    def spawn(self, task, *args, name=None):
        """Starts another protected task, in a domain of its own."""
        args = [_plain(each) for each in args]
        return show(self._task, self._task.call(self._task.cab.spawn, task, *args, name=name, protected=True))

    def lock(self, what="a lock"):
        """As ``Cab.lock``."""
        return show(self._task, self._task.call(self._task.cab.lock, what))

    def condition(self, lock=None, what="a condition"):
        """As ``Cab.condition``."""
        return show(self._task, self._task.call(self._task.cab.condition, _plain(lock), what))

    @blocking
    async def sleep(self, microseconds):
        """As ``Cab.sleep``."""
        await self._task.wait(self._task.cab.sleep, microseconds)

    @blocking
    async def pause(self):
        """As ``Cab.pause``."""
        await self._task.wait(self._task.cab.pause)

    @blocking
    async def within(self, microseconds, call):
        """As ``Cab.within``; ``call`` is the task's own code."""
        call = awaitable(call)
        kernel = self._task.kernel
        try:
            deadline = await self._task.wait(kernel.deadline, kernel.cycles(microseconds))
        except BaseException:
            forgo(call)
            raise
        try:
            return await call
        finally:
            deadline.over()

    def compute(self, time):
        """As ``Cab.compute``."""
        self._task.cab.compute(time)

    def compute_us(self, work):
        """As ``Cab.compute_us``."""
        return self._task.cab.compute_us(work)

    @blocking
    async def now_us(self):
        """As ``Cab.now_us``."""
        return await self._task.cab.now_us()
