"""Claims about the watchdog (H20): what stands still is ended after its time and before twice of it, and fresh
traffic works. Run by ``test_hub.py``."""

from nectar.hdl.hub.commands import FORCE, Error, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import Control, command, packet

from ..testbench import CLOSE_ALL, HUB, claim

#: Binary logarithm of the time that the claims set, and the time, in cycles.
LOG = 9
TIME = 1 << LOG
#: Cycles by which what the pins show may differ from what happens inside: a command's way in and a reply's way out, in
#: turns with all ports.
BLUR = 60


async def set_time(tb, manager):
    """Sets the watchdog's time."""
    assert await tb.ask(manager, Op.WATCHDOG_TIME_REPLY, LOG) == (True, LOG)


async def until(tb, happened):
    """Runs until ``await happened()``; returns the cycles that it took, at most three times the watchdog's time."""
    begin = tb.agents.now
    while not await happened():
        assert tb.agents.now - begin < 3 * TIME, "the watchdog has not acted"
    return tb.agents.now - begin


def timely(cycles):
    """Whether something was ended in time, as far as the pins tell."""
    return TIME - BLUR <= cycles <= 2 * TIME + 2 * BLUR


@claim(ports=3, timeout_ms=10, needs=("monitor",))
async def a_connection_that_stands_still_is_closed_in_time(tb):
    """docs/hub.md, watchdog: after the time and before twice of it; its output's ready bit is set, one time-out is
    counted, late data are dropped."""
    manager, source, target = tb.some(3)
    await set_time(tb, manager)
    for wait in (0, 100, 300):
        tb.send(source, [None] * wait, command(Op.OPEN, HUB, target), [int(Control.END)])
        tb.order(source, Op.LOWER_READY, target)
        sums = await tb.errors(source, manager)
        await tb.run(wait + 30)

        async def closed():
            return await tb.owner(target, manager) is None

        cycles = await until(tb, closed)
        assert timely(cycles), f"closed after {cycles} cycles"
        assert await tb.ready_bit(target, manager) == 1
        before = len(tb.data(target))
        tb.send(source, packet([1]))
        await tb.drain()
        assert len(tb.data(target)) == before and await tb.errors(source, manager) == sums + 2
    assert await tb.counters(source, manager) == {
        CounterId.OPENED: 3,
        CounterId.PACKETS: 3,
        CounterId.NO_CONNECTION: 3,
        CounterId.TIMED_OUT: 3,
    }
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=10, needs=("locks",))
async def locks_of_an_input_that_does_nothing_are_given_back(tb):
    """docs/hub.md, watchdog: all locks of the input, at once; those of an input that goes on are kept."""
    manager, source, active, target = tb.some(4)
    await set_time(tb, manager)
    tb.order(active, Op.LOCK, manager)
    tb.order(source, Op.LOCK, target)
    tb.order(source, Op.LOCK, active)
    await tb.run(30)
    for _ in range(8):
        tb.send(active, [None] * (TIME // 2 - 1), command(Op.CLOSE_MINE, HUB, 0))

    async def unlocked():
        return await tb.locker(target, manager) is None

    assert timely(await until(tb, unlocked))
    assert await tb.locker(active, manager) is None and await tb.locker(manager, manager) == active
    assert await tb.ready_bit(target, manager) == 1
    tb.order(active, Op.UNLOCK_MINE, 0)
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=20, needs=("locks",))
async def a_command_that_waits_is_given_up_in_time(tb):
    """docs/hub.md, watchdog: refused as GIVEN_UP; the ready bit that it waited for is set unless another input is
    connected there."""
    manager, source, owner, target = tb.some(4)
    await set_time(tb, manager)
    for op, taken in (
        (Op.OPEN_RETRY_REPLY, True),
        (Op.TEST_OPEN_RETRY_REPLY, True),
        (Op.LOCK_RETRY_REPLY, True),
        (Op.AWAIT_READY_REPLY, True),
        (Op.AWAIT_READY_REPLY, False),
    ):
        await tb.done(manager, Op.FORCE_READY_REPLY, target)
        if taken:
            for n in range(8):
                tb.send(
                    owner,
                    command(Op.OPEN if n < 6 else Op.CLOSE, HUB, target),
                    command(Op.LOCK if n < 6 else Op.UNLOCK_MINE, HUB, target),
                    [None] * (TIME // 2),
                )
            await tb.run(30)
        before = len(tb.replies(source))
        tb.send(source, command(op, HUB, target), packet([1]), command(Op.ECHO_REPLY, HUB, 2))
        begin = tb.agents.now
        await tb.pins.until(lambda: len(tb.replies(source)) > before, 3 * TIME, "the command is given up")
        assert timely(tb.agents.now - begin), f"{op!r} was given up after {tb.agents.now - begin} cycles"
        await tb.run(60)
        assert tb.replies(source)[before:] == [[op & ~1, HUB, Error.GIVEN_UP], [Op.ECHO_REPLY, HUB, 2]], (
            "what follows goes on"
        )
        assert await tb.ready_bit(target, manager) == (not taken)
        tb.ends[owner].outbox.clear()
        tb.send(owner, [int(Control.END)], CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
        await tb.drain()
    await tb.done(manager, Op.FORCE_READY_REPLY, FORCE | target)
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=10, needs=("monitor",))
async def commands_that_wait_behind_one_another_are_given_up_one_in_twice_of_the_time(tb):
    """docs/hub.md, watchdog: the time of each begins when it comes to the head, so a queue is empty after as many
    time-outs, and two more, as there are commands in it.
    """
    manager, source, owner, target = tb.some(4)
    await set_time(tb, manager)
    # The counters' first round behind a reset is longer than the watchdog's time; in a round a name counts once.
    await tb.run(20 * tb.ports)
    for number in range(24):
        tb.send(owner, command(Op.OPEN, HUB, target), [number], [None] * (TIME // 2))
    await tb.run(30)
    ops = [Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_RETRY_REPLY, Op.OPEN_RETRY_REPLY]
    for op in ops:
        tb.send(source, command(op, HUB, target), packet([1, 2, 3]))
    begin = tb.agents.now
    for number, op in enumerate(ops):
        await tb.pins.until(lambda count=number: len(tb.replies(source)) > count, 3 * TIME, "the next is given up")
        assert tb.replies(source)[number:] == [[op & ~1, HUB, Error.GIVEN_UP]]
        cycles, begin = tb.agents.now - begin, tb.agents.now
        assert timely(cycles), f"number {number} was given up after {cycles} cycles"
    await tb.run(30)
    assert await tb.done(manager, Op.STATUS_QUEUE, source) == 0
    assert await tb.counter(source, CounterId.TIMED_OUT, manager) == len(ops)
    tb.ends[owner].outbox.clear()
    tb.send(owner, CLOSE_ALL)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=10, needs=("monitor",))
async def half_a_command_is_taken_back_in_time(tb):
    """docs/hub.md, watchdog: what still comes of it is dropped without being counted; the next command is obeyed."""
    manager, source, target = tb.some(3)
    await set_time(tb, manager)
    for length in (1, 2, 3):
        sums = await tb.errors(source, manager)
        frame = command(Op.OPEN_REPLY, HUB, target)
        tb.send(source, frame[:length])

        async def counted():
            return await tb.errors(source, manager) == sums + 1

        assert timely(await until(tb, counted))
        tb.send(source, frame[length:])
        await tb.drain()
        assert not tb.replies(source) and await tb.owner(target, manager) is None
        assert await tb.errors(source, manager) == sums + 1
    assert await tb.counters(source, manager) == {CounterId.TIMED_OUT: 3}
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_symbol_that_cannot_leave_is_dropped_in_time(tb):
    """docs/hub.md, watchdog: behind a fiber that takes nothing; the queue drains, a start that is dropped sends its
    ready, the source may go on."""
    manager, source, target = tb.some(3)
    await set_time(tb, manager)
    tb.ends[target].take = lambda cycle: False
    tb.send(source, command(Op.OPEN, HUB, target), packet(bytes(20)), packet([1]), CLOSE_ALL)
    await tb.run(40)

    async def drained():
        return await tb.done(manager, Op.STATUS_QUEUE, source) == 0

    assert timely(await until(tb, drained))
    await tb.run(20)
    assert tb.readies(source) == 2
    assert await tb.owner(target, manager) is None and await tb.ready_bit(target, manager) == 1
    tb.ends[target].take = lambda cycle: True
    await tb.drain()
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=10)
async def what_moves_is_left_alone_and_what_stands_is_ended_for_all_at_once(tb):
    """docs/hub.md, watchdog: a multicast that stands still loses all branches; a connection that sends a symbol now
    and then lives; several may end at once."""
    manager, still, busy, target = tb.some(4)
    await set_time(tb, manager)
    for port in (busy, target):
        tb.order(still, Op.OPEN, port)
    tb.order(target, Op.OPEN, still)
    tb.order(busy, Op.OPEN, manager)
    # At once: until a HUB with connections is seen to be quiet, a watchdog of a large one has expired.
    for _ in range(12):
        tb.send(busy, [None] * (TIME - BLUR), [0x55])
    await tb.run(2 * TIME + BLUR)
    assert [await tb.owner(port, manager) for port in (busy, target, still, manager)] == [None, None, None, busy]
    await tb.run(4 * TIME)
    assert await tb.owner(manager, manager) == busy and await tb.errors(busy, manager) == 0
    assert await tb.errors(still, manager) == await tb.errors(target, manager) == 1
    tb.ends[busy].outbox.clear()
    tb.send(busy, CLOSE_ALL)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def the_watchdog_can_be_turned_off(tb):
    """docs/hub.md, watchdog: 0 turns it off; a new time counts from then on."""
    manager, source, target = tb.some(3)
    assert await tb.ask(manager, Op.WATCHDOG_TIME_REPLY, 0) == (True, 0)
    tb.order(source, Op.OPEN, target)
    tb.send(source, command(Op.OPEN, HUB, manager)[:2])
    await tb.run(6 * TIME)
    assert await tb.owner(target, manager) == source and await tb.errors(source, manager) == 0
    await set_time(tb, manager)

    async def closed():
        return await tb.owner(target, manager) is None

    assert timely(await until(tb, closed))
    await tb.finish(judged=False)


@claim(ports=2, timeout_ms=10, needs=("locks",))
async def idle_tells_whether_the_watchdog_watches_something(tb):
    """docs/hub.md, pins: while something is held the clock must not stop, and when it has been ended the HUB is idle
    again."""
    source, target = tb.some(2)
    await set_time(tb, target)
    await tb.rest()
    for frame in (command(Op.OPEN, HUB, target), command(Op.LOCK, HUB, target), command(Op.OPEN, HUB, target)[:2]):
        tb.send(source, frame)
        await tb.run(200)
        assert not any(tb.agents.recording.idle[-100:])
        # The walker of the counters finds the last event, and goes once more through all ports, 3 cycles at each.
        limit = 3 * TIME + 3 * 3 * tb.ports
        await tb.pins.until(lambda: tb.agents.recording.idle[-1], limit, "idle again")
    tb.send(source, [int(Control.END)], CLOSE_ALL)
    await tb.finish(judged=False)
