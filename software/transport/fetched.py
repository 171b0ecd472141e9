"""A message whose areas lie in the node's memory: fetched by the VME DMA channel packet by packet, while the packets
before are on the fiber.

Source: "The Design of Nectar" (1989), section 6.2.2 (areas in CAB or VME memory; packet pipeline of VME and network
transfers). That the bytes rest in a block of data memory on their way is ours.
"""

from ..kernel.vmechannel import is_remote
from ..packet import MAX_DATA

__all__ = ["Fetched", "fetched"]


async def fetched(kernel, memory, areas):
    """A Fetched of ``areas``, of which some may lie in data memory; its first packets are on their way. None if all
    lie in data memory."""
    if not any(is_remote(address) for address, _ in areas):
        return None
    block = await memory.allocate(sum(size for address, size in areas if is_remote(address)))
    fetch = Fetched(kernel, memory, areas, block)
    await memory.channel.enter()
    return fetch


class Fetched:
    """Such a message.

    Parameters
    ----------
    kernel, memory
        The CAB's.
    areas : list of (address, bytes)
        In data memory or the node's.
    block : int
        A block of data memory for the bytes of the latter; its owner frees it behind ``drained``.

    Members
    -------
    areas : list of (byte address, bytes)
        Where the bytes lie in data memory, once they have arrived.
    """

    __slots__ = ("kernel", "block", "areas", "_ends", "_done", "_error", "_waiting")

    def __init__(self, kernel, memory, areas, block):
        self.kernel = kernel
        self.block = block
        self.areas = []
        self._ends = []  # of the message's bytes, behind each move
        self._done = 0  # moves that have ended
        self._error = None
        self._waiting = None
        offset, place = 0, block
        for address, size in areas:
            if not is_remote(address):
                self.areas.append((address, size))
                offset += size
                continue
            self.areas.append((place, size))
            while size:
                # No move goes beyond the end of a packet.
                taken = min(size, MAX_DATA - offset % MAX_DATA)
                memory.channel.fetch(address, place, taken, self._moved)
                address, place, offset, size = address + taken, place + taken, offset + taken, size - taken
                self._ends.append(offset)

    def _moved(self, error):
        """A move has ended; at interrupt level."""
        self._done += 1
        self._error = self._error or error
        if self._waiting is not None:
            self.kernel.wake(self._waiting)
            self._waiting = None

    def _so_far(self):
        """All bytes of the message before this one are there, if all moves have ended well."""
        return self._ends[self._done - 1] if self._done else 0

    async def _next(self):
        self._waiting = self.kernel.current
        await self.kernel.block("bytes of the node's memory", None)

    async def arrived(self, end):
        """Waits until the message's bytes before ``end`` are there. Raises NodeMemoryError."""
        while self._error is None and self._done < len(self._ends) and self._so_far() < end:
            await self._next()
        if self._error is not None:
            raise self._error

    async def drained(self):
        """Waits until nothing is stored into the block any more."""
        while self._done < len(self._ends):
            await self._next()
