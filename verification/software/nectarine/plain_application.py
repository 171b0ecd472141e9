"""Tasks that make every call of Nectarine; ``test_plain`` runs them with plain functions, too."""

from nectar.software.errors import BufferTooShort, TaskEnded, TimedOut, TooLate
from nectar.software.nectarine import ANY
from nectar.verification.software.helpers import pattern

__all__ = ["TASKS"]


async def first(task):
    """Sends, starts and ends tasks; returns what it has seen, with the times."""
    seen = []
    buffer = await task.buffer(70_000)
    buffer.write(pattern(70_000))
    await task.send("second", b"short", 3)
    seen.append(await task.cab.now_us())
    await task.send("second", buffer[:5000], 4)
    handle = await task.isend("second", buffer, 5)
    seen.append((await task.cab.now_us(), await handle.test()))
    await handle.wait()
    long = await task.isend("second", bytes(500), 6)
    await long.cancel()
    record = await task.spawn("third", third, on="CAB2")
    await task.send(record, b"work")
    answer = await task.receive(source=record)
    seen.append((await task.cab.now_us(), answer.data))
    await task.end("third")
    await task.cab.sleep(2000)
    try:
        await task.send("third", bytes(300))
    except TaskEnded:
        seen.append(await task.cab.now_us())
    await task.send("second", b"end", 7)
    return seen


async def second(task):
    """Receives in every way."""
    seen = []
    buffer = await task.buffer(70_000)
    found = await task.probe(timeout_us=None)
    seen.append((await task.cab.now_us(), found[0].name, *found[1:]))
    try:
        await task.receive(buffer[:2], type=3)
    except BufferTooShort:
        seen.append(await task.cab.now_us())
    await task.receive(buffer, "first", 3)
    four, five, never = (
        await task.ireceive(buffer, type=4),
        await task.ireceive(type=-(2**31) | 1 << 5),
        await task.ireceive(type=99),
    )
    ready = await task.select([five, four])
    seen.append((await task.cab.now_us(), ready is four))
    await four.wait()
    try:
        await four.cancel()
    except TooLate:
        seen.append(await task.cab.now_us())
    await five.wait()
    seen.append((await task.cab.now_us(), five.data == pattern(70_000), await never.test()))
    await never.cancel()
    try:
        await task.receive(type=98, timeout_us=50)
    except TimedOut:
        seen.append(await task.cab.now_us())
    numbers = buffer.as_type("I")
    seen.append(await numbers.read(0, 2))
    last = await task.receive(source=ANY, type=7)
    seen.append((await task.cab.now_us(), last.data))
    return seen


async def third(task):
    """Answers, and waits to be ended."""
    message = await task.receive()
    await task.send(message.source, message.data + b" done")
    await task.receive()


TASKS = [first, second]
