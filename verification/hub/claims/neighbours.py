"""Claims about hellos between neighbours (H22 and docs/hub.md, neighbours). Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, KIND_UNKNOWN, Op
from nectar.hdl.link.symbol import Control, reply

from ..testbench import CLOSE_ALL, HUB, claim


def hello(opcode, board, kind):
    """A hello as a neighbour sends it."""
    return [int(Control.REPLY), opcode, board, kind]


@claim()
async def a_port_remembers_the_last_hello_and_forgets_it_when_asked(tb):
    """Status neighbour and status kind, for HUBs and for CABs; asked twice, a fiber that was unplugged is noticed."""
    for port in range(tb.ports):
        reader = random.randrange(tb.ports)
        assert (
            await tb.done(reader, Op.STATUS_KIND, port) == KIND_UNKNOWN
            and await tb.done(reader, Op.STATUS_NEIGHBOUR, port) == 0
        )
        for board, kind in (
            (random.randrange(1, 255), HELLO_HUB | random.randrange(128)),
            (random.randrange(1, 255), 0),
        ):
            tb.send(
                port, hello(HELLO, random.randrange(1, 255), random.choice([0, HELLO_HUB])), hello(HELLO, board, kind)
            )
            await tb.drain()
            assert await tb.done(reader, Op.STATUS_KIND, port) == kind == await tb.done(reader, Op.STATUS_KIND, port)
            assert await tb.done(reader, Op.STATUS_NEIGHBOUR, port) == board
            await tb.drain()
            assert (
                await tb.done(reader, Op.STATUS_NEIGHBOUR, port) == 0
                and await tb.done(reader, Op.STATUS_KIND, port) == KIND_UNKNOWN
            )
        await tb.drain()
        assert tb.hellos(port) == [[HELLO_ASK, HUB, HELLO_HUB | port]] * 5
    for port in range(tb.ports):
        assert await tb.errors(port) == 0
    await tb.finish()


@claim()
async def a_question_of_a_neighbour_is_answered_and_never_passed_on(tb):
    """A HELLO_ASK draws one HELLO out of the same port, also while a connection leads there and its fiber is busy
    with data."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN, target)
    tb.order(target, Op.OPEN, source)
    await tb.drain()
    data = random.randbytes(300)
    tb.send(source, data)
    tb.send(target, data[:100], hello(HELLO_ASK, 0x99, HELLO_HUB | 3), data[100:], hello(HELLO, 0x98, 0))
    await tb.drain()
    assert tb.hellos(target) == [[HELLO, HUB, HELLO_HUB | target]] and not tb.hellos(source)
    assert tb.data(target) == list(data) == tb.data(source)
    assert not tb.replies(source) and not tb.replies(target)
    assert await tb.done(source, Op.STATUS_NEIGHBOUR, target) == 0x98
    tb.send(source, CLOSE_ALL)
    tb.send(target, CLOSE_ALL)
    await tb.finish()


@claim()
async def all_ports_say_hello_at_once(tb):
    """Every port is asked by its neighbour and by a command in the same cycles: each hello goes out of its port,
    none is lost."""
    for port in range(tb.ports):
        tb.send(port, hello(HELLO_ASK, 0x40 + port, 0))
        tb.order(port, Op.STATUS_NEIGHBOUR, (port + 1) % tb.ports)
    await tb.drain()
    for port in range(tb.ports):
        assert sorted(tb.hellos(port)) == [[HELLO, HUB, HELLO_HUB | port], [HELLO_ASK, HUB, HELLO_HUB | port]]
        assert len(tb.replies(port)) == 1
    for port in range(tb.ports):
        assert await tb.errors(port) == 0
    await tb.finish()


@claim()
async def hellos_that_find_no_room_are_lost_and_counted(tb):
    """docs/hub.md, neighbours: behind a fiber that takes nothing; replies and hellos share the room, and the port
    works on."""
    port, other = tb.some(2)
    tb.ends[port].take = lambda cycle: False
    for _ in range(20):
        tb.send(port, hello(HELLO_ASK, 0x99, 0), [None] * (40 + 8 * tb.ports))
    await tb.run(20 * (44 + 8 * tb.ports) + 50)
    assert await tb.done(other, Op.STATUS_KIND, port) == 0, (
        "what it has told is remembered, whether there is room for the answer or not"
    )
    tb.ends[port].take = lambda cycle: True
    await tb.drain()
    got = len(tb.hellos(port))
    assert 4 <= got <= 10 and 1 <= await tb.errors(port, other) <= 20 - got
    await tb.finish(judged=False)


@claim()
async def replies_that_look_like_hellos_are_only_those_two_opcodes(tb):
    """docs/hub.md, neighbours: replies with any other opcode are passed on along the route, refused ones too."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN, target)
    await tb.drain()
    passed = []
    for opcode in random.sample([op for op in range(256) if op not in (HELLO, HELLO_ASK, Op.CLOSE_ALL_REPLY)], 40):
        frame = reply(opcode, 0x99, 3, done=opcode & 1)
        tb.send(target, frame, [None] * 30)
        passed.append(frame[1:])
    await tb.drain()
    assert tb.replies(source) == passed and await tb.done(target, Op.STATUS_KIND, target) == KIND_UNKNOWN
    tb.send(source, CLOSE_ALL)
    await tb.finish(judged=False)
