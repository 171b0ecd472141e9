"""Waiting (docs/kernel.md): time-outs, threads that are ended from outside, conditions."""

import pytest

from nectar.software.costs import PROTOTYPE
from nectar.software.door import BusError
from nectar.software.errors import EndThread, MailboxFull, ThreadEnded, TimedOut
from nectar.software.kernel.mailbox import Mailbox
from nectar.software.kernel.message import Message
from nectar.verification import seeds

from .helpers import BACKENDS, LIMIT, drive, held, model, nothing_leaks, run_task


def message(cab, number=0):
    return Message(cab.memory, None, 0, source=cab.id, number=number)


# Each kind of wait: an async generator that prepares it, yields the wait as a coroutine function of (timeout_us), and clears up.

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
    await cab.pause()      # it has begun: what follows costs no switch
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


WAITS = [for_a_message, for_a_certain_message, for_room, for_a_place, for_the_memory_of_a_place, for_memory, for_a_thread, for_a_lock,
         for_a_condition, for_a_condition_with_a_lock, for_a_time]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_has_a_time_out_that_is_never_early_and_leaves_nothing(wait, backend):
    async def main(cab):
        preparation = wait(cab)
        call = await anext(preparation)
        late = []
        for timeout_us in (50, 300, 300):
            begin = await cab.door.now()
            with pytest.raises(TimedOut) as caught:
                await call(timeout_us=timeout_us)
            late.append(await cab.door.now() - begin - 16 * timeout_us)
            assert (type(caught.value) is MailboxFull) == wait.__name__.startswith(("for_room", "for_a_place", "for_the_memory")), caught.value
        await anext(preparation, None)
        assert late[1] == late[2], "the same wait is late by the same number of cycles"
        return late

    assert all(0 <= each < 10 * 16 for each in run_task(main, backend=backend))


@pytest.mark.parametrize("wait", [wait for wait in WAITS if wait is not for_a_time])
def test_a_time_out_of_0_does_not_wait(wait):
    async def main(cab):
        preparation = wait(cab)
        call = await anext(preparation)
        timers = cab.timers.running
        with pytest.raises(TimedOut):
            await call(timeout_us=0)
        assert cab.timers.running == timers
        await anext(preparation, None)

    run_task(main)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_time_out_is_as_late_as_the_handlers_way_and_the_next_dispatch(backend):
    """Exact: due t cycles after all that was posted is done; what follows is the handler's own time, read from the trace, and the dispatch."""
    async def main(cab):
        cab.door.spend(77)
        begin = await cab.door.now()
        with pytest.raises(TimedOut):
            await Mailbox(cab.kernel, 9).take(timeout_us=100)
        return begin, await cab.door.now()

    with model(backend=backend, trace=True) as system:
        thread = system.spawn("CAB1", main)
        system.go()
        begin, end = thread.result
        events = {event: cycle for cycle, event, _, _ in system.cab("CAB1").kernel.trace}
    due = begin + PROTOTYPE.timer_set + 1600
    assert 0 <= events["interrupt"] - due <= 3
    assert end == events["returned"] + PROTOTYPE.dispatch


def test_a_wait_that_is_over_in_time_leaves_no_timer():
    async def writer(cab, box):
        await cab.sleep(100)
        await box.put(message(cab, 5))

    async def main(cab):
        box = Mailbox(cab.kernel, 9)
        cab.spawn(writer, box)
        assert (await box.take(timeout_us=200)).number == 5
        assert cab.timers.running == 0
        with pytest.raises(ValueError, match="several steps"):
            await box.take(timeout_us=1e9)
        await cab.sleep(500)

    run_task(main)


def test_within_covers_several_waits_and_nests():
    async def twice(cab, microseconds):
        await cab.sleep(microseconds)
        await cab.sleep(microseconds)
        return "done"

    async def main(cab):
        assert await cab.within(300, twice(cab, 100)) == "done"
        with pytest.raises(TimedOut):
            await cab.within(150, twice(cab, 100))
        begin = await cab.now_us()
        with pytest.raises(TimedOut):
            await cab.within(1000, cab.within(50, twice(cab, 100)))
        with pytest.raises(TimedOut):
            await cab.within(50, cab.within(1000, twice(cab, 100)))
        assert 100 <= await cab.now_us() - begin < 130
        assert cab.timers.running == 0

    run_task(main)


def test_a_limit_that_is_over_while_the_thread_computes_hits_its_next_wait_only_inside():
    async def computes(cab, waits):
        cab.compute(200)
        await cab.door.now()
        if waits:
            await cab.pause()
        return "done"

    async def main(cab):
        with pytest.raises(TimedOut):
            await cab.within(100, computes(cab, True))
        assert await cab.within(100, computes(cab, False)) == "done"
        await cab.sleep(10)

    run_task(main)


