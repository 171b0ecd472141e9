"""Nodes: messages, calls and services of their processes, on fast boards and on the RTL; docs/nodes.md."""

import pytest

from nectar.software.node.costs import SUN4, NodeCosts
from nectar.verification import seeds
from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.nodes import BOTH, later, receive, run, send, wait_and


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


SIZES = (1, 4, 5, 0, 100, 1003, 1004, 1005, 3000, 20_000)


def test_messages_of_all_sizes_go_from_node_to_node(boards):
    messages = [pattern(size) for size in SIZES]
    _, got = run(("CAB1", later, 200, send, (2, 1), messages), ("CAB2", receive, 1, len(messages)), boards=boards)
    assert got == [(1, data) for data in messages]


def test_nodes_and_cabs_talk_to_each_other(boards):
    async def echo(cab, count):
        for _ in range(count):
            message = await cab.mailbox(2).receive()
            await cab.datagram.send((message.source, 3), message)
            message.free()

    async def process(node, messages):
        box = node.mailbox(3)
        await box.open()
        got = []
        for data in messages:
            await node.datagram.send(("CAB2", 2), data)
            message = await box.receive(50_000)
            got.append(await message.read())
            message.free()
        await box.close()
        return got

    messages = [pattern(size) for size in (0, 1, 1500)]
    got, _ = run(("CAB1", process, messages), tasks=[("CAB2", echo, len(messages))], boards=boards, nodes=["CAB1"])
    assert got == messages


def test_a_node_talks_to_tasks_and_to_other_processes_behind_its_own_cab(boards):
    async def task(cab):
        message = await cab.mailbox(5).receive()
        data = await message.read()
        message.free()
        await cab.datagram.send((cab.id, 6), data + b"!")

    async def process(node):
        await node.datagram.send((1, 5), b"here")
        return await receive(node, 6, 1)

    got, _ = run(("CAB1", process), tasks=[("CAB1", task)], boards=boards, nodes=["CAB1"], topology="hub:1")
    assert got == [(1, b"here!")]


def test_what_lay_in_a_mailbox_before_it_was_opened_is_read_too(boards):
    async def put(cab):
        for number in range(30):
            await cab.datagram.send((1, 4), bytes([number]) * 3)

    got, _ = run(("CAB1", later, 3000, receive, 4, 30), tasks=[("CAB2", put)], boards=boards, nodes=["CAB1"])
    assert got == [(2, bytes([number]) * 3) for number in range(30)]


def test_messages_keep_their_order_while_a_mailbox_is_opened():
    """One that lies there is moved to pages of its own, which takes time; what comes meanwhile does not overtake it.
    Any time is tried."""

    async def put(cab, when):
        await cab.datagram.send((1, 4), bytes(500))
        await cab.sleep(when - await cab.now_us())
        await cab.datagram.send((1, 4), b"second")

    async def read(node):
        await node.attached()
        opened = await node.now_us()
        return opened, [len(data) for _, data in await receive(node, 4, 2)]

    (opened, _), _ = run(("CAB1", read), tasks=[("CAB2", put, 6000)], nodes=["CAB1"])
    for when in range(-60, 100, 8):
        (_, got), _ = run(("CAB1", read), tasks=[("CAB2", put, opened + when)], nodes=["CAB1"])
        assert got == [500, 6]


def test_a_slow_reader_holds_up_its_senders_and_nothing_is_lost(boards):
    """More messages than a box has entries, and a mailbox that holds few: flow control goes all the way back to the
    sender."""
    count = 40 if boards == "fast" else 24

    async def read(node):
        return await receive(node, 1, count, pause_us=150)

    messages = [pattern(50, number) for number in range(count)]
    _, got = run(("CAB1", later, 200, send, (2, 1), messages), ("CAB2", read), boards=boards)
    assert got == [(1, data) for data in messages]


def test_several_processes_share_mailboxes_and_commands():
    """Messages are given back in another order than they were taken in."""

    async def reader(node, count, share):
        box = node.mailbox(1)
        for _ in range(count):
            first = await box.receive(500_000)
            second = await box.receive(500_000)
            for message in (second, first):
                share.append(await message.read())
                message.free()
                await node.pause()

    async def both(node, share):
        readers = [node.spawn(reader, 10, share) for _ in range(2)]
        for each in readers:
            await each.join()
        await node.mailbox(1).close()

    shares = []
    messages = [bytes([number]) * 20 for number in range(20)]
    run(
        ("CAB1", later, 200, send, (2, 1), messages),
        ("CAB1", later, 200, send, (2, 1), messages),
        ("CAB2", both, shares),
    )
    assert sorted(shares) == sorted(messages * 2)


def test_calls_between_nodes_and_cabs(boards):
    async def serve(node, count):
        service = await node.request.serve(7)
        seen = []
        for _ in range(count):
            request = await service.receive(200_000)
            data = await request.read()
            seen.append((request.source, len(data)))
            assert await request.reply(data[::-1])
        await service.close()
        return seen

    async def call(node, sizes):
        for size in sizes:
            assert await node.request.call((2, 7), pattern(size)) == pattern(size)[::-1]

    async def task(cab):
        assert await cab.request.call((2, 7), b"abc") == b"cba"

    sizes = (3, 0, 5000)
    (*_,) = run(
        ("CAB1", later, 300, call, sizes),
        ("CAB2", serve, 4),
        tasks=[("CAB3", wait_and(task), 8000)],
        boards=boards,
        topology="hub:3",
    )


def test_a_node_calls_a_service_of_a_cab(boards):
    async def serve(cab):
        service = cab.request.serve(9)
        request = await service.receive()
        await request.reply(await request.read() + b" yes")
        service.close()

    async def call(node):
        return await node.request.call((2, 9), b"well?")

    answer, _ = run(("CAB1", later, 200, call), tasks=[("CAB2", serve)], boards=boards, nodes=["CAB1"])
    assert answer == b"well? yes"


def test_random_traffic_between_nodes(boards):
    """Both nodes send, receive and call at the same time."""
    random = seeds.rng("nodes")
    count = 30 if boards == "fast" else 8
    plans = {name: [random.randbytes(random.choice((1, 10, 1000, 4000))) for _ in range(count)] for name in BOTH}

    async def work(node, peer, mine, theirs):
        box = node.mailbox(1)
        await box.open()
        service = await node.request.serve(2)
        await node.sleep(500)
        receiver, server = node.spawn(receive_all, box, len(theirs)), node.spawn(serve_all, service, len(theirs))
        answers = []
        for data in mine:
            await node.datagram.send((peer, 1), data)
            answers.append(await node.request.call((peer, 2), data, 1_000_000))
        got = await receiver.join()
        await server.join()
        await box.close()
        await service.close()
        return got == theirs and answers == [data[::-1] for data in mine]

    async def receive_all(node, box, many):
        got = []
        for _ in range(many):
            message = await box.receive(1_000_000)
            got.append(await message.read())
            message.free()
        return got

    async def serve_all(node, service, many):
        for _ in range(many):
            request = await service.receive(1_000_000)
            await request.reply((await request.read())[::-1])

    assert run(
        ("CAB1", work, 2, plans["CAB1"], plans["CAB2"]),
        ("CAB2", work, 1, plans["CAB2"], plans["CAB1"]),
        boards=boards,
    ) == [True, True]


def test_every_cost_of_a_node_has_its_reason():
    for name in NodeCosts.__slots__:
        assert getattr(SUN4, name) >= 0 and len(NodeCosts.reason(name)) > 10
