"""Neighborhood collectives: each rank exchanges bytes with its neighbors in a topology."""

from ..constants import PROC_NULL

__all__ = ["alltoall"]


async def alltoall(exchange, parts, destinations, sources):
    """The list of what the sources have for this rank; None for a source PROC_NULL.

    ``parts``: bytes for each of the destinations. ``destinations``, ``sources``: lists of (rank, phase); the part that
    one rank sends in a phase is the one that the other receives in it. One message a destination.
    """
    sent = [
        await exchange.isend(part, to, phase)
        for part, (to, phase) in zip(parts, destinations, strict=True)
        if to != PROC_NULL
    ]
    got = [None if source == PROC_NULL else await exchange.receive(source, phase) for source, phase in sources]
    for each in sent:
        await each.wait()
    return got
