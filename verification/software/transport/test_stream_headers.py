"""Headers of the byte stream that are wrong, and packets of connections that nobody knows.

Specification: docs/transports.md, "Byte stream".
"""

import pytest

from nectar.software.packet import ANY_CAB, STREAM, Flag, Protocol
from nectar.software.transport.options import StreamOptions
from nectar.verification.software.helpers import BOARDS, pattern

from .streams import PORT, QUICK, accept, read_all, serves, settle, streams

OPEN, E, A, R, ASK, D, OPENER = Flag


def forged(**changes):
    """A header to CAB2 that says it is of CAB1's connection 1 (first sequence numbers 0), changed as named; by
    default an acknowledgment."""
    fields = {
        "protocol": Protocol.STREAM,
        "source": 1,
        "destination": 2,
        "flags": A | OPENER,
        "number": 1,
        "window": 100,
        "seq": 1,
        "ack": 1,
    }
    fields.update(changes)
    return STREAM.pack(*fields.values())


#: What is wrong → (header, bytes behind it).
WRONG = {
    "destination": [(forged(destination=9), 0), (forged(destination=ANY_CAB), 3)],
    "source": [(forged(source=2), 0), (forged(source=ANY_CAB), 0)],
    "flags": [
        (forged(flags=0x40 | A | OPENER), 0),
        (forged(flags=OPEN | R | OPENER), 0),
        (forged(flags=OPEN | D | OPENER), 4),
        (forged(flags=OPEN | E | OPENER), 0),
        (forged(flags=R | D | OPENER), 4),
        (forged(flags=D | OPENER), 4),
        (forged(flags=OPENER), 0),
        (forged(flags=OPEN), 0),
        (forged(flags=OPEN | A | OPENER), 0),
        (forged(flags=0), 0),
    ],
    "port": [(forged(flags=OPEN | OPENER, ack=1 << 16), 0)],
    "refusal": [(forged(flags=R | OPENER, window=3), 0)],
    "sequence": [(forged(seq=1 + QUICK.buffer + 100), 0), (forged(seq=2**31 - 5, flags=A | E | OPENER), 0)],
    "acknowledgment": [(forged(ack=1000), 0), (forged(ack=2**31 - 1), 0)],
    "reset": [
        (forged(flags=R | OPENER, window=0, seq=0), 0),
        (forged(flags=R | OPENER, window=0, seq=QUICK.buffer + 100), 0),
    ],
    "empty": [(forged(flags=A | D | OPENER), 0)],
}


@pytest.mark.parametrize("boards", BOARDS)
def test_wrong_headers_are_counted_by_their_name_and_harm_nobody(boards):
    """CAB3 forges packets of a connection between CAB1 and CAB2 that says nothing meanwhile; then that goes on as if
    nothing had been."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        while not seen:
            await cab.sleep(1000)
        await connection.send(pattern(9000))
        await connection.close()
        return await read_all(connection)

    async def forger(cab):
        await cab.sleep(3000)
        route, block = cab.datalink.route(2), await cab.memory.allocate(64)
        for headers in WRONG.values():
            for header, length in headers:
                await cab.datalink.send(route, header, [(block, length)] if length else [])
        await cab.sleep(3000)
        cab.memory.free(block)
        seen.append(dict(system.cab("CAB2").stream.counters.malformed))

    seen = []
    with streams("hub:3", boards=boards) as system:
        for cab in system.cabs:
            cab.stream.sequence = 0
        thread = system.spawn("CAB1", client)
        server = system.spawn("CAB2", serves, PORT, 1, [b"fine"])
        system.spawn("CAB3", forger)
        system.go()
        assert seen == [{what: len(headers) for what, headers in WRONG.items()}]
        assert thread.result == b"fine" and server.result == [(1, pattern(9000))]
        assert system.cab("CAB2").stream.counters.malformed == seen[0]
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_an_end_that_contradicts_another_or_the_bytes_is_counted(boards):
    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        route, block = cab.datalink.route(2), await cab.memory.allocate(64)
        for header, length in (
            (forged(flags=A | E | OPENER, seq=101), 0),
            (forged(flags=A | E | OPENER, seq=51), 0),
            (forged(flags=A | D | OPENER, seq=99), 8),
        ):
            await cab.datalink.send(route, header, [(block, length)] if length else [])
        await cab.sleep(1000)
        cab.memory.free(block)
        connection.abort()

    with streams(boards=boards) as system:
        for cab in system.cabs:
            cab.stream.sequence = 0
        system.spawn("CAB1", client)
        system.spawn("CAB2", accept)
        system.go()
        assert system.cab("CAB2").stream.counters.malformed == {"end": 2}
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_packet_of_a_connection_that_nobody_knows_is_answered_with_a_reset_and_a_reset_with_nothing(boards):
    async def stranger(cab):
        route, block = cab.datalink.route(2), await cab.memory.allocate(1024)
        await cab.datalink.send(route, forged(source=3, number=777), ())
        await cab.datalink.send(route, forged(source=3, number=778, flags=A | D), [(block, 1000)])
        await cab.datalink.send(route, forged(source=3, number=779, flags=R | A), ())
        await cab.datalink.finish()
        await cab.sleep(2000)
        cab.memory.free(block)

    with streams("hub:3", options=StreamOptions(), boards=boards) as system:
        heard = []
        receiver = system.cab("CAB3").datalink._in.protocols[Protocol.STREAM]
        packet = receiver.packet

        class Ear:
            """Notes headers."""

            def packet(self, header):
                heard.append(STREAM.unpack(header)[3:])
                return packet(header)

            def received(self, length, good):
                return receiver.received(length, good)

        system.cab("CAB3").datalink._in.protocols[Protocol.STREAM] = Ear()
        system.spawn("CAB3", stranger)
        system.go()
        assert heard == [(R | A, 777, 0, 1, 1), (R | A | OPENER, 778, 0, 1, 1)]
        assert system.cab("CAB2").stream.counters.unknown == 2 and system.cab("CAB3").stream.counters.unknown == 0
        settle(system)
