"""Members of multicasts that are dead or start anew: nobody waits for them but who sends to them, and no start of
theirs gets what another has had.

Sources: docs/transports.md, docs/errors.md.
"""

import pytest

from nectar.software.errors import MulticastFailed
from nectar.software.packet import PacketKind, Protocol
from nectar.verification import seeds
from nectar.verification.software.helpers import receive_all, simulated
from nectar.verification.software.tamper import Rule, Tamperer
from nectar.verification.software.transport.exchange import hasten, settled, whole

BOX, SERVICE = 3, 7
RTL = pytest.param("rtl", marks=pytest.mark.nightly)


async def tries(cab, members, after_us=0, count=1, timeout_us=None):
    """Multicasts; (microseconds that it took, members that do not have it) of each."""
    await cab.sleep(after_us)
    results = []
    for _ in range(count):
        begin = await cab.now_us()
        missing = {}
        try:
            await cab.multicast.send((members, BOX), bytes(100), timeout_us)
        except MulticastFailed as error:
            missing = error.missing
        results.append((await cab.now_us() - begin, missing))
    return results


async def serve(cab):
    service = cab.request.serve(SERVICE)
    while True:
        request = await service.receive()
        await request.reply(await request.read())


async def call(cab, other, count):
    """The longest of so many calls, in microseconds."""
    worst = 0
    for _ in range(count):
        begin = await cab.now_us()
        await cab.request.call((other, SERVICE), bytes(50))
        worst = max(worst, await cab.now_us() - begin)
        await cab.sleep(3000)
    return worst


@pytest.mark.parametrize("boards", ["fast", RTL])
@pytest.mark.parametrize("dead", ["from the beginning", "after a message"])
def test_a_dead_member_delays_no_message_to_living_ones(dead, boards):
    """docs/errors.md: who sends to it fails after 201 ms, whoever else sends to it; all others go on within 2 ms, on
    the same CAB too."""
    with simulated("hub:5", boards=boards) as system:
        for cab in system.cabs:
            cab.spawn(serve)
            cab.mailbox(BOX).on_arrival = lambda message: message.free() or True
        system.faults.stop("CAB3", at_us=None if dead == "from the beginning" else 1500)
        before = system.spawn("CAB1", tries, [2, 3, 4]) if dead == "after a message" else None
        failing = [system.spawn("CAB1", tries, [2, 3], 2000) for _ in range(3)]
        living = [
            system.spawn("CAB1", tries, [2, 4], 2000, 3),
            system.spawn("CAB1", tries, [4, 5], 20_000, 3),
            system.spawn("CAB5", tries, [2, 4], 2500, 3),
        ]
        calls = [
            system.spawn("CAB5", call, 4, 50),
            system.spawn("CAB4", call, 2, 50),
            system.spawn("CAB1", call, 4, 50),
        ]
        system.go()
        assert before is None or before.result[0][1] == {}
        for thread in failing:
            ((took, missing),) = thread.result
            assert 200_000 <= took <= 201_000 and missing.keys() == {3}
        for thread in living:
            assert all(took <= 2000 and not missing for took, missing in thread.result)
        assert all(thread.result <= 2000 for thread in calls)


def test_the_time_out_counts_the_wait_behind_earlier_messages():
    """And says so of the member that it has waited for in vain."""
    with simulated("hub:3") as system:
        hasten(system.cab("CAB1"))
        system.faults.stop("CAB3")
        system.cab("CAB2").mailbox(BOX).on_arrival = lambda message: message.free() or True
        first = system.spawn("CAB1", tries, [2, 3], 0, 1, 30_000)
        second = system.spawn("CAB1", tries, [2, 3], 3000, 1, 10_000)
        system.go()
        ((took, missing),) = second.result
        assert 10_000 <= took <= 10_300 and missing.keys() == {3} and "behind which it waited" in missing[3]
        ((took, missing),) = first.result
        assert 30_000 <= took <= 30_300 and missing == {3: "has not acknowledged it"}


