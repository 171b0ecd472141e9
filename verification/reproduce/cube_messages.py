"""Messages of NX/2 on nodes of the iPSC/2 in RTL (docs/nx2.md)."""

from functools import cache

from ...software.ipsc2.layout import Kind
from ..software.ipsc2.cube import cube, nx_on
from .facts import Found

__all__ = ["boundary", "empty", "hop", "large", "trips"]

#: Bytes of a very large message, and of those near the longest that takes one trip.
_LARGE, _NEAR = 65_536, range(96, 105)
#: Turns there and back, of which the last counts.
_TURNS = 3
_TRIPS = (Kind.PROXY, Kind.GRANT, Kind.DATA)


async def _echo(process, peer, is_first):
    for _ in range(_TURNS):
        begin = await process.cab.now_us()
        if is_first:
            await process.csend(1, b"", 0, peer, 0)
        await process.crecv(1, bytearray(4), 0)
        if not is_first:
            await process.csend(1, b"", 0, peer, 0)
        took = await process.cab.now_us() - begin
    return took / 2


@cache
def _latency(peer):
    """Microseconds of an empty message from node 0 to ``peer`` of a cube of four."""
    with cube(2) as system:
        return nx_on(system, {(0, 0): (_echo, peer, True), (peer, 0): (_echo, 0, False)})[0, 0]


def _sent(length):
    """Number of messages of each Kind, sent by both nodes for one of ``length`` bytes."""

    async def sender(process):
        await process.csend(1, bytes(length), length, 1, 0)

    async def receiver(process):
        await process.crecv(1, bytearray(length), length)

    with cube(1) as system:
        nx_on(system, {(0, 0): (sender,), (1, 0): (receiver,)})
        return {kind: sum(node.messages.sent[kind] for node in system.cabs) for kind in Kind}


def empty():
    """D5: an empty message to a neighbour."""
    how = f"csend and crecv of 0 bytes, turn {_TURNS} there and back; the costs of the software were chosen so that it"
    return Found(round(_latency(1), 1), f"{how} is 350 us, so this is no finding")


def hop():
    """D5: what a node on the way adds."""
    return Found(round(_latency(3) - _latency(1), 3), "the same between nodes that are two hops apart: the difference")


def large():
    """D5: a very large message."""

    async def sender(process):
        buffer = await process.task.buffer(_LARGE)
        process.cab.compute(1000)  # the receive is called before
        begin = await process.cab.now_us()
        await process.csend(1, buffer, _LARGE, 1, 0)
        return begin

    async def receiver(process):
        await process.crecv(1, await process.task.buffer(_LARGE), _LARGE)
        return await process.cab.now_us()

    with cube(1) as system:
        times = nx_on(system, {(0, 0): (sender,), (1, 0): (receiver,)})
    how = f"{_LARGE} bytes, from the call of csend to the return of crecv, which was called before"
    return Found(round(_LARGE / (times[1, 0] - times[0, 0]), 3), how)


@cache
def boundary():
    """D5: up to which length a message takes one trip."""
    short = [length for length in _NEAR if not any(_sent(length)[kind] for kind in _TRIPS)]
    return Found(max(short), f"messages of {_NEAR[0]} to {_NEAR[-1]} bytes: the longest that went without a request")


def trips():
    """D5: what a longer message takes."""
    sent = _sent(boundary().value + 1)
    return Found(sum(sent[kind] for kind in _TRIPS), "messages of the two nodes for one that is a byte longer")
