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


def bad_ports(tb, port):
    """Parameters that name no port to which ``port`` could be connected."""
    return [port, tb.ports, random.randrange(tb.ports, 256), 0xFF]


@claim()
async def a_command_is_taken_out_by_the_hub_that_it_names_and_by_no_other(tb):
    """H8: command, HUB ID, parameter; for this HUB nothing of it comes out, for any other all four symbols do."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    passed = []
    for hub in {HUB, ANY_HUB, *random.sample(range(256), 20)}:
        own = {Op.CLOSE_ALL, *(row.op for row in COMMANDS if row.any_hub and hub == ANY_HUB)}
        stream = command(random.choice([op for op in range(256) if op not in own]), hub, random.randrange(256))
        if hub == HUB:
            stream = command(Op.CLOSE, HUB, 0xFF)
        else:
            passed += stream
        tb.send(source, stream)
    tb.send(source, CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == passed + CLOSE_ALL
    assert await tb.errors(source) == 1
    await tb.finish()


@claim()
async def idle_and_ready_between_the_symbols_of_a_command_change_nothing(tb):
    """docs/wire.md, frames: idle and ready, and a reply, which is taken out before the queue, cut no command short."""
    source, target = tb.some(2)
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
            tb.send(source, stream[:place], extra, stream[place:], CLOSE_ALL)
            await tb.drain()
    assert tb.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * (3 * len(between))
    assert await tb.errors(source) == 3  # the replies, which had nowhere to go
    await tb.finish()


@claim(ports=3)
async def open_connects_a_free_output(tb):
    """H9, open: what follows comes out; there is no reply."""
    source, target, _ = tb.some(3)
    stream = packet([1, 2, 3])
    tb.order(source, Op.OPEN, target)
    tb.send(source, stream)
    await tb.drain()
    assert tb.data(target) == stream and not tb.replies(source)
    assert await tb.owner(target) == source
    tb.send(source, CLOSE_ALL)
    await tb.finish()


@claim(ports=3)
async def open_of_a_taken_output_is_refused_at_once(tb):
    """H9, open, BUSY: it does not wait; what follows is dropped, which is one error; the connection that stands
    feels nothing."""
    owner, source, target = tb.some(3)
    tb.order(owner, Op.OPEN_RETRY, target)
    await tb.drain()
    tb.order(source, Op.OPEN, target)
    await tb.drain()
    assert await tb.errors(source) == 0, "an open that is refused is no error"
    tb.send(source, packet([9, 9]), CLOSE_ALL)
    tb.send(owner, packet([5, 6]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == packet([5, 6]) + CLOSE_ALL
    assert tb.readies(source) == 1 and not tb.replies(source)
    assert await tb.errors(source) == 1
    assert (await tb.finish()).refused == 1


@claim(ports=3)
async def open_retry_waits_until_the_output_is_free_and_holds_what_follows(tb):
    """H9, open retry, and H12: it holds its own queue only; the reply of the kind with reply comes when the
    connection stands."""
    for op in RETRIED:
        owner, source, target = tb.some(3)
        tb.order(owner, Op.OPEN_RETRY, target)
        await tb.drain()
        before, answered, done = len(tb.data(target)), len(tb.replies(source)), tb.readies(source)
        tb.order(source, op, target)
        tb.send(source, packet([op, 1]), CLOSE_ALL)
        await tb.run(200)
        assert len(tb.data(target)) == before and tb.readies(source) == done and len(tb.replies(source)) == answered
        assert not tb.agents.recording.idle[-1], "a command that waits is under way"
        assert await tb.owner(target, owner) == owner
        tb.send(owner, packet([op, 2]), CLOSE_ALL)
        await tb.drain()
        assert tb.data(target)[before:] == packet([op, 2]) + CLOSE_ALL + packet([op, 1]) + CLOSE_ALL
        expected = [[op, HUB, target]] if op & REPLY else []
        assert tb.replies(source)[answered:] == expected
    await tb.finish()


@claim()
async def a_test_open_waits_for_the_ready_bit(tb):
    """H9, test open with retry, and H15: with the output free it still waits until the output's ready bit is 1;
    plain opens do not."""
    source, target = tb.some(2)
    tb.ends[target].answer = None
    tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), packet([1]), CLOSE_ALL)
    await tb.drain()
    tb.send(source, command(Op.OPEN_RETRY, HUB, target), packet([2]), CLOSE_ALL)
    tb.send(source, command(Op.TEST_OPEN_RETRY, HUB, target), packet([3]), CLOSE_ALL)
    await tb.run(200)
    assert tb.data(target) == packet([1]) + CLOSE_ALL + packet([2]) + CLOSE_ALL
    tb.ends[target].answer = 1
    tb.send(target, [int(Control.READY)])
    await tb.drain()
    assert tb.data(target)[-7:] == packet([3]) + CLOSE_ALL
    await tb.finish()


@claim()
async def an_open_of_an_output_that_is_held_already_is_done_at_once(tb):
    """docs/hub.md, controller: a source may repeat its commands after a lost reply; test open waits for the ready
    bit even then."""
    source, target = tb.some(2)
    tb.ends[target].answer = None
    for op in (
        Op.OPEN_RETRY_REPLY,
        Op.OPEN_RETRY_REPLY,
        Op.OPEN,
        Op.OPEN_RETRY,
        Op.TEST_OPEN_RETRY,
        Op.OPEN_RETRY_REPLY,
    ):
        tb.order(source, op, target)
    await tb.drain()
    assert tb.replies(source) == [[Op.OPEN_RETRY_REPLY, HUB, target]] * 3
    tb.send(source, packet([1]), command(Op.TEST_OPEN_RETRY, HUB, target), packet([2]), CLOSE_ALL)
    await tb.run(100)
    assert tb.data(target) == packet([1])
    tb.ends[target].answer = 1
    tb.send(target, [int(Control.READY)])
    await tb.drain()
    assert tb.data(target) == packet([1]) + packet([2]) + CLOSE_ALL
    assert await tb.errors(source) == 0
    assert (await tb.finish()).errors[source] == []


@claim(ports=4)
async def close_takes_one_branch_off_a_multicast(tb):
    """H9, close, and the end of section 4.2.1: single closes, in any order; what was sent before still comes out."""
    source, *targets = tb.some(4)
    for target in targets:
        tb.order(source, Op.OPEN_RETRY, target)
    expected = {target: [] for target in targets}
    for last in range(len(targets) + 1):
        stream = packet([last, *random.randbytes(5)])
        if last < len(targets):
            tb.send(source, stream)
            for target in targets[last:]:
                expected[target] += stream
            tb.order(source, Op.CLOSE, targets[last])
    await tb.drain()
    assert {target: tb.data(target) for target in targets} == expected
    assert not tb.replies(source)
    for target in targets:
        assert await tb.owner(target) is None
    await tb.finish()


@claim(ports=3)
async def close_of_a_connection_of_another_input_is_refused(tb):
    """H9, close, NOT_MINE and BAD_PORT: counted, without effect on the connection of the other input."""
    owner, source, target = tb.some(3)
    tb.order(owner, Op.OPEN_RETRY, target)
    await tb.drain()
    wrong = [target, owner, *bad_ports(tb, source)]
    for port in wrong:
        tb.order(source, Op.CLOSE, port)
    await tb.drain()
    assert await tb.owner(target) == owner
    assert await tb.errors(source) == len(wrong)
    tb.send(owner, packet([1]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL
    await tb.finish()


@claim()
async def close_all_closes_every_branch_whatever_hub_it_names_and_travels_on(tb):
    """H9, H13, close all: HUB ID and parameter are not used, not even this HUB's own ID; all four symbols come out."""
    source = random.randrange(tb.ports)
    targets = [port for port in range(tb.ports) if port != source]
    for hub in (ANY_HUB, HUB, 0, random.randrange(256)):
        for target in targets:
            tb.order(source, Op.OPEN_RETRY, target)
        stream = command(Op.CLOSE_ALL, hub, random.randrange(256))
        tb.send(source, stream)
        await tb.drain()
        for target in targets:
            assert tb.data(target)[-4:] == stream
            assert await tb.owner(target) is None
    await tb.finish()


