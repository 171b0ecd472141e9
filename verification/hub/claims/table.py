"""Claims about the table of commands as a whole (H7 to H9): each command is done once and meets each of its errors.
Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, FORCE, REPLY, RETRY, TEST, Error, Group, Op
from nectar.hdl.hub.monitor_map import Clear, Flag, Select
from nectar.hdl.link.symbol import command, packet

from ..tables import COUNTED, Tables
from ..testbench import CLOSE_ALL, HUB, claim

#: What a command needs to be done, beyond a free output: given by its own port before it.
NEEDS = {
    Op.CLOSE: Op.OPEN,
    Op.CLOSE_REPLY: Op.OPEN,
    Op.UNLOCK: Op.LOCK,
    Op.UNLOCK_REPLY: Op.LOCK,
    Op.RAISE_READY: Op.OPEN,
    Op.LOWER_READY: Op.OPEN,
    Op.REPAIR_READY: Op.OPEN,
}
#: Commands whose parameter is a port, and FORCE.
FORCED = [
    Op.LOOP_BACK_REPLY,
    Op.FORCE_CONNECTION_REPLY,
    Op.FORCE_LOCK_REPLY,
    Op.FORCE_READY_REPLY,
    Op.ALLOW_SUPERVISOR_REPLY,
]


def good(row, target):
    """A parameter with which the command is done."""
    if row.op in FORCED:
        return random.choice([target, FORCE | target])
    special = {
        Op.WATCHDOG_TIME_REPLY: [0, *range(12, 32)],
        Op.MONITOR_SELECT_REPLY: [target, *Select],
        Op.MONITOR_CLEAR_REPLY: [target, *Clear],
        Op.MONITOR_READ_REPLY: [0x7F],
    }
    return random.choice(special.get(row.op, [target if "port" in row.parameter else random.randrange(256)]))


@claim(ports=3, timeout_ms=40, needs=("locks", "monitor"))
async def every_command_is_done_with_its_effect_and_its_reply(tb):
    """H7 to H9: each of the 52, from random ports, with a connection and a lock beside it that must not feel it."""
    assert len(COMMANDS) == 52
    for row in random.sample(COMMANDS, 52):
        source, target, other = tb.some(3)
        tb.order(other, Op.OPEN_RETRY, source)
        await tb.agrees()
        if row.op in NEEDS:
            tb.order(source, NEEDS[row.op], target)
            await tb.agrees()
        param = good(row, target)
        before = len(tb.replies(source))
        tb.order(source, row.op, param)
        model = await tb.agrees()
        got = tb.replies(source)[before:]
        if row.op & REPLY and row.op != Op.LOOP_BACK_REPLY:
            value = {Op.IDENTITY_REPLY: source, Op.SIZE_REPLY: tb.ports, Op.MONITOR_READ_REPLY: 0}.get(
                row.op, param & ~FORCE if row.op in FORCED else param
            )
            assert len(got) == 1 and got[0][:2] == [row.op, HUB]
            assert row.group is Group.STATUS and not row.supervisor or got[0][2] == value, f"{row.name}: {got}"
        elif not row.op & REPLY:
            assert not got
        for port in (source, target):
            flags = model.flags(port)
            tb.order(other, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
            await tb.agrees()
            assert await tb.done(other, Op.MONITOR_READ_REPLY, port) & ~Flag.READY == flags & ~Flag.READY, (
                f"{row.name}: flags of port {port}"
            )
            await tb.agrees()
        tb.order(other, Op.RESET_HUB, 0)
        await tb.agrees()
    await tb.finish(judged=False)


async def bring_about(tb, error, row, source, target, other):
    """Makes the state in which the command meets ``error``; returns the parameters with which it does. There are none
    for BAD_PORT if the HUB has a port for each number that the command can name."""
    forced = FORCE if row.supervisor else 0
    if error is Error.BUSY:
        tb.order(other, Op.OPEN, target)
    elif error in (Error.LOCKED, Error.GIVEN_UP) and row.op != Op.AWAIT_READY_REPLY:
        waits = row.group is Group.OPEN and random.choice([Op.OPEN, Op.LOCK]) or Op.LOCK
        tb.order(other, waits, target)
    elif error in (Error.NOT_READY, Error.GIVEN_UP):
        tb.order(other, Op.FORCE_READY_REPLY, target)
    elif error is Error.DISABLED:
        tb.order(other, Op.DISABLE_REPLY, target)
    elif error is Error.NOT_MINE:
        tb.order(other, Op.OPEN, target)
        tb.order(other, Op.LOCK, target)
    elif error is Error.NOT_ALLOWED:
        tb.order(other, Op.ALLOW_SUPERVISOR_REPLY, source)
        return [good(row, target), random.randrange(256)]
    else:
        assert error is Error.BAD_PORT
        bad = [param for param in range(256) if Tables(tb.ports, HUB).bad_port(source, row, param)]
        return {bad[0], bad[-1], random.choice(bad)} if bad else set()
    return [forced | target]


async def state(tb, source, target, reader):
    """What a refused command must leave as it was."""
    return [
        await tb.done(reader, Op.MONITOR_READ_REPLY, target),
        await tb.done(reader, Op.MONITOR_READ_REPLY, source),
        await tb.owner(target, reader),
        await tb.locker(target, reader),
        await tb.done(reader, Op.STATUS_INPUT, source),
    ]


@claim(ports=3, timeout_ms=60, needs=("locks", "monitor"))
async def every_command_meets_each_of_its_errors(tb):
    """H9 and the column of errors: the reply bears the error, nothing else changes, and what is an error is counted
    once."""
    met, never = set(), set()
    for row in random.sample(COMMANDS, 52):
        for error in row.errors:
            source, target, other = tb.some(3)
            params = await bring_about(tb, error, row, source, target, other)
            if not params:
                never.add((row.op, error))
                continue
            tb.order(other, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
            await tb.drain()
            for param in params:
                before, sums = await state(tb, source, target, other), await tb.errors(source, other)
                answered = len(tb.replies(source))
                tb.order(source, row.op, param)
                await tb.drain()
                flush = []
                if error is Error.GIVEN_UP:
                    assert len(tb.replies(source)) == answered, f"{row.name} must wait"
                    tb.order(source, Op.FLUSH_REPLY, 0x33)
                    flush = [[Op.FLUSH_REPLY, HUB, 0x33]]
                    await tb.drain()
                got = tb.replies(source)[answered:]
                due = [[row.op & ~REPLY, HUB, error]] if row.op & REPLY else []
                assert got == due + flush, f"{row.name} {param}: {got} instead of {error!r}"
                assert await state(tb, source, target, other) == before, (
                    f"{row.name} {param}, refused as {error!r}, has changed something"
                )
                assert await tb.errors(source, other) == sums + (error in COUNTED), f"{row.name} {param}: {error!r}"
            met.add((row.op, error))
            tb.order(other, Op.RESET_HUB, 0)
            await tb.drain()
    assert met | never == {(row.op, error) for row in COMMANDS for error in row.errors}
    assert not never or tb.ports == FORCE and all(error is Error.BAD_PORT for _, error in never)
    await tb.finish(judged=False)


@claim(timeout_ms=20, needs=("locks",))
async def a_port_that_there_is_not_is_never_taken_for_the_one_that_its_low_bits_name(tb):
    """H9, BAD_PORT: the input has connected and locked all others, so that a command which lost bits of its
    parameter would find what it needs."""
    source = random.randrange(tb.ports)
    others = [port for port in range(tb.ports) if port != source]
    numbers = 1 << (tb.ports - 1).bit_length()
    for port in others:
        await tb.done(source, Op.LOCK_REPLY, port)
        await tb.done(source, Op.OPEN_REPLY, port)
    for row in random.sample(COMMANDS, 52):
        if Error.BAD_PORT not in row.errors:
            continue
        bad = [
            param
            for param in range(256)
            if param % numbers in others and Tables(tb.ports, HUB).bad_port(source, row, param)
        ]
        alike = [[param for param in bad if param % numbers == port] for port in others]
        alike = [params for params in alike if params]  # none if there is a port for each number
        for param in {random.choice(params) for params in random.sample(alike, min(len(alike), 4))}:
            tb.order(source, row.op, param)
            model = await tb.agrees()
            assert model.targets(source) == others
    for port in others:
        assert (await tb.owner(port), await tb.locker(port), await tb.ready_bit(port)) == (
            source,
            source,
            1,
        ), f"output {port}"
    await tb.agrees()
    tb.send(source, command(Op.UNLOCK_MINE, HUB, 0), CLOSE_ALL)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=20, needs=("locks",))
async def a_waiting_command_is_refused_when_its_output_is_disabled(tb):
    """docs/hub.md, supervisor commands: a waiting open or lock of a port that is disabled is refused with DISABLED,
    and counted; awaiting is not."""
    for row in COMMANDS:
        if not row.waits:
            continue
        source, target, other = tb.some(3)
        await tb.done(other, Op.FORCE_READY_REPLY, target)
        tb.order(other, Op.LOCK, target)
        await tb.drain()
        tb.order(source, row.op, target)
        await tb.drain()
        before, sums = len(tb.replies(source)), await tb.errors(source, other)
        await tb.done(other, Op.DISABLE_REPLY, target)
        await tb.drain()
        due = [[row.op & ~REPLY, HUB, Error.DISABLED]] if row.op & REPLY and row.op != Op.AWAIT_READY_REPLY else []
        assert tb.replies(source)[before:] == due
        assert await tb.errors(source, other) == sums + (row.op != Op.AWAIT_READY_REPLY)
        tb.order(other, Op.RESET_HUB, 0)
        await tb.drain()
    await tb.finish(judged=False)


@claim(ports=3)
async def an_open_looks_at_the_ready_bit_only_with_test(tb):
    """H9: the bits test and retry of the eight opens, one by one, with the ready bit 0."""
    for row in COMMANDS:
        if row.supervisor or row.group is not Group.OPEN:
            continue
        source, target, other = tb.some(3)
        await tb.done(other, Op.FORCE_READY_REPLY, target)
        before = len(tb.data(target))
        tb.send(source, command(row.op, HUB, target), packet([row.op]), CLOSE_ALL)
        await tb.run(150)
        expected = [] if row.op & TEST else packet([row.op]) + CLOSE_ALL
        assert tb.data(target)[before:] == expected
        await tb.done(other, Op.FORCE_READY_REPLY, FORCE | target)
        await tb.drain()
        assert tb.data(target)[before:] == (
            [] if row.op & TEST and not row.op & RETRY else packet([row.op]) + CLOSE_ALL
        )
    await tb.finish(judged=False)
