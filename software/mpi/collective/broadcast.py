"""Broadcast and barrier: by the HUBs' multicast where it pays, else in trees."""

__all__ = ["barrier", "barrier_by_messages", "barrier_by_multicast", "bcast", "bcast_by_messages", "in_tree"]

# Up to these limits messages are there before a multicast: docs/mpi-collectives.md has the times.
#: Bytes and ranks of a broadcast.
_BYTES_TO, _RANKS_TO = 100, 4
#: Ranks of a barrier.
_BARRIER_TO = 16


def in_tree(rank, size, root):
    """Parent and children of a rank in the binomial tree of ``root``; the parent of the root is None.

    The children are in the order in which a broadcast sends to them: the one with the largest subtree first.
    """
    place = (rank - root) % size
    bit = 1
    while bit < size and not place & bit:
        bit <<= 1
    parent = None if place == 0 else (place - bit + root) % size
    children = []
    while bit > 1:
        bit >>= 1
        if place + bit < size:
            children.append((place + bit + root) % size)
    return parent, children


async def bcast(exchange, data, root, length=None):
    """The bytes ``data`` of ``root`` on all ranks: one multicast, or ``bcast_by_messages``.

    ``length``: their number, if all ranks know it. 100 bytes or less go to 4 ranks or less by messages.
    """
    few = exchange.size <= _RANKS_TO and length is not None and length <= _BYTES_TO
    if few or not exchange.can_multicast(length):
        return await bcast_by_messages(exchange, data, root)
    if exchange.rank != root:
        return await exchange.from_multicast(root)
    await exchange.multicast(data)
    return data


async def bcast_by_messages(exchange, data, root):
    """The same, down a binomial tree: size - 1 messages in log2(size) steps."""
    parent, children = in_tree(exchange.rank, exchange.size, root)
    if parent is not None:
        data = await exchange.receive(parent)
    sent = [await exchange.isend(data, child) for child in children]
    for each in sent:
        await each.wait()
    return data


async def barrier(exchange):
    """Returns when all ranks have called it.

    It is ``barrier_by_multicast``, but ``barrier_by_messages`` of 16 ranks or less.
    """
    if exchange.size > _BARRIER_TO and exchange.can_multicast(0):
        await barrier_by_multicast(exchange)
    else:
        await barrier_by_messages(exchange)


async def barrier_by_multicast(exchange):
    """The same: size - 1 empty messages up a tree to rank 0, in log2(size) steps, and one multicast."""
    parent, children = in_tree(exchange.rank, exchange.size, 0)
    for child in reversed(children):
        await exchange.receive(child)
    if parent is None:
        await exchange.multicast(b"")
    else:
        await exchange.send(b"", parent)
        await exchange.from_multicast(0)


async def barrier_by_messages(exchange):
    """The same: size log2(size) empty messages, in log2(size) steps.

    In each step every rank tells another one of twice as many ranks.
    """
    rank, size = exchange.rank, exchange.size
    step, phase = 1, 0
    while step < size:
        sent = await exchange.isend(b"", (rank + step) % size, phase)
        await exchange.receive((rank - step) % size, phase)
        await sent.wait()
        step, phase = step << 1, phase + 1
