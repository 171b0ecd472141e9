"""Claims about what must not harm a HUB: broken frames, lost connections, full queues, noise. Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import COMMANDS, REPLY, Error, Op
from nectar.hdl.link.symbol import CONTROL_BIT, Control, command, packet, reply

from ..streams import CODES
from ..testbench import CLOSE_ALL, HUB, claim
from ..traffic import neighbour_hub

#: Symbols that an input queue holds.
RESERVED = [code for code in range(CONTROL_BIT, 2 * CONTROL_BIT) if code not in CODES]


@claim()
async def a_command_cut_short_is_dropped_and_what_cuts_it_counts(scene):
    """docs/wire.md, frames: own commands, foreign ones and close all; cut by a start, an end or the next command;
    one error each."""
    source, target = scene.some(2)
    whole = command(Op.OPEN_RETRY_REPLY, HUB, target)
    scene.send(source, whole)
    expected = []
    count = 0
    for frame in (whole, command(Op.CLOSE, HUB, target), scene.foreign(target, Op.OPEN, 3), CLOSE_ALL):
        for length in (1, 2, 3):
            for cutter in (packet([length]), [int(Control.END)], scene.foreign(target, Op.OPEN_RETRY, 4)):
                scene.send(source, frame[:length], cutter)
                expected += cutter
                count += 1
            scene.send(source, frame[:length], whole)
            count += 1
            await scene.drain()
    assert scene.data(target) == expected
    assert scene.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * 13
    assert await scene.errors(source) == count
    scene.send(source, CLOSE_ALL)
    await scene.finish()


@claim()
async def a_command_whose_rest_never_comes_holds_up_its_port_only(scene):
    """docs/hub.md: the head waits for the rest of a command; replies and ready signals of the port go on; the next
    command frees it."""
    source, target = scene.some(2)
    scene.send(source, command(Op.OPEN_RETRY_REPLY, HUB, target)[:3])
    await scene.run(300)
    assert await scene.ask(target, Op.OPEN_RETRY_REPLY, source) == (True, source)
    scene.send(target, packet([1]))
    await scene.run(50)
    assert scene.data(source) == packet([1])
    scene.send(source, reply(1, neighbour_hub(source), 2))
    await scene.run(50)
    assert scene.replies(target)[-1] == [1, neighbour_hub(source), 2]
    scene.send(target, CLOSE_ALL)
    await scene.run(50)
    await scene.connects(source, [target])
    assert await scene.errors(source) == 1
    await scene.finish()


@claim()
async def a_reply_cut_short_is_dropped_and_what_cuts_it_counts(scene):
    """docs/wire.md, frames: a fragment goes nowhere; idle and ready between its symbols cut nothing."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    scene.order(target, Op.OPEN_RETRY, source)
    frame = reply(1, neighbour_hub(target), 3)
    expected, whole, count = [], 0, 0
    for length in (1, 2, 3):
        for cutter in (packet([length]), [int(Control.END)], frame, scene.foreign(source, Op.OPEN, length)):
            scene.send(target, frame[:length], cutter)
            expected += [] if cutter is frame else cutter
            whole += cutter is frame
            count += 1
        scene.send(target, frame[:length], [int(Control.READY), int(Control.IDLE), None], frame[length:])
        whole += 1
        await scene.drain()
    assert scene.data(source) == expected
    assert scene.replies(source) == [frame[1:]] * whole
    assert await scene.errors(target, target) == count
    scene.send(source, CLOSE_ALL)
    scene.send(target, CLOSE_ALL)
    await scene.finish()


@claim()
async def data_without_a_connection_are_dropped_and_counted_once_a_run(scene):
    """docs/hub.md, input side: a run ends with a symbol that is passed on, a command for this HUB, or a close all."""
    source, target = scene.some(2)
    runs = [
        packet([1]) + [2, 3] + packet([]),
        command(Op.STATUS_OUTPUT, HUB, target),
        [4],
        CLOSE_ALL,
        packet([5, 6]),
        command(Op.OPEN_RETRY, HUB, target),
        packet([7]),
        CLOSE_ALL,
        [8],
        scene.foreign(target, Op.OPEN, 1),
        [9],
        CLOSE_ALL,
    ]
    for gap in ([], [None] * 30):
        before = await scene.errors(source)
        for stream in runs:
            scene.send(source, stream, gap)
        await scene.drain()
        assert await scene.errors(source) == before + 4
    assert scene.data(target) == (packet([7]) + CLOSE_ALL) * 2
    assert scene.readies(source) == 8
    await scene.finish()


