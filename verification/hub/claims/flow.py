"""Claims about flow control and status (H9, H10, H15, H21): ready bits, lost ready signals, flush, what a HUB tells
about itself. Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import STATUS_IN_USE, Error, Op
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet

from ..testbench import CLOSE_ALL, HUB, claim

READY = [int(Control.READY)]


@claim()
async def raise_and_lower_act_on_the_ready_bit_of_a_connected_output(scene):
    """H9, raise ready and lower ready: the bit alone, no signal on any fiber; test open looks at it."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN, target)
    for op, bit in (
        (Op.LOWER_READY, 0),
        (Op.LOWER_READY, 0),
        (Op.RAISE_READY, 1),
        (Op.RAISE_READY, 1),
        (Op.LOWER_READY, 0),
    ):
        scene.order(source, op, target)
        await scene.drain()
        assert await scene.ready_bit(target, source) == bit
        assert await scene.ask(source, Op.TEST_OPEN_REPLY, target) == (
            (True, target) if bit else (False, Error.NOT_READY)
        )
    assert not scene.readies(target) and not scene.readies(source)
    scene.send(target, READY)
    await scene.drain()
    assert await scene.ready_bit(target, source) == 1
    scene.send(source, CLOSE_ALL)
    await scene.finish()


@claim()
async def a_lost_ready_signal_is_made_up_for_by_an_extra_one(scene):
    """H21: the signal from the far end is lost, so the next packet waits; the far end repairs, or the source raises
    the bit, and it goes on."""
    source, target = scene.some(2)
    scene.ends[target].answer = None
    stream = command(Op.TEST_OPEN_RETRY_REPLY, HUB, target) + packet([1]) + CLOSE_ALL
    scene.send(source, stream)
    await scene.drain()
    for remedy in ("signal", "raise"):
        before = len(scene.data(target))
        assert await scene.ready_bit(target, target) == 0
        if remedy == "signal":
            scene.send(source, stream)
            await scene.drain()
            assert len(scene.data(target)) == before
            scene.send(target, READY)
        else:
            scene.send(source, command(Op.OPEN, HUB, target), command(Op.RAISE_READY, HUB, target), stream)
        await scene.drain()
        assert scene.data(target)[before:] == packet([1]) + CLOSE_ALL
    scene.ends[target].answer = 1
    scene.send(target, READY)
    await scene.finish()


@claim(ports=3)
async def repair_sends_a_ready_signal_out_of_the_own_port_or_a_connected_one(scene):
    """H9, H21, repair ready: exactly one signal, there and nowhere else; for other ports NOT_MINE."""
    source, target, other = scene.some(3)
    scene.order(source, Op.OPEN, target)
    for port in (source, target, target):
        before = [scene.readies(number) for number in range(scene.ports)]
        scene.order(source, Op.REPAIR_READY, port)
        await scene.drain()
        assert [scene.readies(number) - before[number] for number in range(scene.ports)] == [
            number == port for number in range(scene.ports)
        ]
    errors = await scene.errors(source, other)
    scene.order(source, Op.REPAIR_READY, other)
    scene.order(target, Op.REPAIR_READY, source)
    await scene.drain()
    assert (
        scene.readies(other) == 0
        and await scene.errors(source, other) == errors + 1
        and await scene.errors(target, other) == 1
    )
    scene.send(source, CLOSE_ALL)
    await scene.finish()


@claim()
async def await_ready_waits_for_room_without_taking_the_output(scene):
    """H9, await ready: it answers when the bit is 1, whoever is connected; it opens nothing, and the own port may be
    awaited."""
    source, target = scene.some(2)
    for port in (target, source):
        scene.ends[port].answer = None
        feeder = source if port == target else target
        scene.send(feeder, command(Op.OPEN, HUB, port), packet([]), CLOSE_ALL)
        await scene.drain()
        before = len(scene.replies(source))
        scene.order(source, Op.AWAIT_READY_REPLY, port)
        scene.order(source, Op.ECHO_REPLY, 1)
        await scene.run(100)
        assert len(scene.replies(source)) == before and await scene.owner(port, target) is None
        scene.send(port, READY)
        await scene.drain()
        assert scene.replies(source)[before:] == [[Op.AWAIT_READY_REPLY, HUB, port], [Op.ECHO_REPLY, HUB, 1]]
        scene.ends[port].answer = 1
    await scene.finish()