# -- ending -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_thread_is_ended_in_each_kind_of_wait(wait, backend):
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
        thread.end()      # while the first has not been heard of: it is kept for the next wait
        with pytest.raises(ThreadEnded, match="ended from outside"):
            await thread.join()
        await anext(preparation, None)
        thread.end()
        return thread

    thread = run_task(main, backend=backend)
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
        for call, give in ((box.take, lambda: box.try_put(message(cab))), (lock.acquire, lock.release), (condition.wait, condition.signal), (allocate, free)):
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_thread_that_sends_is_ended_when_what_it_has_begun_is_done(backend):
    """Ended at any time of sending messages of many packets: those that arrive are whole, and nothing is left behind."""
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

    with model(backend=backend) as system:
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

    with model() as system:
        for wait in WAITS:
            if wait not in (for_a_lock, for_memory, for_the_memory_of_a_place):
                system.cab("CAB1").spawn(waiter, wait)
        drive(system.machine.run(lambda: False, LIMIT // 1000))
        assert not log
    assert len(log) == len(WAITS) - 3


# -- conditions ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(4))
def test_no_wake_up_is_lost(seed):
    """Producers and consumers of a bounded buffer; some consumers are ended, others time out: each item comes out once."""
    print("seed", seed)
    rng = seeds.rng(seed)

    async def producer(cab, state, numbers):
        for number in numbers:
            async with state["lock"]:
                while len(state["items"]) >= 3:
                    await state["room"].wait()
                state["items"].append(number)
                state["some"].signal()
            if rng.random() < 0.4:
                await cab.sleep(rng.randrange(60))

    async def consumer(cab, state):
        while len(state["out"]) < 60:
            async with state["lock"]:
                while not state["items"]:
                    try:
                        await state["some"].wait(rng.choice([None, 40, 200]))
                    except TimedOut:
                        if len(state["out"]) >= 60:
                            return
                state["out"].append(state["items"].pop(0))
                state["room"].signal()
                if len(state["out"]) == 60:
                    state["some"].broadcast()
            if rng.random() < 0.4:
                await cab.sleep(rng.randrange(60))

    async def main(cab):
        lock = cab.lock()
        state = {"lock": lock, "room": cab.condition(lock), "some": cab.condition(lock), "items": [], "out": []}
        producers = [cab.spawn(producer, state, range(start, start + 20)) for start in (0, 100, 200)]
        victims = [cab.spawn(consumer, state) for _ in range(3)]
        survivors = [cab.spawn(consumer, state) for _ in range(2)]
        for victim in victims:
            await cab.sleep(rng.randrange(400))
            victim.end()
        for thread in producers + survivors:
            await thread.join(timeout_us=100_000)
        return state["out"]

    out = run_task(main)
    assert sorted(out) == [*range(20), *range(100, 120), *range(200, 220)]


def test_signal_wakes_the_one_that_waits_longest_and_broadcast_all():
    async def waiter(cab, condition, log, name):
        await condition.wait()
        log.append(name)

    async def main(cab):
        condition, log = cab.condition(what="news"), []
        condition.signal()     # nobody waits: nothing happens
        for name in "abcde":
            cab.spawn(waiter, condition, log, name)
        await cab.sleep(200)
        condition.signal()
        condition.signal()
        await cab.sleep(200)
        assert log == ["a", "b"]
        condition.broadcast()
        await cab.sleep(200)
        return log

    assert run_task(main) == list("abcde")


def test_an_interrupt_handler_may_signal():
    async def main(cab):
        condition = cab.condition()
        await cab.timers.after(1600, lambda _, now: condition.signal())
        await condition.wait(timeout_us=200)

    run_task(main)


def test_waiting_without_the_lock_is_refused():
    async def main(cab):
        condition = cab.condition(cab.lock("my lock"), "news")
        with pytest.raises(RuntimeError, match="waits for news without holding my lock"):
            await condition.wait()

    run_task(main)


def test_a_failed_store_is_heard_of_at_a_wait_with_a_time_out_and_the_queue_is_as_before():
    async def main(cab):
        box = Mailbox(cab.kernel, 9)
        cab.door.write(0, 1)
        with pytest.raises(BusError):
            await box.take(timeout_us=100)
        assert not box.readers
        box.try_put(message(cab, 4))
        assert (await box.take()).number == 4

    run_task(main)


def test_end_thread_is_no_exception_that_programs_catch_by_chance():
    assert issubclass(EndThread, BaseException) and not issubclass(EndThread, Exception)


def test_the_leak_check_finds_what_leaks():
    async def leaks(cab, what):
        if what == "heap":
            await cab.memory.allocate(10)
        elif what == "timers":
            await cab.timers.after(1 << 30, print)
        elif what == "mailboxes":
            cab.mailbox(3).try_put(message(cab))
        else:
            await cab.domains.get()

    for what in ("heap", "timers", "mailboxes", "domains"):
        with model() as system:
            before = held(system)["CAB1"][what]
            with pytest.raises(AssertionError):
                with nothing_leaks(system):
                    system.spawn("CAB1", leaks, what)
                    system.go()
            assert held(system)["CAB1"][what] != before