@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_what_a_member_has_read_before_it_was_stopped_is_not_delivered_to_its_next_start(boards):
    """Its acknowledgments are lost, so the sender cannot know: the member is named. The next message reaches its new
    start."""
    got = []

    async def read(cab):
        while True:
            message = await cab.mailbox(BOX).take()
            got.append((cab.multicast.boot, await message.read()))
            message.free()

    async def send(cab):
        with pytest.raises(MulticastFailed) as caught:
            await cab.multicast.send(([2, 3], BOX), b"once")
        assert caught.value.missing.keys() == {2} and "has started anew" in caught.value.missing[2]
        tamperer.calm()
        await cab.multicast.send(([2, 3], BOX), b"next")

    with whole("hub:3", boards=boards) as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST])
        tamperer.rules.append(Rule(lambda receiver, header: header[1] == 2 and header[3] == PacketKind.ACK, count=100))
        system.on_restart = lambda cab: hasten(cab).spawn(read)
        system.cab("CAB2").spawn(read)
        system.faults.stop("CAB2", at_us=800, for_us=300)
        system.spawn("CAB1", send)
        other = system.spawn("CAB3", receive_all, BOX, 2)
        system.go()
        assert other.result == [(1, b"once"), (1, b"next")]
        assert got == [(1, b"once"), (2, b"next")]


@pytest.mark.parametrize("boards", ["fast", "rtl"])
def test_a_member_that_starts_anew_between_messages_gets_the_next_ones(boards):
    """Nothing was sent twice, so it is certain that the start before has not had them."""

    async def send(cab, *messages):
        for data, after_us in messages:
            await cab.sleep(after_us)
            await cab.multicast.send(([2, 3], BOX), data)

    with whole("hub:3", boards=boards) as system:
        again = []
        system.on_restart = lambda cab: again.append(system.spawn(hasten(cab).name, receive_all, BOX, 2))
        first = system.cab("CAB2").spawn(receive_all, BOX, 1)
        system.faults.stop("CAB2", at_us=2000, for_us=300)
        system.spawn("CAB1", send, (b"one", 0), (b"two" * 1000, 4000), (b"three", 0))
        other = system.spawn("CAB3", receive_all, BOX, 3)
        system.go()
        assert (
            [data for _, data in first.result + again[0].result]
            == [data for _, data in other.result]
            == [b"one", b"two" * 1000, b"three"]
        )
        assert system.cab("CAB1").multicast.counters.failed == 0


def restarts(seed):
    """Members are stopped and start anew while messages and acknowledgments get lost: nothing is read twice, whichever
    starts have read it."""
    rng = seeds.rng("members", seed)
    read = {}

    async def reader(cab):
        while True:
            message = await cab.mailbox(BOX).take()
            key = cab.id, await message.read()
            message.free()
            read[key] = read.get(key, 0) + 1

    async def sender(cab, task):
        for number in range(30):
            members = rng.sample([member for member in range(1, 5) if member != cab.id], rng.randrange(1, 4))
            data = bytes([cab.id, cab.multicast.boot, task, number]) + rng.randbytes(rng.choice([0, 30, 1500]))
            try:
                await cab.multicast.send((members, BOX), data)
            except MulticastFailed:
                pass
            await cab.sleep(rng.randrange(3000))

    with simulated("hub:4") as system:
        tamperer = Tamperer(system, [Protocol.MULTICAST], seed, drop=0.1)

        def start(cab):
            tamperer.follow(cab)
            hasten(cab).spawn(reader)

        system.on_restart = start
        for cab in system.cabs:
            hasten(cab).spawn(reader)
        for number in range(12):
            system.faults.stop(
                f"CAB{3 + number % 2}", at_us=2000 + 6000 * number + rng.randrange(4000), for_us=rng.randrange(50, 1500)
            )
        for name in ("CAB1", "CAB2"):
            for task in range(2):
                system.spawn(name, sender, task)
        system.go()
        settled(system, 20_000)
    assert len(read) > 100 and set(read.values()) == {1}


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_read_twice_whichever_starts_of_a_member_read_it(seed):
    restarts(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3, 60))
def test_nothing_is_read_twice_for_many_seeds(seed):
    restarts(seed)
