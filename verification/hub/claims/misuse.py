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
async def a_command_cut_short_is_dropped_and_what_cuts_it_counts(tb):
    """docs/wire.md, frames: own commands, foreign ones and close all; cut by a start, an end or the next command;
    one error each."""
    source, target = tb.some(2)
    whole = command(Op.OPEN_RETRY_REPLY, HUB, target)
    tb.send(source, whole)
    expected = []
    count = 0
    for frame in (whole, command(Op.CLOSE, HUB, target), tb.foreign(target, Op.OPEN, 3), CLOSE_ALL):
        for length in (1, 2, 3):
            for cutter in (packet([length]), [int(Control.END)], tb.foreign(target, Op.OPEN_RETRY, 4)):
                tb.send(source, frame[:length], cutter)
                expected += cutter
                count += 1
            tb.send(source, frame[:length], whole)
            count += 1
            await tb.drain()
    assert tb.data(target) == expected
    assert tb.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * 13
    assert await tb.errors(source) == count
    tb.send(source, CLOSE_ALL)
    await tb.finish()


@claim()
async def a_command_whose_rest_never_comes_holds_up_its_port_only(tb):
    """docs/hub.md: the head waits for the rest of a command; replies and ready signals of the port go on; the next
    command frees it."""
    source, target = tb.some(2)
    tb.send(source, command(Op.OPEN_RETRY_REPLY, HUB, target)[:3])
    await tb.run(300)
    assert await tb.ask(target, Op.OPEN_RETRY_REPLY, source) == (True, source)
    tb.send(target, packet([1]))
    await tb.run(50)
    assert tb.data(source) == packet([1])
    tb.send(source, reply(1, neighbour_hub(source), 2))
    await tb.run(50)
    assert tb.replies(target)[-1] == [1, neighbour_hub(source), 2]
    tb.send(target, CLOSE_ALL)
    await tb.run(50)
    await tb.connects(source, [target])
    assert await tb.errors(source) == 1
    await tb.finish()


