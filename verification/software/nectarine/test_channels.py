"""The protocol of channels: each message once and in order, whatever fibers and CABs do; credit; memory."""

import pytest

from nectar.hdl.link.symbol import MAX_PACKET
from nectar.software.errors import PeerStartedAnew, PeerStopped, TaskEnded
from nectar.software.nectarine.options import SHORT, SLOTS
from nectar.software.packet import CHANNEL, ENVELOPE, ChannelKind, Protocol
from nectar.verification.software.helpers import BOARDS, FAST_RECOVERY, pattern
from nectar.verification.software.nectarine.applications import application, run_tasks

SIZES = [0, 20, SHORT, SHORT + 1, 3000]


def message(number):
    """Bytes of message ``number``, of changing size."""
    return pattern(SIZES[number % len(SIZES)], number)


async def talk(task, other, count):
    """Sends and receives ``count`` messages at once; returns what has come."""
    handles, got = [], []
    for number in range(count):
        handles.append(await task.isend(other, message(number), number))
        if number % 3 == 2:
            got += [(await task.receive(source=other)).data for _ in range(3)]
    got += [(await task.receive(source=other)).data for _ in range(count % 3)]
    for handle in handles:
        await handle.wait()
    return got


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize(
    "fault",
    [
        "CAB1-HUB1.P0:errors=3e-4",
        "CAB1-HUB1.P0:lost-data=1e-4",
        "CAB1->HUB1.P0:lost-command=0.02",
        "*:doubled-data=1e-4",
        "*:lost-ready=0.01",
        "CAB2-HUB1.P1:errors=2e-4",
        "cut",
        "reset",
    ],
)
def test_messages_arrive_once_and_in_order_over_bad_fibers(fault, boards):
    count = 60 if boards == "fast" else 20
    faults = () if fault in ("cut", "reset") else [fault]
    with application(boards=boards, faults=faults, options=FAST_RECOVERY) as made:
        if fault == "cut":
            made.system.faults.cut("HUB1.P1", at_us=1000, for_us=20_000)
        elif fault == "reset":
            made.system.faults.add("HUB1:reset,at=2ms")
        made.spawn("a", talk, "b", count, on="CAB1")
        made.spawn("b", talk, "a", count, on="CAB2")
        made.go()
        wanted = [message(number) for number in range(count)]
        assert made.tasks["a"].result == wanted and made.tasks["b"].result == wanted


def test_a_late_receiver_makes_ten_senders_wait_and_loses_nothing():
    """Each CAB has slots of its own at the receiver: none takes another's, and no more come than there are."""
    count = SLOTS + 5
    times = {}

    async def sender(task):
        for number in range(count):
            await task.send("sink", bytes([task.number, number]), task.number)
        times[task.number] = await task.cab.now_us()

    async def sink(task):
        await task.cab.sleep(50_000)
        assert len(task.inbox.arrivals) == 10 * SLOTS
        got = [(await task.receive(source="s.9")).data for _ in range(count)]
        for _ in range(9 * count):
            got.append((await task.receive()).data)
        return got

    with application("hub:11") as made:
        for number in range(10):
            made.spawn(f"s.{number}", sender, on=f"CAB{number + 2}")
        made.spawn("sink", sink, on="CAB1")
        made.go()
        got = made.tasks["sink"].result
        assert got[:count] == [bytes([9, number]) for number in range(count)]
        for source in range(10):
            assert [data[1] for data in got if data[0] == source] == list(range(count))
        assert min(times.values()) > 50_000
        counters = [agent.channels.counters for agent in made.agents]
        assert not any(each.no_room or each.lost or each.malformed for each in counters)


@pytest.mark.parametrize("size", [50, 500])
@pytest.mark.parametrize("boards", BOARDS)
def test_a_cab_that_stops_is_an_error_for_whoever_waits_for_it(boards, size):
    """Within the time in which a call finds its server silent (docs/errors.md): 0.7 s, and 0.5 s more for a task that
    only waits for a message, or for the receiver of a long one."""

    async def dying(task):
        await task.send("waiter", b"x")
        await task.cab.sleep(5_000_000)

    async def waiter(task):
        await task.receive()
        begin = await task.cab.now_us()
        with pytest.raises(PeerStopped, match="CAB 2 is silent"):
            await task.receive(source="dying")
        return await task.cab.now_us() - begin

    async def sender(task):
        begin = await task.cab.now_us()
        with pytest.raises(PeerStopped, match="CAB 2"):
            for _ in range(SLOTS + 2):
                await task.send("dying", bytes(size))
        return await task.cab.now_us() - begin

    with application("hub:3", leaks=True, boards=boards) as made:
        made.spawn("waiter", waiter, on="CAB1")
        made.spawn("dying", dying, on="CAB2")
        made.spawn("sender", sender, on="CAB3")
        made.system.faults.stop("CAB2", at_us=1500)
        made.go(3 * 10**12)
        assert made.tasks["waiter"].result < 1_300_000
        assert made.tasks["sender"].result < (800_000 if size <= SHORT else 1_300_000)
        assert made.tasks["dying"].end.name == "STOPPED"


