"""The kernel: threads, what switching them costs, joins, exceptions, timers, locks."""

import pytest

from nectar.software.costs import PROTOTYPE, Costs
from nectar.software.errors import ProgramError
from nectar.software.kernel.lock import Lock

from .helpers import run_task, simulated


async def _cycles(cab):
    return await cab.door.now()


def test_a_thread_switch_takes_10_to_15_us():
    """Fact S2. Two threads hand the CPU to each other; nothing else costs but dispatching."""

    async def player(cab, turns, stamps):
        for _ in range(turns):
            stamps.append(await _cycles(cab))
            await cab.pause()

    async def main(cab):
        stamps = []
        threads = [cab.spawn(player, 10, stamps) for _ in range(2)]
        for thread in threads:
            await thread.join()
        return stamps

    stamps = run_task(main)
    between = [b - a for a, b in zip(stamps[2:], stamps[3:])]
    assert set(between) == {PROTOTYPE.thread_switch + PROTOTYPE.dispatch}
    assert 10 <= PROTOTYPE.thread_switch / 16 <= 15
    assert 10 <= between[0] / 16 <= 15


def test_going_on_when_nobody_else_ran_costs_no_switch():
    async def main(cab):
        before = await _cycles(cab)
        await cab.pause()
        return await _cycles(cab) - before

    assert run_task(main) == PROTOTYPE.dispatch


def test_threads_run_in_turns_and_are_never_preempted():
    """Section 6.1: coroutines, non-preemptive."""
    log = []

    async def worker(cab, name):
        for step in range(3):
            log.append((name, step, "begins"))
            cab.compute(50)
            await cab.memory.read(cab.memory.base, 64)
            log.append((name, step, "ends"))
            await cab.pause()

    with simulated() as system:
        for name in "abc":
            system.spawn("CAB1", worker, name)
        system.go()
    expected = [(name, step, what) for step in range(3) for name in "abc" for what in ("begins", "ends")]
    assert log == expected


def test_join_returns_the_result_before_and_after_the_end():
    async def child(cab, value, microseconds):
        await cab.sleep(microseconds)
        return value

    async def main(cab):
        quick, slow = cab.spawn(child, "quick", 1), cab.spawn(child, "slow", 500)
        assert not slow.ended
        with pytest.raises(RuntimeError, match="not ended yet"):
            slow.result
        results = [await slow.join(), await quick.join(), quick.result]
        assert slow.ended
        return results

    assert run_task(main) == ["slow", "quick", "quick"]


def test_join_raises_what_ended_the_thread():
    async def child(cab):
        await cab.sleep(10)
        raise KeyError("mine")

    async def main(cab):
        thread = cab.spawn(child)
        with pytest.raises(KeyError, match="mine"):
            await thread.join()
        assert isinstance(thread.error, KeyError)
        return "handled"

    assert run_task(main) == "handled"


def test_several_threads_may_join_one():
    async def child(cab):
        await cab.sleep(100)
        return 7

    async def waiter(cab, thread):
        return await thread.join()

    async def main(cab):
        thread = cab.spawn(child)
        waiters = [cab.spawn(waiter, thread) for _ in range(4)]
        return [await each.join() for each in waiters]

    assert run_task(main) == [7] * 4


def test_a_thread_cannot_join_itself():
    async def main(cab):
        with pytest.raises(RuntimeError, match="for ever"):
            await cab.kernel.current.join()

    run_task(main)


def test_an_exception_that_nobody_waits_for_ends_the_run():
    async def child(cab):
        raise ZeroDivisionError("child")

    async def main(cab):
        cab.spawn(child, name="the culprit")
        await cab.sleep(1000)

    with simulated() as system:
        system.spawn("CAB2", main)
        with pytest.raises(ProgramError, match="the culprit on CAB2.*ZeroDivisionError: child") as caught:
            system.go()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("protected", [False, True])
def test_a_task_must_be_a_function(protected):
    with simulated() as system:
        with pytest.raises(TypeError, match="a task is a function, not 5"):
            system.spawn("CAB1", 5, protected=protected)


