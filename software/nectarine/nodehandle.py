"""Sends and receives of tasks on nodes that are under way. Source: see ``software.nectarine.nodetask``."""

from ..errors import ProgramError
from ..kernel.plain import blocking
from .buffer import Buffer
from .handle import Handle, ReceiveHandle
from .nodeproxy import NodeReceive

__all__ = ["NodeHandle"]


class NodeHandle(Handle):
    """A send or a receive of a task on a node: what the node knows of the CAB's Handle.

    Members
    -------
    source : Record or None
        As in ReceiveHandle.
    data : bytes or None
        As in ReceiveHandle.
    cab_handle : Handle
        The CAB's.
    """

    __slots__ = ("source", "data", "cab_handle", "_buffer", "_area")

    def __init__(self, task, cab_handle, buffer=None, area=None):
        super().__init__(task)
        self.cab_handle = cab_handle
        self.source = self.data = None
        self._buffer = buffer
        self._area = area  # of the pool, with the bytes of a message on its way out
        self.type, self.length = cab_handle.type, cab_handle.length
        task.handles[self] = None

    def __str__(self):
        return str(self.cab_handle)

    @property
    def sends(self):
        """Whether the bytes of a message on its way out are in the pool."""
        return self._area is not None

    async def settle(self, values):
        """It is over, as the call has told that returned ``values``: takes the message."""
        handle = self.cab_handle
        self.type, self.length = handle.type, handle.length
        if isinstance(handle, ReceiveHandle):
            self.source = handle.source
        if isinstance(handle, NodeReceive):
            await self._take(*values)
        self.close()
        self.done = True

    async def _take(self, address, length):
        """Brings the message over VME."""
        task, buffer = self.task, self._buffer
        data = b""
        if length:
            with task.shared.bus():
                data = await task.shared.load(address, length)
            task.give_back(address)
            task.copies.node_in += length
        if buffer is None:
            self.data = data
        elif isinstance(buffer, Buffer):
            buffer.memory.bytes[buffer.address : buffer.address + length] = data
        else:
            buffer[:length] = data

    def close(self):
        """It is over: what it has of the pool is given back."""
        self.task.handles.pop(self, None)
        if self._area is not None:
            self.task.release(self._area)
            self._area = None

    async def outcome(self, what, call):
        """Has the CAB do what may bring it to its end: ``call`` returns the handle if it has. Whether it has."""
        handle = self.cab_handle
        try:
            found, values = await self.task.do(what, call)
        except ProgramError as error:
            if handle.error is not None:
                self.error = error
                self.close()
            raise
        if found is not None:
            await self.settle(values)
        return found is not None

    async def _wait(self, timeout_us):
        if not self.ready:
            await self.outcome(str(self), lambda task: self.cab_handle.wait(timeout_us))
        return self._finish()

    @blocking
    async def test(self):
        """See Handle."""
        if self.ready:
            self._finish()
            return True
        handle = self.cab_handle

        async def look(task):
            return handle if await handle.test() else None

        return await self.outcome(f"test of {self}", look)

    async def _cancel(self):
        handle = self.cab_handle
        await self.task.do(f"cancel of {self}", lambda task: handle.cancel())
        self.error = handle.error
        self.close()