@claim(ports=3, needs=("locks",))
async def a_flush_throws_away_the_queue_and_what_waits_there(scene):
    """docs/hub.md, input side, 5: a command that waits is given up, what is behind it never acts, one ready is sent,
    other ports feel nothing."""
    source, target, other = scene.some(3)
    for wait in (
        Op.OPEN_RETRY_REPLY,
        Op.TEST_OPEN_RETRY,
        Op.LOCK_RETRY,
        Op.LOCK_RETRY_REPLY,
        Op.TEST_OPEN_RETRY_REPLY,
        Op.OPEN_RETRY,
    ):
        scene.order(other, Op.OPEN, target)
        scene.order(other, Op.LOCK, target)
        await scene.drain()
        answers, readies = len(scene.replies(source)), scene.readies(source)
        scene.send(
            source,
            command(wait, HUB, target),
            packet(bytes(20)),
            CLOSE_ALL,
            command(Op.OPEN_REPLY, HUB, other),
            packet([1]),
        )
        await scene.drain()
        assert await scene.done(other, Op.STATUS_QUEUE, source) >= 20
        scene.order(source, Op.FLUSH_REPLY, wait)
        await scene.drain()
        due = [[wait & ~1, HUB, Error.GIVEN_UP]] if wait & 1 else []
        assert scene.replies(source)[answers:] == due + [[Op.FLUSH_REPLY, HUB, wait]]
        assert scene.readies(source) == readies + 1 and await scene.done(other, Op.STATUS_QUEUE, source) == 0
        assert await scene.owner(target, other) == other and await scene.owner(other, other) is None
        scene.send(other, CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
        await scene.drain()
        await scene.connects(source, [target])
    assert await scene.errors(source, other) == 0 and not scene.data(other)
    await scene.finish(judged=False)


@claim(ports=3)
async def a_flush_cuts_short_what_has_left_in_part(scene):
    """docs/hub.md, input side, 5: behind a stopped fiber a packet and a foreign command are cut; what follows the
    flush comes whole."""
    source, target, other = scene.some(3)
    for body in (packet(bytes(range(50))), scene.foreign(target, Op.OPEN, 1) * 5):
        before = len(scene.data(target))
        scene.order(source, Op.OPEN, target)
        await scene.drain()
        scene.ends[target].take = lambda cycle: False
        scene.send(source, body)
        await scene.drain()
        scene.order(source, Op.FLUSH_REPLY, 0)
        await scene.drain()
        assert scene.replies(source)[-1] == [Op.FLUSH_REPLY, HUB, 0], (
            "a flush answers though the fiber ahead takes nothing"
        )
        scene.ends[target].take = lambda cycle: True
        scene.send(source, packet([0xEE]), CLOSE_ALL)
        await scene.drain()
        got = scene.data(target)[before:]
        assert got[-7:] == packet([0xEE]) + CLOSE_ALL and got[:-7] == body[: len(got) - 7] and len(got) - 7 <= 4
    await scene.finish(judged=False)


@claim(ports=3)
async def a_flush_finds_its_way_into_a_full_queue(scene):
    """H21 and the use of flush: a queue that overflows while its head is stuck is the one that most needs it."""
    source, target, other = scene.some(3)
    scene.order(source, Op.OPEN, target)
    await scene.drain()
    scene.ends[target].take = lambda cycle: False
    # A few symbols stand in the registers behind the queue: with four more than the queue takes, none is lost.
    scene.send(source, bytes(scene.room + random.randrange(16, 40)))
    await scene.drain()
    assert await scene.errors(source, other) > 0
    assert await scene.ask(source, Op.FLUSH_REPLY, 9) == (True, 9)
    assert await scene.done(other, Op.STATUS_QUEUE, source) == 0
    scene.ends[target].take = lambda cycle: True
    scene.send(source, CLOSE_ALL)
    await scene.drain()
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim()
async def a_flush_of_half_a_command_leaves_nothing_of_it(scene):
    """docs/hub.md, input side, 5: the flush cuts the fragment short, which is counted, and is done."""
    source, target = scene.some(2)
    for length in (1, 2, 3):
        errors = await scene.errors(source, target)
        scene.send(source, command(Op.OPEN_REPLY, HUB, target)[:length])
        await scene.drain()
        assert await scene.ask(source, Op.FLUSH_REPLY, 5) == (True, 5)
        assert await scene.errors(source, target) == errors + 1 and await scene.owner(target, target) is None
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=3)
async def status_input_counts_connections_and_status_queue_what_waits(scene):
    """H10: from every port, about every port; a multicast can be checked before the data are sent."""
    source, *targets = scene.some(scene.ports)
    for number, target in enumerate(targets):
        scene.order(source, Op.OPEN, target)
        await scene.drain()
        for reader in scene.some(2):
            assert await scene.done(reader, Op.STATUS_INPUT, source) == number + 1
            assert await scene.done(reader, Op.STATUS_INPUT, target) == 0
    scene.ends[targets[0]].take = lambda cycle: False
    total = 0
    for length in (10, 100, min(300, scene.room - 110)):
        scene.send(source, bytes(length))
        await scene.drain()
        level = await scene.done(targets[-1], Op.STATUS_QUEUE, source)
        total += length
        assert min(total - 5 - scene.beyond, 255) <= level <= min(total, 255), f"{level} of {total} symbols"
    scene.ends[targets[0]].take = lambda cycle: True
    scene.send(source, CLOSE_ALL)
    await scene.drain()
    assert await scene.done(source, Op.STATUS_QUEUE, source) == 0 == await scene.done(source, Op.STATUS_INPUT, source)
    await scene.finish()


