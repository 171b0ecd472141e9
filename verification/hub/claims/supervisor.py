"""Claims about supervisor commands (H7, H19, H21): what each does, to whom, and who may give them. Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, FORCE, HELLO_ASK, HELLO_HUB, Error, Op
from nectar.hdl.hub.monitor_map import CounterId, Flag, Select
from nectar.hdl.link.symbol import CONTROL_BIT, Control, command, packet, reply

from ..testbench import CLOSE_ALL, HUB, claim
from ..traffic import neighbour_hub

READY = [int(Control.READY)]


async def flags(tb, port, reader):
    """The state of a port as the monitor shows it."""
    await tb.done(reader, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
    return Flag(await tb.done(reader, Op.MONITOR_READ_REPLY, port))


@claim(ports=3, needs=("locks", "monitor"))
async def a_disabled_port_drops_what_arrives_and_nobody_opens_it(tb):
    """Disable and enable: frames are dropped with all they contain and counted, ready is not heard; enabled again,
    it works, with its ready bit 1."""
    manager, broken, other = tb.some(3)
    assert await tb.ask(manager, Op.DISABLE_REPLY, broken) == (True, broken)
    assert not Flag(await flags(tb, broken, manager)) & Flag.ENABLED
    readies, before = tb.readies(broken), await tb.errors(broken, manager)
    await tb.done(manager, Op.FORCE_READY_REPLY, broken)
    tb.send(
        broken,
        command(Op.OPEN_REPLY, HUB, other),
        packet([1, 2]),
        reply(1, 2, 3),
        READY,
        CLOSE_ALL,
        command(Op.ECHO_REPLY, HUB, 1),
        [7, 8],
    )
    await tb.drain()
    assert not tb.data(other) and not tb.replies(broken) and tb.readies(broken) == readies
    assert await tb.ready_bit(broken, manager) == 0
    assert await tb.errors(broken, manager) == before + 5, "two commands, a packet, a reply, a close all"
    for op in (
        Op.OPEN_REPLY,
        Op.OPEN_RETRY_REPLY,
        Op.TEST_OPEN_RETRY_REPLY,
        Op.LOCK_REPLY,
        Op.LOCK_RETRY_REPLY,
        Op.TEST_LOCK_REPLY,
    ):
        assert await tb.ask(other, op, broken) == (False, Error.DISABLED)
    assert await tb.counter(other, CounterId.DISABLED, manager) >= 1
    assert await tb.ask(manager, Op.ENABLE_REPLY, broken) == (True, broken)
    await tb.drain()
    assert tb.hellos(broken) == [[HELLO_ASK, HUB, HELLO_HUB | broken]] and await tb.ready_bit(broken, manager) == 1
    await tb.connects(broken, [other])
    await tb.connects(other, [broken])
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks",))
async def disable_closes_what_leads_to_and_from_the_port(tb):
    """Disable: its connections, those that lead there and its locks go; the lock on it stays; its queue is thrown
    away, which sends one ready."""
    manager, broken, source, target = tb.some(4)
    tb.order(source, Op.OPEN, broken)
    tb.order(broken, Op.OPEN, target)
    tb.order(broken, Op.LOCK, source)
    tb.order(manager, Op.LOCK, broken)
    await tb.drain()
    tb.ends[target].take = lambda cycle: False
    tb.send(broken, [int(Control.END)] * 30)
    await tb.drain()
    readies = tb.readies(broken)
    await tb.done(manager, Op.DISABLE_REPLY, broken)
    await tb.drain()
    assert [await tb.owner(port, manager) for port in (broken, target)] == [None, None]
    assert await tb.locker(source, manager) is None and await tb.locker(broken, manager) == manager
    assert await tb.done(manager, Op.STATUS_QUEUE, broken) == 0 and tb.readies(broken) == readies + 1
    tb.ends[target].take = lambda cycle: True
    await tb.done(manager, Op.ENABLE_REPLY, broken)
    tb.order(manager, Op.UNLOCK, broken)
    await tb.drain()
    await tb.connects(source, [target, broken])
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=20, needs=("monitor",))
async def a_port_that_is_disabled_in_the_middle_of_its_stream_counts_no_error_for_it(tb):
    """docs/hub.md, errors: a disabled port counts nothing but what arrives then; what was in its queue is thrown
    away with its connections, not counted."""
    manager, broken, target = tb.some(3)
    passed = set()
    for _ in range(16):
        await tb.done(manager, Op.ENABLE_REPLY, broken)
        await tb.done(manager, Op.MONITOR_CLEAR_REPLY, broken)
        await tb.run(40 * tb.ports)
        before = len(tb.data(target))
        tb.order(broken, Op.OPEN, target)
        tb.send(broken, packet(random.randbytes(200)))
        await tb.run(random.randrange(30, 150))
        await tb.done(manager, Op.DISABLE_REPLY, broken)
        await tb.drain()
        await tb.run(20 * tb.ports)
        passed.add(len(tb.data(target)) - before)
        counted = await tb.counters(broken, manager)
        assert not {CounterId.NO_CONNECTION, CounterId.BAD_PORT, CounterId.NOT_MINE} & set(counted), counted
    assert len(passed) > 4 and max(passed) < 200, "it was in the middle"
    tb.order(manager, Op.RESET_HUB, 0)
    await tb.finish(judged=False)


@claim()
async def disable_of_the_own_port_is_answered(tb):
    """docs/hub.md, supervisor commands; the port is deaf afterwards, until another one enables it."""
    own, other = tb.some(2)
    assert await tb.ask(own, Op.DISABLE_REPLY, own) == (True, own)
    tb.order(own, Op.ECHO_REPLY, 1)
    await tb.drain()
    assert len(tb.replies(own)) == 1
    await tb.done(other, Op.ENABLE_REPLY, own)
    assert await tb.ask(own, Op.ECHO_REPLY, 1) == (True, 1)
    await tb.finish(judged=False)


@claim()
async def a_looped_port_receives_what_it_sends(tb):
    """Loop back: a packet sent to the port comes back through its input; the fiber is idle and not heard; then the
    port works as before."""
    manager, looped = tb.some(2)
    tb.order(looped, Op.OPEN, manager)
    await tb.drain()
    assert await tb.ask(manager, Op.LOOP_BACK_REPLY, FORCE | looped) == (True, looped)
    before = len(tb.agents.recording.tx[looped])
    back = packet([1, 2, 3]) + tb.foreign(looped, Op.OPEN_REPLY, 5)
    tb.order(manager, Op.OPEN, looped)
    tb.send(manager, back)
    tb.send(looped, command(Op.CLOSE_MINE, HUB, 0), packet([9]), READY * 3)
    await tb.drain()
    assert tb.data(manager) == back, "the echo of the test packet"
    assert len(tb.agents.recording.tx[looped]) == before and await tb.owner(manager, manager) == looped
    tb.send(manager, CLOSE_ALL)
    await tb.drain()
    assert tb.data(manager) == back + CLOSE_ALL, "close all takes both connections down"
    assert await tb.owner(manager, manager) is None
    assert await tb.ready_bit(looped, manager) == 1, "the port's own ready signal came back"
    assert await tb.ask(manager, Op.LOOP_BACK_REPLY, looped) == (True, looped)
    await tb.connects(looped, [manager])
    await tb.connects(manager, [looped])
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks", "monitor"))
async def reset_queue_frees_a_queue_that_its_source_cannot_reach(tb):
    """Reset queue: a waiting command is given up, what is behind it is thrown away, one ready is sent; connections,
    locks and others stay."""
    manager, stuck, owner, target = tb.some(4)
    tb.order(owner, Op.OPEN, target)
    tb.order(stuck, Op.LOCK, owner)
    await tb.drain()
    for op in (Op.OPEN_RETRY_REPLY, Op.LOCK_RETRY, Op.AWAIT_READY_REPLY, Op.TEST_OPEN_RETRY):
        await tb.done(manager, Op.FORCE_READY_REPLY, target)
        tb.order(owner, Op.LOCK, target)
        await tb.drain()
        answers, readies = len(tb.replies(stuck)), tb.readies(stuck)
        tb.send(
            stuck,
            command(op, HUB, target),
            packet(bytes(30)),
            command(Op.ECHO_REPLY, HUB, 9),
            command(Op.UNLOCK_MINE, HUB, 0)[:2],
        )
        await tb.drain()
        assert await tb.ask(manager, Op.RESET_QUEUE_REPLY, stuck) == (True, stuck)
        tb.send(stuck, [1, 2])
        await tb.drain()
        assert tb.replies(stuck)[answers:] == ([[op & ~1, HUB, Error.GIVEN_UP]] if op & 1 else [])
        assert tb.readies(stuck) == readies + 1 and await tb.done(manager, Op.STATUS_QUEUE, stuck) == 0
        assert await tb.owner(target, manager) == owner and await tb.locker(owner, manager) == stuck
    assert await tb.errors(stuck, manager) == 0, "the rest of the command that was thrown away is no data"
    assert await tb.counter(stuck, CounterId.FLUSHED, manager) >= 1
    await tb.done(manager, Op.FORCE_READY_REPLY, FORCE | target)
    tb.send(owner, CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
    tb.order(stuck, Op.UNLOCK_MINE, 0)
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks", "monitor"))
async def reset_port_starts_a_port_afresh(tb):
    """Reset port: queue, connections from and to it, its locks and the lock on it, its ready bit; it says hello, and
    stays as enabled as it was."""
    manager, port, source, target = tb.some(4)
    for giver, op, param in (
        (source, Op.OPEN, port),
        (port, Op.OPEN, target),
        (port, Op.LOCK, source),
        (source, Op.LOCK, port),
        (source, Op.LOCK, target),
        (manager, Op.FORCE_READY_REPLY, port),
    ):
        tb.order(giver, op, param)
        await tb.drain()
    tb.send(port, command(Op.LOCK_RETRY_REPLY, HUB, target), packet([1]))
    await tb.drain()
    assert await tb.ask(manager, Op.RESET_PORT_REPLY, port) == (True, port)
    await tb.drain()
    assert tb.replies(port) == [[Op.LOCK_RETRY_REPLY & ~1, HUB, Error.GIVEN_UP]]
    assert [await tb.owner(o, manager) for o in (port, target)] == [None, None]
    assert [await tb.locker(o, manager) for o in (port, source, target)] == [None, None, source]
    assert await tb.ready_bit(port, manager) == 1 and tb.hellos(port) == [[HELLO_ASK, HUB, HELLO_HUB | port]]
    assert await flags(tb, port, manager) == Flag.ENABLED | Flag.SUPERVISOR | Flag.READY
    assert await tb.ask(port, Op.RESET_PORT_REPLY, port) == (True, port), "the own port: the answer is sent"
    tb.order(source, Op.UNLOCK_MINE, 0)
    await tb.drain()
    await tb.connects(port, [target])
    await tb.finish(judged=False)


@claim()
async def an_await_ready_of_the_own_port_is_done_when_the_port_is_reset(tb):
    """docs/hub.md, supervisor commands: *reset port* sets the ready bit for which the port itself waits, and ends what
    waits there: it can be done, so it is.
    """
    manager, port = tb.some(2)
    for op, answer in (
        (Op.RESET_PORT_REPLY, [Op.AWAIT_READY_REPLY, HUB, port]),
        (Op.RESET_QUEUE_REPLY, [Op.AWAIT_READY_REPLY & ~1, HUB, Error.GIVEN_UP]),
    ):
        await tb.done(manager, Op.FORCE_READY_REPLY, port)
        tb.order(port, Op.AWAIT_READY_REPLY, port)
        await tb.agrees()
        before = len(tb.replies(port))
        tb.order(manager, op, port)
        await tb.agrees()
        assert tb.replies(port)[before:] == [answer]
    await tb.done(manager, Op.FORCE_READY_REPLY, FORCE | port)
    await tb.finish(judged=False)


@claim(ports=4, needs=("locks", "monitor"))
async def a_forced_connection_takes_the_output_and_the_frame_under_way_is_cut(tb):
    """Force connection: to set, whoever has or locks the output; to clear, whatever leads there; the loser's data
    are dropped and counted once."""
    manager, loser, locker, target = tb.some(4)
    tb.order(loser, Op.OPEN, target)
    await tb.drain()
    tb.order(locker, Op.LOCK, target)
    tb.send(loser, [int(Control.START), *[5] * 200, int(Control.END)])
    await tb.run(100)
    assert await tb.ask(manager, Op.FORCE_CONNECTION_REPLY, FORCE | target) == (True, target)
    tb.send(manager, packet([7]))
    await tb.drain()
    got = tb.data(target)
    assert got[-3:] == packet([7]) and set(got[1:-3]) == {5} and len(got) < 200
    assert await tb.owner(target, manager) == manager and await tb.errors(loser, manager) == 1
    assert await tb.ask(locker, Op.FORCE_CONNECTION_REPLY, target) == (True, target)
    assert await tb.owner(target, manager) is None and await tb.locker(target, manager) == locker
    assert await tb.ask(locker, Op.FORCE_CONNECTION_REPLY, target) == (True, target), (
        "there is nothing to close, which is no error"
    )
    tb.order(locker, Op.UNLOCK_MINE, 0)
    await tb.drain()
    assert await tb.counter(manager, CounterId.OPENED, locker) == 1
    await tb.finish(judged=False)


@claim(ports=3)
async def a_forced_ready_bit_holds_packets_back_or_lets_them_go(tb):
    """Force ready: drains a port before work on it, repairs flow control after; other bits stay."""
    manager, source, target = tb.some(3)
    assert await tb.ask(manager, Op.FORCE_READY_REPLY, target) == (True, target)
    tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), packet([1]), CLOSE_ALL)
    await tb.drain()
    assert not tb.data(target)
    assert [await tb.ready_bit(port, manager) for port in range(tb.ports)] == [
        port != target for port in range(tb.ports)
    ]
    assert await tb.ask(manager, Op.FORCE_READY_REPLY, FORCE | target) == (True, target)
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL and not tb.readies(target)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=40, needs=("locks", "monitor"))
async def supervisor_commands_are_obeyed_only_from_ports_that_may(tb):
    """Allow supervisor: each of the 14 is refused with any parameter, leaves everything as it was, and is counted;
    then allowed again."""
    manager, source, target = tb.some(3)
    assert await tb.ask(manager, Op.ALLOW_SUPERVISOR_REPLY, source) == (True, source)
    tb.order(target, Op.OPEN, source)
    tb.order(source, Op.OPEN, target)
    tb.order(source, Op.LOCK, target)
    await tb.drain()
    rows = [row for row in COMMANDS if row.supervisor]
    assert len(rows) == 14
    await tb.done(manager, Op.MONITOR_SELECT_REPLY, Select.FLAGS)

    async def all_of_it():
        return [
            (
                await tb.done(manager, Op.MONITOR_READ_REPLY, port),
                await tb.owner(port, manager),
                await tb.locker(port, manager),
            )
            for port in (manager, source, target)
        ]

    before = await all_of_it()
    for row in random.sample(rows, 14):
        for param in (target, FORCE | target, FORCE | source, 0, 0xFF):
            sums = await tb.errors(source, manager)
            if row.op == Op.RESET_HUB:
                tb.order(source, row.op, param)
                await tb.drain()
            else:
                assert await tb.ask(source, row.op, param) == (False, Error.NOT_ALLOWED)
            assert await tb.errors(source, manager) == sums + 1
        assert await all_of_it() == before, row.name
    assert await tb.ask(manager, Op.ALLOW_SUPERVISOR_REPLY, FORCE | source) == (True, source)
    assert await tb.ask(source, Op.FORCE_READY_REPLY, FORCE | target) == (True, target)
    for port in (source, target):
        tb.send(port, CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
    await tb.finish(judged=False)


@claim(ports=3, needs=("monitor",))
async def user_commands_never_change_what_supervisors_have_set(tb):
    """Every user command and every unknown opcode, with any parameter: enabled, looped and allowed stay as they are."""
    manager, source, disabled = tb.some(3)
    await tb.done(manager, Op.DISABLE_REPLY, disabled)
    await tb.done(manager, Op.ALLOW_SUPERVISOR_REPLY, source)
    mask = Flag.ENABLED | Flag.LOOPED | Flag.SUPERVISOR
    before = [await flags(tb, port, manager) & mask for port in range(tb.ports)]
    ops = {*range(256)} - {row.op for row in COMMANDS if row.waits}
    params = {op: random.choice([disabled, manager, random.randrange(256)]) for op in ops}
    for op in random.sample(sorted(ops), len(ops)):
        tb.order(source, op, params[op])
    # Ten commands in a row without an answer look as if nothing moved any more. Another echo tells that all are done.
    tb.order(source, Op.ECHO_REPLY, last := params[Op.ECHO_REPLY] ^ 1)
    await tb.pins.until(lambda: [Op.ECHO_REPLY, HUB, last] in tb.replies(source), 10_000, "the last answer")
    await tb.drain()
    assert [await flags(tb, port, manager) & mask for port in range(tb.ports)] == before
    tb.order(manager, Op.RESET_HUB, 0)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=60, needs=("locks", "monitor"))
async def every_misuse_is_counted_under_its_name(tb):
    """docs/hub.md, errors: each kind of misuse, three times, counts three in its own counter and in the sum, and
    nothing in any other."""
    manager, source, target = tb.some(3)
    reserved = [code for code in range(CONTROL_BIT, 2 * CONTROL_BIT) if code not in list(Control)]
    end = [int(Control.END)]
    await tb.done(manager, Op.ALLOW_SUPERVISOR_REPLY, source)
    misuses = {
        CounterId.RESERVED: lambda: [random.choice(reserved)],
        CounterId.COMMAND_CUT: lambda: [*command(Op.OPEN, HUB, target)[: random.randrange(1, 4)], *CLOSE_ALL],
        CounterId.REPLY_CUT: lambda: [*reply(1, 2, 3)[: random.randrange(1, 4)], *CLOSE_ALL],
        CounterId.NO_CONNECTION: lambda: [*random.randbytes(random.randrange(1, 9)), *end, *CLOSE_ALL],
        CounterId.UNKNOWN: lambda: command(random.choice([0x60, 0x61, 0x7F, 0x50, 0x80, 0xFF]), HUB, target),
        CounterId.BAD_PORT: lambda: command(
            random.choice([Op.OPEN, Op.CLOSE, Op.LOCK, Op.STATUS_READY, Op.RAISE_READY]), HUB, tb.ports
        ),
        CounterId.NOT_MINE: lambda: command(
            random.choice([Op.CLOSE, Op.UNLOCK, Op.RAISE_READY, Op.LOWER_READY, Op.REPAIR_READY]), HUB, target
        ),
        CounterId.NO_ROUTE: lambda: reply(1, neighbour_hub(source), 2),
        CounterId.NOT_ALLOWED: lambda: command(
            random.choice([row.op for row in COMMANDS if row.supervisor]), HUB, target
        ),
        CounterId.DISABLED: lambda: command(
            random.choice([Op.OPEN, Op.OPEN_RETRY, Op.LOCK, Op.TEST_LOCK_REPLY]), HUB, target
        ),
    }
    for counter, misuse in misuses.items():
        await tb.done(manager, Op.DISABLE_REPLY if counter is CounterId.DISABLED else Op.ENABLE_REPLY, target)
        await tb.done(manager, Op.MONITOR_CLEAR_REPLY, source)
        await tb.run(40 * tb.ports)
        sums = await tb.errors(source, manager)
        for _ in range(3):
            tb.send(source, misuse())
            await tb.drain()
            await tb.run(20 * tb.ports)
        assert await tb.counters(source, manager) == {counter: 3}
        assert await tb.errors(source, manager) == sums + 3
    tb.order(manager, Op.RESET_HUB, 0)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=20, needs=("monitor",))
async def a_lost_reply_is_counted_under_its_name(tb):
    """docs/hub.md, errors: a reply that found no room is lost at the port where it arrived."""
    manager, source, target = tb.some(3)
    tb.order(source, Op.OPEN, target)
    await tb.drain()
    await tb.run(40 * tb.ports)
    tb.ends[source].take = lambda cycle: False
    for number in range(12):
        tb.send(target, reply(1, neighbour_hub(target), number))
        await tb.run(20 * tb.ports)
    tb.ends[source].take = lambda cycle: True
    await tb.drain()
    got = len(tb.replies(source))
    assert 4 <= got <= 9 and await tb.counters(target, manager) == {CounterId.REPLY_LOST: 12 - got}
    tb.send(source, CLOSE_ALL)
    await tb.finish(judged=False)
