"""Claims about each command of the table (facts H8 and H9): its effect, its reply, each of its errors. Run by
``test_hub.py``."""

import random

from nectar.hdl.hub.commands import BY_OPCODE, COMMANDS, REPLY, STATUS_IN_USE, Error, Group, Op
from nectar.hdl.link.symbol import ANY_HUB, REPLY_BIT, Control, command, packet, reply

from ..tables import answered
from ..testbench import CLOSE_ALL, HUB, claim

OPENS = [row.op for row in COMMANDS if not row.supervisor and row.group is Group.OPEN]
RETRIED = [op for op in OPENS if BY_OPCODE[op].waits]
STATUS = [row.op for row in COMMANDS if not row.supervisor and row.group is Group.STATUS]


def bad_ports(scene, port):
    """Parameters that name no port to which ``port`` could be connected."""
    return [port, scene.ports, random.randrange(scene.ports, 256), 0xFF]


@claim()
async def a_command_is_taken_out_by_the_hub_that_it_names_and_by_no_other(scene):
    """H8: command, HUB ID, parameter; for this HUB nothing of it comes out, for any other all four symbols do."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    passed = []
    for hub in {HUB, ANY_HUB, *random.sample(range(256), 20)}:
        own = {Op.CLOSE_ALL, *(row.op for row in COMMANDS if row.any_hub and hub == ANY_HUB)}
        stream = command(random.choice([op for op in range(256) if op not in own]), hub, random.randrange(256))
        if hub == HUB:
            stream = command(Op.CLOSE, HUB, 0xFF)
        else:
            passed += stream
        scene.send(source, stream)
    scene.send(source, CLOSE_ALL)
    await scene.drain()
    assert scene.data(target) == passed + CLOSE_ALL
    assert await scene.errors(source) == 1
    await scene.finish()


@claim()
async def idle_and_ready_between_the_symbols_of_a_command_change_nothing(scene):
    """docs/wire.md, frames: idle and ready, and a reply, which is taken out before the queue, cut no command short."""
    source, target = scene.some(2)
    between = [
        [int(Control.IDLE)],
        [int(Control.READY)],
        [None] * 5,
        [int(Control.READY), int(Control.IDLE)],
        reply(Op.OPEN, 0x7F, 1),
    ]
    for place in range(1, 4):
        for extra in between:
            stream = command(Op.OPEN_RETRY_REPLY, HUB, target)
            scene.send(source, stream[:place], extra, stream[place:], CLOSE_ALL)
            await scene.drain()
    assert scene.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * (3 * len(between))
    assert await scene.errors(source) == 3  # the replies, which had nowhere to go
    await scene.finish()


@claim(ports=3)
async def open_connects_a_free_output(scene):
    """H9, open: what follows comes out; there is no reply."""
    source, target, _ = scene.some(3)
    stream = packet([1, 2, 3])
    scene.order(source, Op.OPEN, target)
    scene.send(source, stream)
    await scene.drain()
    assert scene.data(target) == stream and not scene.replies(source)
    assert await scene.owner(target) == source
    scene.send(source, CLOSE_ALL)
    await scene.finish()


@claim(ports=3)
async def open_of_a_taken_output_is_refused_at_once(scene):
    """H9, open, BUSY: it does not wait; what follows is dropped, which is one error; the connection that stands
    feels nothing."""
    owner, source, target = scene.some(3)
    scene.order(owner, Op.OPEN_RETRY, target)
    await scene.drain()
    scene.order(source, Op.OPEN, target)
    await scene.drain()
    assert await scene.errors(source) == 0, "an open that is refused is no error"
    scene.send(source, packet([9, 9]), CLOSE_ALL)
    scene.send(owner, packet([5, 6]), CLOSE_ALL)
    await scene.drain()
    assert scene.data(target) == packet([5, 6]) + CLOSE_ALL
    assert scene.readies(source) == 1 and not scene.replies(source)
    assert await scene.errors(source) == 1
    assert (await scene.finish()).refused == 1


@claim(ports=3)
async def open_retry_waits_until_the_output_is_free_and_holds_what_follows(scene):
    """H9, open retry, and H12: it holds its own queue only; the reply of the kind with reply comes when the
    connection stands."""
    for op in RETRIED:
        owner, source, target = scene.some(3)
        scene.order(owner, Op.OPEN_RETRY, target)
        await scene.drain()
        before, answered, done = len(scene.data(target)), len(scene.replies(source)), scene.readies(source)
        scene.order(source, op, target)
        scene.send(source, packet([op, 1]), CLOSE_ALL)
        await scene.run(200)
        assert (
            len(scene.data(target)) == before
            and scene.readies(source) == done
            and len(scene.replies(source)) == answered
        )
        assert not scene.agents.recording.idle[-1], "a command that waits is under way"
        assert await scene.owner(target, owner) == owner
        scene.send(owner, packet([op, 2]), CLOSE_ALL)
        await scene.drain()
        assert scene.data(target)[before:] == packet([op, 2]) + CLOSE_ALL + packet([op, 1]) + CLOSE_ALL
        expected = [[op, HUB, target]] if op & REPLY else []
        assert scene.replies(source)[answered:] == expected
    await scene.finish()


@claim()
async def a_test_open_waits_for_the_ready_bit(scene):
    """H9, test open with retry, and H15: with the output free it still waits until the output's ready bit is 1;
    plain opens do not."""
    source, target = scene.some(2)
    scene.ends[target].answer = None
    scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), packet([1]), CLOSE_ALL)
    await scene.drain()
    scene.send(source, command(Op.OPEN_RETRY, HUB, target), packet([2]), CLOSE_ALL)
    scene.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), packet([3]), CLOSE_ALL)
    await scene.run(200)
    assert scene.data(target) == packet([1]) + CLOSE_ALL + packet([2]) + CLOSE_ALL
    scene.ends[target].answer = 1
    scene.send(target, [int(Control.READY)])
    await scene.drain()
    assert scene.data(target)[-7:] == packet([3]) + CLOSE_ALL
    await scene.finish()


@claim()
async def an_open_of_an_output_that_is_held_already_is_done_at_once(scene):
    """docs/hub.md, controller: a source may repeat its commands after a lost reply; test open waits for the ready
    bit even then."""
    source, target = scene.some(2)
    scene.ends[target].answer = None
    for op in (
        Op.OPEN_RETRY_REPLY,
        Op.OPEN_RETRY_REPLY,
        Op.OPEN,
        Op.OPEN_RETRY,
        Op.TEST_OPEN_RETRY,
        Op.OPEN_RETRY_REPLY,
    ):
        scene.order(source, op, target)
    await scene.drain()
    assert scene.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * 3
    scene.send(source, packet([1]), command(Op.TEST_OPEN_RETRY, HUB, target), packet([2]), CLOSE_ALL)
    await scene.run(100)
    assert scene.data(target) == packet([1])
    scene.ends[target].answer = 1
    scene.send(target, [int(Control.READY)])
    await scene.drain()
    assert scene.data(target) == packet([1]) + packet([2]) + CLOSE_ALL
    assert await scene.errors(source) == 0
    assert (await scene.finish()).errors[source] == []


@claim(ports=4)
async def close_takes_one_branch_off_a_multicast(scene):
    """H9, close, and the end of section 4.2.1: single closes, in any order; what was sent before still comes out."""
    source, *targets = scene.some(4)
    for target in targets:
        scene.order(source, Op.OPEN_RETRY, target)
    expected = {target: [] for target in targets}
    for last in range(len(targets) + 1):
        stream = packet([last, *random.randbytes(5)])
        if last < len(targets):
            scene.send(source, stream)
            for target in targets[last:]:
                expected[target] += stream
            scene.order(source, Op.CLOSE, targets[last])
    await scene.drain()
    assert {target: scene.data(target) for target in targets} == expected
    assert not scene.replies(source)
    for target in targets:
        assert await scene.owner(target) is None
    await scene.finish()


@claim(ports=3)
async def close_of_a_connection_of_another_input_is_refused(scene):
    """H9, close, NOT_MINE and BAD_PORT: counted, without effect on the connection of the other input."""
    owner, source, target = scene.some(3)
    scene.order(owner, Op.OPEN_RETRY, target)
    await scene.drain()
    wrong = [target, owner, *bad_ports(scene, source)]
    for port in wrong:
        scene.order(source, Op.CLOSE, port)
    await scene.drain()
    assert await scene.owner(target) == owner
    assert await scene.errors(source) == len(wrong)
    scene.send(owner, packet([1]), CLOSE_ALL)
    await scene.drain()
    assert scene.data(target) == packet([1]) + CLOSE_ALL
    await scene.finish()


@claim()
async def close_all_closes_every_branch_whatever_hub_it_names_and_travels_on(scene):
    """H9, H13, close all: HUB ID and parameter are not used, not even this HUB's own ID; all four symbols come out."""
    source = random.randrange(scene.ports)
    targets = [port for port in range(scene.ports) if port != source]
    for hub in (ANY_HUB, HUB, 0, random.randrange(256)):
        for target in targets:
            scene.order(source, Op.OPEN_RETRY, target)
        stream = command(Op.CLOSE_ALL, hub, random.randrange(256))
        scene.send(source, stream)
        await scene.drain()
        for target in targets:
            assert scene.data(target)[-4:] == stream
            assert await scene.owner(target) is None
    await scene.finish()


