"""Claims about locks on outputs (H9): what they keep out, what they leave alone, and what they are for. Run by
``test_hub.py``."""

import itertools
import random

from nectar.hdl.hub.commands import FORCE, Error, Op
from nectar.hdl.link.symbol import COMMAND_LENGTH, command, packet

from ..testbench import CLOSE_ALL, HUB, claim


@claim(ports=3, needs=("locks",))
async def a_lock_keeps_other_inputs_out_and_lets_its_holder_in(tb):
    """docs/hub.md, locks: opens of others are refused as LOCKED or wait; the holder opens, closes and opens again,
    and still has the lock."""
    holder, other, target = tb.some(3)
    assert await tb.done(holder, Op.LOCK_REPLY, target) == target
    for op in (Op.OPEN_REPLY, Op.TEST_OPEN_REPLY):
        assert await tb.ask(other, op, target) == (False, Error.LOCKED)
    tb.send(other, command(Op.OPEN_RETRY_REPLY, HUB, target), packet([9]), CLOSE_ALL)
    for end in (CLOSE_ALL, command(Op.CLOSE, HUB, target), command(Op.CLOSE_MINE, HUB, 0)):
        before = len(tb.data(target))
        assert await tb.ask(holder, Op.OPEN_REPLY, target) == (True, target)
        tb.send(holder, packet([1]), end)
        await tb.drain()
        assert tb.data(target)[before : before + 3] == packet([1])
        assert await tb.locker(target, holder) == holder and await tb.owner(target, holder) is None
    before = len(tb.data(target))
    assert await tb.ask(holder, Op.UNLOCK_REPLY, target) == (True, target)
    await tb.drain()
    assert tb.data(target)[before:] == packet([9]) + CLOSE_ALL
    assert await tb.errors(other) == await tb.errors(holder) == 0
    await tb.finish()


