"""Claims about flow control and status (H9, H10, H15, H21): ready bits, lost ready signals, flush, what a HUB tells
about itself. Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import STATUS_IN_USE, Error, Op
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet

from ..testbench import CLOSE_ALL, HUB, claim

READY = [int(Control.READY)]


@claim()
async def raise_and_lower_act_on_the_ready_bit_of_a_connected_output(tb):
    """H9, raise ready and lower ready: the bit alone, no signal on any fiber; test open looks at it."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN, target)
    for op, bit in (
        (Op.LOWER_READY, 0),
        (Op.LOWER_READY, 0),
        (Op.RAISE_READY, 1),
        (Op.RAISE_READY, 1),
        (Op.LOWER_READY, 0),
    ):
        tb.order(source, op, target)
        await tb.drain()
        assert await tb.ready_bit(target, source) == bit
        assert await tb.ask(source, Op.TEST_OPEN_REPLY, target) == ((True, target) if bit else (False, Error.NOT_READY))
    assert not tb.readies(target) and not tb.readies(source)
    tb.send(target, READY)
    await tb.drain()
    assert await tb.ready_bit(target, source) == 1
    tb.send(source, CLOSE_ALL)
    await tb.finish()


@claim()
async def a_lost_ready_signal_is_made_up_for_by_an_extra_one(tb):
    """H21: the signal from the far end is lost, so the next packet waits; the far end repairs, or the source raises
    the bit, and it goes on."""
    source, target = tb.some(2)
    tb.ends[target].answer = None
    stream = command(Op.TEST_OPEN_RETRY_REPLY, HUB, target) + packet([1]) + CLOSE_ALL
    tb.send(source, stream)
    await tb.drain()
    for remedy in ("signal", "raise"):
        before = len(tb.data(target))
        assert await tb.ready_bit(target, target) == 0
        if remedy == "signal":
            tb.send(source, stream)
            await tb.drain()
            assert len(tb.data(target)) == before
            tb.send(target, READY)
        else:
            tb.send(source, command(Op.OPEN, HUB, target), command(Op.RAISE_READY, HUB, target), stream)
        await tb.drain()
        assert tb.data(target)[before:] == packet([1]) + CLOSE_ALL
    tb.ends[target].answer = 1
    tb.send(target, READY)
    await tb.finish()


@claim(ports=3)
async def repair_sends_a_ready_signal_out_of_the_own_port_or_a_connected_one(tb):
    """H9, H21, repair ready: exactly one signal, there and nowhere else; for other ports NOT_MINE."""
    source, target, other = tb.some(3)
    tb.order(source, Op.OPEN, target)
    for port in (source, target, target):
        before = [tb.readies(number) for number in range(tb.ports)]
        tb.order(source, Op.REPAIR_READY, port)
        await tb.drain()
        assert [tb.readies(number) - before[number] for number in range(tb.ports)] == [
            number == port for number in range(tb.ports)
        ]
    errors = await tb.errors(source, other)
    tb.order(source, Op.REPAIR_READY, other)
    tb.order(target, Op.REPAIR_READY, source)
    await tb.drain()
    assert (
        tb.readies(other) == 0 and await tb.errors(source, other) == errors + 1 and await tb.errors(target, other) == 1
    )
    tb.send(source, CLOSE_ALL)
    await tb.finish()


@claim()
async def await_ready_waits_for_room_without_taking_the_output(tb):
    """H9, await ready: it answers when the bit is 1, whoever is connected; it opens nothing, and the own port may be
    awaited."""
    source, target = tb.some(2)
    for port in (target, source):
        tb.ends[port].answer = None
        feeder = source if port == target else target
        tb.send(feeder, command(Op.OPEN, HUB, port), packet([]), CLOSE_ALL)
        await tb.drain()
        before = len(tb.replies(source))
        tb.order(source, Op.AWAIT_READY_REPLY, port)
        tb.order(source, Op.ECHO_REPLY, 1)
        await tb.run(100)
        assert len(tb.replies(source)) == before and await tb.owner(port, target) is None
        tb.send(port, READY)
        await tb.drain()
        assert tb.replies(source)[before:] == [[Op.AWAIT_READY_REPLY, HUB, port], [Op.ECHO_REPLY, HUB, 1]]
        tb.ends[port].answer = 1
    await tb.finish()


