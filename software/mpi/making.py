"""New communicators: the processes of one agree on the number of another."""

import struct
from struct import Struct

from .collective import between, within
from .communicator import Communicator
from .envelope import CONTEXTS
from .exchange import Exchange

__all__ = ["agree", "agree_with", "made"]

#: Contexts that are looked at together: a bit for each that is free.
_MASK = Struct(">Q")
_WINDOW = 8 * _MASK.size


async def agree(exchange, own=b""):
    """The processes of an exchange agree on a context that is free in all of them.

    Returns the lists of ``own``, which has the same length everywhere, of all processes by rank: of this group, and of
    the other group of an intercommunicator; and the context. Each 64 contexts that have none free cost one more
    round."""
    process = exchange.communicator.process
    for first in range(0, CONTEXTS, _WINDOW):
        ours, theirs = await _told(exchange, _MASK.pack(_free(process, first)) + own)
        context = _first_free([*ours, *theirs], first)
        if context is not None:
            return _without_masks(ours), _without_masks(theirs), context
    raise process.no_context()


def _free(process, first):
    return process.contexts >> first & (1 << _WINDOW) - 1


def _first_free(parts, first):
    """The first context that is free in all masks, or None."""
    mask = (1 << _WINDOW) - 1
    for part in parts:
        mask &= _MASK.unpack_from(part)[0]
    return first + (mask & -mask).bit_length() - 1 if mask else None


def _without_masks(parts):
    return [part[_MASK.size :] for part in parts]


async def _told(exchange, mine):
    """What all processes give, as for ``agree``."""
    if exchange.communicator.remote is None:
        return await within.allgather(exchange, mine, True), []
    theirs = await between.allgather(exchange, mine, True)
    ours = (await between.allgather(exchange, b"".join(theirs), True))[0]  # as the others have heard it
    return [ours[at : at + len(mine)] for at in range(0, len(ours), len(mine))], theirs


async def agree_with(communicator, name, leader, across, other):
    """The processes of an intracommunicator agree with those of another on a context.

    Parameters
    ----------
    communicator : Communicator
    name : str
        Of the call.
    leader : int
        The rank that talks to the other group.
    across, other : Exchange or None, int
        On the leader: by which it does so, with which rank.

    Returns
    -------
    The context, and the processes of the other group.
    """
    process = communicator.process
    for first in range(0, CONTEXTS, _WINDOW):
        parts = await within.allgather(Exchange(communicator, name), _MASK.pack(_free(process, first)), True)
        told = b""
        if communicator.rank == leader:
            mask = (1 << _WINDOW) - 1
            for part in parts:
                mask &= _MASK.unpack(part)[0]
            sent = await across.isend(_MASK.pack(mask) + _numbers(communicator.members), other)
            told = _MASK.pack(mask) + await across.receive(other)
            await sent.wait()
        told = await within.bcast(Exchange(communicator, name), told, leader)
        ours, theirs = told[: _MASK.size], told[_MASK.size :]
        context = _first_free([ours, theirs], first)
        if context is not None:
            theirs = theirs[_MASK.size :]
            return context, struct.unpack(f">{len(theirs) // 2}H", theirs)
    raise process.no_context()


def _numbers(processes):
    return struct.pack(f">{len(processes)}H", *processes)


def made(process, context, members, name="", remote=None):
    """The Communicator of these processes with that context."""
    process.take_context(context)
    return Communicator(process, context, tuple(members), remote, name)
