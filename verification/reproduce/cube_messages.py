"""Messages of NX/2 on nodes of the iPSC/2 in RTL (docs/nx2.md)."""

from functools import cache

from ...software.ipsc2.layout import Kind
from ..software.ipsc2.cube import cube, nx_on
from ..software.ipsc2.figures import TURNS, latency_us, mbyte_s
from .facts import Found

__all__ = ["boundary", "empty", "hop", "large", "trips"]

#: Bytes of a very large message, and of those near the longest that takes one trip.
_LARGE, _NEAR = 65_536, range(96, 105)
_TRIPS = (Kind.PROXY, Kind.GRANT, Kind.DATA)


@cache
def _latency(peer):
    return latency_us(peer)


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
    how = f"csend and crecv of 0 bytes, turn {TURNS} there and back; the costs of the software were chosen so that it"
    return Found(round(_latency(1), 1), f"{how} is 350 us, so this is no finding")


def hop():
    """D5: what a node on the way adds."""
    return Found(round(_latency(3) - _latency(1), 3), "the same between nodes that are two hops apart: the difference")


def large():
    """D5: a very large message."""
    how = f"{_LARGE} bytes, from the call of csend to the return of crecv, which was called before"
    return Found(round(mbyte_s(_LARGE), 3), how)


@cache
def boundary():
    """D5: up to which length a message takes one trip."""
    short = [length for length in _NEAR if not any(_sent(length)[kind] for kind in _TRIPS)]
    return Found(max(short), f"messages of {_NEAR[0]} to {_NEAR[-1]} bytes: the longest that went without a request")


def trips():
    """D5: what a longer message takes."""
    sent = _sent(boundary().value + 1)
    return Found(sum(sent[kind] for kind in _TRIPS), "messages of the two nodes for one that is a byte longer")