@pytest.mark.parametrize("boards", BOARDS)
def test_a_cab_that_starts_anew_is_noticed_and_its_new_tasks_are_reached(boards):
    async def first(task):
        await task.receive()
        await task.cab.sleep(5_000_000)

    async def second(task):
        return (await task.receive()).data

    async def sender(task):
        await task.send("first", b"before")
        await task.cab.sleep(9000)
        with pytest.raises((PeerStartedAnew, TaskEnded)):
            for _ in range(20):
                await task.send("first", bytes(300))
        await task.send("second", b"after")

    with application(leaks=True, boards=boards, options=FAST_RECOVERY) as made:
        made.spawn("sender", sender, on="CAB1")
        made.spawn("first", first, on="CAB2")
        made.system.faults.stop("CAB2", at_us=4000, for_us=2000)
        made.system.on_restart = lambda cab: made.spawn("second", second, on=cab.name)
        made.go()
        assert made.tasks["second"].result == b"after"
        assert made.tasks["first"].end.name == "STOPPED"


def test_packets_that_are_none_change_nothing_and_are_counted():
    """Sent as posted packets of the datalink, between messages."""

    def header(*, protocol=Protocol.CHANNEL, to=2, kind=ChannelKind.TELL, rest=(0, 0, 1, 1, 8, 1, 1, 0)):
        return CHANNEL.pack(protocol, 1, to, kind, *rest)

    wrong = [
        (header(kind=9), 0),
        (header(kind=0), 0),
        (header(rest=(0, 0, 0, 1, 8, 1, 1, 0)), 0),  # no boot number
        (header(rest=(0, 0, 1, 1, 99, 1, 1, 0)), 0),  # more credit than slots
        (header(rest=(0, 0, 1, 1, 8, 0, 1, 0)), 0),  # no session
        (header(rest=(0, 0, 1, 1, 8, 1, 1, 16)), 0),  # bytes where none belong
        (header(kind=ChannelKind.MESSAGE), 0),  # no envelope
        (header(kind=ChannelKind.MESSAGE, rest=(0, 0, 1, 1, 8, 1, 1, ENVELOPE.size + SHORT + 1)), 0),
        (header(to=3), 0),
    ]

    async def sender(task):
        await task.send("b", b"one")
        route = task.cab.datalink.route(2)
        block = await task.cab.memory.allocate(MAX_PACKET)
        for words, length in wrong:
            await task.cab.datalink.send(route, words, ((block, length),) if length else ())
        await task.cab.sleep(1000)
        task.cab.memory.free(block)
        await task.send("b", b"two")

    async def receiver(task):
        got = [(await task.receive()).data for _ in range(2)]
        counters = task.agent.channels.counters
        return got, counters.malformed, counters.misdelivered

    assert run_tasks((sender,), (receiver,))[1] == ([b"one", b"two"], len(wrong) - 1, 1)


@pytest.mark.parametrize("fault", ["CAB1->HUB1.P0:lost-command=0.1", "CAB2->HUB1.P1:lost-command=0.3"])
def test_messages_that_come_twice_or_out_of_order_are_counted_and_delivered_once(fault):
    """Packets or acknowledgments are lost: what comes again is known by its sequence number."""

    async def sender(task):
        for number in range(200):
            await task.send("b", bytes([number]))
            if number % 7 == 0:
                await task.cab.sleep(300)
        return task.agent.channels.counters.retries

    async def receiver(task):
        got = [(await task.receive()).data[0] for _ in range(200)]
        return got, task.agent.channels.counters.duplicates, task.agent.channels.counters.received

    retries, (got, duplicates, received) = run_tasks((sender,), (receiver,), faults=[fault], options=FAST_RECOVERY)
    assert got == list(range(200)) and received == 200
    assert retries and duplicates


def test_an_empty_message_costs_no_packet_of_its_own_where_an_answer_follows():
    """Acknowledgment and credit ride on the answers."""

    async def ping(task):
        for _ in range(50):
            await task.send("b")
            await task.receive()
        return task.agent.channels.counters.told, task.cab.datalink.counters.packets_sent

    async def pong(task):
        for _ in range(50):
            await task.receive()
            await task.send("a")

    told, packets = run_tasks((ping,), (pong,))[0]
    assert told <= 2 and packets <= 53
