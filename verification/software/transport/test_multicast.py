"""Reliable multicast: to those named and nobody else, in order, once, whatever happens; who has not got a message is
named.

Sources: "Network-Based Multicomputers", section 5.3.3 (fact S12); docs/transports.md.
"""

import pytest

from nectar.software.errors import MessageTooLong, MulticastFailed, NoRoute
from nectar.software.kernel.mailbox import Mailbox
from nectar.software.packet import ASK, EXCHANGE, MAX_DATA, PacketKind, Protocol, Reason
from nectar.software.transport.datagram import MAX_MESSAGE
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, pattern, receive_all
from nectar.verification.software.tamper import Rule, Tamperer
from nectar.verification.software.transport.exchange import hasten, settled, whole

BOX = 3
SIZES = [0, 1, MAX_DATA - 1, MAX_DATA, MAX_DATA + 1, 5 * MAX_DATA, MAX_MESSAGE]


def kind(header):
    """The PacketKind of a packet of the protocol."""
    return header[3] & ~ASK


async def send_each(cab, members, messages, **options):
    """A task: sends the messages one after the other; how long each took, in microseconds."""
    times = []
    for data in messages:
        begin = await cab.now_us()
        await cab.multicast.send((members, BOX), data, **options)
        times.append(await cab.now_us() - begin)
    return times


async def fails(cab, members, missing, data=b"x", **options):
    """A task whose message does not reach the members ``missing`` (dict of ID → part of the reason). How long it
    took, in microseconds."""
    begin = await cab.now_us()
    with pytest.raises(MulticastFailed, match="all others have it") as caught:
        await cab.multicast.send((members, BOX), data, **options)
    assert caught.value.missing.keys() == missing.keys()
    assert all(missing[member] in why for member, why in caught.value.missing.items())
    return await cab.now_us() - begin


@pytest.mark.parametrize(
    "topology, members, boards",
    [
        ("figure7", [2, 4, 5], "fast"),
        ("hub:4", [2, 3], "fast"),
        ("hub:2", [2], "fast"),
        ("chain:3", [2, 3], "rtl"),
        ("hub:2", [2], "rtl"),
        pytest.param("figure7", [2, 4, 5], "rtl", marks=pytest.mark.nightly),
        pytest.param("hub:4", [2, 3], "rtl", marks=pytest.mark.nightly),
    ],
)
def test_messages_of_every_size_reach_all_who_are_named(topology, members, boards):
    """By the HUBs' multicast: each fragment leaves the sender once."""
    messages = [pattern(size) for size in SIZES]
    with whole(topology, boards=boards) as system:
        sender = system.spawn("CAB1", send_each, members, messages)
        receivers = [system.spawn(f"CAB{member}", receive_all, BOX, len(messages)) for member in members]
        system.go()
        assert sender.ended
        for thread in receivers:
            assert thread.result == [(1, data) for data in messages]
        told = len(members) if len(members) > 1 else 0  # once, that they are members
        asked = len(members)  # once, which start of theirs it is
        assert system.cab("CAB1").datalink.counters.packets_sent == asked + told + sum(
            max(1, -(-size // MAX_DATA)) for size in SIZES
        )
        for cab in system.cabs:
            if cab.id not in members and cab.id != 1:
                assert cab.datalink.counters.packets_received == 0


@pytest.mark.parametrize("boards", BOARDS)
def test_nothing_is_copied_of_areas(boards):
    async def sender(cab):
        block = await cab.memory.allocate(4096)
        for number in range(3):
            cab.memory.write(block, pattern(4096, number))
            await cab.multicast.send(([2, 3], BOX), [(block + 9, 1500), (block, 0), (block, 7)])
            cab.memory.write(block, bytes(4096))
        cab.memory.free(block)

    with whole("hub:3", boards=boards) as system:
        system.spawn("CAB1", sender)
        receivers = [system.spawn(name, receive_all, BOX, 3) for name in ("CAB2", "CAB3")]
        system.go()
        for thread in receivers:
            assert thread.result == [
                (1, pattern(4096, number)[9:1509] + pattern(4096, number)[:7]) for number in range(3)
            ]


RATES = [
    dict(drop=0.1),
    dict(damage=0.1),
    dict(double=0.2),
    dict(delay=0.3),
    dict(drop=0.05, damage=0.05, double=0.1, delay=0.1),
]


def tampered(boards, seed, topology="hub:4"):
    """Every CAB sends to random sets while packets are lost, damaged, doubled and delayed. All arrives, once, in
    order for each sender's task."""
    rng = seeds.rng("multicast", seed)
    got = {}

    async def reader(cab):
        while True:
            message = await cab.mailbox(BOX).receive()
            got.setdefault((message.source, cab.id), []).append(await message.read())
            message.free()

    async def sender(cab, plan):
        for members, data in plan:
            await cab.multicast.send((members, BOX), data, timeout_us=900_000)

    with whole(topology, boards=boards, settle_us=30_000) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST], seed, **RATES[seed % len(RATES)])
        ids = [cab.id for cab in system.cabs]
        expected = {}
        for cab in system.cabs:
            cab.spawn(reader)
            others = [number for number in ids if number != cab.id]
            for task in range(rng.randrange(1, 3)):
                plan = []
                for number in range(rng.randrange(1, 6)):
                    members = rng.sample(others, rng.randrange(1, len(others) + 1))
                    data = bytes([cab.id, task, number]) + rng.randbytes(rng.choice([0, 40, 1200, 4000]))
                    plan.append((members, data))
                    for member in members:
                        expected.setdefault((cab.id, member, task), []).append(data)
                system.spawn(cab.name, sender, plan)
        system.go()
        tamperer.calm()
        settled(system, 20_000)
        seen = {}
        for (source, member), messages in got.items():
            for data in messages:
                seen.setdefault((source, member, data[1]), []).append(data)
        assert seen == expected
        return tamperer.counts


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("seed", range(5))
def test_all_arrives_once_and_in_order_whatever_happens_to_packets(seed, boards):
    assert sum(tampered(boards, seed).values()) > 0