@claim()
async def a_reply_cut_short_is_dropped_and_what_cuts_it_counts(tb):
    """docs/wire.md, frames: a fragment goes nowhere; idle and ready between its symbols cut nothing."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    tb.order(target, Op.OPEN_RETRY, source)
    frame = reply(1, neighbour_hub(target), 3)
    expected, whole, count = [], 0, 0
    for length in (1, 2, 3):
        for cutter in (packet([length]), [int(Control.END)], frame, tb.foreign(source, Op.OPEN, length)):
            tb.send(target, frame[:length], cutter)
            expected += [] if cutter is frame else cutter
            whole += cutter is frame
            count += 1
        tb.send(target, frame[:length], [int(Control.READY), int(Control.IDLE), None], frame[length:])
        whole += 1
        await tb.drain()
    assert tb.data(source) == expected
    assert tb.replies(source) == [frame[1:]] * whole
    assert await tb.errors(target, target) == count
    tb.send(source, CLOSE_ALL)
    tb.send(target, CLOSE_ALL)
    await tb.finish()


@claim()
async def data_without_a_connection_are_dropped_and_counted_once_a_run(tb):
    """docs/hub.md, input side: a run ends with a symbol that is passed on, a command for this HUB, or a close all."""
    source, target = tb.some(2)
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
        tb.foreign(target, Op.OPEN, 1),
        [9],
        CLOSE_ALL,
    ]
    for gap in ([], [None] * 30):
        before = await tb.errors(source)
        for stream in runs:
            tb.send(source, stream, gap)
        await tb.drain()
        assert await tb.errors(source) == before + 4
    assert tb.data(target) == (packet([7]) + CLOSE_ALL) * 2
    assert tb.readies(source) == 8
    await tb.finish()


@claim()
async def a_port_cannot_be_its_own_target(tb):
    """docs/hub.md, controller: refused as a bad port, whatever kind of open; its data are dropped, its own output
    stays free."""
    source, target = tb.some(2)
    for op in (Op.OPEN, Op.OPEN_RETRY, Op.OPEN_RETRY_REPLY, Op.TEST_OPEN_RETRY):
        tb.order(source, op, source)
        tb.send(source, packet([op]), CLOSE_ALL)
    await tb.drain()
    assert tb.replies(source) == [[Op.OPEN_RETRY_REPLY & ~REPLY, HUB, Error.BAD_PORT]]
    assert not tb.data(source) and await tb.owner(source) is None
    assert await tb.errors(source) == 8
    await tb.connects(source, [target])
    await tb.finish()


@claim(ports=3)
async def a_full_queue_drops_what_comes_on_top_and_counts_it(tb):
    """H14: room for a packet of 1024 bytes and 128 symbols; each symbol more is one error; what is in the queue
    comes out unharmed."""
    owner, source, target = tb.some(3)
    for more in (0, 1, 40):
        errors, before = await tb.errors(source), len(tb.data(target))
        tb.order(owner, Op.OPEN_RETRY, target)
        await tb.drain()
        tb.order(source, Op.OPEN_RETRY, target)
        stream = [int(Control.START), *random.randbytes(tb.room - 5), *[0xAA] * more]
        tb.send(source, stream)
        await tb.run(len(stream) + 50)
        tb.send(owner, CLOSE_ALL)
        await tb.drain()
        got = tb.data(target)[before + 4 :]
        lost = len(stream) - len(got)
        assert got == stream[: len(got)] and tb.room - 4 <= len(got), f"{len(got)} of {len(stream)} symbols"
        assert lost == max(0, more - 4 - tb.beyond)
        assert await tb.errors(source, owner) == errors + lost
        tb.send(source, [int(Control.END)], CLOSE_ALL)
        await tb.drain()
    await tb.connects(source, [target])
    await tb.finish(judged=False)


@claim(ports=3)
async def no_part_of_a_command_that_found_the_queue_full_has_an_effect(tb):
    """docs/hub.md, input side: the rest of it is dropped too, and what of it is in the queue is taken back."""
    owner, source, target = tb.some(3)
    for already in range(-4, 20):
        before = len(tb.data(target))
        tb.order(owner, Op.OPEN_RETRY, target)
        await tb.drain()
        tb.order(source, Op.OPEN_RETRY, target)
        body = packet([already & 0xFF] * (tb.room - 4 - 2 - 8 + already))
        tb.send(source, body, command(Op.STATUS_OUTPUT, HUB, target), CLOSE_ALL)
        await tb.run(len(body) + 60)
        asked = len(tb.replies(source))
        tb.send(owner, CLOSE_ALL)
        await tb.drain()
        got = tb.data(target)[before + 4 :]
        answers = tb.replies(source)[asked:]
        assert got in (body + CLOSE_ALL, body[: len(got)]), "a command is there as a whole or not at all"
        assert answers in ([], [[Op.STATUS_OUTPUT, HUB, 0x80 | source]])
        if already <= 0:
            assert got == body + CLOSE_ALL and answers
        if already >= 16:
            assert got == body[: len(got)]
        tb.send(source, CLOSE_ALL)
        await tb.drain()
        assert await tb.owner(target) is None
    await tb.finish(judged=False)


@claim(ports=3)
async def a_command_gets_in_where_there_is_room_for_four_symbols_and_then_takes_two(tb):
    """docs/hub.md, input side, 2: one for this HUB; with room for three it is lost as a whole, and each of its symbols
    is counted.
    """
    owner, source, target = tb.some(3)

    async def fill(*streams):
        """Fills the queue of a source that waits for the output; returns what it has passed on in the end, its answers,
        and the errors counted.
        """
        errors, before, asked = await tb.errors(source), len(tb.data(target)), len(tb.replies(source))
        tb.order(owner, Op.OPEN_RETRY, target)
        await tb.drain()
        tb.order(source, Op.OPEN_RETRY, target)
        await tb.run(20)
        tb.send(source, *streams)
        await tb.run(tb.room + 80)
        tb.send(owner, CLOSE_ALL)
        await tb.drain()
        counted = await tb.errors(source, owner) - errors
        tb.send(source, CLOSE_ALL)
        await tb.drain()
        return tb.data(target)[before + 4 : -4], len(tb.replies(source)) - asked, counted

    passed, _, lost = await fill([0x55] * (tb.room + 20))
    room = len(passed)
    assert room == tb.room + tb.beyond and lost == tb.room + 20 - room
    order = command(Op.STATUS_OUTPUT, HUB, target)
    assert await fill([0x55] * (room - 3), order, [1, 2, 3, 4]) == ([0x55] * (room - 3) + [1, 2, 3], 0, 5)
    assert await fill([0x55] * (room - 4), order, [1, 2, 3, 4]) == ([0x55] * (room - 4) + [1, 2], 1, 2)
    await tb.finish(judged=False)


@claim(ports=3, timeout_ms=10)
async def a_command_that_lost_its_first_symbols_stays_lost_when_room_appears(tb):
    """docs/hub.md, input side: the queue begins to empty at each moment around the arrival of a command."""
    owner, source, target = tb.some(3)
    outcomes = set()
    for moment in range(-24, 8):
        before, asked = len(tb.data(target)), len(tb.replies(source))
        tb.order(owner, Op.OPEN_RETRY, target)
        await tb.drain()
        tb.order(source, Op.OPEN_RETRY, target)
        filler = 0x40 + moment
        body = [int(Control.START), *[filler] * (tb.room + 4)]
        tb.send(
            source, body, command(Op.STATUS_OUTPUT, HUB, target), CLOSE_ALL, [None] * 100, packet([0xEE]), CLOSE_ALL
        )
        tb.send(owner, [None] * (4 + len(body) + moment), CLOSE_ALL)
        await tb.drain()
        got, answers = tb.data(target)[before + 4 :], tb.replies(source)[asked:]
        head = 1 + got.count(filler)
        rest = got[head:]
        assert got[:head] == body[:head] and tb.room - 8 <= head
        assert answers in ([], [[Op.STATUS_OUTPUT, HUB, 0x80 | source]])
        assert rest in (CLOSE_ALL, packet([0xEE]) + CLOSE_ALL), f"a part of a command came out: {rest}"
        outcomes.add((bool(answers), rest == CLOSE_ALL))
    assert len(outcomes) >= 2, "the moments were chosen so that some commands get lost and some do not"
    await tb.finish(judged=False)


@claim()
async def reserved_codes_are_dropped_and_counted(tb):
    """docs/wire.md, symbols: each of the reserved codes, in a packet and in a command; nothing else is touched."""
    source, target = tb.some(2)
    assert len(RESERVED) == 250
    tb.order(source, Op.OPEN_RETRY, target)
    body = random.randbytes(100)
    stream = packet(body)
    first, second = random.sample(RESERVED, 250)[:125], RESERVED
    for code in first:
        tb.send(source, [code])
    tb.send(source, stream[:40], [random.choice(RESERVED)], stream[40:])
    await tb.drain()
    assert tb.data(target) == stream and await tb.errors(source) == 126
    tb.send(source, CLOSE_ALL)
    await tb.drain()
    for code in second:
        before = len(tb.replies(source))
        frame = command(Op.STATUS_OUTPUT, HUB, target)
        tb.send(source, frame[:2], [code], frame[2:])
        await tb.drain()
        assert tb.replies(source)[before:] == [[Op.STATUS_OUTPUT, HUB, 0]]
    assert await tb.errors(source) == 255
    await tb.finish()


@claim()
async def a_reply_that_nobody_waits_for_is_dropped_and_counted(tb):
    """docs/hub.md, replies and errors: no input is connected to the output of the port where it arrived."""
    port = random.randrange(tb.ports)
    tb.send(port, reply(1, neighbour_hub(port), 2), packet([1]), reply(1, HUB, 2))
    await tb.drain()
    assert not any(tb.replies(other) for other in range(tb.ports))
    assert await tb.errors(port) == 3  # and the packet
    await tb.finish()


@claim()
async def more_than_four_waiting_replies_are_dropped_and_counted(tb):
    """docs/hub.md, replies: four find room, what comes on top is lost at the port where it arrived, and the port
    works on."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    await tb.drain()
    tb.ends[source].take = lambda cycle: False
    for number in range(20):
        tb.send(target, reply(1, neighbour_hub(target), number), [None] * 20)
    await tb.run(20 * 24 + 50)
    tb.ends[source].take = lambda cycle: True
    await tb.drain()
    assert [value for _, _, value in tb.replies(source)] == list(range(4)), (
        "four in all, those that wait for the bus do not count"
    )
    assert await tb.errors(target, target) == 16
    tb.send(source, CLOSE_ALL)
    await tb.finish(judged=False)


