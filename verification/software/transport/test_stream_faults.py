"""The byte stream when packets are lost, doubled, overtaken, damaged: the same bytes arrive, nothing is left behind.

Specification: docs/transports.md, "Byte stream". What goes wrong here goes wrong between the datalink and the transport
(``tamper``)."""

import pytest

from nectar.software.errors import PeerRestarted
from nectar.software.packet import STREAM, Flag, Protocol
from nectar.software.transport.options import StreamOptions
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.tamper import Rule, Tamperer

from .streams import PORT, calls, read_all, serves, settle, streams


def flags_of(header):
    return Flag(STREAM.unpack(header)[3])


def sound(system):
    """Whatever was lost: no header was wrong."""
    for cab in system.cabs:
        assert not cab.stream.counters.malformed, (cab.name, cab.stream.counters.malformed)


def _cases():
    """Some everyday, many at night."""
    for seed in range(40):
        for boards in BOARDS:
            few = seed < (4 if boards == "fast" else 2)
            yield pytest.param(seed, boards, marks=() if few else pytest.mark.nightly)


@pytest.mark.parametrize("seed, boards", list(_cases()))
def test_nothing_is_lost_doubled_overtaken_or_damaged_in_the_end(seed, boards):
    """Three connections in both directions, up to a fifth of the packets tampered with; small rings, numbers that
    wrap."""
    rng = seeds.rng("stream faults", seed)
    there = [[rng.randbytes(rng.choice([1, 300, 5000, 12_000])) for _ in range(3)] for _ in range(3)]
    back = [rng.randbytes(9000), rng.randbytes(2000)]
    with streams(
        "hub:3",
        options=StreamOptions(buffer=1 << 13, first_us=4000, most_us=15_000, silence_us=300_000, linger_us=100_000),
        boards=boards,
    ) as system:
        for cab in system.cabs:
            cab.stream.sequence = (-rng.randrange(20_000)) % (1 << 32)
        rates = {name: rng.choice([0.0, 0.02, 0.06]) for name in ("drop", "damage", "double", "delay")}
        rates[rng.choice(list(rates))] = 0.06
        print(rates)
        tamperer = Tamperer(system, [Protocol.STREAM], seed, **rates, late_us=1500)
        clients = [
            system.spawn(name, calls, (2, PORT), there[index], rng.choice([500, 4000]))
            for index, name in enumerate(("CAB1", "CAB3", "CAB3"))
        ]
        server = system.spawn("CAB2", serves, PORT, 3, back, rng.choice([700, 4000]))
        system.go()
        assert [thread.result for thread in clients] == [b"".join(back)] * 3
        assert sorted(server.result) == sorted((peer, b"".join(sends)) for peer, sends in zip((1, 3, 3), there))
        assert any(tamperer.counts.values())
        tamperer.calm()
        settle(system, 250_000)
        sound(system)


def lost(match, skip=0, count=1):
    return Rule(match, skip=skip, count=count)