@pytest.mark.parametrize(
    "topology, boards",
    [("figure7", "fast"), ("chain:3", "rtl"), pytest.param("figure7", "rtl", marks=pytest.mark.nightly)],
)
def test_also_across_several_hubs(topology, boards):
    tampered(boards, 9, topology)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5, 105))
def test_all_arrives_once_for_many_seeds(seed):
    tampered("fast", seed, "figure7" if seed % 2 else "hub:4")


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("lost", [PacketKind.REQUEST, PacketKind.ACK, PacketKind.HAVE])
def test_what_one_member_lacks_it_alone_is_sent(lost, boards):
    """The third of five fragments is lost at one of three members; or all, or its acknowledgment, or what it says of
    its lack."""
    data = pattern(5 * MAX_DATA)
    with whole("hub:4", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST])
        tamperer.rules.append(Rule(lambda receiver, header: receiver == 3 and header[12] == 2))
        tamperer.rules.append(Rule(lambda receiver, header: kind(header) == lost and 3 in (receiver, header[1])))
        system.spawn("CAB1", send_each, [2, 3, 4], [data])
        receivers = [system.spawn(f"CAB{member}", receive_all, BOX, 1) for member in (2, 3, 4)]
        system.go()
        assert all(thread.result == [(1, data)] for thread in receivers)
        assert all(rule.hits == 1 for rule in tamperer.rules)
        assert system.cab("CAB1").multicast.counters.repeated >= 1
        for name in ("CAB2", "CAB4"):
            assert system.cab(name).multicast.counters.duplicates == 0


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("when", ["before", "in the midst", "when it has it"])
def test_a_member_that_vanishes_is_named_and_the_others_have_the_message(when, boards):
    """Within the stated time. Later messages wait for nobody else, and reach it when it is back."""
    first = pattern(5 * MAX_DATA)
    with whole("hub:4", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST])

        def vanish(receiver, header):
            if receiver == 3 and (when == "before" or header[12] == (2 if when == "in the midst" else 4)):
                tamperer.gone.add(3)
            return when != "when it has it" and 3 in tamperer.gone and receiver == 3

        tamperer.rules.append(Rule(vanish))

        async def sender(cab):
            took = await fails(cab, [2, 3, 4], {3: "has not acknowledged"}, first, timeout_us=20_000)
            assert 20_000 <= took < 20_200
            begin = await cab.now_us()
            await cab.multicast.send(([2, 4], BOX), b"two")
            assert await cab.now_us() - begin < 200
            await fails(cab, [2, 3, 4], {3: "has not acknowledged"}, b"three", timeout_us=5_000)
            tamperer.calm()
            for data in (b"four", b"five"):
                await cab.multicast.send(([2, 3, 4], BOX), data)
            sent = cab.datalink.counters.packets_sent
            await cab.multicast.send(([2, 3, 4], BOX), b"six")
            assert cab.datalink.counters.packets_sent == sent + 1

        system.spawn("CAB1", sender)
        receivers = [system.spawn(name, receive_all, BOX, 6) for name in ("CAB2", "CAB4")]
        third = system.spawn("CAB3", receive_all, BOX, 4 if when == "when it has it" else 3)
        system.go()
        for thread in receivers:
            assert thread.result == [(1, part) for part in (first, b"two", b"three", b"four", b"five", b"six")]
        assert [part for _, part in third.result][-3:] == [b"four", b"five", b"six"]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_packet_that_strays_to_another_cab_is_not_taken_there(boards):
    """As happens when a connection of an earlier packet was not closed. And a member that was not told that it is one,
    or has forgotten it, gets a copy of its own."""
    data = pattern(3 * MAX_DATA)

    async def sender(cab):
        datalink = cab.datalink
        stray = EXCHANGE.pack(Protocol.MULTICAST, 1, 255, PacketKind.REQUEST | ASK, BOX, 0, 1, 1, 0)
        datalink.post(datalink.route(4), stray)
        await cab.multicast.send(([2, 3], BOX), data)
        assert cab.multicast.counters.repeated == 0 and system.cab("CAB3").multicast.counters.strays == 0
        await cab.multicast.send(([2, 3], BOX), data)
        assert cab.multicast.counters.repeated == 0 and system.cab("CAB3").multicast.counters.strays == 0
        system.cab("CAB3").multicast._in._senders[1].groups.clear()
        await cab.multicast.send(([2, 3], BOX), data)
        assert cab.multicast.counters.repeated == 3
        datalink.post(datalink.route(4), stray)
        await cab.sleep(500)

    with whole("hub:4", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST])
        tamperer.rules.append(
            Rule(lambda receiver, header: receiver == 3 and kind(header) == PacketKind.JOIN and any(header[12:]))
        )
        system.spawn("CAB1", sender)
        receivers = [system.spawn(name, receive_all, BOX, 3) for name in ("CAB2", "CAB3")]
        system.go()
        assert all(thread.result == 3 * [(1, data)] for thread in receivers)
        assert len(system.cab("CAB4").mailbox(BOX)) == 0
        assert system.cab("CAB4").multicast.counters.strays == 2 and system.cab("CAB3").multicast.counters.strays == 3
        assert system.cab("CAB2").multicast.counters.strays == 0


