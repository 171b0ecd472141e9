"""Conditions (docs/kernel.md): no wake-up is lost."""

from contextlib import suppress

import pytest

from nectar.software.errors import TimedOut
from nectar.verification import seeds

from .helpers import run_task


@pytest.mark.parametrize("seed", range(4))
def test_no_wake_up_is_lost(seed):
    """Producers and consumers of a bounded buffer; some consumers are ended, others time out: each item comes out
    once."""
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
                    if len(state["out"]) == 60:
                        return
                    with suppress(TimedOut):
                        await state["some"].wait(rng.choice([None, None, 40, 200]))
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
        condition.signal()  # nobody waits: nothing happens
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