@claim()
async def a_port_cannot_be_its_own_target(scene):
    """docs/hub.md, controller: refused as a bad port, whatever kind of open; its data are dropped, its own output
    stays free."""
    source, target = scene.some(2)
    for op in (Op.OPEN, Op.OPEN_RETRY, Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_RETRY):
        scene.order(source, op, source)
        scene.send(source, packet([op]), CLOSE_ALL)
    await scene.drain()
    assert scene.replies(source) == [[Op.OPEN_RETRY_REPLY & ~REPLY, HUB, Error.BAD_PORT]]
    assert not scene.data(source) and await scene.owner(source) is None
    assert await scene.errors(source) == 8
    await scene.connects(source, [target])
    await scene.finish()


@claim(ports=3)
async def a_full_queue_drops_what_comes_on_top_and_counts_it(scene):
    """H14: room for a packet of 1024 bytes and 128 symbols; each symbol more is one error; what is in the queue
    comes out unharmed."""
    owner, source, target = scene.some(3)
    for more in (0, 1, 40):
        errors, before = await scene.errors(source), len(scene.data(target))
        scene.order(owner, Op.OPEN_RETRY, target)
        await scene.drain()
        scene.order(source, Op.OPEN_RETRY, target)
        stream = [int(Control.START), *random.randbytes(scene.room - 5), *[0xAA] * more]
        scene.send(source, stream)
        await scene.run(len(stream) + 50)
        scene.send(owner, CLOSE_ALL)
        await scene.drain()
        got = scene.data(target)[before + 4 :]
        lost = len(stream) - len(got)
        assert got == stream[: len(got)] and scene.room - 4 <= len(got), f"{len(got)} of {len(stream)} symbols"
        assert lost == max(0, more - 4 - scene.beyond)
        assert await scene.errors(source, owner) == errors + lost
        scene.send(source, [int(Control.END)], CLOSE_ALL)
        await scene.drain()
    await scene.connects(source, [target])
    await scene.finish(judged=False)


@claim(ports=3)
async def no_part_of_a_command_that_found_the_queue_full_has_an_effect(scene):
    """docs/hub.md, input side: the rest of it is dropped too, and what of it is in the queue is taken back."""
    owner, source, target = scene.some(3)
    for already in range(-4, 20):
        before = len(scene.data(target))
        scene.order(owner, Op.OPEN_RETRY, target)
        await scene.drain()
        scene.order(source, Op.OPEN_RETRY, target)
        body = packet([already & 0xFF] * (scene.room - 4 - 2 - 8 + already))
        scene.send(source, body, command(Op.STATUS_OUTPUT, HUB, target), CLOSE_ALL)
        await scene.run(len(body) + 60)
        asked = len(scene.replies(source))
        scene.send(owner, CLOSE_ALL)
        await scene.drain()
        got = scene.data(target)[before + 4 :]
        answers = scene.replies(source)[asked:]
        assert got in (body + CLOSE_ALL, body[: len(got)]), "a command is there as a whole or not at all"
        assert answers in ([], [[Op.STATUS_OUTPUT, HUB, 0x80 | source]])
        if already <= 0:
            assert got == body + CLOSE_ALL and answers
        if already >= 16:
            assert got == body[: len(got)]
        scene.send(source, CLOSE_ALL)
        await scene.drain()
        assert await scene.owner(target) is None
    await scene.finish(judged=False)


