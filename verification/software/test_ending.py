"""Threads that are ended from outside (docs/kernel.md), in each kind of wait."""

import pytest

from nectar.software.errors import EndThread, ThreadEnded, TimedOut
from nectar.software.kernel.lock import Lock
from nectar.software.kernel.mailbox import Mailbox

from .helpers import BOARDS, LIMIT, drive, nothing_leaks, run_task, simulated
from .waits import WAITS, for_a_lock, for_memory, for_the_memory_of_a_place, message


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_thread_is_ended_in_each_kind_of_wait(wait, boards):
    log = []

    async def waiter(cab, call):
        try:
            await call()
        finally:
            log.append("finally")
            await cab.sleep(10)
            log.append("slept")

    async def main(cab):
        preparation = wait(cab)
        call = await anext(preparation)
        thread = cab.spawn(waiter, call)
        await cab.sleep(100)
        assert not log and not thread.ended
        thread.end()
        thread.end()  # while the first has not been heard of: it is kept for the next wait
        with pytest.raises(ThreadEnded, match="ended from outside"):
            await thread.join()
        await anext(preparation, None)
        thread.end()
        return thread

    thread = run_task(main, boards=boards)
    assert log == ["finally"] and isinstance(thread.error, ThreadEnded)


def test_a_finally_clause_may_wait_when_the_thread_is_ended_once():
    log = []

    async def waiter(cab):
        try:
            await cab.sleep(1000)
        finally:
            await cab.sleep(50)
            log.append(await cab.now_us())

    async def main(cab):
        thread = cab.spawn(waiter)
        await cab.sleep(100)
        thread.end()
        with pytest.raises(ThreadEnded):
            await thread.join()

    run_task(main)
    assert 150 <= log[0] < 250


def test_ending_a_thread_that_nobody_joins_is_no_failure_and_one_that_has_not_begun_does_not_begin():
    log = []

    async def child(cab):
        log.append("began")

    async def main(cab):
        thread = cab.spawn(child)
        thread.end()
        await cab.sleep(100)
        assert thread.ended and isinstance(thread.error, ThreadEnded)
        done = cab.spawn(child)
        await done.join()
        done.end()
        assert done.result is None

    run_task(main)
    assert log == ["began"]


def test_except_exception_does_not_catch_the_end_and_a_thread_that_computes_ends_at_its_next_wait():
    async def stubborn(cab):
        while True:
            try:
                cab.compute(50)
                await cab.pause()
            except Exception:
                pass

    async def main(cab):
        thread = cab.spawn(stubborn)
        await cab.sleep(500)
        thread.end()
        with pytest.raises(ThreadEnded):
            await thread.join(timeout_us=500)

    run_task(main)


def test_locks_are_handed_on_whether_or_not_a_finally_clause_releases_them():
    async def holder(cab, lock, careful):
        if careful:
            async with lock:
                await cab.sleep(10_000)
        else:
            await lock.acquire()
            await cab.sleep(10_000)

    async def next_one(cab, lock):
        async with lock:
            return await cab.now_us()

    async def main(cab):
        for careful in (True, False):
            lock = cab.lock()
            first, second = cab.spawn(holder, lock, careful), cab.spawn(next_one, lock)
            await cab.sleep(100)
            now = await cab.now_us()
            first.end()
            assert await second.join() - now < 100
            assert lock.holder is None

    run_task(main)


def test_the_holder_of_a_guard_is_ended_or_timed_out_only_when_it_has_let_go():
    async def holder(cab, guard, log):
        async with guard:
            log.append("held")
            await cab.sleep(500)
            log.append("let go")
        await cab.sleep(500)
        log.append("never")

    async def main(cab):
        guard, log = Lock(cab.kernel, "a guard", guard=True), []
        thread, waiter = cab.spawn(holder, guard, log), cab.spawn(holder, guard, log)
        await cab.sleep(100)
        thread.end()
        waiter.end()
        with pytest.raises(ThreadEnded):
            await waiter.join()
        assert log == ["held", "let go"] * 2 and thread.ended and guard.holder is None
        with pytest.raises(TimedOut):
            await cab.within(100, holder(cab, guard, log))
        assert log == ["held", "let go"] * 3

    run_task(main)


def test_what_a_thread_was_given_goes_on_when_it_is_ended_before_it_runs():
    """A message, a lock, a block and a signal, each handed over and not taken."""

    async def run(cab, call, log, name):
        await call()
        log.append(name)

    async def main(cab):
        box, lock, condition = Mailbox(cab.kernel, 9), cab.lock(), cab.condition()
        await lock.acquire()
        block = await cab.memory.allocate(cab.memory.size >> 1)

        async def allocate():
            cab.memory.free(await cab.memory.allocate(cab.memory.size >> 1))

        def free():
            cab.memory.free(block)

        for call, give in (
            (box.take, lambda: box.try_put(message(cab))),
            (lock.acquire, lock.release),
            (condition.wait, condition.signal),
            (allocate, free),
        ):
            log = []
            first, second = (cab.spawn(run, call, log, name) for name in ("first", "second"))
            await cab.sleep(100)
            give()
            first.end()
            await second.join(timeout_us=1000)
            assert log == ["second"] and first.ended
        assert len(box) == 0 and lock.holder is None

    run_task(main)


def test_messages_that_were_not_taken_keep_their_order():
    async def main(cab):
        box = Mailbox(cab.kernel, 9)
        threads = [cab.spawn(reader, box) for _ in range(3)]
        await cab.sleep(100)
        for number in range(4):
            box.try_put(message(cab, number))
        for thread in threads:
            thread.end()
        await cab.sleep(100)
        return [(await box.take()).number for _ in range(4)]

    async def reader(cab, box):
        await box.take()

    assert run_task(main) == [0, 1, 2, 3]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_thread_that_sends_is_ended_when_what_it_has_begun_is_done(boards):
    """Ended at any time of sending messages of many packets: those that arrive are whole, and nothing is left
    behind."""

    async def sender(cab, data):
        while True:
            await cab.datagram.send((2, 1), data)

    async def main(cab, data, wait_us):
        thread = cab.spawn(sender, data)
        await cab.sleep(wait_us)
        thread.end()
        with pytest.raises(ThreadEnded):
            await thread.join(timeout_us=20_000)

    async def reader(cab, got):
        while True:
            letter = await cab.mailbox(1).take()
            got.append(await letter.read())
            letter.free()

    with simulated(boards=boards) as system:
        data, got = bytes(range(256)) * 40, []
        with nothing_leaks(system):
            system.cab("CAB2").spawn(reader, got)
            for wait_us in (5, 30, 100, 333, 700, 1500):
                system.spawn("CAB1", main, data, wait_us)
                system.go()
        assert len(got) >= 6 and set(got) == {data}


def test_closing_a_system_with_waits_of_every_kind_ends_them():
    log = []

    async def waiter(cab, wait):
        preparation = wait(cab)
        call = await anext(preparation)
        try:
            await call()
        finally:
            log.append(wait)

    with simulated() as system:
        for wait in WAITS:
            if wait not in (for_a_lock, for_memory, for_the_memory_of_a_place):
                system.cab("CAB1").spawn(waiter, wait)
        drive(system.machine.run(lambda: False, LIMIT // 1000))
        assert not log
    assert len(log) == len(WAITS) - 3


def test_end_thread_is_no_exception_that_programs_catch_by_chance():
    assert issubclass(EndThread, BaseException) and not issubclass(EndThread, Exception)