@pytest.mark.parametrize("boards", BOARDS)
def test_a_sender_that_vanishes_leaves_nothing_behind(boards):
    """What its members have of a message is dropped, the place in the mailbox given back."""
    with whole("hub:3", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST])

        def vanish(receiver, header):
            if header[12] == 3:
                tamperer.gone.add(1)
            return header[12] == 3

        tamperer.rules.append(Rule(vanish))
        system.spawn("CAB1", fails, [2, 3], {2: "", 3: ""}, pattern(5 * MAX_DATA))
        system.go()
        settled(system, 30_000)
        for name in ("CAB2", "CAB3"):
            assert system.cab(name).multicast.counters.incomplete == 1 and not system.cab(name).mailbox(BOX).full


@pytest.mark.parametrize("boards", BOARDS)
def test_a_full_mailbox_is_asked_again_until_the_time_is_up(boards):
    """The member is named, with the reason, unless a place becomes free in time."""

    async def reader(cab):
        cab.mailboxes[BOX] = Mailbox(cab.kernel, BOX, capacity=1)
        await cab.sleep(30_000)
        return await receive_all(cab, BOX, 2)

    async def sender(cab):
        await cab.multicast.send(([2, 3], BOX), b"one")
        await fails(cab, [2, 3], {2: "has no place in that mailbox"}, b"two", timeout_us=9_000)
        await cab.multicast.send(([2, 3], BOX), b"three")

    with whole("hub:3", boards=boards) as system:
        full = system.spawn("CAB2", reader)
        other = system.spawn("CAB3", receive_all, BOX, 3)
        system.spawn("CAB1", sender)
        system.go()
        assert full.result == [(1, b"one"), (1, b"three")]
        assert other.result == [(1, b"one"), (1, b"two"), (1, b"three")]


def test_a_mailbox_that_is_closed_and_a_member_without_memory_are_named():
    async def hog(cab):
        blocks = [block for block in [cab.memory.try_allocate(1024) for _ in range(16)] if block is not None]
        await cab.sleep(50_000)
        for block in blocks:
            cab.memory.free(block)

    async def sender(cab):
        system.cab("CAB2").mailbox(BOX).close()
        await cab.sleep(200)
        await fails(cab, [2, 3, 4], {2: "has closed that mailbox", 3: "has no memory"}, pattern(3000))

    with whole("hub:4", memory_bytes=1 << 14) as system:
        system.cab("CAB3").spawn(hog)
        system.spawn("CAB1", sender)
        receiver = system.spawn("CAB4", receive_all, BOX, 1)
        system.go()
        assert receiver.result == [(1, pattern(3000))]
        system.cab("CAB2").mailbox(BOX).open()