@claim()
async def answers_wait_for_a_slow_fiber_and_hold_the_next_command(tb):
    """docs/hub.md, replies: a port's own answers are never lost, however many are asked for while its fiber takes
    nothing."""
    source, target = tb.some(2)
    tb.ends[source].take = lambda cycle: False
    for number in range(20):
        tb.order(source, Op.ECHO_REPLY, number)
        tb.order(source, Op.OPEN, target)
        tb.order(source, Op.CLOSE, target)
    await tb.run(400)
    tb.ends[source].take = lambda cycle: True
    await tb.drain()
    assert tb.replies(source) == [[Op.ECHO_REPLY, HUB, number] for number in range(20)]
    assert await tb.errors(source, target) == 0
    await tb.finish()


@claim()
async def noise_on_every_fiber_leaves_a_hub_that_works(tb):
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
            random.choice([random.randrange(tb.ports), 0xFF]),
        ),
        lambda: command(Op.OPEN, HUB, random.randrange(tb.ports))[: random.randrange(1, 5)],
        lambda: reply(random.randrange(256), random.randrange(256), random.randrange(256))[: random.randrange(1, 5)],
        lambda: [None] * random.randrange(20),
        lambda: CLOSE_ALL,
    ]
    for end in tb.ends:
        end.answer = None
        end.take = lambda cycle: random.random() < 0.7
    for port in range(tb.ports):
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
            tb.send(port, [symbol])
        tb.send(port, [int(Control.END)], CLOSE_ALL, command(Op.UNLOCK_MINE, HUB, 0))
    await tb.drain(30000)
    for end in tb.ends:
        end.take = lambda cycle: True
        end.answer = 1
        end.send([int(Control.READY)])
    await tb.drain()
    await tb.finish(judged=False)
    for port in range(tb.ports):
        await tb.connects(port, [other for other in range(tb.ports) if other != port])
