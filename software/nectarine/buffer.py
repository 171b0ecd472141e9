"""Buffers of tasks in CAB memory, and numbers in them.

Source: "The Design of Nectar" (1989), section 6.3: the programmer can manage buffers; heterogeneous nodes and memories
must be accommodated. The types are ours: bytes are never converted on their way, only when somebody asks for numbers.
"""

from struct import calcsize, pack, unpack

from ..computer import CAB
from ..errors import ProgramError
from ..kernel.plain import blocking

__all__ = ["Buffer", "Numbers"]


class Buffer:
    """Bytes in the memory of a task's CAB. Made by ``Task.buffer``, and by slicing.

    Members
    -------
    address : int
        Byte address; it never changes.
    length : int
        Bytes.
    computer : Computer
        Whose CPU reads and writes it: the task's CAB or node.
    """

    __slots__ = ("memory", "address", "length", "computer", "_whole", "_freed", "_users")

    def __init__(self, memory, address, length, whole=None, computer=CAB):
        self.memory = memory
        self.address = address
        self.length = length
        self.computer = computer
        self._whole = whole or self  # the buffer that this is a part of
        self._freed = False
        self._users = 0  # messages under way that need it

    def __repr__(self):
        return f"<Buffer of {self.length} bytes at 0x{self.address:06X}>"

    def __len__(self):
        return self.length

    def __getitem__(self, part):
        """The part ``[first:last]`` as a Buffer; it lives as long as the whole. No bytes are copied."""
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise TypeError(f"a part of a buffer is written buffer[first:last], not with {part!r}")
        first, last, _ = part.indices(self.length)
        return Buffer(self.memory, self.address + first, max(0, last - first), self._whole, self.computer)

    @property
    def freed(self):
        """Whether ``free`` was called."""
        return self._whole._freed

    @property
    def is_end(self):
        """Whether it ends where the whole buffer that it is a part of does."""
        return self.address + self.length == self._whole.address + self._whole.length

    def check(self, offset=0, length=0):
        """Raises ProgramError if it has been freed, ValueError if it has no ``length`` bytes at ``offset``."""
        if self.freed:
            raise ProgramError(f"{self!r} has been freed: use it before")
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"a buffer of {self.length} bytes has no {length} bytes at {offset}")

    def write(self, data, offset=0):
        """Stores the bytes of ``data`` (bytes-like) from ``offset`` on; by the CPU, which takes its time."""
        data = memoryview(data).cast("B")
        self.check(offset, len(data))
        self.memory.write(self.address + offset, bytes(data))

    @blocking
    async def read(self, offset=0, length=None):
        """``length`` bytes from ``offset`` on; all by default. By the CPU, which takes its time."""
        length = self.length - offset if length is None else length
        self.check(offset, length)
        return await self.memory.read(self.address + offset, length)

    def as_type(self, type, computer=None):
        """The buffer as Numbers of ``type`` as ``computer`` keeps them, by default the one that the task runs on:
        a letter of ``struct`` (b B h H i I l L q Q f d) or "word". Nothing is converted before they are read or
        written."""
        return Numbers(self, type, computer or self.computer)

    def hold(self):
        """A message under way needs it: until ``release``, ``free`` is put off."""
        self.check()
        self._whole._users += 1

    def release(self):
        """See ``hold``."""
        self._whole._users -= 1
        self._whole._settle()

    def free(self):
        """Gives the memory back, at the latest when messages under way do not need it any more. ProgramError if it has
        been freed, or is a part of another."""
        if self._whole is not self:
            raise ProgramError(f"{self!r} is a part of another buffer: free the whole")
        self.check()
        self._freed = True
        self._settle()

    def _settle(self):
        if self._freed and not self._users:
            self.memory.free(self.address)


class Numbers:
    """Numbers in a Buffer; made by ``Buffer.as_type``.

    Members
    -------
    buffer, computer
        The bytes; how they are kept.
    """

    __slots__ = ("buffer", "computer", "_format", "_size")

    def __init__(self, buffer, type, computer):
        self.buffer = buffer
        self.computer = computer
        self._format = computer.format(type)
        self._size = calcsize(self._format)

    def __len__(self):
        return self.buffer.length // self._size

    def write(self, values, first=0):
        """Stores numbers from number ``first`` on."""
        values = list(values)
        order, letter = self._format
        self._swap(len(values))
        self.buffer.write(pack(f"{order}{len(values)}{letter}", *values), first * self._size)

    @blocking
    async def read(self, first=0, count=None):
        """A list of ``count`` numbers from number ``first`` on; all by default."""
        count = len(self) - first if count is None else count
        order, letter = self._format
        data = await self.buffer.read(first * self._size, count * self._size)
        self._swap(count)
        return list(unpack(f"{order}{count}{letter}", data))

    def _swap(self, count):
        """Time for changing the order of the bytes, if it is not that of the CPU."""
        if self.computer.order != self.buffer.computer.order and self._size > 1:
            kernel = self.buffer.memory.kernel
            kernel.door.spend((count * self._size + 3 >> 2) * kernel.costs.swap_word)
