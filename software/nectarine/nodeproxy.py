"""A task on a node, as its CAB has it: a thread there makes the calls that the node's process asks for.

Source: "The Design of Nectar" (1989), section 6.3: tasks on any CAB or node. Specification: docs/nectarine.md,
"Tasks on nodes"."""

from collections import deque

from ..kernel.condition import Condition
from .buffer import Buffer
from .handle import ReceiveHandle

__all__ = ["Landing", "NodeReceive", "Proxy", "Work"]


class _Abandoned(BaseException):
    """The process has ended: the call that is under way is given up."""


class Work:
    """A call of a process.

    Parameters
    ----------
    call : async callable(Task) or None
        Carries it out on the CAB, and returns its outcome; None: the process has ended.

    Members
    -------
    value, error
        Its outcome, once it is done.
    wanted : async callable() or None
        What the process is to do before the call goes on.
    """

    __slots__ = ("call", "value", "error", "wanted")

    def __init__(self, call):
        self.call = call
        self.value = self.error = self.wanted = None


class Landing:
    """Bytes of CAB memory in pages of their own, which the node reads and gives back.

    Members
    -------
    address, length : int or None, int
        Where they are; None: there are none.
    """

    __slots__ = ("address", "length", "_memory")

    def __init__(self, memory, address, length):
        self.address = address
        self.length = length
        self._memory = memory

    @classmethod
    async def of(cls, memory, length):
        """A new one."""
        return cls(memory, await memory.allocate(memory.paged(length)) if length else None, length)

    def free(self):
        """Gives the memory back. From both levels."""
        if self.address is not None:
            self._memory.free(self.address)


class NodeReceive(ReceiveHandle):
    """A receive of a task on a node: the message lands in CAB memory, which is shown to the node.

    Members
    -------
    landing : Landing or None
        Where the message is, until the node is told.
    address : int or None
        Where it was when the node was told.
    """

    __slots__ = ("landing", "address")

    def __init__(self, task, room, sources, selector):
        self.landing = self.address = None
        super().__init__(task, None, sources, selector, room)

    async def _prepare(self, arrival):
        self._drop()
        self.landing = await Landing.of(self.task.cab.memory, arrival.length)
        self._buffer = Buffer(self.task.cab.memory, self.landing.address or 0, arrival.length)
        self._buffer.hold()

    def _drop(self):
        if self.landing is not None:
            self.landing.free()
            self.landing = self._buffer = None

    def _missed(self):
        self._drop()
        super()._missed()

    def _end(self, error):
        super()._end(error)
        if error is not None:
            self._drop()

    @property
    def shown(self):
        """Whether the message has come, and the node was told where it is."""
        return self.done and self.landing is None

    def show(self, port):
        """Shows the node where the message is: address and length. Its landing is the node's from then on."""
        landing, self.landing = self.landing, None
        self.address = landing.address
        port.show(landing)
        return landing.address or 0, landing.length

    async def abandon(self):
        """See ReceiveHandle."""
        await super().abandon()
        self._drop()


class Proxy:
    """The CAB's side of a task on its node.

    Parameters
    ----------
    task : Task
        Makes the calls.
    port : NodePort

    Members
    -------
    works : dict of int → Work
        Calls that the process has asked for, by the numbers of their commands.
    thread : Thread or None
        The CAB's, that carries them out.
    """

    __slots__ = ("task", "port", "works", "thread", "_numbers", "_number", "_come", "_last", "_abandoned")

    def __init__(self, task, port):
        self.task = task
        self.port = port
        self.works = {}
        self._numbers = deque()
        self._come = Condition(task.cab.kernel, f"a call of {task.name} on the node")
        self.thread = None
        self._number = None  # of the command that the process waits for
        self._last = None
        self._abandoned = _Abandoned()
        port.workers[task.number] = self._arrive

    def _arrive(self, number):
        """By the port's thread: a command has come."""
        self._numbers.append(number)
        self._come.signal()
        if self.works[number].call is None and self.thread is not None:
            self.task.cab.kernel.interrupt(self.thread, self._abandoned)

    async def run(self):
        """The CAB's thread: carries out calls until the process has ended, and gives back what the task has left."""
        self.thread = self.task.cab.kernel.current
        while self._last is None:
            try:
                while not self._numbers:
                    await self._come.wait()
                await self._carry_out(self._numbers.popleft())
            except _Abandoned:
                pass
        thread, self.thread = self.thread, None
        if thread.pending is self._abandoned:  # no call was under way any more
            thread.pending = None
        await self.task.finish()
        del self.port.workers[self.task.number]
        await self.port.answer(self._last)

    async def ask(self, action, meanwhile):
        """By the thread that carries out a call: the process does ``action()``, the CAB meanwhile ``meanwhile()``, both
        async functions; when both are done the call goes on."""
        self.works[self._number].wanted = action
        await self.port.answer(self._number)
        await meanwhile()
        while not self._numbers:
            await self._come.wait()
        self._number = self._numbers.popleft()

    async def _carry_out(self, number):
        work, self._number = self.works[number], number
        if work.call is None:
            self._last = number
            return
        values = ()
        try:
            work.value = await work.call(self.task)
            if isinstance(work.value, NodeReceive) and work.value.landing is not None and work.value.done:
                values = work.value.show(self.port)
        except Exception as error:
            work.error = error
        # The process may have ended meanwhile: the command that says so has a number, and has not come yet.
        self.works = {other: each for other, each in self.works.items() if each is not work}
        await self.port.answer(self._number, *values)
