"""Tasks on nodes: the same calls as on CABs, buffers in either memory. docs/nectarine.md, "Tasks on nodes"."""

import re

import pytest

from nectar.software.errors import (
    BufferTooShort,
    CabSilent,
    MessageTooLong,
    MessageWithdrawn,
    ProgramError,
    TaskEnded,
    TimedOut,
    UnfinishedRun,
)
from nectar.software.nectarine import Computer, End
from nectar.verification.software.helpers import BOARDS, FAST_RECOVERY, drive, pattern
from nectar.verification.software.nectarine.applications import application
from nectar.verification.software.nodes import BOTH

#: Places of two tasks that send each other something: on CABs and nodes, the same and others.
PLACES = [
    ("CAB1.node", "CAB2.node"),
    ("CAB1.node", "CAB2"),
    ("CAB1", "CAB2.node"),
    ("CAB1.node", "CAB1"),
    ("CAB1.node", "CAB1.node"),
]


def run(*tasks, places=("CAB1.node", "CAB2.node"), leaks=False, **options):
    """Runs functions, each in a tuple with its arguments, as tasks ``a``, ``b``, … on ``places``; their Records."""
    with application(nodes=BOTH, leaks=leaks, **options) as made:
        for index, (function, *args) in enumerate(tasks):
            made.spawn(chr(ord("a") + index), function, *args, on=places[index])
        made.go()
        return list(made.tasks)


async def sends(task, to, messages):
    for type, data in enumerate(messages):
        await task.send(to, data, type)


async def receives(task, count):
    return [(got.source.name, got.type, got.data) for got in [await task.receive() for _ in range(count)]]


def sends_plainly(task, to, messages):
    for type, data in enumerate(messages):
        task.send(to, data, type)


def receives_plainly(task, count):
    return [(got.source.name, got.type, got.data) for got in [task.receive() for _ in range(count)]]


MESSAGES = [pattern(length) for length in (0, 1, 100, 101, 3000)]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("send, receive", [(sends, receives), (sends_plainly, receives_plainly)])
def test_messages_come_in_order_and_whole_wherever_the_tasks_are(places, send, receive):
    """Section 6.3: tasks on any CAB or node, messages between buffers in any memory; async and plain."""
    one, other = run((send, "b", MESSAGES), (receive, len(MESSAGES)), places=places)
    assert other.result == [("a", type, data) for type, data in enumerate(MESSAGES)]
    assert (one.end, one.status, one.on, other.on) == (End.RETURNED, 0, *places)


def test_on_the_rtl_as_well():
    one, other = run((sends, "b", MESSAGES[1:4]), (receives, 3), boards="rtl")
    assert other.result == [("a", type, data) for type, data in enumerate(MESSAGES[1:4])]


@pytest.mark.parametrize("length", [40, 5000])
@pytest.mark.parametrize("place", [*PLACES[0], "CAB2"])
@pytest.mark.parametrize("source, to", [("cab", "cab"), ("cab", "node"), ("node", "cab"), ("node", "node")])
def test_the_program_chooses_the_memory_of_its_buffers(source, to, place, length):
    """Section 6.3: buffers in CAB or node memory."""

    def sender(task):
        buffer = task.buffer(length + 8, memory=source)
        buffer.write(pattern(length), 8)
        task.send("b", buffer[8:])
        assert buffer.read(8, 16) == pattern(length)[:16]

    async def receiver(task):
        buffer = await task.buffer(2 * length, memory=to if place != "CAB2" else "cab")
        got = await task.receive(buffer[16:])
        assert (got.length, got.data) == (length, None)
        return await buffer.read(16, length)

    assert run((sender,), (receiver,), places=("CAB1.node", place))[1].result == pattern(length)


def test_handles_of_a_task_on_a_node():
    """isend, ireceive, test, wait, cancel, select, probe: as on a CAB."""

    async def one(task):
        wanted = await task.ireceive(type=5)
        small = bytearray(300)
        other = await task.ireceive(small, type=6)
        out = [await task.isend("b", pattern(2000, index), index) for index in range(3)]
        assert await task.select([wanted, other]) is other
        await other.wait()
        assert (bytes(small[:200]), other.length, other.source.name) == (pattern(200), 200, "b")
        for handle in out:
            assert (await handle.wait()).done and await handle.test()
        assert await task.probe(type=9) is None and await task.probe(type=7, timeout_us=200) is None
        assert not await wanted.test()
        await wanted.cancel()
        with pytest.raises(MessageWithdrawn):
            await wanted.wait()
        await task.send("b", type=3)
        source, type, length = await task.probe(timeout_us=None)
        assert (source.name, type, length) == ("b", 8, 4000)
        assert await task.select(["b"]) == "b"
        return (await task.receive(type=8)).data

    async def two(task):
        await task.send("a", pattern(200), 6)
        got = [await task.receive() for _ in range(4)]
        assert [(each.type, each.data) for each in got[:3]] == [(index, pattern(2000, index)) for index in range(3)]
        await task.send("a", pattern(4000), 8)

    for places in (("CAB1.node", "CAB2.node"), ("CAB1.node", "CAB2")):
        assert run((one,), (two,), places=places)[0].result == pattern(4000)


