"""Long messages: pulled from buffer to buffer, in pieces of 64 kbyte, two at once; what becomes of one that is
interrupted."""

import pytest

from nectar.software.errors import MessageWithdrawn, TaskEnded, TimedOut
from nectar.verification.software.helpers import BOARDS, FAST_RECOVERY, pattern
from nectar.verification.software.nectarine.applications import application, run_tasks


async def sends(task, length):
    """A task: sends a buffer."""
    buffer = await task.buffer(length)
    buffer.write(pattern(length))
    await task.send("b", buffer, 1)
    return task.agent.cab.request.counters.requests


async def receives(task, length):
    """A task: receives a message into a buffer, between bytes that must stay."""
    buffer = await task.buffer(length + 8)
    buffer.write(b"before", 0)
    buffer.write(b"\7\7", length + 6)
    message = await task.receive(buffer[6 : length + 6])
    assert (message.length, message.type, message.data) == (length, 1, None)
    assert await buffer.read() == b"before" + pattern(length) + b"\7\7"
    return task.copies.cpu_in


@pytest.mark.parametrize("length", [101, 1004, 1005, 65_536, 65_537, 200_000])
def test_the_bytes_come_straight_into_the_buffer_in_pieces(length):
    requests, copied = run_tasks((sends, length), (receives, length))
    assert (requests, copied) == (-(-length // 65_536), 0)


def test_they_do_on_the_rtl():
    assert run_tasks((sends, 70_001), (receives, 70_001), boards="rtl") == [2, 0]


@pytest.mark.parametrize("boards", BOARDS)
def test_two_pieces_are_under_way_at_a_time(boards):
    """So that the fiber is not idle while the next piece is asked for."""

    async def receiver(task):
        buffer = await task.buffer(4 * 65_536)
        await task.receive(buffer, timeout_us=None)
        begin = await task.cab.now_us()
        await task.receive(buffer)
        return 8 * 4 * 65_536 / (await task.cab.now_us() - begin)

    async def sender(task):
        buffer = await task.buffer(4 * 65_536)
        for _ in range(2):
            await task.send("b", buffer)

    mbits = run_tasks((sender,), (receiver,), boards=boards)[1]
    assert mbits > 94


@pytest.mark.parametrize(
    "fault", ["*:errors=2e-5", "*:lost-command=0.01", "*:lost-data=1e-5", "CAB2:cut,at=9ms,for=12ms"]
)
def test_they_come_unharmed_over_bad_fibers(fault):
    assert run_tasks((sends, 150_000), (receives, 150_000), faults=[fault], options=FAST_RECOVERY)[1] == 0


@pytest.mark.parametrize("early", [False, True])
def test_a_receive_that_runs_out_of_time_leaves_the_message_for_the_next(early):
    """While it is being pulled."""

    async def receiver(task):
        buffer = await task.buffer(60_000)
        await task.cab.sleep(8000)
        with pytest.raises(TimedOut):
            if early:
                handle = await task.ireceive(buffer)
                await handle.wait(timeout_us=1000)
            else:
                await task.cab.within(1000, task.receive(buffer))
        if early:
            await handle.wait()
        else:
            assert (await task.probe())[2] == 60_000
            await task.receive(buffer)
        return await buffer.read() == pattern(60_000)

    assert run_tasks((sends, 60_000), (receiver,))[1]


@pytest.mark.parametrize("after_us", [300, 3000, 6000])
def test_a_receiver_that_is_ended_while_it_pulls_is_an_error_of_the_sender(after_us):
    async def sender(task):
        buffer = await task.buffer(60_000)
        buffer.write(pattern(60_000))  # until 2.1 ms; it is pulled until 7.2 ms
        with pytest.raises(TaskEnded):
            await task.send("receiver", buffer)

    async def receiver(task):
        await task.receive(await task.buffer(60_000))
        await task.receive()

    async def killer(task):
        await task.cab.sleep(after_us)
        await task.end("receiver")

    with application("hub:3") as made:
        made.spawn("receiver", receiver, on="CAB2")
        made.spawn("sender", sender, on="CAB1")
        made.spawn("killer", killer, on="CAB3")
        made.go()


@pytest.mark.parametrize("cab", ["CAB1", "CAB2"])
def test_a_message_that_is_withdrawn_while_a_receive_begins_is_not_received(cab):
    """Whatever meets on the way: the receive waits for the next message."""

    async def sender(task, pause):
        handle = await task.isend("receiver", bytes(5000), 1)
        await task.cab.sleep(pause)
        try:
            await handle.cancel()
        except Exception:
            await handle.wait()
        else:
            with pytest.raises(MessageWithdrawn):
                await handle.wait()
        await task.send("receiver", pattern(300), 1)

    async def receiver(task):
        got = [await task.receive(type=1)]
        while got[-1].length != 300:
            got.append(await task.receive(type=1))
        return got[-1].data == pattern(300)

    for pause in range(0, 120, 8):
        with application() as made:
            made.spawn("sender", sender, pause, on="CAB1")
            made.spawn("receiver", receiver, on=cab)
            made.go()
            assert made.tasks["receiver"].result
