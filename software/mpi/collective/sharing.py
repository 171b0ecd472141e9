"""Gather, scatter, allgather and all-to-all: each rank's bytes go to others as they are."""

from struct import Struct

from .broadcast import in_tree

__all__ = ["allgather", "alltoall", "gather", "scatter"]

_LENGTH = Struct(">I")
#: Bytes that a message in a tree has at most: beyond, the time to pass them on is more than a message of its own takes.
_TREE_TO = 100


def _joined(parts, equal):
    """Parts as one message; their lengths are told unless all are known to be equal."""
    if equal:
        return b"".join(parts)
    return b"".join(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))


def _split(data, count, equal):
    """The ``count`` parts of a message that ``_joined`` has made."""
    if equal:
        length = len(data) // count
        return [bytes(data[start : start + length]) for start in range(0, count * length, length or 1)] or [b""] * count
    parts, at = [], 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        parts.append(bytes(data[at : at + length]))
        at += length
    return parts


def _subtree(place, size):
    """Ranks in the binomial tree below place ``place``, itself included."""
    return min(place & -place if place else size, size - place)


def _by_tree(size, length):
    """Whether a gather or scatter of ``length`` bytes a rank goes through a tree. None: the lengths may differ."""
    return length is not None and size > 2 and length * (size // 2) <= _TREE_TO


async def gather(exchange, data, root, equal):
    """The list of all ranks' bytes on ``root``; None elsewhere.

    ``equal``: all ranks know that all give equally many. size - 1 messages: directly to the root; or up a binomial
    tree in log2(size) steps, if they are equal and half of all are 100 bytes at most.
    """
    rank, size = exchange.rank, exchange.size
    if not _by_tree(size, len(data) if equal else None):
        if rank != root:
            await exchange.send(data, root)
            return None
        return [data if source == root else await exchange.receive(source) for source in range(size)]
    parent, children = in_tree(rank, size, root)
    below = [data]
    for child in reversed(children):
        below += _split(await exchange.receive(child), _subtree((child - root) % size, size), True)
    if parent is not None:
        await exchange.send(_joined(below, True), parent)
        return None
    return [below[(source - root) % size] for source in range(size)]


async def scatter(exchange, parts, root, length, phase=0):
    """Part number ``rank`` of the list of bytes that ``root`` has.

    ``length``: bytes of each part, if all ranks know that all parts have as many; else None. Messages as ``gather``.
    """
    rank, size = exchange.rank, exchange.size
    if not _by_tree(size, length):
        if rank != root:
            return await exchange.receive(root, phase)
        sent = [await exchange.isend(part, to, phase) for to, part in enumerate(parts) if to != root]
        for each in sent:
            await each.wait()
        return parts[root]
    parent, children = in_tree(rank, size, root)
    place = (rank - root) % size
    if parent is None:
        below = [parts[(root + at) % size] for at in range(size)]
    else:
        below = _split(await exchange.receive(parent, phase), _subtree(place, size), True)
    sent = []
    for child in children:
        first = (child - root) % size - place
        count = _subtree(first + place, size)
        sent.append(await exchange.isend(_joined(below[first : first + count], True), child, phase))
    for each in sent:
        await each.wait()
    return below[0]


async def allgather(exchange, data, equal):
    """The list of all ranks' bytes, on every rank.

    In log2(size) steps each rank sends what it has to a rank below, at most as much as is missing there: size
    log2(size) messages. ``equal``: all ranks know that all give equally many; else 4 bytes tell each length.
    """
    rank, size = exchange.rank, exchange.size
    held = [data]  # of the ranks from this one on
    step, phase = 1, 0
    while step < size:
        count = min(step, size - step)
        sent = await exchange.isend(_joined(held[:count], equal), (rank - step) % size, phase)
        held += _split(await exchange.receive((rank + step) % size, phase), count, equal)
        await sent.wait()
        step, phase = step << 1, phase + 1
    return [held[(source - rank) % size] for source in range(size)]


async def alltoall(exchange, parts):
    """The list of the parts that the ranks have for this one; ``parts[to]`` is what this rank has for ``to``.

    size (size - 1) messages. Each rank sends first to the next rank, so that no two of them send to the same one.
    """
    rank, size = exchange.rank, exchange.size
    sent = [await exchange.isend(parts[(rank + step) % size], (rank + step) % size) for step in range(1, size)]
    got = [parts[rank]] * size
    for step in range(1, size):
        source = (rank - step) % size
        got[source] = await exchange.receive(source)
    for each in sent:
        await each.wait()
    return got