@pytest.mark.parametrize("boards", BOARDS)
def test_a_sender_that_starts_anew_counts_anew(boards):
    """Its first message has the number of one before and is delivered; a late copy of what it sent before is not."""

    async def sender(cab, *messages):
        for data in messages:
            await cab.multicast.send(([2, 3], BOX), data)
        if cab.multicast.boot == 2:
            for number in range(3):
                head = EXCHANGE.pack(Protocol.MULTICAST, 1, 2, PacketKind.REQUEST | ASK, BOX, number, 1, 0, 0)
                cab.datalink.post(cab.datalink.route(2), head)
            await cab.sleep(500)

    with whole("hub:3", boards=boards, settle_us=10_000) as system:
        system.on_restart = lambda cab: hasten(cab).spawn(sender, b"c", b"d")
        system.cab("CAB1").spawn(sender, b"a", b"b")
        system.faults.stop("CAB1", at_us=2000, for_us=500)
        receivers = [system.spawn(name, receive_all, BOX, 4) for name in ("CAB2", "CAB3")]
        system.go()
        for thread in receivers:
            assert thread.result == [(1, data) for data in (b"a", b"b", b"c", b"d")]
        settled(system, 5_000)
        assert len(system.cab("CAB2").mailbox(BOX)) == 0 and system.cab("CAB2").multicast.counters.stale == 3


GOOD = dict(
    protocol=Protocol.MULTICAST,
    source=1,
    destination=2,
    kind=PacketKind.REQUEST | ASK,
    mailbox=BOX,
    number=1,
    boot=1,
    group=1,
    word=0,
)
MALFORMED = {
    "kind 0": (dict(kind=0), 0, "malformed"),
    "kind of another protocol": (dict(kind=PacketKind.ANSWER), 0, "malformed"),
    "source is nobody": (dict(source=255), 0, "malformed"),
    "source is the receiver": (dict(source=2), 0, "malformed"),
    "for another CAB": (dict(destination=3), 0, "misdelivered"),
    "for all of a group that is not known": (dict(destination=255, group=77), 0, "strays"),
    "an acknowledgment for all": (dict(destination=255, kind=PacketKind.ACK), 0, "malformed"),
    "makes all members": (dict(destination=255, kind=PacketKind.JOIN), 0, "malformed"),
    "too long": (dict(word=MAX_MESSAGE + 1), 4, "malformed"),
    "fragment beyond the end": (dict(word=1 << 24 | 100), 4, "malformed"),
    "fewer bytes than it says": (dict(word=100), 50, "malformed"),
    "more bytes than it says": (dict(word=10), 50, "damaged"),
    "acknowledges with data": (dict(kind=PacketKind.ACK), 8, "damaged"),
    "refused for no reason": (dict(kind=PacketKind.REFUSED, word=Reason.CANCELLED), 0, "malformed"),
    "acknowledges nothing": (dict(kind=PacketKind.ACK), 0, "stale"),
    "lacks of nothing": (dict(kind=PacketKind.HAVE, word=0xFFFFFFFF), 0, "stale"),
    "of an earlier start": (dict(boot=65535), 0, "stale"),
    "of an earlier message": (dict(number=65535), 0, "stale"),
    "of the last message": (dict(number=0), 0, "duplicates"),
}


@pytest.mark.parametrize("boards", BOARDS)
def test_malformed_headers_are_counted_and_harm_nothing(boards):
    async def client(cab):
        block = await cab.memory.allocate(256)
        await cab.multicast.send(([2], BOX), b"before")
        counters = system.cab("CAB2").multicast.counters
        for name, (fields, size, counter) in MALFORMED.items():
            before = getattr(counters, counter)
            cab.datalink.post(
                cab.datalink.route(2), EXCHANGE.pack(*{**GOOD, **fields}.values()), [(block, size)] if size else []
            )
            await cab.sleep(100)
            assert getattr(counters, counter) == before + 1, name
        cab.memory.free(block)
        await cab.multicast.send(([2], BOX), b"after")

    with whole(boards=boards) as system:
        system.spawn("CAB1", client)
        receiver = system.spawn("CAB2", receive_all, BOX, 2)
        system.go()
        assert receiver.result == [(1, b"before"), (1, b"after")]


def test_wrong_arguments_are_refused():
    async def main(cab):
        send = cab.multicast.send
        with pytest.raises(NoRoute, match="no route to CAB 77"):
            await send(([2, 77], 1), b"x")
        with pytest.raises(ValueError, match="0 to 65535"):
            await send(([2], 65536), b"x")
        with pytest.raises(ValueError, match="at least one member"):
            await send(([], 1), b"x")
        with pytest.raises(ValueError, match="own sender"):
            await send(([1, 2], 1), b"x")
        with pytest.raises(ValueError, match="more than 0 us"):
            await send(([2], 1), b"x", timeout_us=0)
        with pytest.raises(TypeError, match="not str"):
            await send(([2], 1), "text")
        with pytest.raises(MessageTooLong, match="at most 65536 bytes"):
            await send(([2], 1), bytes(MAX_MESSAGE + 1))

    with whole() as system:
        system.spawn("CAB1", main)
        system.go()
