"""New communicators: the processes of one agree on the number of another."""

from struct import Struct

from .collective import within
from .communicator import Communicator
from .envelope import CONTEXTS

__all__ = ["agree", "made"]

#: Contexts that are looked at together: a bit for each that is free.
_MASK = Struct(">Q")
_WINDOW = 8 * _MASK.size


async def agree(exchange, own=b""):
    """The processes of an exchange agree on a context that is free in all of them.

    Returns the list of ``own`` of all, by rank, and the context. Each 64 contexts that have none free cost one more
    allgather."""
    process = exchange.communicator.process
    for first in range(0, CONTEXTS, _WINDOW):
        mask = process.contexts >> first & (1 << _WINDOW) - 1
        parts = await within.allgather(exchange, _MASK.pack(mask) + own, True)
        for part in parts:
            mask &= _MASK.unpack_from(part)[0]
        if mask:
            return [part[_MASK.size :] for part in parts], first + (mask & -mask).bit_length() - 1
    raise process.no_context()


def made(process, context, members, name="", remote=None):
    """The Communicator of these processes with that context."""
    process.take_context(context)
    return Communicator(process, context, tuple(members), remote, name)
