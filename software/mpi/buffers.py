"""What a program hands to a call as its message: a buffer, or a list of buffer, count, displacement and datatype.

``block`` reads the messages of one block, ``blocks`` those with a block for each rank, and ``typed_blocks`` those that
name a datatype for each rank as well. The results pack the elements into contiguous bytes, and unpack such bytes.
"""

from operator import index

from .constants import BOTTOM, IN_PLACE
from .datatype import Datatype, datatype_of_code
from .layout import Layout
from .memory import flat_memory, from_address, has_memory

__all__ = ["Block", "block", "blocks", "in_place", "same_elements", "typed_blocks"]


class _AllMemory:
    """The memory of the process by addresses: what MPI.BOTTOM stands for."""

    def __getitem__(self, part):
        return from_address(part.start, part.stop - part.start)

    def __setitem__(self, part, data):
        from_address(part.start, part.stop - part.start)[:] = data


_ALL_MEMORY = _AllMemory()


class Block:
    """``count`` elements of ``datatype`` from byte ``base`` of a memory on."""

    __slots__ = ("base", "count", "datatype", "keep", "layout", "memory")

    def __init__(self, memory, base, count, datatype, keep=None):
        self.memory = memory
        self.base = base
        self.count = count
        self.datatype = datatype
        self.layout = datatype.layout if datatype else _NOTHING
        self.keep = keep
        if memory is not _ALL_MEMORY and count:
            first, last = self.layout.span(count)
            if base + first < 0 or base + last > len(memory):
                raise ValueError(
                    f"message: {count} elements of {datatype.name or 'the datatype'} lie at bytes {base + first} to "
                    f"{base + last}, the buffer has {len(memory)} bytes"
                )

    @property
    def nbytes(self):
        """Bytes of data."""
        return self.count * self.layout.size

    def pack(self):
        """The data as contiguous bytes."""
        return self.layout.pack(self.memory, self.base, self.count) if self.count else b""

    def unpack(self, data):
        """Stores contiguous bytes as elements, as many as there are."""
        if self.count:
            self.layout.unpack(self.memory, self.base, self.count, data)

    def view(self):
        """The data as a memoryview, if they lie in memory as they are sent; else None."""
        if not self.layout.dense or self.memory is _ALL_MEMORY:
            return None
        return self.memory[self.base : self.base + self.nbytes]

    def part(self, start, count):
        """The Block of ``count`` elements from element ``start`` on."""
        return Block(self.memory, self.base + start * self.layout.extent, count, self.datatype, self.keep)


_NOTHING = Layout(())


def _is_datatype(item):
    return isinstance(item, Datatype | str)


def _is_list(item):
    return isinstance(item, list | tuple)


def _datatype(item):
    return item if isinstance(item, Datatype) else datatype_of_code(item)


def _of_format(form):
    """The datatype of the format of a buffer. Raises BufferError if it has the other byte order."""
    if form[:1] in "@=<|":
        form = form[1:]
    elif form[:1] in (">", "!"):
        raise BufferError(f"format string {form!r} with non-native byte order")
    return datatype_of_code(form or "B")


def _items(message, pairs):
    """Buffer, count, displacement and datatype of a message, None where it says nothing.

    ``pairs``: the types that a (counts, displacements) may have.
    """
    if not _is_list(message):
        if not has_memory(message):
            raise TypeError("message: expecting buffer or list/tuple")
        return message, None, None, None
    if not 2 <= len(message) <= 4:
        raise ValueError("message: expecting 2 to 4 items")
    if len(message) == 4:
        return tuple(message)
    source, counts, datatype = message if len(message) == 3 else (*message, None)
    displacements = None
    if len(message) == 2 and _is_datatype(counts):
        counts, datatype = None, counts
    elif isinstance(counts, pairs):
        counts, displacements = counts
    return source, counts, displacements, datatype


def _memory(source, datatype, writable):
    """Memory, bytes, datatype and what must live, of a message's buffer."""
    if source is None or source is BOTTOM:
        return _ALL_MEMORY, 0, _datatype(datatype), None
    memory, form, keep = flat_memory(source, writable)
    return memory, len(memory), _of_format(form) if datatype is None else _datatype(datatype), keep


def _extent(datatype, what):
    if not datatype:
        raise ValueError(f"message: cannot {what}, datatype is null")
    layout = datatype.layout
    if layout.extent <= 0:
        raise ValueError(f"message: cannot {what}, datatype extent {layout.extent} (lb:{layout.lb}, ub:{layout.ub})")
    return layout.extent


def _whole(nbytes, datatype):
    """Elements in ``nbytes`` bytes. Raises ValueError if the last is not whole."""
    extent = _extent(datatype, "infer count")
    count, left = divmod(nbytes, extent)
    if left:
        raise ValueError(
            f"message: cannot infer count, buffer length {nbytes} is not a multiple of datatype extent {extent} "
            f"(lb:{datatype.lb}, ub:{datatype.ub})"
        )
    return count


