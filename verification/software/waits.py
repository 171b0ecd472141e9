"""Each kind of wait of a task, for tests of what ends them: async generators that prepare one, yield it as a
function of ``timeout_us``, and clear up."""

import pytest

from nectar.software.errors import EndThread, ThreadEnded, TimedOut
from nectar.software.kernel.mailbox import Mailbox
from nectar.software.kernel.message import Message

__all__ = ["WAITS", "for_a_lock", "for_a_time", "for_memory", "for_the_memory_of_a_place", "message"]


def message(cab, number=0):
    return Message(cab.memory, None, 0, source=cab.id, number=number)


async def for_a_message(cab):
    box = Mailbox(cab.kernel, 9)
    yield lambda timeout_us=None: box.take(timeout_us=timeout_us)
    assert not box.readers


async def for_a_certain_message(cab):
    box = Mailbox(cab.kernel, 9)
    box.try_put(message(cab, 1))
    yield lambda timeout_us=None: box.take(lambda each: each.number == 2, timeout_us)
    assert not box.readers and len(box) == 1


async def for_room(cab):
    box = Mailbox(cab.kernel, 9, 1)
    box.try_put(message(cab))
    yield lambda timeout_us=None: box.put(message(cab), timeout_us)
    assert not box.writers and len(box) == 1


async def for_a_place(cab):
    box = Mailbox(cab.kernel, 9, 1)
    kept = await box.reserve(100)
    yield lambda timeout_us=None: box.reserve(5000, timeout_us)
    assert not box.writers and box.reserved == 1
    kept.free()
    assert not box.reserved


async def for_the_memory_of_a_place(cab):
    box = Mailbox(cab.kernel, 9)
    block = await cab.memory.allocate(cab.memory.size >> 1)
    yield lambda timeout_us=None: box.reserve(cab.memory.size >> 1, timeout_us)
    assert not box.reserved
    cab.memory.free(block)


async def for_memory(cab):
    block = await cab.memory.allocate(cab.memory.size >> 1)
    yield lambda timeout_us=None: cab.memory.allocate(cab.memory.size >> 1, timeout_us)
    assert not cab.memory.awaited
    cab.memory.free(block)


async def for_a_thread(cab):
    async def long(cab):
        await cab.sleep(100_000)

    thread = cab.spawn(long)
    await cab.pause()  # it has begun: what follows costs no switch
    yield thread.join
    thread.end()
    with pytest.raises(ThreadEnded):
        await thread.join()


async def for_a_lock(cab):
    lock = cab.lock()
    await lock.acquire()
    yield lock.acquire
    assert lock.holder is cab.kernel.current
    lock.release()
    assert lock.holder is None


async def for_a_condition(cab):
    condition = cab.condition()
    yield condition.wait
    condition.broadcast()


async def for_a_condition_with_a_lock(cab):
    lock = cab.lock()
    condition = cab.condition(lock)

    async def wait(timeout_us=None):
        async with lock:
            try:
                await condition.wait(timeout_us)
            except (TimedOut, EndThread):
                assert lock.holder is cab.kernel.current
                raise

    yield wait
    assert lock.holder is None
    condition.broadcast()


async def for_a_time(cab):
    async def sleep(timeout_us=None):
        await (cab.sleep(100_000) if timeout_us is None else cab.within(timeout_us, cab.sleep(100_000)))

    yield sleep


WAITS = [
    for_a_message,
    for_a_certain_message,
    for_room,
    for_a_place,
    for_the_memory_of_a_place,
    for_memory,
    for_a_thread,
    for_a_lock,
    for_a_condition,
    for_a_condition_with_a_lock,
    for_a_time,
]
