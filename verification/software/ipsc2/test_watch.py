"""The watch of NX/2 on the RTL of the iPSC/2: nodes whose software has stopped, and slow ones (docs/nx2.md)."""

from types import SimpleNamespace

import pytest

from nectar.software.errors import PeerStopped, ProgramError, UnfinishedRun
from nectar.software.ipsc2.layout import BUFFERS, Kind
from nectar.software.ipsc2.watch import Watch
from nectar.verification.software.ipsc2.cube import cube, nx_on, tasks_on

#: Microseconds from one look to the next, here: the longest message here takes 1 ms.
PERIOD_US = 4000
#: Node 1 stops at this time, in microseconds.
STOP_US = 3000


def _watched(system, period_us=PERIOD_US):
    for node in system.cabs:
        node.messages.watch.period_us = period_us


async def _idle(task):
    await task.receive(type=99)


async def _caught(task, action):
    """(error, microseconds from the stop on) of ``await action()``."""
    try:
        await action()
    except PeerStopped as error:
        return str(error), await task.cab.now_us() - STOP_US


def _with_stopped(sender):
    """What ``sender``, a task of node 0, returns when node 1 stops."""
    with cube(1) as system:
        _watched(system)
        system.faults.stop("NODE1", at_us=STOP_US)
        tasks = {"sender": (0, sender), "silent": (1, _idle)}
        records = tasks_on(system, tasks)
        assert all(node.memory.used == 0 for node in system.cabs[:1])
        return records["sender"].result


def test_a_sender_of_short_messages_hears_that_the_node_has_stopped():
    """The hardware takes what fits into the buffers; then the node is asked, and does not answer."""

    async def sender(task):
        await task.cab.sleep(STOP_US + 100)

        async def action():
            for number in range(BUFFERS + 1):
                await task.send("silent", b"", number)

        first = await _caught(task, action)
        again = await _caught(task, lambda: task.send("silent", b"more"))
        return first, again

    (error, took), (again, later) = _with_stopped(sender)
    assert error == again == "node 1 does not answer whether it is there: it is taken for stopped"
    assert 8 * PERIOD_US < took < 11 * PERIOD_US and later - took < 1000


def test_a_message_that_the_hardware_does_not_take_is_given_up():
    """Short messages fill the FIFO of the stopped node: the channel is held until the message is aborted."""

    async def sender(task):
        await task.cab.sleep(STOP_US + 100)

        async def action():
            for number in range(BUFFERS + 1):
                await task.send("silent", bytes(100), number)

        return await _caught(task, action)

    error, took = _with_stopped(sender)
    assert error == "node 1 does not take a message that is being sent to it: it is taken for stopped"
    assert 4 * PERIOD_US < took < 7 * PERIOD_US


def test_others_are_reached_behind_a_message_that_was_given_up():
    async def sender(task):
        await task.cab.sleep(STOP_US + 100)
        handles = [await task.isend("silent", bytes(100), number) for number in range(BUFFERS)]
        for number in range(3):
            await task.send("living", bytes(100 + number), number)
        for handle in handles:
            try:
                await handle.wait()
            except PeerStopped:
                pass
        return "reached"

    async def living(task):
        return [(await task.receive()).length for _ in range(3)]

    with cube(2) as system:
        _watched(system)
        system.faults.stop("NODE1", at_us=STOP_US)
        tasks = {"sender": (0, sender), "silent": (1, _idle), "living": (3, living)}
        records = tasks_on(system, tasks)
        assert records["sender"].result == "reached" and records["living"].result == [100, 101, 102]


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_all_who_send_to_a_stopped_node_hear_of_it(dimensions):
    """Their messages wait behind the one that holds the way."""

    async def sender(task):
        await task.cab.sleep(STOP_US + 100)

        async def action():
            for number in range(BUFFERS + 1):
                await task.send("silent", bytes(100), number)

        return await _caught(task, action)

    with cube(dimensions) as system:
        _watched(system)
        system.faults.stop("NODE1", at_us=STOP_US)
        senders = {f"sender {node}": (node, sender) for node in range(2**dimensions) if node != 1}
        records = tasks_on(system, {"silent": (1, _idle), **senders})
        for name in senders:
            error, took = records[name].result
            assert error.startswith("node 1 does") and error.endswith("it is taken for stopped")
            assert took < 12 * PERIOD_US