def block(message, writable=False, parts=0):
    """The Block of a message: a buffer, or a list or tuple of

    - buffer, count; buffer, (count, displacement); buffer, datatype;
    - buffer, count, datatype; buffer, (count, displacement), datatype; buffer, count, displacement, datatype.

    Without a count it has all elements of the buffer, or with ``parts`` above 1 so many of them that the buffer has
    this number of blocks. Displacements are in elements.

    Raises
    ------
    TypeError
        It is neither a buffer nor a list or tuple.
    ValueError
        The list has other items; a count or displacement is negative or too large; the buffer has no whole number
        of elements, or of blocks.
    BufferError
        As ``memory.flat_memory``.
    KeyError
        There is no datatype for the items of the buffer.
    """
    source, given, displacement, datatype = _items(message, (list, tuple))
    memory, length, datatype, keep = _memory(source, datatype, writable)
    base = 0
    if displacement is not None:
        displacement = index(displacement)
        if displacement < 0:
            raise ValueError(f"message: negative displacement {displacement}")
        if displacement:
            extent = _extent(datatype, "handle displacement")
            base = displacement * extent
            if base > length:
                raise ValueError(
                    f"message: displacement {displacement} out of bounds, number of datatype entries {length // extent}"
                )
            length -= base
    if given is not None:
        count = index(given)
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        if count and source is None:
            raise ValueError(f"message: buffer is None but count is {count}")
    else:
        count = _whole(length, datatype) if length else 0
        if parts > 1:
            if count % parts:
                raise ValueError(
                    f"message: cannot infer count, number of entries {count} is not a multiple of required number of "
                    f"blocks {parts}"
                )
            count //= parts
    return Block(memory, base, count, datatype, keep)


def in_place(message):
    """Whether a message says that the data are in the other buffer of the call: MPI.IN_PLACE or None."""
    return message is None or message is IN_PLACE


def same_elements(sent, received):
    """Raises ValueError if two Blocks of a reduction differ in datatype or count."""
    if sent.datatype != received.datatype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if sent.count != received.count:
        raise ValueError(f"mismatch in send count {sent.count} and receive count {received.count}")


def _numbers(values, length):
    values = [index(value) for value in values]
    if len(values) != length:
        raise ValueError(f"expecting {length} items, got {len(values)}")
    return values


def blocks(message, parts, writable=False):
    """A list of ``parts`` Blocks, one for each rank.

    The message is as for ``block``, with lists of counts and displacements. Without counts the elements of the buffer
    are shared out, the first ranks getting one more; a single count is that of all ranks. Without displacements the
    blocks lie one behind the other; a single displacement is the distance from one to the next.
    """
    source, counts, displacements, datatype = _items(message, tuple)
    memory, length, datatype, keep = _memory(source, datatype, writable)
    if counts is None:
        each, more = divmod(_whole(length, datatype) if length else 0, parts or 1)
        counts = [each + (more > rank) for rank in range(parts)]
    elif isinstance(counts, int):
        counts = [counts] * parts
    else:
        counts = _numbers(counts, parts)
    if displacements is None:
        displacements = [sum(counts[:rank]) for rank in range(parts)]
    elif isinstance(displacements, int):
        displacements = [displacements * rank for rank in range(parts)]
    else:
        displacements = _numbers(displacements, parts)
    extent = datatype.extent if datatype else 0
    return [Block(memory, at * extent, count, datatype, keep) for count, at in zip(counts, displacements, strict=True)]


def typed_blocks(message, parts, writable=False):
    """As ``blocks``, of a message that names a datatype for each rank; displacements are in bytes.

    buffer, datatypes (one element of each, from the start of the buffer on); buffer, (counts, displacements),
    datatypes; buffer, counts, displacements, datatypes.
    """
    if len(message) == 2:
        source, datatypes = message
        counts = displacements = None
    elif len(message) == 3:
        source, (counts, displacements), datatypes = message
    elif len(message) == 4:
        source, counts, displacements, datatypes = message
    else:
        raise ValueError("message: expecting 2 to 4 items")
    if source is BOTTOM:
        for what, given in (("counts", counts), ("displs", displacements)):
            if given is None:
                raise ValueError(f"message: BOTTOM requires {what}")
        memory, keep = _ALL_MEMORY, None
    else:
        memory, _, keep = flat_memory(source, writable)
    if counts is None and displacements is None:
        counts, displacements = [1] * parts, [0] * parts
    counts, displacements = _numbers(counts, parts), _numbers(displacements, parts)
    datatypes = list(datatypes)
    if len(datatypes) != parts:
        raise ValueError(f"expecting {parts} items, got {len(datatypes)}")
    return [
        Block(memory, at, count, datatype, keep)
        for count, at, datatype in zip(counts, displacements, datatypes, strict=True)
    ]
