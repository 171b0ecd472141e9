"""What a protected task of an application may call: the calls of a Task, each a trap into the kernel.

Its loads and stores in its buffers are its own. Specification: docs/nectarine.md, "Protected tasks"; docs/kernel.md,
"Protected tasks"."""

from ..kernel.plain import blocking
from ..kernel.protected import ProtectedTask
from ..kernel.user import show
from ..kernel.usermemory import UserMemory
from .buffer import Buffer
from .handle import Handle
from .inbox import ANY
from .task import Task

__all__ = ["UserTask", "run_protected"]


class _Pages:
    """Memory of one buffer: pages of the task.

    Members
    -------
    buffer : Buffer
        The kernel's.
    """

    __slots__ = ("kernel", "buffer", "_task", "_memory")

    def __init__(self, task, buffer):
        self.kernel = task.real.kernel
        self.buffer = buffer
        self._task = task
        self._memory = UserMemory(task.protected)

    def write(self, address, data):
        """The stores are the task's."""
        self._memory.write(address, data)

    async def read(self, address, length):
        """The loads are the task's."""
        return await self._memory.read(address, length)

    def free(self, address):
        """The pages are the kernel's again, and free as soon as no message needs them."""
        self._task.protected.call(self._task.give_back, self.buffer)


class _UserHandle(Handle):
    """A send or a receive of a protected task: what it sees of the kernel's Handle ``real``."""

    __slots__ = ("real",)

    def __init__(self, task, real):
        self.task = task
        self.real = real

    def __getattr__(self, name):
        if name in ("type", "length", "source", "data", "done", "error"):
            return getattr(self.real, name)
        raise AttributeError(f"a handle has no {name}")

    def __str__(self):
        return str(self.real)

    @property
    def ready(self):
        """See Handle."""
        return self.real.ready

    @blocking
    async def wait(self, timeout_us=None):
        """See Handle."""
        await self.task.protected.vouch(self.real.wait, timeout_us)
        return self

    @blocking
    async def test(self):
        """See Handle."""
        return await self.task.protected.vouch(self.real.test)

    @blocking
    async def cancel(self):
        """See Handle."""
        await self.task.protected.vouch(self.real.cancel)


class UserTask(Task):
    """A protected task: what its function is given.

    Members
    -------
    cab : UserCab
        What it sees of its CAB; so is ``on``.
    protected : ProtectedTask
        What the kernel knows of it.
    real : Task
        The kernel's, which carries the calls out.
    """

    __slots__ = ("protected", "real")

    def __init__(self, protected, real, cab):
        self.protected = protected
        self.real = real
        self.cab = cab
        self.application = real.application
        self.record = real.record
        self.agent = real.agent
        self.directory = real.directory
        self.copies = real.copies
        self._buffers = []
        protected.keep(self)

    # -- inside --------------------------------------------------------------------------------------
    def _theirs(self, data):
        """A buffer of the task as the kernel has it; anything else as it is."""
        if not isinstance(data, Buffer):
            return data
        data.check()
        whole = data.memory.buffer
        first = data.address - whole.address
        return whole[first : first + data.length]

    def give_back(self, buffer):
        """By the kernel: the pages of one of its Buffers are not the task's any more."""
        self.protected.disown(buffer.address)
        buffer.free()

    def close(self):
        """By the kernel: the task has ended. Its pages are the kernel's again; they are free when no message needs
        them."""
        for buffer in self._buffers:
            if not buffer.freed:
                self.protected.disown(buffer.memory.buffer.address)

    # -- calls ---------------------------------------------------------------------------------------
    @blocking
    async def buffer(self, length, memory=None):
        """See Task; it lies in pages of its own."""
        theirs = await self.protected.vouch(self._allocate, length, memory)
        kept = Buffer(_Pages(self, theirs), theirs.address, length)
        self._buffers = [each for each in self._buffers if not each.freed] + [kept]
        return kept

    async def _allocate(self, length, memory):
        kernels = await self.real.buffer(self.real.cab.memory.paged(length), memory)
        self.protected.adopt(kernels.address)
        return kernels

    @blocking
    async def send(self, to, data=b"", type=0, timeout_us=None):
        """See Task."""
        await self.protected.vouch(self.real.send, to, self._theirs(data), type, timeout_us)

    @blocking
    async def isend(self, to, data=b"", type=0):
        """See Task."""
        return _UserHandle(self, await self.protected.vouch(self.real.isend, to, self._theirs(data), type))

    @blocking
    async def receive(self, buffer=None, source=ANY, type=ANY, timeout_us=None):
        """See Task."""
        theirs = self._theirs(buffer)
        return _UserHandle(self, await self.protected.vouch(self.real.receive, theirs, source, type, timeout_us))

    @blocking
    async def ireceive(self, buffer=None, source=ANY, type=ANY):
        """See Task."""
        return _UserHandle(self, await self.protected.vouch(self.real.ireceive, self._theirs(buffer), source, type))

    @blocking
    async def probe(self, source=ANY, type=ANY, timeout_us=0):
        """See Task."""
        return await self.protected.vouch(self.real.probe, source, type, timeout_us)

    @blocking
    async def select(self, items, timeout_us=None):
        """See Task."""
        items = list(items)
        theirs = [item.real if isinstance(item, _UserHandle) else item for item in items]
        chosen = await self.protected.vouch(self.real.select, theirs, timeout_us)
        return next(item for item, their in zip(items, theirs, strict=True) if their is chosen)

    @blocking
    async def spawn(self, name, function, *args, on=None, protected=False):
        """See Task."""
        return await self.protected.vouch(self.real.spawn, name, function, *args, on=on, protected=protected)

    @blocking
    async def end(self, other):
        """See Task."""
        await self.protected.vouch(self.real.end, other)


async def run_protected(real, function, args):
    """By the thread of a task: runs ``function(task, *args)`` in a protection domain of its own, and returns its
    result. Raises Fault for a refused access."""
    thread = real.kernel.current

    def begin(cab, *args):
        return function(UserTask(protected, real, cab), *args)

    thread.task = protected = ProtectedTask(real.cab, begin, args, show)
    protected.name = thread.name
    try:
        return await protected.run()
    finally:
        thread.task = None