@claim(ports=4, needs=("locks",))
async def a_lock_taken_while_another_is_connected_keeps_the_next_one_out(tb):
    """docs/hub.md, locks: the connection that stands goes on, its owner may repeat its open, and the holder comes
    next."""
    owner, holder, other, target = tb.some(4)
    assert await tb.ask(owner, Op.OPEN_REPLY, target) == (True, target)
    tb.send(other, command(Op.OPEN_RETRY, HUB, target), packet([3]), CLOSE_ALL)
    await tb.drain()
    assert await tb.ask(holder, Op.LOCK_REPLY, target) == (True, target)
    tb.send(owner, command(Op.OPEN_RETRY, HUB, target), packet([1]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL and await tb.owner(target, holder) is None
    assert await tb.ask(owner, Op.OPEN_REPLY, target) == (False, Error.LOCKED)
    tb.send(holder, command(Op.OPEN, HUB, target), packet([2]), CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL + packet([2]) + CLOSE_ALL + packet([3]) + CLOSE_ALL
    await tb.finish()


@claim(ports=3, needs=("locks",))
async def a_lock_is_had_by_one_input_and_waits_if_it_is_asked_to(tb):
    """H9, lock, lock retry, test lock: refused as LOCKED at once, or taken when it is given back; taking it twice is
    taking it once."""
    holder, other, target = tb.some(3)
    for op in (Op.LOCK, Op.LOCK_REPLY, Op.LOCK_RETRY, Op.LOCK_RETRY_REPLY):
        tb.order(holder, op, target)
        tb.order(holder, Op.LOCK_REPLY, target)
        await tb.drain()
        assert (
            await tb.ask(other, Op.LOCK_REPLY, target)
            == (False, Error.LOCKED)
            == await tb.ask(other, Op.TEST_LOCK_REPLY, target)
        )
        tb.order(other, Op.LOCK, target)
        await tb.drain()
        assert await tb.locker(target, holder) == holder
        before = len(tb.replies(other))
        tb.order(other, Op.LOCK_RETRY_REPLY, target)
        await tb.run(100)
        assert len(tb.replies(other)) == before
        tb.order(holder, Op.UNLOCK, target)
        await tb.drain()
        assert (
            tb.replies(other)[before:] == [[Op.LOCK_RETRY_REPLY, HUB, target]]
            and await tb.locker(target, holder) == other
        )
        tb.order(other, Op.UNLOCK_MINE, 0)
        await tb.drain()
        assert await tb.ask(holder, Op.TEST_LOCK_REPLY, target) == (True, target)
        assert await tb.locker(target, other) is None, "test lock takes nothing"
    assert await tb.errors(holder) == await tb.errors(other) == 0, "a lock that is refused as LOCKED is no error"
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks",))
async def unlock_mine_gives_back_all_of_one_input_and_nothing_else(tb):
    """H9, unlock mine: locks of other inputs and all connections stay."""
    holder, other, *targets = tb.some(tb.ports)
    for target in targets:
        tb.order(holder, Op.LOCK, target)
    tb.order(holder, Op.OPEN, targets[0])
    await tb.drain()
    tb.order(other, Op.LOCK, holder)
    tb.order(holder, Op.UNLOCK_MINE, 0xFF)
    await tb.drain()
    for target in targets:
        assert await tb.locker(target, other) is None
    assert await tb.locker(holder, other) == other and await tb.owner(targets[0], other) == holder
    tb.order(other, Op.UNLOCK, holder)
    tb.send(holder, CLOSE_ALL)
    await tb.finish(judged=False)


@claim(ports=5, timeout_ms=20, needs=("locks",))
async def multicasts_that_lock_their_outputs_first_do_not_deadlock(tb):
    """The use of locks: sources lock overlapping sets in the order of the numbers, open them, send, and give them
    back; each set gets each packet whole."""
    sources = tb.some(4)
    expected = {port: {} for port in range(tb.ports)}
    # While a packet waits, its commands and those of the next are in the queue: two for each target.
    most = (tb.room // 2 - 32) // (2 * COMMAND_LENGTH)
    for number in range(5):
        for source in sources:
            others = [port for port in range(tb.ports) if port != source]
            targets = sorted(random.sample(others, random.randrange(2, min(len(others), most) + 1)))
            stream = packet([source, number, *random.randbytes(6)]) + CLOSE_ALL
            for op in (Op.LOCK_RETRY, Op.OPEN_RETRY):
                for target in targets:
                    tb.order(source, op, target)
            tb.send(source, stream, command(Op.UNLOCK_MINE, HUB, 0))
            for target in targets:
                expected[target].setdefault(source, []).append(stream)
    await tb.rest(20000)
    for target, by_source in expected.items():
        got = tb.data(target)
        while got:
            stream = by_source[got[1]].pop(0)
            assert got[: len(stream)] == stream
            got = got[len(stream) :]
        assert not any(by_source.values())
    await tb.finish()


@claim(ports=4, needs=("locks",))
async def two_that_collect_locks_give_way_to_each_other(tb):
    """The use of lock reply: it is refused, so the one that came later gives back what it has, and tries again later
    with success."""
    first, second, one, two = tb.some(4)
    assert await tb.ask(first, Op.LOCK_REPLY, one) == (True, one) and await tb.ask(second, Op.LOCK_REPLY, two) == (
        True,
        two,
    )
    assert await tb.ask(second, Op.LOCK_REPLY, one) == (False, Error.LOCKED)
    tb.order(second, Op.UNLOCK_MINE, 0)
    await tb.drain()
    assert await tb.ask(first, Op.LOCK_REPLY, two) == (True, two)
    tb.send(
        first,
        command(Op.OPEN, HUB, one),
        command(Op.OPEN, HUB, two),
        packet([1]),
        CLOSE_ALL,
        command(Op.UNLOCK_MINE, HUB, 0),
    )
    await tb.drain()
    assert await tb.ask(second, Op.LOCK_REPLY, one) == (True, one) and await tb.ask(second, Op.LOCK_REPLY, two) == (
        True,
        two,
    )
    tb.order(second, Op.UNLOCK_MINE, 0)
    await tb.finish()


@claim(ports=3, needs=("locks",))
async def the_own_port_is_nothing_that_an_input_has_unless_it_has_forced_its_lock(tb):
    """docs/hub.md, ports and parameters: *raise*, *lower* and *unlock* of the own port are NOT_MINE, whatever is
    connected to it; *force lock* gives it to the input, and *unlock* takes it back; *force connection* cannot.
    """
    own, other, target = tb.some(3)
    for op, param in ((Op.FORCE_CONNECTION_REPLY, FORCE | target), (Op.OPEN_REPLY, target)):
        assert await tb.ask(own, op, param) == (True, target)
    assert await tb.ask(other, Op.OPEN_REPLY, own) == (True, own)
    assert await tb.ask(own, Op.FORCE_CONNECTION_REPLY, FORCE | own) == (False, Error.BAD_PORT)
    for op in (Op.RAISE_READY, Op.LOWER_READY, Op.UNLOCK, Op.UNLOCK_REPLY):
        errors = await tb.errors(own, other)
        tb.order(own, op, own)
        await tb.drain()
        assert await tb.errors(own, other) == errors + 1 and await tb.ready_bit(own, other) == 1, (
            f"{op!r} of the own port"
        )
    assert tb.replies(own)[-1] == [Op.UNLOCK, HUB, Error.NOT_MINE]
    assert await tb.ask(own, Op.FORCE_LOCK_REPLY, FORCE | own) == (True, own)
    assert await tb.locker(own, other) == own and await tb.ask(own, Op.UNLOCK_REPLY, own) == (True, own)
    assert await tb.locker(own, other) is None
    for port in (own, other):
        tb.send(port, CLOSE_ALL)
    await tb.finish(judged=False)


@claim(ports=3, needs=("locks",))
async def an_open_of_what_the_input_has_is_done_whatever_is_locked_at_that_moment(tb):
    """docs/hub.md, controller: *open* of what the input holds is done at once and does not look at the lock; another's
    *lock* of the output is decided some cycles before or behind it.
    """
    holder, locker, target = tb.some(3)
    assert await tb.ask(holder, Op.OPEN_REPLY, target) == (True, target)
    opens = Op.OPEN_REPLY, Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_REPLY, Op.TEST_OPEN_RETRY_REPLY
    for op, lock in itertools.product(opens, (Op.LOCK_REPLY, Op.LOCK_RETRY_REPLY)):
        for late in range(-6, 7):
            before = [len(tb.replies(port)) for port in (holder, locker)]
            tb.send(holder, [None] * max(0, -late), command(op, HUB, target))
            tb.send(locker, [None] * max(0, late), command(lock, HUB, target))
            await tb.run(40)
            answers = [tb.replies(port)[count:] for port, count in zip((holder, locker), before)]
            assert answers == [[[op, HUB, target]], [[lock, HUB, target]]], (
                f"{op!r} and, {late} cycles later, {lock!r}: {answers}"
            )
            tb.order(locker, Op.UNLOCK, target)
            await tb.run(20)
    tb.send(holder, CLOSE_ALL)
    await tb.finish()


@claim(ports=4, needs=("locks",))
async def a_forced_lock_is_taken_from_whoever_has_it(tb):
    """Force lock: set takes it, clear frees an output whose locker is gone; what waits for it goes on."""
    holder, manager, waiting, target = tb.some(4)
    tb.order(holder, Op.LOCK, target)
    await tb.drain()
    assert await tb.ask(manager, Op.FORCE_LOCK_REPLY, FORCE | target) == (True, target)
    assert await tb.locker(target, manager) == manager
    assert await tb.ask(holder, Op.UNLOCK_REPLY, target) == (False, Error.NOT_MINE)
    tb.send(waiting, command(Op.OPEN_RETRY_REPLY, HUB, target), packet([1]), CLOSE_ALL)
    await tb.drain()
    assert not tb.data(target)
    assert await tb.ask(holder, Op.FORCE_LOCK_REPLY, target) == (True, target)
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL and await tb.locker(target, manager) is None
    await tb.finish(judged=False)