@claim(ports=3, needs=("locks",))
async def a_flush_throws_away_the_queue_and_what_waits_there(tb):
    """docs/hub.md, input side, 5: a command that waits is given up, what is behind it never acts, one ready is sent,
    other ports feel nothing."""
    source, target, other = tb.some(3)
    for wait in (
        Op.OPEN_RETRY_REPLY,
        Op.TEST_OPEN_RETRY,
        Op.LOCK_RETRY,
        Op.LOCK_RETRY_REPLY,
        Op.TEST_OPEN_RETRY_REPLY,
        Op.OPEN_RETRY,
    ):
        tb.order(other, Op.OPEN, target)
        tb.order(other, Op.LOCK, target)
        await tb.drain()
        answers, readies = len(tb.replies(source)), tb.readies(source)
        tb.send(
            source,
            command(wait, HUB, target),
            packet(bytes(20)),
            CLOSE_ALL,
            command(Op.OPEN_REPLY, HUB, other),
            packet([1]),
        )
        await tb.drain()
        assert await tb.done(other, Op.STATUS_QUEUE, source) >= 20
        tb.order(source, Op.FLUSH_REPLY, wait)
        await tb.drain()
        due = [[wait & ~1, HUB, Error.GIVEN_UP]] if wait & 1 else []
        assert tb.replies(source)[answers:] == due + [[Op.FLUSH_REPLY, HUB, wait]]
        assert tb.readies(source) == readies + 1 and await tb.done(other, Op.STATUS_QUEUE, source) == 0
        assert await tb.owner(target, other) == other and await tb.owner(other, other) is None
        tb.send(other, CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
        await tb.drain()
        await tb.connects(source, [target])
    assert await tb.errors(source, other) == 0 and not tb.data(other)
    await tb.finish(judged=False)


@claim(ports=3)
async def a_flush_cuts_short_what_has_left_in_part(tb):
    """docs/hub.md, input side, 5: behind a stopped fiber a packet and a foreign command are cut; what follows the
    flush comes whole."""
    source, target, other = tb.some(3)
    for body in (packet(bytes(range(50))), tb.foreign(target, Op.OPEN, 1) * 5):
        before = len(tb.data(target))
        tb.order(source, Op.OPEN, target)
        await tb.drain()
        tb.ends[target].take = lambda cycle: False
        tb.send(source, body)
        await tb.drain()
        tb.order(source, Op.FLUSH_REPLY, 0)
        await tb.drain()
        assert tb.replies(source)[-1] == [Op.FLUSH_REPLY, HUB, 0], (
            "a flush answers though the fiber ahead takes nothing"
        )
        tb.ends[target].take = lambda cycle: True
        tb.send(source, packet([0xEE]), CLOSE_ALL)
        await tb.drain()
        got = tb.data(target)[before:]
        assert got[-7:] == packet([0xEE]) + CLOSE_ALL and got[:-7] == body[: len(got) - 7] and len(got) - 7 <= 4
    await tb.finish(judged=False)


@claim(ports=3)
async def a_flush_finds_its_way_into_a_full_queue(tb):
    """H21 and the use of flush: a queue that overflows while its head is stuck is the one that most needs it."""
    source, target, other = tb.some(3)
    tb.order(source, Op.OPEN, target)
    await tb.drain()
    tb.ends[target].take = lambda cycle: False
    # A few symbols stand in the registers behind the queue: with four more than the queue takes, none is lost.
    tb.send(source, bytes(tb.room + random.randrange(16, 40)))
    await tb.drain()
    assert await tb.errors(source, other) > 0
    assert await tb.ask(source, Op.FLUSH_REPLY, 9) == (True, 9)
    assert await tb.done(other, Op.STATUS_QUEUE, source) == 0
    tb.ends[target].take = lambda cycle: True
    tb.send(source, CLOSE_ALL)
    await tb.drain()
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim()
async def a_flush_of_half_a_command_leaves_nothing_of_it(tb):
    """docs/hub.md, input side, 5: the flush cuts the fragment short, which is counted, and is done."""
    source, target = tb.some(2)
    for length in (1, 2, 3):
        errors = await tb.errors(source, target)
        tb.send(source, command(Op.OPEN_REPLY, HUB, target)[:length])
        await tb.drain()
        assert await tb.ask(source, Op.FLUSH_REPLY, 5) == (True, 5)
        assert await tb.errors(source, target) == errors + 1 and await tb.owner(target, target) is None
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=3)
async def status_input_counts_connections_and_status_queue_what_waits(tb):
    """H10: from every port, about every port; a multicast can be checked before the data are sent."""
    source, *targets = tb.some(tb.ports)
    for number, target in enumerate(targets):
        tb.order(source, Op.OPEN, target)
        await tb.drain()
        for reader in tb.some(2):
            assert await tb.done(reader, Op.STATUS_INPUT, source) == number + 1
            assert await tb.done(reader, Op.STATUS_INPUT, target) == 0
    tb.ends[targets[0]].take = lambda cycle: False
    total = 0
    for length in (10, 100, min(300, tb.room - 110)):
        tb.send(source, bytes(length))
        await tb.drain()
        level = await tb.done(targets[-1], Op.STATUS_QUEUE, source)
        total += length
        assert min(total - 5 - tb.beyond, 255) <= level <= min(total, 255), f"{level} of {total} symbols"
    tb.ends[targets[0]].take = lambda cycle: True
    tb.send(source, CLOSE_ALL)
    await tb.drain()
    assert await tb.done(source, Op.STATUS_QUEUE, source) == 0 == await tb.done(source, Op.STATUS_INPUT, source)
    await tb.finish()