def test_tasks_on_nodes_start_and_end_others():
    async def child(task, number):
        await task.send("a", bytes([number]))

    async def waits(task):
        await task.receive(type=99)

    async def parent(task):
        await task.spawn("c1", child, 1, on="CAB2.node")
        await task.spawn("c2", child, 2, on="CAB2")
        await task.spawn("c3", child, 3, on="CAB1.node")
        await task.spawn("w", waits, on="CAB2.node")
        got = sorted([(await task.receive()).data[0] for _ in range(3)])
        await task.end("w")
        await task.end("b")
        return got

    with application(nodes=BOTH) as made:
        made.spawn("a", parent, on="CAB1.node")
        made.spawn("b", waits, on="CAB2.node")
        made.go()
        assert made.tasks["a"].result == [1, 2, 3]
        ends = {record.name: record.end for record in made.tasks}
        assert ends == {"a": End.RETURNED, "b": End.ENDED, "w": End.ENDED} | {
            f"c{index}": End.RETURNED for index in (1, 2, 3)
        }


@pytest.mark.parametrize("length", [10, 3000])
def test_whenever_a_task_on_a_node_is_ended_all_is_given_back(length):
    """``application`` sees to it that nothing is left."""

    async def receives(task):
        while True:
            await task.receive()

    async def ends(task, after_us):
        handles = [await task.isend("a", pattern(length)) for _ in range(3)]
        await task.cab.sleep(after_us)
        await task.end("a")
        for handle in handles:
            try:
                await handle.wait()
            except TaskEnded:
                pass

    for after_us in range(2300, 4800, 250):
        with application(nodes=BOTH) as made:
            made.spawn("a", receives, on="CAB1.node")
            made.spawn("b", ends, after_us, on="CAB2")
            made.go()
            assert made.tasks["a"].end == End.ENDED


def test_a_task_on_a_node_that_is_ended_before_it_has_begun_does_nothing():
    def never(task):
        raise AssertionError("it has run")

    async def parent(task):
        await task.end(await task.spawn("b", never, on="CAB1.node"))

    with application(nodes=BOTH) as made:
        made.spawn("a", parent, on="CAB1")
        made.go()
        assert made.tasks["b"].end == End.ENDED


def test_placement_by_a_table_and_exit():
    def leaves(task):
        task.exit(3)

    with application(nodes=BOTH, placement={"w": {"function": "leaves", "on": ["CAB2.node", "CAB1"], "count": 3}},
                     functions={"leaves": leaves}) as made:  # fmt: skip
        made.go()
        assert [(record.on, record.end, record.status) for record in made.tasks] == [
            (place, End.EXIT, 3) for place in ("CAB2.node", "CAB1", "CAB2.node")
        ]


def test_numbers_are_kept_as_the_node_keeps_them_and_converted_on_request():
    """Section 6.3: heterogeneous nodes."""

    async def sender(task):
        buffer = await task.buffer(24)
        buffer.as_type("d").write([1.5, -2.0])
        buffer[16:].as_type("word").write([7])
        await task.send("b", buffer)

    async def receiver(task):
        buffer = await task.buffer(24)
        await task.receive(buffer)
        theirs = Computer("little", 64)
        return (
            await buffer[:16].as_type("d", theirs).read(),
            await buffer[16:].as_type("word", theirs).read(),
            await buffer[:16].as_type("d").read(),
        )

    with application(nodes=BOTH) as made:
        made.system.node("CAB1").computer = Computer("little", 64)
        made.spawn("a", sender, on="CAB1.node")
        made.spawn("b", receiver, on="CAB2")
        made.go()
        numbers, words, wrong = made.tasks["b"].result
        assert numbers == [1.5, -2.0] and words == [7] and wrong != numbers