@claim(ports=3, needs=("locks",))
async def status_lock_and_status_ready_tell_of_every_output(scene):
    """H10: who holds a lock, and the ready bit, of every output, asked from any port."""
    holders = {}
    for port in range(scene.ports):
        holders[port] = random.choice([other for other in range(scene.ports) if other != port])
        scene.order(holders[port], Op.LOCK, port)
        scene.order(holders[port], Op.OPEN, port)
    await scene.drain()
    low = random.sample(range(scene.ports), scene.ports // 2)
    for port in low:
        scene.order(holders[port], Op.LOWER_READY, port)
    await scene.drain()
    for port in range(scene.ports):
        reader = random.randrange(scene.ports)
        assert await scene.done(reader, Op.STATUS_LOCK, port) == STATUS_IN_USE | holders[port]
        assert await scene.ready_bit(port, reader) == (port not in low)
    for port in range(scene.ports):
        scene.send(
            port,
            *[command(Op.RAISE_READY, HUB, o) for o, holder in holders.items() if holder == port],
            CLOSE_ALL,
            command(Op.UNLOCK_MINE, HUB, 0),
        )
    await scene.finish(judged=False)


@claim()
async def echo_identity_and_size_tell_a_board_where_it_is(scene):
    """docs/hub.md, input side, 4: also with HUB ID 255; other commands with it, group 5's unknown ones included, are
    passed on."""
    for port in range(scene.ports):
        target = (port + 1) % scene.ports
        for hub in (HUB, ANY_HUB):
            value = random.randrange(256)
            before = len(scene.replies(port))
            for op, param in ((Op.ECHO_REPLY, value), (Op.IDENTITY_REPLY, value), (Op.SIZE_REPLY, value)):
                scene.send(port, command(op, hub, param))
            await scene.drain()
            assert scene.replies(port)[before:] == [
                [Op.ECHO_REPLY, HUB, value],
                [Op.IDENTITY_REPLY, HUB, port],
                [Op.SIZE_REPLY, HUB, scene.ports],
            ]
        scene.order(port, Op.OPEN, target)
        passed = [
            symbol
            for op in (0x50, 0x52, 0x54, 0x56, 0x57, 0x59, Op.OPEN_REPLY, 0xD1)
            for symbol in command(op, ANY_HUB, 1)
        ]
        scene.send(port, passed, CLOSE_ALL)
        await scene.drain()
        assert scene.data(target)[-len(passed) - 4 :] == passed + CLOSE_ALL
    await scene.finish()


@claim(ports=4)
async def the_other_ways_to_close_answer_when_all_is_down(scene):
    """H9, close reply, close mine (reply), close all reply: what was sent before still comes out; close all reply
    takes a whole multicast down."""
    source, *targets = scene.some(4)
    for op, param in ((Op.CLOSE_MINE, 3), (Op.CLOSE_MINE_REPLY, 0x77), (Op.CLOSE_ALL_REPLY, 0x78)):
        before = {target: len(scene.data(target)) for target in targets}
        for target in targets:
            scene.order(source, Op.OPEN, target)
        stream = packet(random.randbytes(5))
        scene.send(source, stream)
        answers = len(scene.replies(source))
        scene.order(source, op, param)
        await scene.drain()
        assert scene.replies(source)[answers:] == ([[op, HUB, param]] if op & 1 else [])
        for target in targets:
            assert scene.data(target)[before[target] :] == stream and await scene.owner(target) is None
    scene.order(source, Op.OPEN, targets[0])
    assert await scene.ask(source, Op.CLOSE_REPLY, targets[0]) == (True, targets[0])
    assert await scene.ask(source, Op.CLOSE_REPLY, targets[0]) == (False, Error.NOT_MINE)
    await scene.finish()