@claim()
async def close_all_without_a_connection_vanishes_and_is_no_error(tb):
    """docs/hub.md, input side: dropping a close all is no error; a source may send one when it does not know what
    stands."""
    source = random.randrange(tb.ports)
    tb.send(source, CLOSE_ALL, CLOSE_ALL)
    await tb.drain()
    assert not any(tb.data(port) for port in range(tb.ports))
    assert await tb.errors(source) == 0
    await tb.finish()


@claim()
async def status_output_tells_which_input_is_connected(tb):
    """H10, the status table can be interrogated: 0 when free, else 0x80 and the input; also about the port that
    asks."""
    owners = {}
    for port in range(tb.ports):
        source = random.choice([other for other in range(tb.ports) if other != port])
        owners[port] = source
        tb.order(source, Op.OPEN_RETRY, port)
    await tb.drain()
    everyone = [(Op.STATUS_OUTPUT, port) for port in owners]
    expected = [(True, STATUS_IN_USE | owner) for owner in owners.values()]
    assert await tb.ask_all({reader: everyone for reader in owners}) == {reader: expected for reader in owners}
    for source in range(tb.ports):
        tb.send(source, CLOSE_ALL)
    await tb.drain()
    assert await tb.ask_all({port: [(Op.STATUS_OUTPUT, port)] for port in owners}) == {
        port: [(True, 0)] for port in owners
    }
    await tb.finish()


