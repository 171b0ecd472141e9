"""Memory as a protected task sees it: loads and stores are the task's own, all else is a trap into the kernel.

Specification: docs/kernel.md, "Protected tasks".
"""

from ..errors import NotYours
from .plain import blocking

__all__ = ["UserDoor", "UserMemory", "UserMessage"]


class UserMessage:
    """A message that a task holds: ``length``, ``source``, ``number``; ``address`` in its own pages once ``read``
    has been awaited."""

    __slots__ = ("_task", "_message", "length", "source", "number")

    def __init__(self, task, message):
        self._task = task
        self._message = message
        self.length = message.length
        self.source = message.source
        self.number = message.number

    def __repr__(self):
        return f"<Message of {self.length} bytes from CAB {self.source}, number {self.number}>"

    def __len__(self):
        return self.length

    @property
    def address(self):
        """Byte address; None for a message without bytes, or one that is the task's no more."""
        return self._message.address if self._message is not None else None

    def _kernels(self):
        if self._message is None or id(self._message) not in self._task.messages:
            raise NotYours(f"{self!r} has been released, committed or put: it must not be used any more")
        return self._message

    def _bounds(self, offset, length):
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"a message of {self.length} bytes has no {length} bytes at {offset}")

    @blocking
    async def read(self, offset=0, length=None):
        """As ``Message.read``; the loads are the task's."""
        if length is None:
            length = self.length - offset
        self._bounds(offset, length)
        task, message = self._task, self._kernels()
        if not length:
            return b""
        if not task.alone(message):
            await task.wait(task.move, message)
        return await task.memory.load(message.address + offset, length)

    def write(self, data, offset=0):
        """As ``Message.write``; the stores are the task's."""
        self._bounds(offset, len(data))
        task, message = self._task, self._kernels()
        if data:
            task.memory.store(message.address + offset, data)

    def free(self):
        """Gives it back."""
        self._task.call(self._free)

    def _free(self):
        message = self._kernels()
        self._task.let_go(message)
        self._message = None
        message.free()


class UserMemory:
    """Data memory: blocks of whole pages."""

    __slots__ = ("_task",)

    def __init__(self, task):
        self._task = task

    @property
    def used(self):
        """Bytes of the task's blocks."""
        return sum(self._task.blocks.values())

    @blocking
    async def allocate(self, size, timeout_us=None):
        """As ``Memory.allocate``."""
        return await self._task.wait(self._allocate, size, timeout_us)

    async def _allocate(self, size, timeout_us):
        memory = self._task.memory
        address = await memory.allocate(memory.paged(size), timeout_us)
        self._task.adopt(address)
        return address

    def free(self, address):
        """Gives a block back. NotYours if it is not the task's."""
        self._task.call(self._free, address)

    def _free(self, address):
        task = self._task
        if any(message.address == address for message in task.messages.values()):
            raise NotYours(f"0x{address:06X} is a message: free that")
        task.disown(address)
        task.memory.free(address)

    def write(self, address, data):
        """Stores bytes; the stores are the task's."""
        self._task.memory.store(address, data)

    @blocking
    async def read(self, address, length):
        """Loads bytes; the loads are the task's."""
        return await self._task.memory.load(address, length)


class UserDoor:
    """Loads and stores of the task's own, at any address; CPU time."""

    __slots__ = ("cpu_hz", "write", "write_block", "spend", "read", "read_block", "now")

    def __init__(self, door):
        for name in self.__slots__:
            setattr(self, name, getattr(door, name))
