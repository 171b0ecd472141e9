"""The CAB's data memory as software uses it: blocks, and their bytes through the CPU bus.

Source: "The Design of Nectar" (1989), sections 5.2 and 6.1.
"""

from collections import deque

from ...hdl.cab.addresses import REGIONS
from ..errors import OutOfMemory
from .allocator import Allocator
from .thread import BLOCK

__all__ = ["Memory"]


class Memory:
    """Data memory of one CAB.

    Parameters
    ----------
    kernel : Kernel
    size : int
        Bytes that the board has, from the start of the region; a power of two.

    Members
    -------
    on_shortage : coroutine function or None
        Called by a thread before it waits for a block.
    """

    __slots__ = ("kernel", "door", "base", "size", "on_shortage", "_blocks", "_waiting", "_splits", "_looks")

    def __init__(self, kernel, size=REGIONS["data"].size):
        self.kernel = kernel
        self.door = kernel.door
        self.base = REGIONS["data"].base
        self.size = size
        self.on_shortage = None
        self._blocks = Allocator(self.base, size)
        self._waiting = deque()      # (thread, bytes)
        self._splits = 0
        self._looks = 0

    def __str__(self):
        return f"a block of {self.kernel.name}'s data memory"

    @property
    def used(self):
        """Bytes in blocks that are given out."""
        return self._blocks.used

    @property
    def awaited(self):
        """Whether threads wait for blocks."""
        return bool(self._waiting)

    # -- blocks --------------------------------------------------------------------------------------
    def try_allocate(self, size):
        """Address of a block of at least ``size`` bytes, or None. From both levels."""
        blocks, costs = self._blocks, self.kernel.costs
        address = blocks.allocate(size)
        cost = costs.memory_allocate
        if blocks.splits != self._splits or blocks.looks != self._looks:
            cost += (blocks.splits - self._splits) * costs.memory_split + (blocks.looks - self._looks) * costs.memory_merge
            self._splits, self._looks = blocks.splits, blocks.looks
        self.door.spend(cost)
        return address

    async def allocate(self, size):
        """Address of a block of at least ``size`` bytes; waits until there is one. Threads are served in their order.

        Raises OutOfMemory if the memory could never give it.
        """
        if size > self.size:
            raise OutOfMemory(f"{self.kernel.name} has {self.size} bytes of data memory and cannot give {size}: use smaller pieces")
        if not self._waiting:
            address = self.try_allocate(size)
            if address is not None:
                return address
        thread = self.kernel.current
        self._waiting.append((thread, size))
        thread.waits_for = self
        if self.on_shortage is not None:
            await self.on_shortage()
            self._serve()
        return await BLOCK

    def free(self, address):
        """Gives a block back. From both levels. ValueError if it is not one that was allocated."""
        self.door.spend(self.kernel.costs.memory_free)
        self._blocks.free(address)
        if self._waiting:
            self._serve()
        if self.kernel.on_room is not None:
            self.kernel.on_room()

    def _serve(self):
        """Gives blocks to the threads that wait, in their order, as far as there are any."""
        waiting = self._waiting
        while waiting:
            address = self.try_allocate(waiting[0][1])
            if address is None:
                return
            self.kernel.wake(waiting.popleft()[0], address)

    # -- bytes ---------------------------------------------------------------------------------------
    def check(self, address, length):
        """Raises ValueError unless ``length`` bytes at ``address`` lie in the data memory."""
        if not self.base <= address <= address + length <= self.base + self.size:
            raise ValueError(f"{length} bytes at 0x{address:06X} do not lie in {self.kernel.name}'s data memory")

    def write(self, address, data):
        """Stores the bytes of ``data`` at ``address``; posted."""
        self.check(address, len(data))
        self.door.spend((len(data) + 3 >> 2) * self.kernel.costs.copy_word)
        self.door.write_block(address, data)

    async def read(self, address, length):
        """The ``length`` bytes at ``address``."""
        self.check(address, length)
        self.door.spend((length + 3 >> 2) * self.kernel.costs.copy_word)
        return await self.door.read_block(address, length)