@claim(ports=3)
async def a_command_gets_in_where_there_is_room_for_four_symbols_and_then_takes_two(scene):
    """docs/hub.md, input side, 2: one for this HUB; with room for three it is lost as a whole, and each of its symbols
    is counted.
    """
    owner, source, target = scene.some(3)

    async def fill(*streams):
        """Fills the queue of a source that waits for the output; returns what it has passed on in the end, its answers,
        and the errors counted.
        """
        errors, before, asked = await scene.errors(source), len(scene.data(target)), len(scene.replies(source))
        scene.order(owner, Op.OPEN_RETRY, target)
        await scene.drain()
        scene.order(source, Op.OPEN_RETRY, target)
        await scene.run(20)
        scene.send(source, *streams)
        await scene.run(scene.room + 80)
        scene.send(owner, CLOSE_ALL)
        await scene.drain()
        counted = await scene.errors(source, owner) - errors
        scene.send(source, CLOSE_ALL)
        await scene.drain()
        return scene.data(target)[before + 4 : -4], len(scene.replies(source)) - asked, counted

    passed, _, lost = await fill([0x55] * (scene.room + 20))
    room = len(passed)
    assert room == scene.room + scene.beyond and lost == scene.room + 20 - room
    order = command(Op.STATUS_OUTPUT, HUB, target)
    assert await fill([0x55] * (room - 3), order, [1, 2, 3, 4]) == ([0x55] * (room - 3) + [1, 2, 3], 0, 5)
    assert await fill([0x55] * (room - 4), order, [1, 2, 3, 4]) == ([0x55] * (room - 4) + [1, 2], 1, 2)
    await scene.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_command_that_lost_its_first_symbols_stays_lost_when_room_appears(scene):
    """docs/hub.md, input side: the queue begins to empty at each moment around the arrival of a command."""
    owner, source, target = scene.some(3)
    outcomes = set()
    for moment in range(-24, 8):
        before, asked = len(scene.data(target)), len(scene.replies(source))
        scene.order(owner, Op.OPEN_RETRY, target)
        await scene.drain()
        scene.order(source, Op.OPEN_RETRY, target)
        filler = 0x40 + moment
        body = [int(Control.START), *[filler] * (scene.room + 4)]
        scene.send(
            source, body, command(Op.STATUS_OUTPUT, HUB, target), CLOSE_ALL, [None] * 100, packet([0xEE]), CLOSE_ALL
        )
        scene.send(owner, [None] * (4 + len(body) + moment), CLOSE_ALL)
        await scene.drain()
        got, answers = scene.data(target)[before + 4 :], scene.replies(source)[asked:]
        head = 1 + got.count(filler)
        rest = got[head:]
        assert got[:head] == body[:head] and scene.room - 8 <= head
        assert answers in ([], [[Op.STATUS_OUTPUT, HUB, 0x80 | source]])
        assert rest in (CLOSE_ALL, packet([0xEE]) + CLOSE_ALL), f"a part of a command came out: {rest}"
        outcomes.add((bool(answers), rest == CLOSE_ALL))
    assert len(outcomes) >= 2, "the moments were chosen so that some commands get lost and some do not"
    await scene.finish(judged=False)


@claim()
async def reserved_codes_are_dropped_and_counted(scene):
    """docs/wire.md, symbols: each of the reserved codes, in a packet and in a command; nothing else is touched."""
    source, target = scene.some(2)
    assert len(RESERVED) == 250
    scene.order(source, Op.OPEN_RETRY, target)
    body = random.randbytes(100)
    stream = packet(body)
    first, second = random.sample(RESERVED, 250)[:125], RESERVED
    for code in first:
        scene.send(source, [code])
    scene.send(source, stream[:40], [random.choice(RESERVED)], stream[40:])
    await scene.drain()
    assert scene.data(target) == stream and await scene.errors(source) == 126
    scene.send(source, CLOSE_ALL)
    await scene.drain()
    for code in second:
        before = len(scene.replies(source))
        frame = command(Op.STATUS_OUTPUT, HUB, target)
        scene.send(source, frame[:2], [code], frame[2:])
        await scene.drain()
        assert scene.replies(source)[before:] == [[Op.STATUS_OUTPUT, HUB, 0]]
    assert await scene.errors(source) == 255
    await scene.finish()


