"""Memories of the buffers of a task on a node: the node's own, and that of its CAB behind VME.

A Buffer does not know in which of them it lies. Specification: docs/nectarine.md, "Tasks on nodes"."""

from .nodeproxy import Landing

__all__ = ["CabMemory", "NodeMemory"]


class NodeMemory:
    """So many bytes of the node's own memory, of one buffer.

    Parameters
    ----------
    node : Node
    length : int
    """

    __slots__ = ("kernel", "bytes", "_costs")

    address = 0

    def __init__(self, node, length):
        self.kernel = node.kernel
        self.bytes = bytearray(length)
        self._costs = node.costs

    def _spend(self, length):
        self.kernel.door.spend((length + 3 >> 2) * self._costs.copy_word)

    def write(self, address, data):
        """Stores bytes; by the node's CPU."""
        self._spend(len(data))
        self.bytes[address : address + len(data)] = data

    async def read(self, address, length):
        """Loads bytes; by the node's CPU."""
        self._spend(length)
        return bytes(self.bytes[address : address + length])

    def free(self, address):
        """Nobody uses it any more."""


class CabMemory:
    """A block of the CAB's data memory that is lent to the node, of one buffer.

    Parameters
    ----------
    task : NodeTask
    landing : Landing
    """

    __slots__ = ("kernel", "task", "address")

    def __init__(self, task, landing):
        self.kernel = task.node.kernel
        self.task = task
        self.address = landing.address or 0

    @staticmethod
    async def lent(task, port, length):
        """By a thread of the CAB: a Landing for one."""
        landing = await Landing.of(task.cab.memory, length)
        port.show(landing)
        return landing

    def write(self, address, data):
        """Stores bytes: over VME."""
        with self.task.shared.bus():
            self.task.shared.store(address, data)

    async def read(self, address, length):
        """Loads bytes: over VME."""
        with self.task.shared.bus():
            return await self.task.shared.load(address, length)

    def free(self, address):
        """It is given back with the task's next call."""
        self.task.give_back(address)