def test_sleepers_wake_in_the_order_of_their_times_and_never_early():
    async def sleeper(cab, microseconds, log):
        began = await _cycles(cab)
        await cab.sleep(microseconds)
        slept = (await _cycles(cab) - began) / 16
        log.append((microseconds, slept))

    async def main(cab):
        log = []
        times = [700, 100, 400, 100, 30, 1000]
        for thread in [cab.spawn(sleeper, each, log) for each in times]:
            await thread.join()
        return log

    log = run_task(main)
    assert [asked for asked, _ in log] == sorted(asked for asked, _ in log)
    # Threads that wake together, and those that begin, may have to wait for each other: a switch each.
    assert all(asked <= slept <= asked + 6 * 25 for asked, slept in log)


def test_one_sleeper_alone_is_late_by_less_than_10_us():
    async def main(cab):
        late = []
        for microseconds in (50, 333, 12.5):
            began = await _cycles(cab)
            await cab.sleep(microseconds)
            late.append((await _cycles(cab) - began) / 16 - microseconds)
        return late

    assert all(0 <= late < 10 for late in run_task(main))


def test_an_earlier_timer_set_later_fires_first():
    log = []

    async def main(cab):
        for cycles in (5000, 900, 3000):
            await cab.timers.after(cycles, lambda which, now: log.append((which, now)), cycles)
        began = await _cycles(cab)
        await cab.sleep(1000)
        return began

    began = run_task(main)
    assert [which for which, _ in log] == [900, 3000, 5000]
    assert all(0 <= now - began - which < 400 or which == 5000 for which, now in log)


def test_a_cancelled_timer_never_fires():
    log = []

    async def main(cab):
        timers = [
            await cab.timers.after(cycles, lambda which, now: log.append(which), cycles)
            for cycles in (1000, 2000, 3000)
        ]
        cab.timers.cancel(timers[0])
        cab.timers.cancel(timers[2])
        await cab.sleep(500)
        cab.timers.cancel(timers[1])

    run_task(main)
    assert log == [2000]


def test_a_timer_out_of_reach_is_refused():
    async def main(cab):
        with pytest.raises(ValueError, match="reaches"):
            await cab.timers.after(1 << 31, print)

    run_task(main)


def test_computing_delays_a_timer_but_loses_none():
    """Interrupts come in while a thread computes; the sleeper runs when the thread gives the CPU away."""

    async def sleeper(cab, log):
        for _ in range(5):
            await cab.sleep(100)
            log.append(await _cycles(cab))

    async def main(cab):
        log = []
        thread = cab.spawn(sleeper, log)
        for _ in range(20):
            cab.compute(70)
            await cab.pause()
        await thread.join()
        return log

    assert len(run_task(main)) == 5


def test_a_lock_is_handed_on_in_order():
    async def worker(cab, lock, name, log):
        await lock.acquire()
        assert lock.holder is cab.kernel.current
        log.append((name, "in"))
        await cab.sleep(20)
        log.append((name, "out"))
        lock.release()

    async def main(cab):
        lock, log = Lock(cab.kernel, "the test's lock"), []
        for thread in [cab.spawn(worker, lock, name, log) for name in "abcd"]:
            await thread.join()
        assert lock.holder is None
        return log

    assert run_task(main) == [(name, what) for name in "abcd" for what in ("in", "out")]


def test_closing_runs_what_threads_want_done_at_their_end():
    log = []

    async def main(cab):
        try:
            await cab.mailbox(3).receive()
        finally:
            log.append(cab.name)

    with simulated() as system:
        for name in ("CAB1", "CAB2"):
            system.spawn(name, main)
        with pytest.raises(ProgramError, match="nothing can happen"):
            system.go()
        assert log == []
    assert sorted(log) == ["CAB1", "CAB2"]


def test_every_cost_has_a_reason_and_is_plausible():
    for name in Costs.__dataclass_fields__:
        assert len(Costs.reason(name)) > 20, name
        assert 0 < getattr(PROTOTYPE, name) <= 240, name
