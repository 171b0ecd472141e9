"""Reductions: the bytes of all ranks are combined, in the order of the ranks.

``combine(lower, upper)`` gives the bytes of the combination of those of lower and of upper ranks; it charges the time
that it takes. It is associative.
"""

from itertools import accumulate

from .broadcast import in_tree
from .sharing import alltoall, scatter

__all__ = ["allreduce", "exscan", "fold", "reduce", "reduce_scatter", "scan"]

#: Bytes of the contribution of a rank from which on a reduce_scatter exchanges blocks instead of whole contributions.
_BLOCKS_FROM = 1024


def fold(parts, combine):
    """The combination of a list of bytes, in their order."""
    result = parts[0]
    for part in parts[1:]:
        result = combine(result, part)
    return result


async def reduce(exchange, data, combine, root, commutative):
    """The combination of all ranks' bytes on ``root``; None elsewhere.

    size - 1 messages in log2(size) steps, up a binomial tree. If the operation is not commutative the tree is that of
    rank 0, which sends the result to ``root``: one message more.
    """
    rank, size = exchange.rank, exchange.size
    top = root if commutative else 0
    parent, children = in_tree(rank, size, top)
    for child in reversed(children):
        # The subtrees follow each other in the order of the ranks, the smallest first.
        data = combine(data, await exchange.receive(child))
    if parent is not None:
        await exchange.send(data, parent)
    if top != root:
        if rank == top:
            await exchange.send(data, root, 1)
        elif rank == root:
            data = await exchange.receive(top, 1)
    return data if rank == root else None


async def allreduce(exchange, data, combine):
    """The combination of all ranks' bytes, the same on every rank, bit by bit.

    With p the largest power of two that is not above size: p log2(p) + 2 (size - p) messages, in log2(p) steps, or
    log2(p) + 2 if size is not p. In each step the ranks that differ in one bit exchange what they have; before, each of
    the first 2 (size - p) ranks with an odd number gives its part to the one before it.
    """
    rank, size = exchange.rank, exchange.size
    power = 1 << size.bit_length() - 1
    paired = 2 * (size - power)
    if rank < paired and rank & 1:
        await exchange.send(data, rank - 1)
        return await exchange.receive(rank - 1, 1)
    if rank < paired:
        data = combine(data, await exchange.receive(rank + 1))
    place = rank // 2 if rank < paired else rank - paired // 2
    bit, phase = 1, 2
    while bit < power:
        other = place ^ bit
        peer = 2 * other if 2 * other < paired else other + paired // 2
        sent = await exchange.isend(data, peer, phase)
        theirs = await exchange.receive(peer, phase)
        await sent.wait()
        data = combine(theirs, data) if place & bit else combine(data, theirs)
        bit, phase = bit << 1, phase + 1
    if rank < paired:
        await exchange.send(data, rank + 1, 1)
    return data


async def reduce_scatter(exchange, data, lengths, combine):
    """The bytes of this rank out of the combination of all ranks' ``data``, of which rank r gets ``lengths[r]`` bytes.

    Contributions of less than 1 kbyte are reduced on rank 0 and scattered: 2 (size - 1) messages. Of larger ones each
    rank gets the parts that it combines: size (size - 1) messages.
    """
    if len(data) >= _BLOCKS_FROM:
        return fold(await alltoall(exchange, _cut(data, lengths)), combine)
    whole = await reduce(exchange, data, combine, 0, False)
    return await scatter(exchange, None if whole is None else _cut(whole, lengths), 0, None, 2)


def _cut(data, lengths):
    """List of the next ``lengths`` bytes of ``data``."""
    ends = accumulate(lengths)
    return [data[end - length : end] for end, length in zip(ends, lengths, strict=True)]


async def scan(exchange, data, combine):
    """The combination of the bytes of ranks 0 to ``rank``.

    In log2(size) steps, in which each rank sends what it has to a rank beyond: size log2(size) messages at most.
    """
    return (await _prefixes(exchange, data, combine))[1]


async def exscan(exchange, data, combine):
    """The combination of the bytes of ranks 0 to ``rank`` - 1; None on rank 0. Messages as ``scan``."""
    return (await _prefixes(exchange, data, combine))[0]


async def _prefixes(exchange, data, combine):
    rank, size = exchange.rank, exchange.size
    before = None
    step, phase = 1, 0
    while step < size:
        sent = await exchange.isend(data, rank + step, phase) if rank + step < size else None
        if rank >= step:
            lower = await exchange.receive(rank - step, phase)
            before = lower if before is None else combine(lower, before)
        if sent:
            await sent.wait()
        if rank >= step:
            data = combine(lower, data)
        step, phase = step << 1, phase + 1
    return before, data
