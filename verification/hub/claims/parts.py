"""Claims about a HUB of which a part has been left out (docs/hub.md, "Parts that may be left out"). Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, REPLY, Error, Op
from nectar.hdl.link.symbol import command, packet

from ..tables import answered
from ..testbench import CLOSE_ALL, HUB, claim


@claim(ports=3, timeout_ms=20)
async def a_command_of_an_absent_part_is_unknown_from_every_port(scene):
    """docs/hub.md, parts: from a port that may give supervisor commands and from one that may not, with any parameter:
    no effect, no waiting, counted as an error, answered UNKNOWN. A HUB with all parts has no such command."""
    manager, source, target = scene.some(3)
    assert await scene.ask(manager, Op.ALLOW_SUPERVISOR_REPLY, source) == (True, source)
    for port in (manager, source):
        scene.order(port, Op.OPEN, target)
        scene.send(port, packet([port]))
        await scene.drain()
        for row in random.sample(COMMANDS, 52):
            if row.op in scene.rows:
                continue
            for param in (target, port, manager, random.randrange(256)):
                before, errors = len(scene.replies(port)), await scene.errors(port, target)
                stream = packet([row.op, param])
                scene.send(port, command(row.op, HUB, param), stream)
                await scene.drain()
                due = [[row.op & ~REPLY, HUB, Error.UNKNOWN]] if answered(row.op) else []
                assert scene.replies(port)[before:] == due, f"{row.name} {param} at port {port}"
                assert await scene.errors(port, target) == errors + 1, f"{row.name} {param} at port {port}"
                assert scene.data(target)[-len(stream) :] == stream and await scene.owner(target, target) == port
        scene.send(port, CLOSE_ALL)
        await scene.drain()
    await scene.finish(judged=False)


@claim(ports=3)
async def connections_work_whatever_has_been_asked_of_an_absent_part(scene):
    """docs/hub.md, parts: whatever *lock* has been asked for, an output is refused as busy only, and *disable* and
    *reset port* take their connections."""
    manager, source, target = scene.some(3)
    if not scene.has("locks"):
        scene.order(manager, Op.LOCK, target)
        scene.order(manager, Op.FORCE_LOCK_REPLY, 0x80 | target)
    await scene.drain()
    for op in (Op.DISABLE_REPLY, Op.RESET_PORT_REPLY):
        assert await scene.ask(source, Op.OPEN_REPLY, target) == (True, target)
        assert await scene.ask(manager, Op.OPEN_REPLY, target) == (False, Error.BUSY)
        assert await scene.ask(manager, op, target) == (True, target)
        assert await scene.owner(target, manager) is None
        assert await scene.ask(manager, Op.ENABLE_REPLY, target) == (True, target)
    scene.order(manager, Op.RESET_HUB, 0)
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_queue_tells_up_to_255_symbols_that_wait_in_it(scene):
    """*Status queue*, in a queue of any size: behind a fiber that takes nothing each symbol more is one entry more, up
    to a full queue; from 255 on the answer stays."""
    source, target, other = scene.some(3)
    scene.order(source, Op.OPEN, target)
    await scene.drain()
    scene.ends[target].take = lambda cycle: False
    sent = 30  # more than what the registers behind the queue hold
    scene.send(source, bytes(sent))
    await scene.drain()
    held = await scene.done(other, Op.STATUS_QUEUE, source)
    assert sent - 6 - scene.beyond < held < sent
    for waiting in sorted({100, *(n for n in (254, 255, 256, scene.room // 2) if n < scene.room - 8), scene.room - 8}):
        scene.send(source, bytes(waiting - held))
        held = waiting
        await scene.drain(10000)
        assert await scene.done(other, Op.STATUS_QUEUE, source) == min(held, 255)
    assert await scene.errors(source, other) == 0
    scene.ends[target].take = lambda cycle: True
    scene.send(source, CLOSE_ALL)
    await scene.finish(judged=False)
