"""The node's own memory as its processes use it: buffers whose bytes the CAB's DMA moves. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), sections 5.1 and 6.2.2; pages and their opening are ours."""

from dataclasses import dataclass

from ...hdl.cab.vme.numbers import NODE_MEMORY, NODE_MEMORY_BYTES, NODE_PAGE_BYTES, NODE_PAGES
from ..errors import BadCommand, CallTimeout, OutOfMemory, TimedOut
from ..kernel.allocator import Allocator
from ..kernel.plain import blocking

__all__ = ["Buffer", "Expected", "NodeCopies", "NodeMemory", "Part", "Received"]


@dataclass(slots=True)
class NodeCopies:
    """Bytes of messages of a node's processes, and who has moved them over VME."""

    node_out: int = 0  # stored into CAB memory by the node's CPU
    node_in: int = 0  # loaded from there by the node's CPU
    dma_out: int = 0  # of buffers that the CAB's DMA was told to fetch
    dma_in: int = 0  # stored into buffers by the CAB's DMA


class Part:
    """Bytes of a Buffer: a message, or the place for one.

    Members
    -------
    address : int
        On the VME bus.
    length : int
        Bytes.
    """

    __slots__ = ("address", "length", "_memory", "_buffer")

    def __init__(self, memory, address, length, buffer=None):
        self._memory = memory
        self._buffer = self if buffer is None else buffer
        self.address = address
        self.length = length

    def __len__(self):
        return self.length

    def write(self, data, offset=0):
        """Stores bytes from ``offset`` on; posted. ValueError if they do not fit, or the buffer has been freed."""
        address = self._place(offset, len(data))
        if data:
            self._memory.store(address, bytes(data))

    @blocking
    async def read(self, offset=0, length=None):
        """``length`` bytes from ``offset`` on; all by default. ValueError as of ``write``."""
        length = self.length - offset if length is None else length
        address = self._place(offset, length)
        return await self._memory.load(address, length) if length else b""

    def part(self, offset, length):
        """``length`` bytes of it from ``offset`` on, as a Part. ValueError as of ``write``."""
        return Part(self._memory, self._place(offset, length), length, self._buffer)

    def check(self, memory):
        """Raises ValueError unless its buffer is one of ``memory``, a NodeMemory, and has not been freed."""
        if self._memory is not memory:
            raise ValueError(
                "the buffer is in the memory of another node: only the CAB of that node can move its bytes"
            )
        if self._buffer.address is None:
            raise ValueError("the buffer has been freed")

    def _place(self, offset, length):
        self.check(self._memory)
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"a buffer of {self.length} bytes has no {length} bytes at {offset}")
        return self.address + offset


class Buffer(Part):
    """A block of a node's memory; made by ``NodeMemory.allocate``."""

    __slots__ = ()

    def free(self):
        """Closes its pages to the VME bus and gives it back: what the CAB has under way with it is a bus error.
        ValueError if that has been done."""
        self.check(self._memory)
        address, self.address = self.address, None
        self._memory.release(address)


class NodeMemory:
    """The memory of one node that its CAB can reach.

    Parameters
    ----------
    node : Node

    Members
    -------
    size : int
        Bytes.
    """

    def __init__(self, node):
        self.size = NODE_MEMORY_BYTES
        self._node = node
        self._blocks = Allocator(NODE_MEMORY, NODE_MEMORY_BYTES)

    @property
    def used(self):
        """Bytes that are given out, in whole pages."""
        return self._blocks.used

    def allocate(self, length):
        """A Buffer of so many bytes (1 or more), open to the VME bus. Raises OutOfMemory, ValueError."""
        if not isinstance(length, int) or length < 1:
            raise ValueError(f"a buffer has 1 byte or more, not {length!r}")
        block = self._blocks.allocate(max(length, NODE_PAGE_BYTES))
        if block is None:
            raise OutOfMemory(
                f"{self._node.name} has {self.size} bytes of memory for buffers, {self.used} of them taken, and cannot "
                f"give {length}: free some"
            )
        self._map(block, 1)
        return Buffer(self, block, length)

    def release(self, address):
        """Takes a block back."""
        self._map(address, 0)
        self._blocks.free(address)

    def store(self, address, data):
        """The node's CPU stores bytes; posted."""
        self._node.door.spend((len(data) + 3 >> 2) * self._node.costs.copy_word)
        self._node.door.write_block(address, data)

    async def load(self, address, length):
        """The node's CPU loads bytes."""
        self._node.door.spend((length + 3 >> 2) * self._node.costs.copy_word)
        return await self._node.door.read_block(address, length)

    def _map(self, address, is_open):
        """Opens or closes the pages of a block."""
        door, costs = self._node.door, self._node.costs
        first = (address - NODE_MEMORY) // NODE_PAGE_BYTES
        pages = range(first, first + self._blocks.size_of(address) // NODE_PAGE_BYTES)
        door.spend(costs.map_call + len(pages) * costs.map_page)
        for page in pages:
            door.write(NODE_PAGES + 4 * page, is_open)


class Expected:
    """A message that is to go into the node's memory; made by ``NodeMailbox.expect``."""

    __slots__ = ("_mailbox", "_command", "_place", "_timeout_us")

    def __init__(self, mailbox, command, place, timeout_us):
        self._mailbox = mailbox
        self._command = command
        self._place = place
        self._timeout_us = timeout_us

    @blocking
    async def done(self):
        """Waits until it is there: a Received. Raises as ``NodeMailbox.receive``."""
        mailbox, shared = self._mailbox, self._mailbox.node.shared
        try:
            with shared.bus():
                length, word = await shared.done(self._command, None)
        except BadCommand:
            mailbox.expected = max(0, mailbox.expected - 1)
            raise
        except CallTimeout:
            raise TimedOut(
                f"a process of {mailbox.node.name} has waited {self._timeout_us} us for something in {mailbox}"
            ) from None
        mailbox.node.copies.dma_in += length
        return Received(self._place, length, word >> 16, word & 0xFFFF)


class Received:
    """A message that lies in the node's memory.

    Members
    -------
    buffer : Part
        The place that was given for it, its first ``length`` bytes.
    length, source, number
        As of a NodeMessage.
    """

    __slots__ = ("buffer", "length", "source", "number")

    def __init__(self, place, length, source, number):
        self.buffer = place.part(0, length)
        self.length = length
        self.source = source
        self.number = number

    @blocking
    async def read(self, offset=0, length=None):
        """As ``Part.read``, of the message."""
        return await self.buffer.read(offset, length)