@claim()
async def a_reply_that_nobody_waits_for_is_dropped_and_counted(scene):
    """docs/hub.md, replies and errors: no input is connected to the output of the port where it arrived."""
    port = random.randrange(scene.ports)
    scene.send(port, reply(1, neighbour_hub(port), 2), packet([1]), reply(1, HUB, 2))
    await scene.drain()
    assert not any(scene.replies(other) for other in range(scene.ports))
    assert await scene.errors(port) == 3  # and the packet
    await scene.finish()


@claim()
async def more_than_four_waiting_replies_are_dropped_and_counted(scene):
    """docs/hub.md, replies: four find room, what comes on top is lost at the port where it arrived, and the port
    works on."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    await scene.drain()
    scene.ends[source].take = lambda cycle: False
    for number in range(20):
        scene.send(target, reply(1, neighbour_hub(target), number), [None] * 20)
    await scene.run(20 * 24 + 50)
    scene.ends[source].take = lambda cycle: True
    await scene.drain()
    assert [value for _, _, value in scene.replies(source)] == list(range(4)), (
        "four in all, those that wait for the bus do not count"
    )
    assert await scene.errors(target, target) == 16
    scene.send(source, CLOSE_ALL)
    await scene.finish(judged=False)


@claim()
async def answers_wait_for_a_slow_fiber_and_hold_the_next_command(scene):
    """docs/hub.md, replies: a port's own answers are never lost, however many are asked for while its fiber takes
    nothing."""
    source, target = scene.some(2)
    scene.ends[source].take = lambda cycle: False
    for number in range(20):
        scene.order(source, Op.ECHO_REPLY, number)
        scene.order(source, Op.OPEN, target)
        scene.order(source, Op.CLOSE, target)
    await scene.run(400)
    scene.ends[source].take = lambda cycle: True
    await scene.drain()
    assert scene.replies(source) == [[Op.ECHO_REPLY, HUB, number] for number in range(20)]
    assert await scene.errors(source, target) == 0
    await scene.finish()


@claim()
async def noise_on_every_fiber_leaves_a_hub_that_works(scene):
    """DESIGN.md, the HUB's commands: a HUB never hangs, whatever arrives. Left out are commands that wait, since
    those may wait for each other, and supervisor commands, which may shut everybody out."""
    waiting = {row.op for row in COMMANDS if row.waits or row.supervisor}
    kinds = [
        lambda: [random.randrange(512)],
        lambda: [int(random.choice(list(Control)))],
        lambda: [random.randrange(256) for _ in range(random.randrange(10))],
        lambda: command(
            random.choice([op for op in range(256) if op not in waiting]),
            HUB,
            random.choice([random.randrange(scene.ports), 0xFF]),
        ),
        lambda: command(Op.OPEN, HUB, random.randrange(scene.ports))[: random.randrange(1, 5)],
        lambda: reply(random.randrange(256), random.randrange(256), random.randrange(256))[: random.randrange(1, 5)],
        lambda: [None] * random.randrange(20),
        lambda: CLOSE_ALL,
    ]
    for end in scene.ends:
        end.answer = None
        end.take = lambda cycle: random.random() < 0.7
    for port in range(scene.ports):
        stream = []
        while len(stream) < 1500:
            stream += random.choice(kinds)()
        opcode, reply_bytes = False, 0
        for symbol in stream:  # what is left of a command may join with a byte into a command that waits
            if symbol is not None and symbol & CONTROL_BIT and symbol not in (Control.IDLE, Control.READY):
                reply_bytes = 3 if symbol == Control.REPLY else 0
                opcode = symbol == Control.COMMAND or opcode and (symbol == Control.REPLY or symbol in RESERVED)
            elif symbol is not None and not symbol & CONTROL_BIT:
                if not reply_bytes:
                    symbol, opcode = int(Op.OPEN) if opcode and symbol in waiting else symbol, False
                reply_bytes = max(0, reply_bytes - 1)
            scene.send(port, [symbol])
        scene.send(port, [int(Control.END)], CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
    await scene.drain(30000)
    for end in scene.ends:
        end.take = lambda cycle: True
        end.answer = 1
        end.send([int(Control.READY)])
    await scene.drain()
    await scene.finish(judged=False)
    for port in range(scene.ports):
        await scene.connects(port, [other for other in range(scene.ports) if other != port])