@claim()
async def close_all_without_a_connection_vanishes_and_is_no_error(scene):
    """docs/hub.md, input side: dropping a close all is no error; a source may send one when it does not know what
    stands."""
    source = random.randrange(scene.ports)
    scene.send(source, CLOSE_ALL, CLOSE_ALL)
    await scene.drain()
    assert not any(scene.data(port) for port in range(scene.ports))
    assert await scene.errors(source) == 0
    await scene.finish()


@claim()
async def status_output_tells_which_input_is_connected(scene):
    """H10, the status table can be interrogated: 0 when free, else 0x80 and the input; also about the port that
    asks."""
    owners = {}
    for port in range(scene.ports):
        source = random.choice([other for other in range(scene.ports) if other != port])
        owners[port] = source
        scene.order(source, Op.OPEN_RETRY, port)
    await scene.drain()
    for reader in range(scene.ports):
        for port, owner in owners.items():
            assert await scene.ask(reader, Op.STATUS_OUTPUT, port) == (True, STATUS_IN_USE | owner)
    for source in range(scene.ports):
        scene.send(source, CLOSE_ALL)
    await scene.drain()
    for port in owners:
        assert await scene.ask(port, Op.STATUS_OUTPUT, port) == (True, 0)
    await scene.finish()


@claim()
async def status_errors_counts_to_255_and_stops(scene):
    """docs/hub.md, errors: 8 bits, one counter a port."""
    source, reader = scene.some(2)
    for count in (1, 2, 251, 1, 1, 300):
        before = await scene.errors(source, reader)
        for _ in range(count):
            scene.order(source, Op.CLOSE, 0xFF)
        await scene.drain()
        assert await scene.errors(source, reader) == min(before + count, 255)
    for port in range(scene.ports):
        assert await scene.errors(port, reader) == (255 if port == source else 0)
    await scene.finish()


