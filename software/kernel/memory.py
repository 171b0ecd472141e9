"""The CAB's data memory as software uses it: blocks, and their bytes through the CPU bus.

Source: "The Design of Nectar" (1989), sections 5.2 and 6.1.
"""

from collections import deque

from ...hdl.cab.addresses import REGIONS
from ...hdl.cab.regions import PAGE_BITS
from ..door import BusError, pieces
from ..errors import OutOfMemory
from .allocator import Allocator
from .plain import blocking
from .vmechannel import is_remote, lies_in_node

__all__ = ["Memory"]

#: Bytes that the CPU copies without hearing an interrupt: 64 words, 4 us, so that a packet's upcall comes in time
#: (docs/routing.md).
_PIECE = 256


class _Wish:
    """A thread that needs a block: ``blocked`` once it waits, ``address`` of what it has been given before that."""

    __slots__ = ("thread", "size", "blocked", "address")

    def __init__(self, thread, size):
        self.thread = thread
        self.size = size
        self.blocked = False
        self.address = None


class Memory:
    """Data memory of one CPU.

    Parameters
    ----------
    kernel : Kernel
    size : int
        Bytes that there are for blocks; a power of two.
    base : int
        Byte address of the first; a multiple of ``size``.

    Members
    -------
    channel : VmeChannel or None
        To the node's memory, if there is a node.
    on_shortage : coroutine function or None
        Called by a thread before it waits for a block.
    """

    __slots__ = ("kernel", "door", "base", "size", "channel", "on_shortage", "_blocks", "_waiting")

    def __init__(self, kernel, size=REGIONS["data"].size, base=REGIONS["data"].base):
        self.kernel = kernel
        kernel.memory = self
        self.door = kernel.door
        self.base = base
        self.size = size
        self.channel = None
        self.on_shortage = None
        self._blocks = Allocator(self.base, size)
        self._waiting = deque()  # _Wish

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
        if blocks.splits or blocks.looks:
            cost += blocks.splits * costs.memory_split + blocks.looks * costs.memory_merge
            blocks.splits = blocks.looks = 0
        self.door.spent += cost
        return address

    @blocking
    async def allocate(self, size, timeout_us=None):
        """Address of a block of at least ``size`` bytes; waits until there is one. Threads are served in their order.

        Raises OutOfMemory if the memory could never give it, TimedOut after ``timeout_us`` microseconds, ValueError for
        less than 0 bytes.
        """
        address = self.at_once(size)
        return await self.in_turn(size, timeout_us) if address is None else address

    def at_once(self, size):
        """What ``allocate`` does first, without an ``await``. None: it must wait, and ``in_turn`` has to be awaited.

        Raises OutOfMemory.
        """
        if size > self.size:
            raise OutOfMemory(
                f"{self.kernel.name} has {self.size} bytes of data memory and cannot give {size}: use smaller pieces"
            )
        kernel = self.kernel
        if kernel.current.pending is not None:
            kernel.check_pending()
        return None if self._waiting else self.try_allocate(size)

    async def in_turn(self, size, timeout_us=None):
        """As ``allocate``, behind ``at_once``."""
        timeout = self.kernel.cycles(timeout_us)
        wish = _Wish(self.kernel.current, size)
        self._waiting.append(wish)
        if self.on_shortage is not None:
            try:
                await self.on_shortage()
            except BusError:  # of a store that was posted before
                if wish.address is None:
                    self._give_up(wish)
                else:
                    self.free(wish.address)
                raise
            self._serve()
        if wish.address is not None:
            return wish.address
        wish.blocked = True
        return await self.kernel.block(self, lambda: self._give_up(wish), self.free, timeout)

    def _give_up(self, wish):
        """A thread does not wait any more; one behind it may want less."""
        self._waiting.remove(wish)
        self._serve()

    def free(self, address):
        """Gives a block back. From both levels. ValueError if it is not one that was allocated."""
        self.door.spent += self.kernel.costs.memory_free
        self._blocks.free(address)
        if self._waiting:
            self._serve()
        if self.kernel.on_room is not None:
            self.kernel.on_room()

    def _serve(self):
        """Gives blocks to the threads that wait, in their order, as far as there are any."""
        waiting = self._waiting
        while waiting:
            address = self.try_allocate(waiting[0].size)
            if address is None:
                return
            wish = waiting.popleft()
            if wish.blocked:
                self.kernel.wake(wish.thread, address)
            else:
                wish.address = address

    def paged(self, size):
        """Bytes of a block that shares no page with another, for ``size`` bytes."""
        return max(size, 1 << PAGE_BITS) if size >= 0 else size

    def block_size(self, address):
        """Bytes of the block at ``address``. ValueError if it is not one that was allocated."""
        return self._blocks.size_of(address)

    # -- bytes ---------------------------------------------------------------------------------------
    def check(self, address, length):
        """Raises ValueError unless ``length`` bytes at ``address`` lie in the data memory."""
        if not self.base <= address <= address + length <= self.base + self.size:
            raise ValueError(f"{length} bytes at 0x{address:06X} do not lie in {self.kernel.name}'s data memory")

    def admit(self, address, length):
        """As ``check``, of an area that a task names for DMA: one of a protected task must lie in its own pages,
        else that is a Fault."""
        self.check(address, length)
        task = self.kernel.current.task
        if task is not None and not task.vouched:
            task.admit(address, length)

    def admit_remote(self, address, length):
        """As ``admit``, of an area that may lie in the node's memory, too; not one of a protected task."""
        if not is_remote(address) or self.kernel.current.task is not None:
            self.admit(address, length)
        elif self.channel is None or not lies_in_node(address, length):
            raise ValueError(f"{length} bytes at 0x{address:08X} do not lie in the memory of {self.kernel.name}'s node")

    def write(self, address, data):
        """Stores the bytes of ``data`` at ``address``; posted."""
        length = len(data)
        if address < self.base or address + length > self.base + self.size:
            self.check(address, length)
        self.store(address, data)

    def store(self, address, data):
        """As ``write``, at any address: nothing but the board looks whether it may be done."""
        length = len(data)
        self.door.spent += (length + 3 >> 2) * self.kernel.costs.copy_word
        if address % _PIECE + length <= _PIECE:
            self.door.write_block(address, data)
            return
        self.door.write_pieces(address, data, _PIECE)

    @blocking
    async def read(self, address, length):
        """The ``length`` bytes at ``address``."""
        self.check(address, length)
        return await self.load(address, length)

    async def load(self, address, length):
        """As ``read``, at any address."""
        self.door.spend((length + 3 >> 2) * self.kernel.costs.copy_word)
        if length <= _PIECE:
            return await self.door.read_block(address, length)
        return b"".join(
            [await self.door.read_block(start, end - start) for start, end in pieces(address, address + length, _PIECE)]
        )