def test_the_next_message_by_the_same_way_arrives_behind_one_that_was_given_up_while_it_waited():
    """A message of node 1 to the stopped node 3 holds the channel; one of node 0 waits behind it in the router of node
    1, and is aborted there first. Then node 1 gets what node 0 sends it, and so does node 2."""

    async def holder(task):
        await task.cab.sleep(STOP_US + 100)
        handles = [await task.isend("silent", bytes(100), number) for number in range(BUFFERS)]
        got = [(await task.receive(source="waiter")).length for _ in range(3)], await task.cab.now_us()
        for handle in handles:
            try:
                await handle.wait()
            except PeerStopped:
                return *got, await task.cab.now_us()

    async def waiter(task):
        await task.cab.sleep(STOP_US + 2000)
        error, _ = await _caught(task, lambda: task.send("silent", b"waits"))
        for number in range(3):
            await task.send("holder", bytes(40 + number))
            await task.send("other", bytes(50 + number))
        return error

    async def other(task):
        return [(await task.receive(source="waiter")).length for _ in range(3)]

    with cube(2) as system:
        _watched(system)
        system.cab("NODE1").messages.watch.period_us = 4 * PERIOD_US
        system.faults.stop("NODE3", at_us=STOP_US)
        tasks = {"silent": (3, _idle), "holder": (1, holder), "waiter": (0, waiter), "other": (2, other)}
        records = tasks_on(system, tasks)
        assert records["waiter"].result == (
            "node 3 does not take a message that is being sent to it: it is taken for stopped"
        )
        lengths, reached, freed = records["holder"].result
        assert lengths == [40, 41, 42] and records["other"].result == [50, 51, 52]
        assert reached < freed, "while the channel is still held"


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_busy_cube_goes_on_behind_messages_that_were_given_up(dimensions):
    """All send to the stopped node at once, so that their messages wait behind each other; then all to all others."""
    stopped = 2**dimensions - 1
    names = [f"living {node}" for node in range(stopped)]

    async def living(task, me):
        await task.cab.sleep(STOP_US + 100 + 50 * me)
        for _ in range(2):
            error = None
            while error is None:
                try:
                    await task.send("silent", bytes(100))
                except PeerStopped as caught:
                    error = str(caught)
            for name in names[:me] + names[me + 1 :]:
                await task.send(name, bytes(me))
        got = sorted([(await task.receive()).length for _ in range(2 * (len(names) - 1))])
        return error, got

    with cube(dimensions) as system:
        _watched(system)
        system.faults.stop(f"NODE{stopped}", at_us=STOP_US)
        tasks = {name: (node, living, node) for node, name in enumerate(names)}
        records = tasks_on(system, {"silent": (stopped, _idle), **tasks})
        for node, name in enumerate(names):
            error, got = records[name].result
            assert error.startswith(f"node {stopped} does")
            assert got == sorted([*range(node), *range(node + 1, stopped)] * 2)


def test_a_sender_of_a_long_message_hears_that_the_node_has_stopped():
    """Its first trip is taken by the hardware; the answer stays away."""

    async def sender(task):
        await task.cab.sleep(STOP_US + 100)
        return await _caught(task, lambda: task.send("silent", bytes(500)))

    error, took = _with_stopped(sender)
    assert error.startswith("node 1 does not answer") and took < 11 * PERIOD_US


@pytest.mark.parametrize("stop_us", [2400, 2700, 3000, 5000])
def test_whenever_a_node_stops_while_messages_go_to_and_fro_the_error_names_it(stop_us):
    """Also between the trips of a long message; the channel may be held then."""

    async def program(process, peer):
        buffer = await process.task.buffer(400)
        for _ in range(20):
            await process.csend(1, buffer, 400, peer, 0)
            await process.crecv(1, buffer, 400)

    with cube(1) as system:
        _watched(system)
        system.faults.stop("NODE1", at_us=stop_us)
        with pytest.raises(ProgramError, match="on NODE0 failed at .*: PeerStopped: node 1 .* it is taken for stopped"):
            nx_on(system, {(0, 0): (program, 1), (1, 0): (program, 0)})


