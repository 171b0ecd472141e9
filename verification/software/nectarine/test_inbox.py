"""Which message a receive takes: by source and type, in order."""

import pytest

from nectar.software.errors import BufferTooShort, NoSuchTask, TimedOut, TooLate
from nectar.software.nectarine import ANY
from nectar.software.nectarine.inbox import selects
from nectar.software.nectarine.options import SHORT
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nectarine.applications import application, run_tasks

SIZES = [0, 1, 99, SHORT, SHORT + 1, 1004, 5000]


@pytest.mark.parametrize(
    "selector, taken",
    [
        (5, {5}),
        (0, {0}),
        (ANY, {0, 5, 30, 31, 2**31, 2**32 - 1}),
        (-(2**31) | 1 << 5 | 1 << 30, {5, 30}),
        (-(2**31), set()),
        (2**32 - 1, {2**32 - 1}),
        (lambda type: type > 30, {31, 2**31, 2**32 - 1}),
    ],
)
def test_a_selector_takes_a_type_any_a_mask_or_what_a_function_says(selector, taken):
    """NX/2: with the sign bit set, the other bits are a mask of the types 0 to 30."""
    assert {type for type in (0, 5, 30, 31, 2**31, 2**32 - 1) if selects(selector, type)} == taken


@pytest.mark.parametrize("boards", BOARDS)
def test_messages_of_all_sizes_arrive_in_order(boards):
    async def sender(task):
        for number, size in enumerate(SIZES):
            await task.send("b", pattern(size, number), number)

    async def receiver(task):
        got = []
        for _ in SIZES:
            message = await task.receive()
            got.append((message.source.name, message.type, message.length, message.data))
        return got

    got = run_tasks((sender,), (receiver,), boards=boards)[1]
    assert got == [("a", number, size, pattern(size, number)) for number, size in enumerate(SIZES)]


@pytest.mark.parametrize("same", [False, True])
def test_receives_take_what_they_ask_for_whatever_came_before(same):
    async def sender(task):
        handles = [await task.isend("b", pattern(size, type), type) for type, size in enumerate(SIZES)]
        for handle in handles:
            await handle.wait()

    async def receiver(task):
        await task.cab.sleep(3000)
        types = [(await task.receive(type=type)).type for type in (3, 6)]
        types.append((await task.receive(type=-(2**31) | 1 << 5 | 1 << 4)).type)
        types.append((await task.receive(type=lambda type: type > 1)).type)
        types += [(await task.receive(source="a")).type for _ in range(3)]
        return types

    with application() as made:
        made.spawn("a", sender, on="CAB1")
        made.spawn("b", receiver, on="CAB1" if same else "CAB2")
        made.go()
        assert made.tasks["b"].result == [3, 6, 4, 2, 0, 1, 5]


def test_a_receive_takes_messages_of_its_source_only():
    async def sender(task, pause, data):
        await task.cab.sleep(pause)
        await task.send("c", data)

    async def receiver(task):
        late = await task.receive(source="b")
        early = await task.receive(source=["a", "b"])
        assert (late.source.name, early.source.name) == ("b", "a")
        return late.data + early.data

    assert run_tasks((sender, 0, b"first"), (sender, 900, b"second"), (receiver,))[2] == b"secondfirst"


@pytest.mark.parametrize("size", [50, 500])
@pytest.mark.parametrize("posted", [False, True], ids=["late", "early"])
def test_a_message_too_long_for_the_buffer_is_kept(size, posted):
    async def sender(task):
        await task.cab.sleep(500)
        await task.send("b", pattern(size))

    async def receiver(task):
        if not posted:
            await task.cab.sleep(1500)
        with pytest.raises(BufferTooShort, match=f"the message has {size} bytes, the buffer {size - 1}; .* is kept"):
            await task.receive(bytearray(size - 1))
        room = bytearray(size + 1)
        message = await task.receive(room)
        return message.length, bytes(room[:size])

    assert run_tasks((sender,), (receiver,))[1] == (size, pattern(size))


def test_probe_tells_what_is_there_and_leaves_it():
    async def sender(task):
        await task.send("b", b"short", 4)
        await task.send("b", pattern(300), 5)

    async def receiver(task):
        assert await task.probe() is None
        assert await task.probe(type=9, timeout_us=1000) is None
        found = await task.probe(timeout_us=None, type=5)
        assert [found[0].name, *found[1:]] == ["a", 5, 300]
        assert (await task.probe("a"))[1:] == (4, 5)
        return [(await task.receive()).length for _ in range(2)]

    assert run_tasks((sender,), (receiver,))[1] == [5, 300]


def test_select_returns_the_first_that_is_ready():
    async def sender(task, pause, size):
        await task.cab.sleep(pause)
        await task.send("c", pattern(size), 1)
        await task.send("c", b"again", 2)

    async def receiver(task):
        first, second = await task.ireceive(source="a", type=1), await task.ireceive(source="b", type=1)
        with pytest.raises(TimedOut):
            await task.select([first, second], timeout_us=100)
        assert await task.select([first, second]) is second
        await second.wait()
        assert await task.select([first, "a"]) is first
        await first.wait()
        assert await task.select(["b", "a"]) == "b"
        for _ in range(2):
            await task.receive(type=2)
        return first.data, second.data

    got = run_tasks((sender, 9000, 2000), (sender, 1000, 700), (receiver,))[2]
    assert got == (pattern(2000), pattern(700))


def test_what_has_not_come_can_be_cancelled_and_what_has_cannot():
    async def sender(task):
        await task.cab.sleep(1000)
        with pytest.raises(NoSuchTask, match="no task 'z'; there are: a, b"):
            await task.send("z", b"")
        await task.send("b", b"x", 1)
        long = await task.isend("b", pattern(500), 2)
        await task.cab.sleep(1000)
        await long.cancel()
        await task.send("b", pattern(600), 2)

    async def receiver(task):
        never = await task.ireceive(type=7)
        early = await task.ireceive(type=1)
        await never.cancel()
        assert not await early.test()
        await task.cab.sleep(4000)
        with pytest.raises(TooLate):
            await early.cancel()
        assert await early.test() and early.data == b"x"
        return (await task.receive(type=2)).length

    assert run_tasks((sender,), (receiver,))[1] == 600
