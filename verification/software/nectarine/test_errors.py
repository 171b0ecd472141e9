"""What can go wrong with messages between tasks: which error is raised, and how soon (docs/nectarine.md)."""

import re

import pytest

from nectar.software import errors
from nectar.software.errors import ProgramError, TaskEnded
from nectar.verification.software.helpers import BOARDS
from nectar.verification.software.nectarine.applications import application
from nectar.verification.software.nectarine.calls import PAGE

ROW = re.compile(r"^\| (.+?) \| `(\S+)` \| (\w+) \| (\d+|the time-out given) \|$", re.M)
ROWS = ROW.findall(PAGE.read_text())
#: Time-out that the mistakes give, in microseconds.
GIVEN = 700


async def no_task(task):
    await task.send("nobody", b"x")


async def ended_known(task):
    with pytest.raises(TaskEnded):
        await task.send("short", bytes(500))
    begin = await task.cab.now_us()
    with pytest.raises(TaskEnded):
        await task.send("short", b"x")
    return begin


async def ended_long(task):
    await task.send("short", bytes(500))


async def ended_late(task):
    await task.send("late", bytes(500))


async def stopped_short(task):
    for _ in range(9):
        await task.send("stopped", b"x")


async def stopped_long(task):
    await task.send("stopped", bytes(500))


async def stopped_receive(task):
    await task.receive(source="stopped")


async def stopped_probe(task):
    await task.probe(source="stopped", timeout_us=None)


async def stopped_select(task):
    await task.select(["long", "stopped"])


async def stopped_handle(task):
    handles = [await task.ireceive(source=source) for source in ("long", "stopped")]
    assert await task.select(handles) is handles[1]
    await handles[1].wait()


async def too_short(task):
    await task.receive(bytearray(1), source="early")


async def cancel_send(task):
    handle = await task.isend("long", b"x")
    await handle.cancel()


async def cancel_receive(task):
    handle = await task.ireceive(source="early")
    await handle.cancel()


async def late_receive(task):
    await task.receive(source="long", timeout_us=GIVEN)


async def late_send(task):
    await task.send("long", bytes(500), timeout_us=GIVEN)


async def late_wait(task):
    handle = await task.ireceive(source="long")
    try:
        await handle.wait(timeout_us=GIVEN)
    finally:
        await handle.cancel()


async def too_large(task):
    await task.buffer(1 << 24)


async def freed(task):
    buffer = await task.buffer(10)
    buffer.free()
    await task.send("long", buffer)


MISTAKES = {
    "there is no task of that name": no_task,
    "the task has ended, and the CAB has heard of it": ended_known,
    "the task has ended": ended_long,
    "the task ends without having received the message; counted from its end": ended_late,
    "the CAB has stopped; a short message, once no slot is free": stopped_short,
    "the CAB has stopped; a long message": stopped_long,
    "the CAB has stopped, and the message can come from there only": stopped_receive,
    "the CAB has stopped, and the message that is looked for can come from there only": stopped_probe,
    "the CAB of a source has stopped": stopped_select,
    "the CAB has stopped, from which alone the message of a receive can come; told by its `wait`": stopped_handle,
    "the message is longer than the buffer": too_short,
    "the message has got its slot": cancel_send,
    "the message is there": cancel_receive,
    "no message comes": late_receive,
    "nobody receives the message": late_send,
    "it takes longer": late_wait,
    "more than the data memory": too_large,
    "the buffer has been freed": freed,
}


async def makes(task, mistake):
    """A task: makes a mistake; the error, and how long that took."""
    await task.send("long", b"first")  # boot numbers are known from here on
    await task.cab.sleep(3000)
    begin = await task.cab.now_us()
    try:
        begin = await mistake(task) or begin
    except ProgramError as error:
        return error, await task.cab.now_us() - max(begin, 8000 if mistake is ended_late else 0)
    return errors.TaskEnded("as checked there"), await task.cab.now_us() - begin


async def ends(task, after_us):
    """A task that receives nothing."""
    await task.cab.sleep(after_us)


async def early(task):
    """A task that sends at once."""
    await task.send("maker", b"123")


def test_the_table_has_the_mistakes_that_are_made_here():
    assert [row[0] for row in ROWS] == list(MISTAKES)


#: What is noticed by the same watch as a receive's is not run on the RTL, where its second takes 6 s.
CASES = [
    (*row, boards)
    for boards in BOARDS
    for row in ROWS
    if boards == "fast" or row[1] not in ("`task.probe`", "`task.select`", "task.probe", "task.select")
]


@pytest.mark.parametrize("what, call, name, most, boards", CASES)
def test_a_mistake_is_the_error_of_the_table_in_its_time(what, call, name, most, boards):
    with application("hub:3", leaks="stopped" in what, boards=boards) as made:
        made.spawn("maker", makes, MISTAKES[what], on="CAB1")
        made.spawn("short", ends, 10, on="CAB2")
        made.spawn("late", ends, 8000, on="CAB2")
        made.spawn("long", ends, 12_000, on="CAB2")
        made.spawn("early", early, on="CAB2")
        if "stopped" in what:
            made.spawn("stopped", ends, 5_000_000, on="CAB3")
            made.system.faults.stop("CAB3", at_us=2000)
        made.go(3 * 10**12)
        error, took = made.tasks["maker"].result
        assert type(error) is getattr(errors, name) and len(str(error).splitlines()) == 1
        assert took <= (GIVEN + 100 if most == "the time-out given" else int(most))
