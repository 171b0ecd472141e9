"""Claims about hellos between neighbours (H22 and docs/hub.md, neighbours). Run by ``test_hub.py``."""

import random

from nectar.hdl.hub.commands import HELLO, HELLO_ASK, HELLO_HUB, KIND_UNKNOWN, Op
from nectar.hdl.link.symbol import Control, reply

from ..testbench import CLOSE_ALL, HUB, claim


def hello(opcode, board, kind):
    """A hello as a neighbour sends it."""
    return [int(Control.REPLY), opcode, board, kind]


@claim()
async def a_port_remembers_the_last_hello_and_forgets_it_when_asked(scene):
    """Status neighbour and status kind, for HUBs and for CABs; asked twice, a fiber that was unplugged is noticed."""
    for port in range(scene.ports):
        reader = random.randrange(scene.ports)
        assert (
            await scene.done(reader, Op.STATUS_KIND, port) == KIND_UNKNOWN
            and await scene.done(reader, Op.STATUS_NEIGHBOUR, port) == 0
        )
        for board, kind in (
            (random.randrange(1, 255), HELLO_HUB | random.randrange(128)),
            (random.randrange(1, 255), 0),
        ):
            scene.send(
                port, hello(HELLO, random.randrange(1, 255), random.choice([0, HELLO_HUB])), hello(HELLO, board, kind)
            )
            await scene.drain()
            assert (
                await scene.done(reader, Op.STATUS_KIND, port) == kind == await scene.done(reader, Op.STATUS_KIND, port)
            )
            assert await scene.done(reader, Op.STATUS_NEIGHBOUR, port) == board
            await scene.drain()
            assert (
                await scene.done(reader, Op.STATUS_NEIGHBOUR, port) == 0
                and await scene.done(reader, Op.STATUS_KIND, port) == KIND_UNKNOWN
            )
        await scene.drain()
        assert scene.hellos(port) == [[HELLO_ASK, HUB, HELLO_HUB | port]] * 5
    for port in range(scene.ports):
        assert await scene.errors(port) == 0
    await scene.finish()


@claim()
async def a_question_of_a_neighbour_is_answered_and_never_passed_on(scene):
    """A HELLO_ASK draws one HELLO out of the same port, also while a connection leads there and its fiber is busy
    with data."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN, target)
    scene.order(target, Op.OPEN, source)
    await scene.drain()
    data = random.randbytes(300)
    scene.send(source, data)
    scene.send(target, data[:100], hello(HELLO_ASK, 0x99, HELLO_HUB | 3), data[100:], hello(HELLO, 0x98, 0))
    await scene.drain()
    assert scene.hellos(target) == [[HELLO, HUB, HELLO_HUB | target]] and not scene.hellos(source)
    assert scene.data(target) == list(data) == scene.data(source)
    assert not scene.replies(source) and not scene.replies(target)
    assert await scene.done(source, Op.STATUS_NEIGHBOUR, target) == 0x98
    scene.send(source, CLOSE_ALL)
    scene.send(target, CLOSE_ALL)
    await scene.finish()


@claim()
async def all_ports_say_hello_at_once(scene):
    """Every port is asked by its neighbour and by a command in the same cycles: each hello goes out of its port,
    none is lost."""
    for port in range(scene.ports):
        scene.send(port, hello(HELLO_ASK, 0x40 + port, 0))
        scene.order(port, Op.STATUS_NEIGHBOUR, (port + 1) % scene.ports)
    await scene.drain()
    for port in range(scene.ports):
        assert sorted(scene.hellos(port)) == [[HELLO, HUB, HELLO_HUB | port], [HELLO_ASK, HUB, HELLO_HUB | port]]
        assert len(scene.replies(port)) == 1
    for port in range(scene.ports):
        assert await scene.errors(port) == 0
    await scene.finish()


@claim()
async def hellos_that_find_no_room_are_lost_and_counted(scene):
    """docs/hub.md, neighbours: behind a fiber that takes nothing; replies and hellos share the room, and the port
    works on."""
    port, other = scene.some(2)
    scene.ends[port].take = lambda cycle: False
    for _ in range(20):
        scene.send(port, hello(HELLO_ASK, 0x99, 0), [None] * (40 + 8 * scene.ports))
    await scene.run(20 * (44 + 8 * scene.ports) + 50)
    assert await scene.done(other, Op.STATUS_KIND, port) == 0, (
        "what it has told is remembered, whether there is room for the answer or not"
    )
    scene.ends[port].take = lambda cycle: True
    await scene.drain()
    got = len(scene.hellos(port))
    assert 4 <= got <= 10 and 1 <= await scene.errors(port, other) <= 20 - got
    await scene.finish(judged=False)


@claim()
async def replies_that_look_like_hellos_are_only_those_two_opcodes(scene):
    """docs/hub.md, neighbours: replies with any other opcode are passed on along the route, refused ones too."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN, target)
    await scene.drain()
    passed = []
    for opcode in random.sample([op for op in range(256) if op not in (HELLO, HELLO_ASK, Op.CLOSE_ALL_REPLY)], 40):
        frame = reply(opcode, 0x99, 3, done=opcode & 1)
        scene.send(target, frame, [None] * 30)
        passed.append(frame[1:])
    await scene.drain()
    assert scene.replies(source) == passed and await scene.done(target, Op.STATUS_KIND, target) == KIND_UNKNOWN
    scene.send(source, CLOSE_ALL)
    await scene.finish(judged=False)