@claim()
async def a_command_for_a_port_that_is_not_there_is_refused(scene):
    """H9, BAD_PORT for each command that can meet it, retried opens included; a port is a bad one for its own opens."""
    source, target = scene.some(2)
    count = 0
    for op in OPENS:
        for port in bad_ports(scene, source):
            scene.order(source, op, port)
            await scene.drain()
            count += 1
            if op & REPLY:
                assert scene.replies(source)[-1] == [op & ~REPLY_BIT, HUB, Error.BAD_PORT]
    for op in filter(scene.rows.get, STATUS):
        for port in (scene.ports, 0xFF):
            assert await scene.ask(source, op, port) == (False, Error.BAD_PORT)
            count += 1
    assert await scene.errors(source, target) == count
    assert not any(scene.data(port) for port in range(scene.ports))
    await scene.connects(source, [target])
    await scene.finish()


@claim()
async def every_opcode_that_is_not_in_the_table_is_refused(scene):
    """H9, UNKNOWN: counted, answered if bit 0 is set (but HELLO_ASK, whose refusal would be a hello), and without
    any effect on its port's connections."""
    source, target = scene.some(2)
    scene.order(source, Op.OPEN_RETRY, target)
    unknown = [op for op in range(256) if op not in scene.rows]
    random.shuffle(unknown)
    for op in unknown:
        before = len(scene.replies(source))
        scene.send(source, command(op, HUB, random.choice([target, source, random.randrange(256)])))
        await scene.drain()
        assert scene.replies(source)[before:] == ([[op & ~REPLY_BIT, HUB, Error.UNKNOWN]] if answered(op) else [])
    assert await scene.errors(source, target) == len(unknown)
    assert not scene.data(target) and await scene.owner(target, source) == source
    scene.send(source, packet([1]), CLOSE_ALL)
    await scene.drain()
    assert scene.data(target) == packet([1]) + CLOSE_ALL
    await scene.finish()


@claim()
async def commands_take_effect_in_the_order_in_which_they_were_sent(scene):
    """docs/hub.md, input side: the head waits for each decision; replies come in the order of the commands."""
    source, target = scene.some(2)
    for _ in range(5):
        before = len(scene.replies(source))
        steps = [
            (Op.OPEN_RETRY_REPLY, target, [Op.OPEN_RETRY_REPLY, HUB, target]),
            (Op.STATUS_OUTPUT, target, None),
            (Op.CLOSE, target, None),
            (Op.STATUS_OUTPUT, target, None),
            (0xFF, 0, [0xFE, HUB, Error.UNKNOWN]),
        ]
        for op, port, _ in steps:
            scene.order(source, op, port)
        await scene.drain()
        assert scene.replies(source)[before:] == [
            steps[0][2],
            [Op.STATUS_OUTPUT, HUB, STATUS_IN_USE | source],
            [Op.STATUS_OUTPUT, HUB, 0],
            steps[4][2],
        ]
    await scene.finish()
