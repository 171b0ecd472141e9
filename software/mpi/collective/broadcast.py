"""Broadcast and barrier: by the HUBs' multicast where it pays, else in trees."""

__all__ = ["barrier", "bcast", "in_tree"]


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


async def bcast(exchange, data, root):
    """The bytes ``data`` of ``root`` on all ranks.

    One multicast, or size - 1 messages in log2(size) steps.
    """
    if exchange.size == 1:
        return data
    if exchange.can_multicast(len(data) if exchange.rank == root else None):
        if exchange.rank == root:
            await exchange.multicast(data)
            return data
        return await exchange.from_multicast(root)
    parent, children = in_tree(exchange.rank, exchange.size, root)
    if parent is not None:
        data = await exchange.receive(parent)
    sent = [await exchange.isend(data, child) for child in children]
    for each in sent:
        await each.wait()
    return data


async def barrier(exchange):
    """Returns when all ranks have called it.

    With multicast: size - 1 empty messages up a tree, and one multicast. Without: size log2(size) empty messages, in
    log2(size) steps, in each of which every rank tells another one of twice as many ranks.
    """
    rank, size = exchange.rank, exchange.size
    if size == 1:
        return
    if exchange.can_multicast(0):
        parent, children = in_tree(rank, size, 0)
        for child in reversed(children):
            await exchange.receive(child)
        if parent is None:
            await exchange.multicast(b"")
        else:
            await exchange.send(b"", parent)
            await exchange.from_multicast(0)
        return
    step, phase = 1, 0
    while step < size:
        sent = await exchange.isend(b"", (rank + step) % size, phase)
        await exchange.receive((rank - step) % size, phase)
        await sent.wait()
        step, phase = step << 1, phase + 1
