"""The collective operations of an intercommunicator: each rank's messages go straight to ranks of the other group.

``root`` is ROOT on the root, PROC_NULL on the other ranks of its group, and the root's rank in the other group.
An operation from or to a root takes a message for each rank of that group; one of all ranks takes a message from each
rank of one group to each of the other, in both directions.
"""

from ..constants import PROC_NULL, ROOT
from .reduction import fold

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


async def _send_each(exchange, parts):
    sent = [await exchange.isend(part, to) for to, part in enumerate(parts)]
    for each in sent:
        await each.wait()


async def barrier(exchange):
    """Returns when all ranks of the other group have called it."""
    await allgather(exchange, b"", True)


async def bcast(exchange, data, root, length=None):
    """The bytes ``data`` of the root, on the ranks of the other group."""
    return await scatter(exchange, [data] * exchange.remote_size, root, None)


async def gather(exchange, data, root, equal):
    """The list of the bytes of all ranks of the other group, on the root."""
    if root == ROOT:
        return [await exchange.receive(source) for source in range(exchange.remote_size)]
    if root != PROC_NULL:
        await exchange.send(data, root)
    return None


async def scatter(exchange, parts, root, length):
    """Part number ``rank`` of the list of bytes of the root, on the ranks of the other group."""
    if root == ROOT:
        await _send_each(exchange, parts)
    elif root != PROC_NULL:
        return await exchange.receive(root)
    return None


async def allgather(exchange, data, equal):
    """The list of the bytes of all ranks of the other group, on every rank."""
    return await alltoall(exchange, [data] * exchange.remote_size)


async def alltoall(exchange, parts):
    """The list of the parts that the ranks of the other group have for this one."""
    sent = [await exchange.isend(part, to) for to, part in enumerate(parts)]
    got = [await exchange.receive(source) for source in range(exchange.remote_size)]
    for each in sent:
        await each.wait()
    return got


async def reduce(exchange, data, combine, root, commutative):
    """The combination of the bytes of all ranks of the other group, on the root."""
    parts = await gather(exchange, data, root, True)
    return None if parts is None else fold(parts, combine)


async def allreduce(exchange, data, combine):
    """The combination of the bytes of all ranks of the other group, on every rank."""
    return fold(await allgather(exchange, data, True), combine)


async def reduce_scatter(exchange, data, lengths, combine):
    """The bytes of this rank out of the combination of the other group's; ``lengths`` are those of its own group."""
    whole = await allreduce(exchange, data, combine)
    start = sum(lengths[: exchange.rank])
    return whole[start : start + lengths[exchange.rank]]