def test_a_receiver_hears_of_it_if_the_message_can_come_from_there_only():
    async def receiver(task):
        first = await _caught(task, lambda: task.receive(source="silent"))
        return first, await _caught(task, lambda: task.receive(source="silent"))

    (error, took), (again, later) = _with_stopped(receiver)
    assert error == again and error.startswith("node 1 does not answer")
    assert took < 10 * PERIOD_US and later - took < 1000


def test_a_slow_node_is_not_given_up():
    """Its program computes during a hundred looks; its interrupt handler answers."""

    async def sender(task):
        handles = [await task.isend("slow", bytes(number), number) for number in (*range(2 * BUFFERS), 300)]
        await task.send("slow", bytes(40_000), 1)
        for handle in handles:
            await handle.wait()
        return (await task.receive(source="slow")).data

    async def slow(task):
        task.cab.compute(100 * PERIOD_US)
        got = [(await task.receive()).length for _ in range(2 * BUFFERS + 2)]
        task.cab.compute(100 * PERIOD_US)
        await task.send("sender", b"at last")
        return got

    with cube(1) as system:
        _watched(system)
        records = tasks_on(system, {"sender": (0, sender), "slow": (1, slow)})
        assert records["sender"].result == b"at last"
        assert records["slow"].result == [*range(2 * BUFFERS), 300, 40_000]
        assert system.cab("NODE0").messages.sent[Kind.ASK] >= 4


@pytest.mark.parametrize("nodes", [2, 4, 16, 32, 128])
def test_a_message_may_wait_until_each_node_has_sent_one_as_long_as_the_heap(nodes):
    """docs/nx2.md, "The watch": four looks, at 2.8 Mbyte/s, for any number of nodes."""
    heap = 1 << 19
    watch = Watch(SimpleNamespace(kernel=None, memory=SimpleNamespace(size=heap), nodes=nodes))
    assert 4 * watch.period_us == pytest.approx(nodes * heap / 2.8, abs=4)


@pytest.mark.nightly
def test_a_message_in_a_long_queue_of_many_nodes_is_not_given_up():
    """32 nodes: a message of node 0 to node 7 waits in node 1 for almost as long as 30 of the longest messages take,
    with all times 1/250. What holds the channel is a message to node 3, which has stopped."""
    share = 250

    async def holder(task):
        await task.cab.sleep(STOP_US + 100)
        with pytest.raises(PeerStopped):
            for number in range(BUFFERS + 1):
                await task.send("silent", bytes(100), number)
        return await task.cab.now_us()

    async def waiter(task):
        await task.cab.sleep(STOP_US + 2000)
        await task.send("living", b"in turns")
        return await task.cab.now_us()

    async def living(task):
        return (await task.receive()).data, await task.cab.now_us()

    with cube(5) as system:
        for node in system.cabs:
            node.messages.watch.period_us //= share
        held_us = 30 * (1 << 19) / 2.8 / share
        system.cab("NODE1").messages.watch.period_us = round(held_us / 5)  # it begins with the message
        system.faults.stop("NODE3", at_us=STOP_US)
        tasks = {"silent": (3, _idle), "holder": (1, holder), "waiter": (0, waiter), "living": (7, living)}
        records = tasks_on(system, tasks)
        data, arrived_us = records["living"].result
        assert data == b"in turns"
        assert arrived_us - STOP_US - 2000 > 0.85 * held_us


def test_a_node_that_answers_is_not_asked_for_ever():
    """So a deadlock ends the run, and tells of both."""

    async def waits(task, other):
        await task.receive(source=other)

    with cube(1) as system:
        _watched(system)
        with pytest.raises(UnfinishedRun, match=r"nothing can happen any more(.|\n)*NODE0(.|\n)*NODE1"):
            tasks_on(system, {"one": (0, waits, "two"), "two": (1, waits, "one")})
        assert [node.messages.sent[Kind.ASK] for node in system.cabs] == [4, 4]


def test_a_stopped_node_does_not_start_again():
    with cube(1) as system, pytest.raises(ProgramError, match="NODE1 does not start again on this machine"):
        system.faults.stop("NODE1", at_us=1, for_us=2)