#: What is lost, of packets to CAB1 (which calls) and CAB2; all but the last are made up for without a word to the
#: tasks.
LOSSES = {
    "the call": lambda: lost(lambda at, header: at == 2 and flags_of(header) & Flag.OPEN),
    "its answer": lambda: lost(lambda at, header: at == 1 and flags_of(header) & Flag.OPEN),
    "the answer's acknowledgment": lambda: lost(lambda at, header: at == 2 and not flags_of(header) & Flag.OPEN),
    "the first data": lambda: lost(lambda at, header: at == 2 and flags_of(header) & Flag.DATA),
    "data in the middle": lambda: lost(lambda at, header: at == 2 and flags_of(header) & Flag.DATA, 7),
    "data, and what repeats it": lambda: lost(
        lambda at, header: at == 2 and flags_of(header) & Flag.DATA and STREAM.unpack(header)[6] == 1 + 7 * 1004, 0, 3
    ),
    "a whole window": lambda: lost(lambda at, header: at == 2 and flags_of(header) & Flag.DATA, 5, 12),
    "acknowledgments": lambda: lost(lambda at, header: at == 1 and not flags_of(header) & Flag.OPEN, 0, 6),
    "the end": lambda: lost(lambda at, header: at == 2 and flags_of(header) & Flag.END),
    "its acknowledgment": lambda: lost(lambda at, header: at == 1 and STREAM.unpack(header)[7] == 2 + 20_000, 0, 2),
    "the other end": lambda: lost(lambda at, header: at == 1 and flags_of(header) & Flag.END, 0, 2),
}


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("what", LOSSES)
def test_a_loss_is_made_up_for(what, boards):
    with streams(boards=boards) as system:
        for cab in system.cabs:
            cab.stream.sequence = 0
        tamperer = Tamperer(system, [Protocol.STREAM])
        rule = LOSSES[what]()
        tamperer.rules.append(rule)
        client = system.spawn("CAB1", calls, (2, PORT), [pattern(20_000)])
        server = system.spawn("CAB2", serves, PORT, 1, [pattern(100)])
        system.go()
        assert client.result == pattern(100) and server.result == [(1, pattern(20_000))]
        assert rule.hits == rule.count
        settle(system, 80_000)
        sound(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_loss_in_the_middle_costs_one_packet_and_little_time(boards):
    """Repeated acknowledgments tell of it at once, what came behind it is kept: one packet is sent again, long
    before the timer would."""
    times = {}

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        begin = await cab.now_us()
        await connection.send(pattern(20_000))
        await connection.close()
        times["us"] = await cab.now_us() - begin
        await read_all(connection)
        return connection.packets_repeated

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        tamperer.rules.append(LOSSES["data in the middle"]())
        thread = system.spawn("CAB1", client)
        server = system.spawn("CAB2", serves, PORT, 1, [])
        system.go()
        assert thread.result == 1 and server.result == [(1, pattern(20_000))]
        assert times["us"] < 2 * 20 * 85
        assert system.cab("CAB2").stream.counters.early > 2
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_damaged_packet_does_no_harm_to_what_is_kept_beyond_a_gap(boards):
    """Its header may name any place of the ring, and its bytes are there before the CRC tells: what lies there must
    come again."""
    gap = 3

    def shift(header):
        fields = list(STREAM.unpack(header))
        fields[6] += 2008  # onto the next packet but one
        return STREAM.pack(*fields)

    with streams(boards=boards) as system:
        for cab in system.cabs:
            cab.stream.sequence = 0
        tamperer = Tamperer(system, [Protocol.STREAM])
        first = 1 + gap * 1004
        tamperer.rules.append(
            lost(lambda at, header: at == 2 and flags_of(header) & Flag.DATA and STREAM.unpack(header)[6] == first)
        )
        real = tamperer.rules[0]
        # The copy of the packet in the gap comes behind those beyond it: spoilt, and with a number that is too high.
        spoilt = Rule(lambda at, header: at == 2 and real.hits and STREAM.unpack(header)[6] == first, "damage")
        tamperer.rules.append(spoilt)
        receiver = system.cab("CAB2").datalink._in.protocols[Protocol.STREAM]
        packet = receiver.real.packet

        class Shifted:
            """Stands before the protocol: a spoilt packet's header has a wrong number, and its bytes are wrong."""

            def packet(self, header):
                return packet(shift(header) if receiver.spoilt else header)

            def received(self, length, good):
                return self.real.received(length, good)

        shifted = Shifted()
        shifted.real = receiver.real
        receiver.real = shifted
        client = system.spawn("CAB1", calls, (2, PORT), [pattern(12_000)])
        server = system.spawn("CAB2", serves, PORT, 1, [])
        system.go()
        assert spoilt.hits == 1 and client.result == b"" and server.result == [(1, pattern(12_000))]
        assert system.cab("CAB2").stream.counters.damaged == 1
        settle(system, 80_000)


@pytest.mark.parametrize("boards", BOARDS)
def test_a_lost_word_that_the_window_is_open_again_is_asked_for(boards):
    """The reader has made room, and the acknowledgment that says so is lost: the sender's probe finds it out."""

    async def server(cab, rule):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        await cab.sleep(10_000)
        rule.count = rule.hits + 1
        got = await read_all(connection, 1 << 16)
        await connection.close()
        return got

    with streams(
        options=StreamOptions(buffer=1 << 12, first_us=4000, most_us=10_000, idle_us=10**8, linger_us=30_000),
        boards=boards,
    ) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        rule = lost(lambda at, header: at == 1 and flags_of(header) == Flag.ACK and STREAM.unpack(header)[5] > 0, 0, 0)
        tamperer.rules.append(rule)
        client = system.spawn("CAB1", calls, (2, PORT), [pattern(9000)])
        thread = system.spawn("CAB2", server, rule)
        system.go()
        assert client.result == b"" and thread.result == pattern(9000) and rule.hits == rule.count
        settle(system)
        sound(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_an_abort_that_is_lost_is_told_at_the_next_word(boards):
    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await cab.sleep(2000)
        connection.abort()

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        with pytest.raises(PeerRestarted, match="not known at the other end"):
            await connection.receive()

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        tamperer.rules.append(lost(lambda at, header: flags_of(header) & Flag.RESET))
        system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        settle(system)
        assert system.cab("CAB1").stream.counters.unknown == 1


@pytest.mark.parametrize("boards", BOARDS)
def test_what_was_sent_twice_teaches_nothing_of_the_round_trip(boards):
    """Karn's rule: the time to the acknowledgment of a packet that was lost is no round trip. What is sent after it
    is measured again."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        means = []
        for number in range(24):
            if number in (12, 13):
                means.append(connection.endpoint.times.retry.mean)
            if number == 12:
                tamperer.rules.append(lost(lambda at, header: at == 2 and flags_of(header) & Flag.DATA))
            await connection.send(pattern(100, number))
            await cab.sleep(2000 if number != 12 else 30_000)
        means.append(connection.endpoint.times.retry.mean)
        await connection.close()
        await read_all(connection)
        assert connection.packets_repeated == 1
        return means

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        thread = system.spawn("CAB1", client)
        system.spawn("CAB2", serves, PORT, 1, [])
        system.go()
        before, during, after = thread.result
        assert 150 * 16 < before < 300 * 16, "the delay of the acknowledgment, and the way there and back"
        assert during == before
        assert after != before and 150 * 16 < after < 300 * 16
        settle(system)


@pytest.mark.parametrize("boards", BOARDS)
def test_probes_that_are_lost_are_repeated_and_then_forgotten(boards):
    """Two questions to a silent peer get lost, the third is answered: what is sent later has not to wait for longer
    because of that."""

    async def client(cab):
        connection = await cab.stream.connect((2, PORT))
        await cab.sleep(50_000)
        tries = connection.endpoint.times.tries
        await connection.close()
        assert await read_all(connection) == b""
        return tries

    async def server(cab):
        listener = cab.stream.listen(PORT)
        connection = await listener.accept()
        listener.close()
        assert await read_all(connection) == b""
        await connection.close()

    with streams(boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.STREAM])
        rule = lost(lambda at, header: at == 2 and flags_of(header) & Flag.ASK, 0, 2)
        tamperer.rules.append(rule)
        thread = system.spawn("CAB1", client)
        system.spawn("CAB2", server)
        system.go()
        assert rule.hits == 2 and thread.result == 0
        settle(system)
        sound(system)
