"""Waiting (docs/kernel.md): every wait has a time-out; and the check that nothing leaks."""

import pytest

from nectar.hdl.host.events import EventGroup, EventKind
from nectar.software.costs import PROTOTYPE
from nectar.software.door import BusError
from nectar.software.errors import MailboxFull, TimedOut
from nectar.software.kernel.mailbox import Mailbox

from .helpers import BOARDS, cycles, held, nothing_leaks, run_task, simulated
from .waits import WAITS, for_a_time, message


@pytest.mark.parametrize("boards", BOARDS)
@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_has_a_time_out_that_is_never_early_and_leaves_nothing(wait, boards):
    async def main(cab):
        preparation = wait(cab)
        call = await anext(preparation)
        late = []
        for timeout_us in (50, 300, 300):
            begin = await cab.door.now()
            with pytest.raises(TimedOut) as caught:
                await call(timeout_us=timeout_us)
            late.append(await cab.door.now() - begin - 16 * timeout_us)
            assert (type(caught.value) is MailboxFull) == wait.__name__.startswith(
                ("for_room", "for_a_place", "for_the_memory")
            ), caught.value
        await anext(preparation, None)
        assert late[1] == late[2], "the same wait is late by the same number of cycles"
        return late

    assert all(0 <= each < 10 * 16 for each in run_task(main, boards=boards))


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


@pytest.mark.parametrize("boards", BOARDS)
def test_a_time_out_is_as_late_as_the_handlers_way_and_the_next_dispatch(boards):
    """Exact: due t cycles after all that was posted is done; what follows is the handler's own time, which is
    recorded, and the dispatch."""

    async def main(cab):
        cab.door.spend(77)
        begin = await cab.door.now()
        with pytest.raises(TimedOut):
            await Mailbox(cab.kernel, 9).take(timeout_us=100)
        return begin, await cab.door.now()

    with simulated(boards=boards, recorded=EventGroup.CPU) as system:
        thread = system.spawn("CAB1", main)
        system.go()
        begin, end = thread.result
        at = cycles(system, "CAB1")
    due = begin + PROTOTYPE.timer_set + 1600
    assert 0 <= at[EventKind.INTERRUPT] - due <= 3
    assert end == at[EventKind.RETURNED] + PROTOTYPE.dispatch


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


def test_a_failed_store_is_heard_of_at_a_wait_with_a_time_out_and_the_queue_is_as_before():
    async def main(cab):
        box = Mailbox(cab.kernel, 9)
        cab.door.write(0, 1)
        with pytest.raises(BusError):
            await box.take(timeout_us=100)
        assert not box.readers
        box.try_put(message(cab, 4))
        assert (await box.take()).number == 4
        await cab.sleep(10)  # interrupts are let in again

    run_task(main)


def test_a_failed_store_is_heard_of_though_a_message_has_come_meanwhile_which_is_not_lost():
    async def main(cab):
        box = Mailbox(cab.kernel, 9)
        await cab.timers.after(400, lambda _, now: box.try_put(message(cab, 4)))
        cab.door.write(0, 1)
        cab.door.spend(1000)
        with pytest.raises(BusError):
            await box.take(timeout_us=5000)
        assert len(box) == 1 and not box.readers
        assert (await box.take()).number == 4
        await cab.sleep(10)

    run_task(main)


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
        with simulated() as system:
            before = held(system)["CAB1"][what]
            with pytest.raises(AssertionError):
                with nothing_leaks(system):
                    system.spawn("CAB1", leaks, what)
                    system.go()
            assert held(system)["CAB1"][what] != before
