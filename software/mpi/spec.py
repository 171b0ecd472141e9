"""What a point-to-point call is given as its message: Python's memory, or a Buffer of Nectarine."""

from operator import index

from ..nectarine.buffer import Buffer
from .buffers import block
from .constants import PROC_NULL
from .memory import flat_memory
from .predefined import DATATYPES

__all__ = ["Room", "load_room", "to_receive", "to_send"]

_BYTE = DATATYPES["BYTE"]


class Room:
    """Where the bytes of a message are to be.

    Members
    -------
    nbytes : int or None
        Room for so many; None: for any number.
    buffer : Buffer or None
        In data memory.
    store : callable(bytes) or None
        Given the bytes, if they are to be in Python's memory.
    """

    __slots__ = ("nbytes", "buffer", "store")

    def __init__(self, nbytes=None, buffer=None, store=None):
        self.nbytes = nbytes
        self.buffer = buffer
        self.store = store


def _in_data_memory(message):
    """The part of a Buffer that a message names, or None if it names none.

    A message is the Buffer, or a list of it, a count and a datatype, as of any other buffer."""
    if isinstance(message, Buffer):
        return message
    if not isinstance(message, (list, tuple)) or not message or not isinstance(message[0], Buffer):
        return None
    buffer, *rest = message
    datatype = rest.pop() if rest and not isinstance(rest[-1], (int, list, tuple)) else _BYTE
    size = block([bytearray(), 0, datatype]).layout
    if not size.dense:
        raise NotImplementedError("a datatype with gaps in a Buffer of Nectarine")
    count, first = rest[0] if rest and isinstance(rest[0], (list, tuple)) else (*rest, 0)[:2] if rest else (None, 0)
    first = index(first) * size.extent
    nbytes = len(buffer) - first if count is None else index(count) * size.extent
    buffer.check(first, nbytes)
    return buffer[first : first + nbytes]


def to_send(message, rank):
    """The bytes of a message for a rank: a Buffer, or bytes-like."""
    if rank == PROC_NULL:
        return b""
    placed = _in_data_memory(message)
    if placed is not None:
        placed.check()
        return placed
    given = block(message)
    view = given.view()
    return given.pack() if view is None else view


def to_receive(message, rank):
    """The Room of a message from a rank."""
    if rank == PROC_NULL:
        return Room(0)
    placed = _in_data_memory(message)
    if placed is not None:
        placed.check()
        return Room(len(placed), placed)
    given = block(message, writable=True)
    return Room(given.nbytes, store=given.unpack)


def load_room(buf, standard=None):
    """The Room of a lower-case receive: ``buf`` is None (``standard`` bytes), a number of bytes, or a writable buffer,
    which the bytes are put into."""
    if buf is None:
        return Room(standard)
    if hasattr(buf, "__index__"):
        return Room(index(buf))
    view, _, keep = flat_memory(buf, writable=True)

    def store(data):
        assert keep is not None or view is not None
        view[: len(data)] = data

    return Room(len(view), store=store)