def test_errors_are_those_of_tasks_on_cabs():
    async def one(task):
        with pytest.raises(TimedOut):
            await task.receive(type=99, timeout_us=300)
        with pytest.raises(BufferTooShort, match="the message has 500 bytes, the buffer 400; the message is kept"):
            await task.receive(bytearray(400), source="b")
        assert (await task.receive(source="b")).data == pattern(500)
        with pytest.raises(ValueError, match="the type of a message"):
            await task.send("b", b"x", -1)
        with pytest.raises(ProgramError, match="there is no task 'nobody'"):
            await task.send("nobody", b"x")
        with pytest.raises(MessageTooLong, match="from a node's memory has at most 65536 bytes"):
            await task.send("b", bytes(65_537))
        with pytest.raises(ProgramError, match=r"task a runs on CAB1\.node, not on a CAB"):
            task.cab.compute(1)
        with pytest.raises(ValueError, match="'cab' or 'node'"):
            await task.buffer(1, memory="disk")
        await task.send("b", b"go on")
        await task.on.sleep(3000)
        with pytest.raises(TaskEnded):
            await task.send("b", pattern(200))

    async def two(task):
        await task.send("a", pattern(500))
        await task.receive()
        with pytest.raises(ProgramError, match="its buffers lie in CAB memory, not 'node'"):
            await task.buffer(1, memory="node")

    run((one,), (two,), places=("CAB1.node", "CAB2"))
    with (
        application(nodes=["CAB1"], leaks=True) as made,
        pytest.raises(ProgramError, match="task a is placed on 'CAB2.node'; there are: CAB1, CAB2, CAB1.node"),
    ):
        made.spawn("a", one, on="CAB2.node")


def test_an_exception_ends_the_application_with_the_line_of_the_task():
    async def fails(task):
        await task.on.sleep(100)
        raise ValueError("boo")

    async def waits(task):
        await task.receive()

    with application(nodes=BOTH, leaks=True) as made:
        made.spawn("a", fails, on="CAB1.node")
        made.spawn("b", waits, on="CAB2.node")
        made.spawn("c", waits, on="CAB2")
        with pytest.raises(ProgramError, match=r"task a on CAB1\.node failed at .*: ValueError: boo"):
            made.go()
        assert [record.end for record in made.tasks] == [End.FAILED, End.ENDED, End.ENDED]


def test_a_task_on_a_node_that_waits_for_ever_does_not_poll_for_ever():
    async def waits(task):
        await task.receive(source="b", type=7)

    with application(nodes=BOTH, leaks=True) as made:
        made.spawn("a", waits, on="CAB1.node")
        made.spawn("b", waits, on="CAB2.node")
        with pytest.raises(UnfinishedRun) as caught:
            drive(made.run(10**13))
        words = r"task a on CAB1\.node, task b on CAB2\.node wait in receive from b, type 7 \(.*test_nodes\.py:\d+\)"
        assert re.fullmatch(rf"nothing can happen any more at \S+ s: {words}", str(caught.value))


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("at", ["2700us", "6ms"])
def test_a_cab_that_stops_ends_the_calls_of_its_node(at, boards):
    """While the process polls, and while it sleeps."""

    async def one(task):
        with pytest.raises(CabSilent, match="the CAB of CAB1.node has stopped"):
            await task.receive(type=7)
        await task.on.sleep(100)
        return "goes on"

    with application(nodes=BOTH, leaks=True, faults=[f"CAB1:stop,at={at}"], boards=boards) as made:
        made.spawn("a", one, on="CAB1.node")
        made.go()
        assert made.tasks["a"].result == "goes on"


@pytest.mark.parametrize("where", ["spin", "sleep"])
def test_a_cab_that_starts_anew_ends_the_calls_of_its_node(where):
    """docs/nectarine.md: CabSilent; the CAB has nothing of the task any more."""

    async def one(task):
        if where == "sleep":
            await task.on.sleep(100)
        with pytest.raises(CabSilent):
            await task.receive(type=7)
        ended.append(task.name)

    ended = []

    with application(nodes=BOTH, faults=["CAB1:stop,at=%s,for=1ms" % ("3ms" if where == "spin" else "6ms")]) as made:
        made.spawn("a", one, on="CAB1.node")
        made.go()
        assert ended == ["a"]


def test_a_node_that_stops_ends_its_tasks():
    async def one(task):
        await task.receive(type=7)

    async def other(task, system):
        await task.cab.sleep(5000)
        system.stop_node("CAB1")

    with application(nodes=BOTH, leaks=True) as made:
        made.spawn("a", one, on="CAB1.node")
        made.spawn("b", other, made.system, on="CAB2")
        made.go()
        assert made.tasks["a"].end == End.STOPPED


def test_messages_of_nodes_come_through_bad_fibers():
    messages = [pattern(length, 3) for length in (10, 5000, 100, 3000, 70, 9000)]
    _, other = run(
        (sends, "b", messages),
        (receives, len(messages)),
        faults=["*:errors=1e-4"],
        options=FAST_RECOVERY,
    )
    assert other.result == [("a", type, data) for type, data in enumerate(messages)]
