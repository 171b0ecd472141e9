"""How long messages of NX/2 take between nodes of the iPSC/2: what tests and ``nectar reproduce`` measure."""

from .cube import cube, nx_on

__all__ = ["TURNS", "latency_us", "mbyte_s"]

#: Turns there and back, of which the last counts.
TURNS = 3


async def _echo(process, peer, is_first, length):
    buffer = await process.task.buffer(max(4, length))
    for _ in range(TURNS):
        begin = await process.cab.now_us()
        if is_first:
            await process.csend(1, buffer, length, peer, 0)
        await process.crecv(1, buffer, length)
        if not is_first:
            await process.csend(1, buffer, length, peer, 0)
        took = await process.cab.now_us() - begin
    return took / 2


def latency_us(peer, length=0):
    """Microseconds of a message of so many bytes from node 0 to node ``peer`` of a cube of four."""
    with cube(2) as system:
        return nx_on(system, {(0, 0): (_echo, peer, True, length), (peer, 0): (_echo, 0, False, length)})[0, 0]


def mbyte_s(length):
    """Megabytes a second of a message of so many bytes to a neighbour, from the call of *csend* to the return of
    *crecv*, which was called before."""

    async def sender(process):
        buffer = await process.task.buffer(length)
        process.cab.compute(1000)  # the receive is there first
        begin = await process.cab.now_us()
        await process.csend(1, buffer, length, 1, 0)
        return begin

    async def receiver(process):
        await process.crecv(1, await process.task.buffer(length), length)
        return await process.cab.now_us()

    with cube(2) as system:
        times = nx_on(system, {(0, 0): (sender,), (1, 0): (receiver,)})
    return length / (times[1, 0] - times[0, 0])
