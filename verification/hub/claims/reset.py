"""Claims about the reset pin, *reset hub*, and what a reset or a loop back withdraws (docs/verilog.md, docs/wire.md,
"Pins"). Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import FORCE, HELLO, Op
from nectar.hdl.hub.monitor_map import Flag, Select
from nectar.hdl.link.symbol import Control, command, packet, reply

from ..monitors import always, randomly
from ..streams import Violation
from ..testbench import CLOSE_ALL, HUB, claim
from .supervisor import flags


async def disturb(tb, change):
    """Everybody sends and is in the midst of it, and one port is disabled or looped: ``change`` is the supervisor
    command for it, with FORCE or 0."""
    op, force = change
    changed, manager = tb.some(2)
    for end in tb.ends:
        end.answer = None
        end.take = randomly(random, random.choice([0, 0.5, 1]))
    if op == Op.LOOP_BACK_REPLY:
        tb.ends[changed].take = always  # nothing is withdrawn that a recording would miss
    tb.order(manager, op, force | changed)
    for port in range(tb.ports):
        target = (port + random.randrange(1, tb.ports)) % tb.ports
        tb.send(
            port,
            [None] * random.randrange(30),
            command(Op.OPEN_RETRY_REPLY, HUB, target),
            command(Op.LOCK_RETRY, HUB, target),
            packet(bytes(random.randrange(40))),
            reply(1, 2, 3),
            [0x101],
            command(Op.TEST_OPEN_RETRY, HUB, target)[: random.randrange(1, 5)],
        )
    await tb.run(random.randrange(40, 120))


@claim(ports=2, timeout_ms=10)
async def one_cycle_of_reset_is_enough_and_the_next_cycle_may_bring_the_first_symbol(tb):
    """docs/verilog.md, pins: at every port, be it disabled or looped before; docs/hub.md, pins: `idle` is 0 in the
    cycle behind the reset, in which it is still carried out; docs/wire.md, pins: in that cycle, and not later, a symbol
    from before may be offered.
    """
    stale = 0
    for change in [(Op.DISABLE_REPLY, 0), (Op.LOOP_BACK_REPLY, FORCE), (Op.ECHO_REPLY, 0)] * 8:
        await disturb(tb, change)
        await tb.start(cycles=1)
        for port in range(tb.ports):
            tb.send(port, command(Op.OPEN_REPLY, HUB, (port + 1) % tb.ports), packet([port]), CLOSE_ALL)
        await tb.rest()
        stale += sum(symbol is not None for symbol in tb.pins.stale)
        assert not tb.agents.recording.idle[0], "idle while the reset is carried out"
        for port in range(tb.ports):
            target = (port + 1) % tb.ports
            assert tb.replies(port) == [[Op.OPEN_REPLY, HUB, target]] and tb.readies(port) == 1, (
                f"port {port} after {change}"
            )
            assert tb.data(target) == packet([port]) + CLOSE_ALL
        assert not any([await tb.errors(port) for port in range(tb.ports)])
    assert stale, "no symbol was under way at any reset"
    await tb.finish()


@claim(ports=2)
async def a_reset_is_over_when_idle_rises(tb):
    """docs/hub.md, pins: a clock that stops when `idle` is 1 stops behind the reset, however long that was; the monitor
    clears its counters before."""
    for cycles in (1, 2, 5):
        await tb.rest()
        await tb.start(cycles=cycles)
        await tb.run(1)
        assert list(tb.agents.recording.idle) == [0]
        await tb.pins.until(lambda: tb.agents.recording.idle[-1], 40 * tb.ports, "the HUB says idle")
    await tb.finish()


@claim(ports=2)
async def loop_back_withdraws_a_symbol_that_the_fiber_has_not_taken(tb):
    """docs/wire.md, pins, and docs/hub.md, loop back: a reply of which the fiber has taken a part is cut there."""
    manager, looped = tb.some(2)
    sent = tb.agents.recording.tx[looped]
    tb.ends[looped].take = lambda cycle: len(sent) < 2
    tb.order(looped, Op.ECHO_REPLY, 0x55)
    await tb.run(50)
    tb.order(manager, Op.LOOP_BACK_REPLY, FORCE | looped)
    try:
        await tb.run(100)
    except Violation as error:
        assert f"port {looped} offered" in str(error) and "was not taken, and then changed it" in str(error)
    else:
        raise AssertionError("the symbol that was offered is offered still")
    assert [item.symbol for item in sent] == [Control.REPLY, Op.ECHO_REPLY]
    await tb.start()
    await tb.finish()


@claim(ports=3, timeout_ms=20, needs=("locks", "monitor"))
async def reset_hub_leaves_a_hub_as_after_the_reset_pin(tb):
    """Reset hub: not answered; connections, locks, ready bits, states, neighbours, counters, the watchdog's time,
    all as after a reset."""
    manager, one, two = tb.some(3)
    for giver, op, param in (
        (one, Op.OPEN, two),
        (one, Op.LOCK, two),
        (two, Op.LOCK, one),
        (manager, Op.FORCE_READY_REPLY, one),
        (one, Op.CLOSE, 0xFF),
        (manager, Op.WATCHDOG_TIME_REPLY, 0),
        (manager, Op.DISABLE_REPLY, two),
        (manager, Op.ALLOW_SUPERVISOR_REPLY, one),
        (two, Op.OPEN, 0xFE),
    ):
        tb.order(giver, op, param)
        await tb.drain()
    tb.send(one, reply(HELLO, 9, 0, done=False))
    tb.send(two, [int(Control.REPLY), 1])
    await tb.drain()
    before = [len(tx) for tx in tb.agents.recording.tx]
    tb.order(manager, Op.RESET_HUB, 0x55)
    await tb.rest()
    assert [len(tx) for tx in tb.agents.recording.tx] == before
    for port in range(tb.ports):
        assert await flags(tb, port, manager) == Flag.ENABLED | Flag.SUPERVISOR | Flag.READY
        for op, value in (
            (Op.STATUS_OUTPUT, 0),
            (Op.STATUS_LOCK, 0),
            (Op.STATUS_ERRORS, 0),
            (Op.STATUS_QUEUE, 0),
            (Op.STATUS_KIND, 0x7F),
        ):
            assert await tb.done(manager, op, port) == value
    # To read the counters of a port takes thousands of cycles with a large HUB.
    for port in sorted({manager, one, two, *tb.some(min(tb.ports, 16))}):
        assert await tb.counters(port, manager) == {}
    await tb.done(manager, Op.MONITOR_SELECT_REPLY, Select.IDENTITY)
    assert await tb.done(manager, Op.MONITOR_READ_REPLY, 4) == 20, "the watchdog's logarithm"
    await tb.finish(judged=False)