@claim(ports=3, needs=("locks",))
async def status_lock_and_status_ready_tell_of_every_output(tb):
    """H10: who holds a lock, and the ready bit, of every output, asked from any port."""
    holders = {}
    for port in range(tb.ports):
        holders[port] = random.choice([other for other in range(tb.ports) if other != port])
        tb.order(holders[port], Op.LOCK, port)
        tb.order(holders[port], Op.OPEN, port)
    await tb.drain()
    low = random.sample(range(tb.ports), tb.ports // 2)
    for port in low:
        tb.order(holders[port], Op.LOWER_READY, port)
    await tb.drain()
    for port in range(tb.ports):
        reader = random.randrange(tb.ports)
        assert await tb.done(reader, Op.STATUS_LOCK, port) == STATUS_IN_USE | holders[port]
        assert await tb.ready_bit(port, reader) == (port not in low)
    for port in range(tb.ports):
        tb.send(
            port,
            *[command(Op.RAISE_READY, HUB, o) for o, holder in holders.items() if holder == port],
            CLOSE_ALL,
            command(Op.UNLOCK_MINE, HUB, 0),
        )
    await tb.finish(judged=False)


@claim()
async def echo_identity_and_size_tell_a_board_where_it_is(tb):
    """docs/hub.md, input side, 4: also with HUB ID 255; other commands with it, group 5's unknown ones included, are
    passed on."""
    for port in range(tb.ports):
        target = (port + 1) % tb.ports
        for hub in (HUB, ANY_HUB):
            value = random.randrange(256)
            before = len(tb.replies(port))
            for op, param in ((Op.ECHO_REPLY, value), (Op.IDENTITY_REPLY, value), (Op.SIZE_REPLY, value)):
                tb.send(port, command(op, hub, param))
            await tb.drain()
            assert tb.replies(port)[before:] == [
                [Op.ECHO_REPLY, HUB, value],
                [Op.IDENTITY_REPLY, HUB, port],
                [Op.SIZE_REPLY, HUB, tb.ports],
            ]
        tb.order(port, Op.OPEN, target)
        passed = [
            symbol
            for op in (0x50, 0x52, 0x54, 0x56, 0x57, 0x59, Op.OPEN_REPLY, 0xD1)
            for symbol in command(op, ANY_HUB, 1)
        ]
        tb.send(port, passed, CLOSE_ALL)
        await tb.drain()
        assert tb.data(target)[-len(passed) - 4 :] == passed + CLOSE_ALL
    await tb.finish()


@claim(ports=4)
async def the_other_ways_to_close_answer_when_all_is_down(tb):
    """H9, close reply, close mine (reply), close all reply: what was sent before still comes out; close all reply
    takes a whole multicast down."""
    source, *targets = tb.some(4)
    for op, param in ((Op.CLOSE_MINE, 3), (Op.CLOSE_MINE_REPLY, 0x77), (Op.CLOSE_ALL_REPLY, 0x78)):
        before = {target: len(tb.data(target)) for target in targets}
        for target in targets:
            tb.order(source, Op.OPEN, target)
        stream = packet(random.randbytes(5))
        tb.send(source, stream)
        answers = len(tb.replies(source))
        tb.order(source, op, param)
        await tb.drain()
        assert tb.replies(source)[answers:] == ([[op, HUB, param]] if op & 1 else [])
        for target in targets:
            assert tb.data(target)[before[target] :] == stream and await tb.owner(target) is None
    tb.order(source, Op.OPEN, targets[0])
    assert await tb.ask(source, Op.CLOSE_REPLY, targets[0]) == (True, targets[0])
    assert await tb.ask(source, Op.CLOSE_REPLY, targets[0]) == (False, Error.NOT_MINE)
    await tb.finish()
