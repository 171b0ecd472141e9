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


async def set_time(scene, manager):
    """Sets the watchdog's time."""
    assert await scene.ask(manager, Op.WATCHDOG_TIME_REPLY, LOG) == (True, LOG)


async def until(scene, happened):
    """Runs until ``await happened()``; returns the cycles that it took, at most three times the watchdog's time."""
    begin = scene.agents.now
    while not await happened():
        assert scene.agents.now - begin < 3 * TIME, "the watchdog has not acted"
    return scene.agents.now - begin


def timely(cycles):
    """Whether something was ended in time, as far as the pins tell."""
    return TIME - BLUR <= cycles <= 2 * TIME + 2 * BLUR


@claim(ports=3, timeout_ms=10, needs=("monitor",))
async def a_connection_that_stands_still_is_closed_in_time(scene):
    """docs/hub.md, watchdog: after the time and before twice of it; its output's ready bit is set, one time-out is
    counted, late data are dropped."""
    manager, source, target = scene.some(3)
    await set_time(scene, manager)
    for wait in (0, 100, 300):
        scene.send(source, [None] * wait, command(Op.OPEN, HUB, target), [int(Control.END)])
        scene.order(source, Op.LOWER_READY, target)
        sums = await scene.errors(source, manager)
        await scene.run(wait + 30)

        async def closed():
            return await scene.owner(target, manager) is None

        cycles = await until(scene, closed)
        assert timely(cycles), f"closed after {cycles} cycles"
        assert await scene.ready_bit(target, manager) == 1
        before = len(scene.data(target))
        scene.send(source, packet([1]))
        await scene.drain()
        assert len(scene.data(target)) == before and await scene.errors(source, manager) == sums + 2
    assert await scene.counters(source, manager) == {
        CounterId.OPENED: 3,
        CounterId.PACKETS: 3,
        CounterId.NO_CONNECTION: 3,
        CounterId.TIMED_OUT: 3,
    }
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=4, timeout_ms=10, needs=("locks",))
async def locks_of_an_input_that_does_nothing_are_given_back(scene):
    """docs/hub.md, watchdog: all locks of the input, at once; those of an input that goes on are kept."""
    manager, source, active, target = scene.some(4)
    await set_time(scene, manager)
    scene.order(active, Op.LOCK, manager)
    scene.order(source, Op.LOCK, target)
    scene.order(source, Op.LOCK, active)
    await scene.run(30)
    for _ in range(8):
        scene.send(active, [None] * (TIME // 2 - 1), command(Op.CLOSE_MINE, HUB, 0))

    async def unlocked():
        return await scene.locker(target, manager) is None

    assert timely(await until(scene, unlocked))
    assert await scene.locker(active, manager) is None and await scene.locker(manager, manager) == active
    assert await scene.ready_bit(target, manager) == 1
    scene.order(active, Op.UNLOCK_MINE, 0)
    await scene.finish(judged=False)


@claim(ports=4, timeout_ms=20, needs=("locks",))
async def a_command_that_waits_is_given_up_in_time(scene):
    """docs/hub.md, watchdog: refused as GIVEN_UP; the ready bit that it waited for is set unless another input is
    connected there."""
    manager, source, owner, target = scene.some(4)
    await set_time(scene, manager)
    for op, taken in (
        (Op.OPEN_RETRY_REPLY, True),
        (Op.TEST_OPEN_RETRY_REPLY, True),
        (Op.LOCK_RETRY_REPLY, True),
        (Op.AWAIT_READY_REPLY, True),
        (Op.AWAIT_READY_REPLY, False),
    ):
        await scene.done(manager, Op.FORCE_READY_REPLY, target)
        if taken:
            for n in range(8):
                scene.send(
                    owner,
                    command(Op.OPEN if n < 6 else Op.CLOSE, HUB, target),
                    command(Op.LOCK if n < 6 else Op.UNLOCK_MINE, HUB, target),
                    [None] * (TIME // 2),
                )
            await scene.run(30)
        before = len(scene.replies(source))
        scene.send(source, command(op, HUB, target), packet([1]), command(Op.ECHO_REPLY, HUB, 2))
        begin = scene.agents.now
        await scene.pins.until(lambda: len(scene.replies(source)) > before, 3 * TIME, "the command is given up")
        assert timely(scene.agents.now - begin), f"{op!r} was given up after {scene.agents.now - begin} cycles"
        await scene.run(60)
        assert scene.replies(source)[before:] == [[op & ~1, HUB, Error.GIVEN_UP], [Op.ECHO_REPLY, HUB, 2]], (
            "what follows goes on"
        )
        assert await scene.ready_bit(target, manager) == (not taken)
        scene.ends[owner].outbox.clear()
        scene.send(owner, [int(Control.END)], CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
        await scene.drain()
    await scene.done(manager, Op.FORCE_READY_REPLY, FORCE | target)
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=4, timeout_ms=10, needs=("monitor",))
async def commands_that_wait_behind_one_another_are_given_up_one_in_twice_of_the_time(scene):
    """docs/hub.md, watchdog: the time of each begins when it comes to the head, so a queue is empty after as many
    time-outs, and two more, as there are commands in it.
    """
    manager, source, owner, target = scene.some(4)
    await set_time(scene, manager)
    for number in range(24):
        scene.send(owner, command(Op.OPEN, HUB, target), [number], [None] * (TIME // 2))
    await scene.run(30)
    ops = [Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_RETRY_REPLY, Op.OPEN_RETRY_REPLY]
    for op in ops:
        scene.send(source, command(op, HUB, target), packet([1, 2, 3]))
    begin = scene.agents.now
    for number, op in enumerate(ops):
        await scene.pins.until(
            lambda count=number: len(scene.replies(source)) > count, 3 * TIME, "the next is given up"
        )
        assert scene.replies(source)[number:] == [[op & ~1, HUB, Error.GIVEN_UP]]
        cycles, begin = scene.agents.now - begin, scene.agents.now
        assert timely(cycles), f"number {number} was given up after {cycles} cycles"
    await scene.run(30)
    assert await scene.done(manager, Op.STATUS_QUEUE, source) == 0
    assert await scene.counter(source, CounterId.TIMED_OUT, manager) == len(ops)
    scene.ends[owner].outbox.clear()
    scene.send(owner, CLOSE_ALL)
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=10, needs=("monitor",))
async def half_a_command_is_taken_back_in_time(scene):
    """docs/hub.md, watchdog: what still comes of it is dropped without being counted; the next command is obeyed."""
    manager, source, target = scene.some(3)
    await set_time(scene, manager)
    for length in (1, 2, 3):
        sums = await scene.errors(source, manager)
        frame = command(Op.OPEN_REPLY, HUB, target)
        scene.send(source, frame[:length])

        async def counted():
            return await scene.errors(source, manager) == sums + 1

        assert timely(await until(scene, counted))
        scene.send(source, frame[length:])
        await scene.drain()
        assert not scene.replies(source) and await scene.owner(target, manager) is None
        assert await scene.errors(source, manager) == sums + 1
    assert await scene.counters(source, manager) == {CounterId.TIMED_OUT: 3}
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_symbol_that_cannot_leave_is_dropped_in_time(scene):
    """docs/hub.md, watchdog: behind a fiber that takes nothing; the queue drains, a start that is dropped sends its
    ready, the source may go on."""
    manager, source, target = scene.some(3)
    await set_time(scene, manager)
    scene.ends[target].take = lambda cycle: False
    scene.send(source, command(Op.OPEN, HUB, target), packet(bytes(20)), packet([1]), CLOSE_ALL)
    await scene.run(40)

    async def drained():
        return await scene.done(manager, Op.STATUS_QUEUE, source) == 0

    assert timely(await until(scene, drained))
    await scene.run(20)
    assert scene.readies(source) == 2
    assert await scene.owner(target, manager) is None and await scene.ready_bit(target, manager) == 1
    scene.ends[target].take = lambda cycle: True
    await scene.drain()
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=4, timeout_ms=10)
async def what_moves_is_left_alone_and_what_stands_is_ended_for_all_at_once(scene):
    """docs/hub.md, watchdog: a multicast that stands still loses all branches; a connection that sends a symbol now
    and then lives; several may end at once."""
    manager, still, busy, target = scene.some(4)
    await set_time(scene, manager)
    for port in (busy, target):
        scene.order(still, Op.OPEN, port)
    scene.order(target, Op.OPEN, still)
    scene.order(busy, Op.OPEN, manager)
    await scene.drain()
    for _ in range(12):
        scene.send(busy, [None] * (TIME - BLUR), [0x55])
    await scene.run(2 * TIME + BLUR)
    assert [await scene.owner(port, manager) for port in (busy, target, still, manager)] == [None, None, None, busy]
    await scene.run(4 * TIME)
    assert await scene.owner(manager, manager) == busy and await scene.errors(busy, manager) == 0
    assert await scene.errors(still, manager) == await scene.errors(target, manager) == 1
    scene.ends[busy].outbox.clear()
    scene.send(busy, CLOSE_ALL)
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def the_watchdog_can_be_turned_off(scene):
    """docs/hub.md, watchdog: 0 turns it off; a new time counts from then on."""
    manager, source, target = scene.some(3)
    assert await scene.ask(manager, Op.WATCHDOG_TIME_REPLY, 0) == (True, 0)
    scene.order(source, Op.OPEN, target)
    scene.send(source, command(Op.OPEN, HUB, manager)[:2])
    await scene.run(6 * TIME)
    assert await scene.owner(target, manager) == source and await scene.errors(source, manager) == 0
    await set_time(scene, manager)

    async def closed():
        return await scene.owner(target, manager) is None

    assert timely(await until(scene, closed))
    await scene.finish(judged=False)


@claim(ports=2, timeout_ms=10, needs=("locks",))
async def idle_tells_whether_the_watchdog_watches_something(scene):
    """docs/hub.md, pins: while something is held the clock must not stop, and when it has been ended the HUB is idle
    again."""
    source, target = scene.some(2)
    await set_time(scene, target)
    await scene.rest()
    for frame in (command(Op.OPEN, HUB, target), command(Op.LOCK, HUB, target), command(Op.OPEN, HUB, target)[:2]):
        scene.send(source, frame)
        await scene.run(200)
        assert not any(scene.agents.recording.idle[-100:])
        await scene.pins.until(lambda: scene.agents.recording.idle[-1], 3 * TIME, "idle again")
    scene.send(source, [int(Control.END)], CLOSE_ALL)
    await scene.finish(judged=False)
