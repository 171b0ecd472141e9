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
async def every_command_is_done_with_its_effect_and_its_reply(scene):
    """H7 to H9: each of the 52, from random ports, with a connection and a lock beside it that must not feel it."""
    assert len(COMMANDS) == 52
    for row in random.sample(COMMANDS, 52):
        source, target, other = scene.some(3)
        scene.order(other, Op.OPEN_RETRY, source)
        await scene.agrees()
        if row.op in NEEDS:
            scene.order(source, NEEDS[row.op], target)
            await scene.agrees()
        param = good(row, target)
        before = len(scene.replies(source))
        scene.order(source, row.op, param)
        model = await scene.agrees()
        got = scene.replies(source)[before:]
        if row.op & REPLY and row.op != Op.LOOP_BACK_REPLY:
            value = {Op.IDENTITY_REPLY: source, Op.SIZE_REPLY: scene.ports, Op.MONITOR_READ_REPLY: 0}.get(
                row.op, param & ~FORCE if row.op in FORCED else param
            )
            assert len(got) == 1 and got[0][:2] == [row.op, HUB]
            assert row.group is Group.STATUS and not row.supervisor or got[0][2] == value, f"{row.name}: {got}"
        elif not row.op & REPLY:
            assert not got
        for port in (source, target):
            flags = model.flags(port)
            scene.order(other, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
            await scene.agrees()
            assert await scene.done(other, Op.MONITOR_READ_REPLY, port) & ~Flag.READY == flags & ~Flag.READY, (
                f"{row.name}: flags of port {port}"
            )
            await scene.agrees()
        scene.order(other, Op.RESET_HUB, 0)
        await scene.agrees()
    await scene.finish(judged=False)


async def bring_about(scene, error, row, source, target, other):
    """Makes the state in which the command meets ``error``; returns the parameters with which it does."""
    forced = FORCE if row.supervisor else 0
    if error is Error.BUSY:
        scene.order(other, Op.OPEN, target)
    elif error in (Error.LOCKED, Error.GIVEN_UP) and row.op != Op.AWAIT_READY_REPLY:
        waits = row.group is Group.OPEN and random.choice([Op.OPEN, Op.LOCK]) or Op.LOCK
        scene.order(other, waits, target)
    elif error in (Error.NOT_READY, Error.GIVEN_UP):
        scene.order(other, Op.FORCE_READY_REPLY, target)
    elif error is Error.DISABLED:
        scene.order(other, Op.DISABLE_REPLY, target)
    elif error is Error.NOT_MINE:
        scene.order(other, Op.OPEN, target)
        scene.order(other, Op.LOCK, target)
    elif error is Error.NOT_ALLOWED:
        scene.order(other, Op.ALLOW_SUPERVISOR_REPLY, source)
        return [good(row, target), random.randrange(256)]
    else:
        assert error is Error.BAD_PORT
        bad = [param for param in range(256) if Tables(scene.ports, HUB).bad_port(source, row, param)]
        return {bad[0], bad[-1], random.choice(bad)}
    return [forced | target]


async def state(scene, source, target, reader):
    """What a refused command must leave as it was."""
    return [
        await scene.done(reader, Op.MONITOR_READ_REPLY, target),
        await scene.done(reader, Op.MONITOR_READ_REPLY, source),
        await scene.owner(target, reader),
        await scene.locker(target, reader),
        await scene.done(reader, Op.STATUS_INPUT, source),
    ]


@claim(ports=3, timeout_ms=60, needs=("locks", "monitor"))
async def every_command_meets_each_of_its_errors(scene):
    """H9 and the column of errors: the reply bears the error, nothing else changes, and what is an error is counted
    once."""
    met = set()
    for row in random.sample(COMMANDS, 52):
        for error in row.errors:
            source, target, other = scene.some(3)
            params = await bring_about(scene, error, row, source, target, other)
            scene.order(other, Op.MONITOR_SELECT_REPLY, Select.FLAGS)
            await scene.drain()
            for param in params:
                before, sums = await state(scene, source, target, other), await scene.errors(source, other)
                answered = len(scene.replies(source))
                scene.order(source, row.op, param)
                await scene.drain()
                flush = []
                if error is Error.GIVEN_UP:
                    assert len(scene.replies(source)) == answered, f"{row.name} must wait"
                    scene.order(source, Op.FLUSH_REPLY, 0x33)
                    flush = [[Op.FLUSH_REPLY, HUB, 0x33]]
                    await scene.drain()
                got = scene.replies(source)[answered:]
                due = [[row.op & ~REPLY, HUB, error]] if row.op & REPLY else []
                assert got == due + flush, f"{row.name} {param}: {got} instead of {error!r}"
                assert await state(scene, source, target, other) == before, (
                    f"{row.name} {param}, refused as {error!r}, has changed something"
                )
                assert await scene.errors(source, other) == sums + (error in COUNTED), f"{row.name} {param}: {error!r}"
            met.add((row.op, error))
            scene.order(other, Op.RESET_HUB, 0)
            await scene.drain()
    assert met == {(row.op, error) for row in COMMANDS for error in row.errors}
    await scene.finish(judged=False)


@claim(timeout_ms=20, needs=("locks",))
async def a_port_that_there_is_not_is_never_taken_for_the_one_that_its_low_bits_name(scene):
    """H9, BAD_PORT: the input has connected and locked all others, so that a command which lost bits of its
    parameter would find what it needs."""
    source = random.randrange(scene.ports)
    others = [port for port in range(scene.ports) if port != source]
    numbers = 1 << (scene.ports - 1).bit_length()
    for port in others:
        await scene.done(source, Op.LOCK_REPLY, port)
        await scene.done(source, Op.OPEN_REPLY, port)
    for row in random.sample(COMMANDS, 52):
        if Error.BAD_PORT not in row.errors:
            continue
        bad = [
            param
            for param in range(256)
            if param % numbers in others and Tables(scene.ports, HUB).bad_port(source, row, param)
        ]
        for param in {
            random.choice([param for param in bad if param % numbers == port])
            for port in random.sample(others, min(len(others), 4))
        }:
            scene.order(source, row.op, param)
            model = await scene.agrees()
            assert model.targets(source) == others
    for port in others:
        assert (await scene.owner(port), await scene.locker(port), await scene.ready_bit(port)) == (
            source,
            source,
            1,
        ), f"output {port}"
    await scene.agrees()
    scene.send(source, command(Op.UNLOCK_MINE, HUB, 0), CLOSE_ALL)
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=20, needs=("locks",))
async def a_waiting_command_is_refused_when_its_output_is_disabled(scene):
    """docs/hub.md, supervisor commands: a waiting open or lock of a port that is disabled is refused with DISABLED,
    and counted; awaiting is not."""
    for row in COMMANDS:
        if not row.waits:
            continue
        source, target, other = scene.some(3)
        await scene.done(other, Op.FORCE_READY_REPLY, target)
        scene.order(other, Op.LOCK, target)
        await scene.drain()
        scene.order(source, row.op, target)
        await scene.drain()
        before, sums = len(scene.replies(source)), await scene.errors(source, other)
        await scene.done(other, Op.DISABLE_REPLY, target)
        await scene.drain()
        due = [[row.op & ~REPLY, HUB, Error.DISABLED]] if row.op & REPLY and row.op != Op.AWAIT_READY_REPLY else []
        assert scene.replies(source)[before:] == due
        assert await scene.errors(source, other) == sums + (row.op != Op.AWAIT_READY_REPLY)
        scene.order(other, Op.RESET_HUB, 0)
        await scene.drain()
    await scene.finish(judged=False)


@claim(ports=3)
async def an_open_looks_at_the_ready_bit_only_with_test(scene):
    """H9: the bits test and retry of the eight opens, one by one, with the ready bit 0."""
    for row in COMMANDS:
        if row.supervisor or row.group is not Group.OPEN:
            continue
        source, target, other = scene.some(3)
        await scene.done(other, Op.FORCE_READY_REPLY, target)
        before = len(scene.data(target))
        scene.send(source, command(row.op, HUB, target), packet([row.op]), CLOSE_ALL)
        await scene.run(150)
        expected = [] if row.op & TEST else packet([row.op]) + CLOSE_ALL
        assert scene.data(target)[before:] == expected
        await scene.done(other, Op.FORCE_READY_REPLY, FORCE | target)
        await scene.drain()
        assert scene.data(target)[before:] == (
            [] if row.op & TEST and not row.op & RETRY else packet([row.op]) + CLOSE_ALL
        )
    await scene.finish(judged=False)
