"""Claims about a HUB of which a part has been left out (docs/hub.md, "Parts that may be left out"). Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, REPLY, Error, Op
from nectar.hdl.link.symbol import command, packet

from ..tables import answered
from ..testbench import CLOSE_ALL, HUB, claim


@claim(ports=3, timeout_ms=20)
async def a_command_of_an_absent_part_is_unknown_from_every_port(tb):
    """docs/hub.md, parts: from a port that may give supervisor commands and from one that may not, with any parameter:
    no effect, no waiting, counted as an error, answered UNKNOWN. A HUB with all parts has no such command."""
    manager, source, target = tb.some(3)
    assert await tb.ask(manager, Op.ALLOW_SUPERVISOR_REPLY, source) == (True, source)
    for port in (manager, source):
        tb.order(port, Op.OPEN, target)
        tb.send(port, packet([port]))
        await tb.drain()
        for row in random.sample(COMMANDS, 52):
            if row.op in tb.rows:
                continue
            for param in (target, port, manager, random.randrange(256)):
                before, errors = len(tb.replies(port)), await tb.errors(port, target)
                stream = packet([row.op, param])
                tb.send(port, command(row.op, HUB, param), stream)
                await tb.drain()
                due = [[row.op & ~REPLY, HUB, Error.UNKNOWN]] if answered(row.op) else []
                assert tb.replies(port)[before:] == due, f"{row.name} {param} at port {port}"
                assert await tb.errors(port, target) == errors + 1, f"{row.name} {param} at port {port}"
                assert tb.data(target)[-len(stream) :] == stream and await tb.owner(target, target) == port
        tb.send(port, CLOSE_ALL)
        await tb.drain()
    await tb.finish(judged=False)


@claim(ports=3)
async def connections_work_whatever_has_been_asked_of_an_absent_part(tb):
    """docs/hub.md, parts: whatever *lock* has been asked for, an output is refused as busy only, and *disable* and
    *reset port* take their connections."""
    manager, source, target = tb.some(3)
    if not tb.has("locks"):
        tb.order(manager, Op.LOCK, target)
        tb.order(manager, Op.FORCE_LOCK_REPLY, 0x80 | target)
    await tb.drain()
    for op in (Op.DISABLE_REPLY, Op.RESET_PORT_REPLY):
        assert await tb.ask(source, Op.OPEN_REPLY, target) == (True, target)
        assert await tb.ask(manager, Op.OPEN_REPLY, target) == (False, Error.BUSY)
        assert await tb.ask(manager, op, target) == (True, target)
        assert await tb.owner(target, manager) is None
        assert await tb.ask(manager, Op.ENABLE_REPLY, target) == (True, target)
    tb.order(manager, Op.RESET_HUB, 0)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_queue_tells_up_to_255_symbols_that_wait_in_it(tb):
    """*Status queue*, in a queue of any size: behind a fiber that takes nothing each symbol more is one entry more, up
    to a full queue; from 255 on the answer stays."""
    source, target, other = tb.some(3)
    tb.order(source, Op.OPEN, target)
    await tb.drain()
    tb.ends[target].take = lambda cycle: False
    sent = 30  # more than what the registers behind the queue hold
    tb.send(source, bytes(sent))
    await tb.drain()
    held = await tb.done(other, Op.STATUS_QUEUE, source)
    assert sent - 6 - tb.beyond < held < sent
    for waiting in sorted({100, *(n for n in (254, 255, 256, tb.room // 2) if n < tb.room - 8), tb.room - 8}):
        tb.send(source, bytes(waiting - held))
        held = waiting
        await tb.drain(10000)
        assert await tb.done(other, Op.STATUS_QUEUE, source) == min(held, 255)
    assert await tb.errors(source, other) == 0
    tb.ends[target].take = lambda cycle: True
    tb.send(source, CLOSE_ALL)
    await tb.finish(judged=False)
