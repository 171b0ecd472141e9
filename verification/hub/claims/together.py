"""Claims about commands that arrive at several ports in the same cycle: some order explains all that is seen. Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, HELLO, HELLO_ASK, STATUS_IN_USE, Op
from nectar.hdl.link.symbol import command

from ..model import explain
from ..streams import Violation
from ..testbench import CLOSE_ALL, HUB, claim
from .table import NEEDS, good

#: Nobody is left to give commands, or to be asked, after these.
ALONE = {Op.RESET_HUB}


def own(tb, port, since):
    """Answers of the HUB under test at ``port`` since the given number of them."""
    return [frame for frame in tb.replies(port) if frame[1] == HUB][since:]


async def explained(tb, streams):
    """Sends ``streams`` ({port: [frame, …]}), all from the same cycle on; returns the models of all orders that
    explain what came out."""
    model = await tb.agrees()
    before = {port: (len(own(tb, port, 0)), tb.readies(port), len(tb.hellos(port))) for port in range(tb.ports)}
    for port, frames in streams.items():
        tb.send(port, *frames)
    await tb.drain()
    seen = [
        (own(tb, port, answers), tb.readies(port) - readies, sorted(tb.hellos(port)[hellos:]))
        for port, (answers, readies, hellos) in before.items()
    ]

    def fits(model, final):
        for port, (answers, readies, hellos) in enumerate(seen):
            if final and (model.answers[port], model.readies[port], sorted(model.hellos[port])) != (
                answers,
                readies,
                hellos,
            ):
                return False
            if model.answers[port] != answers[: len(model.answers[port])]:
                return False
        return True

    try:
        return explain(model, streams, fits)
    except Violation as error:
        raise Violation(f"{error}: (answers, ready signals, hellos) of all ports: {seen}") from None


async def stands(tb, models, ports, reader):
    """Shows that the tables of the HUB are those of one of ``models``."""
    tables = []
    for port in ports:
        holders = [await tb.done(reader, op, port) for op in (Op.STATUS_OUTPUT, Op.STATUS_LOCK)]
        tables.append(
            (*[value & ~STATUS_IN_USE if value else None for value in holders], await tb.ready_bit(port, reader))
        )
    wanted = [[(model.owner[port], model.lock[port], model.ready[port]) for port in ports] for model in models]
    assert tables in wanted, f"(owner, lock, ready) of ports {ports}: {tables}, possible: {wanted}"


@claim(ports=4, timeout_ms=60, needs=("locks",))
async def the_same_command_from_two_ports_in_the_same_cycle_is_as_one_after_the_other(tb):
    """H4, H11: each of the commands, with the same parameter, from two ports at once, each having what the command
    needs, or one of them, or none."""
    for row in random.sample(COMMANDS, 52):
        if row.op in ALONE:
            continue
        first, second, target, reader = tb.some(4)
        tb.order(random.choice([first, second, reader]), random.choice([NEEDS.get(row.op, Op.OPEN), Op.LOCK]), target)
        await tb.drain()
        param = good(row, target)
        models = await explained(tb, {port: [command(row.op, HUB, param)] for port in (first, second)})
        await stands(tb, models, [target, first], reader)
        await tb.start()
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=60, needs=("locks",))
async def opposite_commands_in_the_same_cycle_are_as_one_after_the_other(tb):
    """H4, H11: what takes and what gives back the same output, from two ports at once."""
    pairs = [
        (Op.OPEN_REPLY, Op.CLOSE_REPLY),
        (Op.LOCK_REPLY, Op.UNLOCK_REPLY),
        (Op.OPEN_REPLY, Op.LOCK_REPLY),
        (Op.OPEN_RETRY_REPLY, Op.UNLOCK_REPLY),
        (Op.LOCK_RETRY_REPLY, Op.UNLOCK_REPLY),
        (Op.TEST_OPEN_REPLY, Op.LOWER_READY),
        (Op.AWAIT_READY_REPLY, Op.RAISE_READY),
        (Op.OPEN_REPLY, Op.FORCE_CONNECTION_REPLY),
        (Op.LOCK_REPLY, Op.FORCE_LOCK_REPLY),
        (Op.TEST_OPEN_REPLY, Op.FORCE_READY_REPLY),
        (Op.OPEN_REPLY, Op.DISABLE_REPLY),
        (Op.OPEN_REPLY, Op.RESET_PORT_REPLY),
        (Op.CLOSE_REPLY, Op.FORCE_CONNECTION_REPLY),
        (Op.LOCK_REPLY, Op.DISABLE_REPLY),
        (Op.UNLOCK_REPLY, Op.RESET_PORT_REPLY),
        (Op.OPEN_RETRY_REPLY, Op.ENABLE_REPLY),
    ]
    for one, other in random.sample(pairs, len(pairs)):
        for force in (0, 0x80):
            first, second, target, reader = tb.some(4)
            for port, op in random.sample([(first, NEEDS.get(one)), (second, NEEDS.get(other, Op.LOCK))], 2):
                if op is not None:
                    tb.order(port, op, target)
                    await tb.drain()
            if one == Op.AWAIT_READY_REPLY:
                tb.order(second, Op.LOWER_READY, target)
                await tb.drain()
            forced = other in (Op.FORCE_CONNECTION_REPLY, Op.FORCE_LOCK_REPLY, Op.FORCE_READY_REPLY)
            lead = random.choice([[], [None], [None] * 2])
            streams = {first: command(one, HUB, target), second: command(other, HUB, target | (force if forced else 0))}
            late = random.choice([first, second])
            tb.ends[late].send(lead)
            models = await explained(tb, {port: [frame] for port, frame in streams.items()})
            await stands(tb, models, [target, first], reader)
            await tb.start()
    await tb.finish(judged=False)


@claim(ports=4, timeout_ms=40, needs=("locks",))
async def those_who_wait_are_served_one_by_one_when_the_output_is_given_back(tb):
    """docs/hub.md, controller: all others wait for one output or one lock; each of its ends lets exactly one of them
    in, all in the end."""
    for op, take, give in (
        (Op.OPEN_RETRY_REPLY, Op.OPEN, CLOSE_ALL),
        (Op.LOCK_RETRY_REPLY, Op.LOCK, command(Op.UNLOCK_MINE, HUB, 0)),
        (Op.OPEN_RETRY_REPLY, Op.LOCK, command(Op.UNLOCK_MINE, HUB, 0) + CLOSE_ALL),
    ):
        target, holder, *waiting = tb.some(min(tb.ports, 6))
        tb.order(holder, take, target)
        await tb.drain()
        for port in waiting:
            tb.order(port, op, target)
        await tb.drain()
        served = []
        while waiting:
            before = {port: len(tb.replies(port)) for port in waiting}
            tb.send(holder, give)
            await tb.drain()
            answered = [port for port in waiting if len(tb.replies(port)) > before[port]]
            assert len(answered) == 1, f"{answered} were served at the same time"
            holder = answered[0]
            waiting.remove(holder)
            served.append(holder)
        tb.send(holder, give)
        await tb.drain()
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=20)
async def all_ports_ask_the_same_in_the_same_cycle(tb):
    """H4: one decision a cycle; every port gets its answer, once and right, whatever is asked."""
    for row in tb.rows.values():
        if row.supervisor or "STATUS" not in row.op.name and "ECHO" not in row.op.name and "SIZE" not in row.op.name:
            continue
        param = random.randrange(tb.ports)
        before = [len(tb.replies(port)) for port in range(tb.ports)]
        for port in range(tb.ports):
            tb.order(port, row.op, param)
        await tb.drain()
        got = [tb.replies(port)[before[port] :] for port in range(tb.ports)]
        assert all(answers == got[0] and len(answers) == 1 and answers[0][0] == row.op for answers in got), (
            f"{row.name}: {got}"
        )
    for port in range(tb.ports):
        assert all(frame[0] in (HELLO, HELLO_ASK) for frame in tb.hellos(port))
    await tb.finish(judged=False)