@claim()
async def status_errors_counts_to_255_and_stops(tb):
    """docs/hub.md, errors: 8 bits, one counter a port."""
    source, reader = tb.some(2)
    for count in (1, 2, 251, 1, 1, 300):
        before = await tb.errors(source, reader)
        for _ in range(count):
            tb.order(source, Op.CLOSE, 0xFF)
        await tb.drain()
        assert await tb.errors(source, reader) == min(before + count, 255)
    for port in range(tb.ports):
        assert await tb.errors(port, reader) == (255 if port == source else 0)
    await tb.finish()


@claim()
async def a_command_for_a_port_that_is_not_there_is_refused(tb):
    """H9, BAD_PORT for each command that can meet it, retried opens included; a port is a bad one for its own opens."""
    source, target = tb.some(2)
    count = 0
    for op in OPENS:
        for port in bad_ports(tb, source):
            tb.order(source, op, port)
            await tb.drain()
            count += 1
            if op & REPLY:
                assert tb.replies(source)[-1] == [op & ~REPLY_BIT, HUB, Error.BAD_PORT]
    for op in filter(tb.rows.get, STATUS):
        for port in (tb.ports, 0xFF):
            assert await tb.ask(source, op, port) == (False, Error.BAD_PORT)
            count += 1
    assert await tb.errors(source, target) == count
    assert not any(tb.data(port) for port in range(tb.ports))
    await tb.connects(source, [target])
    await tb.finish()


@claim()
async def every_opcode_that_is_not_in_the_table_is_refused(tb):
    """H9, UNKNOWN: counted, answered if bit 0 is set (but HELLO_ASK, whose refusal would be a hello), and without
    any effect on its port's connections."""
    source, target = tb.some(2)
    tb.order(source, Op.OPEN_RETRY, target)
    unknown = [op for op in range(256) if op not in tb.rows]
    random.shuffle(unknown)
    for op in unknown:
        before = len(tb.replies(source))
        tb.send(source, command(op, HUB, random.choice([target, source, random.randrange(256)])))
        await tb.drain()
        assert tb.replies(source)[before:] == ([[op & ~REPLY_BIT, HUB, Error.UNKNOWN]] if answered(op) else [])
    assert await tb.errors(source, target) == len(unknown)
    assert not tb.data(target) and await tb.owner(target, source) == source
    tb.send(source, packet([1]), CLOSE_ALL)
    await tb.drain()
    assert tb.data(target) == packet([1]) + CLOSE_ALL
    await tb.finish()


@claim()
async def commands_take_effect_in_the_order_in_which_they_were_sent(tb):
    """docs/hub.md, input side: the head waits for each decision; replies come in the order of the commands."""
    source, target = tb.some(2)
    for _ in range(5):
        before = len(tb.replies(source))
        steps = [
            (Op.OPEN_RETRY_REPLY, target, [Op.OPEN_RETRY_REPLY, HUB, target]),
            (Op.STATUS_OUTPUT, target, None),
            (Op.CLOSE, target, None),
            (Op.STATUS_OUTPUT, target, None),
            (0xFF, 0, [0xFE, HUB, Error.UNKNOWN]),
        ]
        for op, port, _ in steps:
            tb.order(source, op, port)
        await tb.drain()
        assert tb.replies(source)[before:] == [
            steps[0][2],
            [Op.STATUS_OUTPUT, HUB, STATUS_IN_USE | source],
            [Op.STATUS_OUTPUT, HUB, 0],
            steps[4][2],
        ]
    await tb.finish()
