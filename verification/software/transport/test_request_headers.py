"""Calls of the request and response protocol whose headers are malformed.

Source: docs/transports.md.
"""

import pytest

from nectar.software.packet import ASK, EXCHANGE, PacketKind, Protocol, Reason
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification.software.helpers import BOARDS
from nectar.verification.software.transport.exchange import SERVICE, serve, whole

GOOD = dict(
    protocol=Protocol.REQUEST,
    source=1,
    destination=2,
    kind=PacketKind.REQUEST | ASK,
    service=SERVICE,
    number=5,
    client=1,
    server=1,
    word=0,
)


MALFORMED = {
    "kind 0": (dict(kind=0), 0, "malformed"),
    "kind unknown": (dict(kind=0x7F), 0, "malformed"),
    "source is nobody": (dict(source=255), 0, "malformed"),
    "source is the receiver": (dict(source=2), 0, "malformed"),
    "for another CAB": (dict(destination=3), 0, "misdelivered"),
    "for all": (dict(destination=255), 0, "misdelivered"),
    "too long": (dict(word=MAX_MESSAGE + 1), 4, "malformed"),
    "fragment beyond the end": (dict(word=1 << 24 | 100), 4, "malformed"),
    "fewer bytes than it says": (dict(word=100), 50, "malformed"),
    "none of the bytes that it says": (dict(word=100), 0, "malformed"),
    "more bytes than it says": (dict(word=10), 50, "damaged"),
    "control with data": (dict(kind=PacketKind.ACK), 8, "damaged"),
    "refused for no reason": (dict(kind=PacketKind.REFUSED, word=99), 0, "malformed"),
    "a server's boot of before": (dict(server=9), 0, "stale"),
    "an answer that nobody asked for": (dict(kind=PacketKind.ANSWER), 0, "duplicates"),
    "an acknowledgment of nothing": (dict(kind=PacketKind.ACK), 0, None),
    "lacks of nothing": (dict(kind=PacketKind.LACKS, word=0xFFFFFFFF), 0, "refused"),
    "has of nothing": (dict(kind=PacketKind.HAVE, word=0xFFFFFFFF), 0, None),
    "refused, which nobody was": (dict(kind=PacketKind.REFUSED, word=Reason.FULL), 0, None),
    "cancels nothing": (dict(kind=PacketKind.CANCEL), 0, "refused"),
}


@pytest.mark.parametrize("boards", BOARDS)
def test_malformed_headers_are_counted_and_harm_nothing(boards):
    """Each kind, while a call is under way that is answered as usual."""
    log = []

    async def client(cab):
        block = await cab.memory.allocate(256)
        await cab.request.call((2, SERVICE), b"warm")
        call = await cab.request.start((2, SERVICE), b"under way")
        for name, (fields, size, counter) in MALFORMED.items():
            counters = system.cab("CAB2").request.counters
            before = getattr(counters, counter) if counter else 0
            cab.datalink.post(
                cab.datalink.route(2), EXCHANGE.pack(*{**GOOD, **fields}.values()), [(block, size)] if size else []
            )
            await cab.sleep(100)
            assert not counter or getattr(counters, counter) == before + 1, name
        cab.memory.free(block)
        return await call.result()

    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(serve, log, 3000)
        thread = system.spawn("CAB1", client)
        system.go()
        assert thread.result == b"yaw rednu" and [data for data, _, _ in log] == [b"warm", b"under way"]
