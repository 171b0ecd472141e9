"""Messages in nodes' memory, moved by VME DMA: docs/nodes.md, "Messages in the node's memory"."""

from contextlib import contextmanager

import pytest

from nectar.hdl.cab.vme.numbers import NODE_MEMORY, NODE_MEMORY_BYTES
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.errors import (
    BadCommand,
    CapabilityError,
    MessageTooLong,
    NodeMemoryError,
    NodeStopped,
    OutOfMemory,
    ProgramError,
    TimedOut,
)
from nectar.software.machine import Capability
from nectar.software.node.layout import Code
from nectar.software.packet import MAX_DATA
from nectar.software.system import System
from nectar.verification.software.helpers import drive, nothing_leaks, pattern, small

BOTH = ["CAB1", "CAB2"]
LIMIT = 10**12


@contextmanager
def system_of(topology="hub:2", boards="fast", nodes=BOTH):
    """A System with nodes; ``system.go()`` runs it."""
    shape = small(load(topology))
    system = System.of(EngineMachine(shape, PROTOTYPE, nodes=nodes, boards=boards), shape)
    system.go = lambda: drive(system.run(LIMIT))
    try:
        yield system
    finally:
        system.close()


def run(*processes, **options):
    """Runs ``processes``, each (name of the CAB before the node, process, arguments); their results, and what the
    channel of each CAB has counted. Nothing may be left behind."""
    with system_of(**options) as system, nothing_leaks(system, True, LIMIT):
        threads = [system.node(name).spawn(process, *arguments) for name, process, *arguments in processes]
        system.go()
        counters = [cab.memory.channel.counters for cab in system.cabs if cab.memory.channel]
        return [thread.result for thread in threads], counters


async def send(node, destination, messages, start_us=400):
    """A process: sends each message from the same buffer, once the buffer's bytes have left."""
    buffer = node.memory.allocate(max(map(len, messages)) or 1)
    await node.attached()
    await node.sleep(start_us)
    for data in messages:
        buffer.write(data)
        await node.datagram.send(destination, buffer.part(0, len(data)))
    buffer.free()


async def receive(node, mailbox, lengths, timeout_us=300_000):
    """A process: has so many messages put into a buffer; (source, bytes) of each."""
    buffer, box, got = node.memory.allocate(max(lengths) or 1), node.mailbox(mailbox), []
    for _ in lengths:
        message = await box.receive(timeout_us, into=buffer)
        got.append((message.source, await message.read()))
    await box.close()
    buffer.free()
    return got


SIZES = (1, 4, 5, 0, 100, 1003, 1004, 1005, 3000, 20_000)


@pytest.mark.parametrize("to", ["buffer", "python"])
@pytest.mark.parametrize("source", ["buffer", "python"])
def test_each_byte_goes_over_a_bus_as_often_as_the_page_says(source, to):
    """docs/nodes.md, the table of copies."""
    data = pattern(3000)

    async def tell(node):
        await node.attached()
        await node.sleep(3000)
        if source == "python":
            await node.datagram.send((2, 1), data)
        else:
            buffer = node.memory.allocate(len(data))
            buffer.write(data)
            await node.datagram.send((2, 1), buffer)
        return node.copies

    async def hear(node):
        box = node.mailbox(1)
        message = await box.receive(into=node.memory.allocate(len(data)) if to == "buffer" else None)
        got = node.copies.node_in, node.copies.dma_in
        assert await message.read() == data
        if to == "python":
            message.free()
        await box.close()
        assert got == (0, len(data) if to == "buffer" else 0)
        return node.copies

    (sent, received), _ = run(("CAB1", tell), ("CAB2", hear))
    assert (sent.node_out, sent.dma_out) == ((0, 3000) if source == "buffer" else (3000, 0))
    assert (received.node_in, received.dma_in) == ((0, 3000) if to == "buffer" else (3000, 0))


@pytest.mark.parametrize("boards, sizes", [("fast", SIZES), ("rtl", (0, 3, 1005, 2500))])
def test_messages_of_all_sizes_go_from_memory_to_memory(boards, sizes):
    """Each byte goes over each node's bus once, by DMA."""
    messages = [pattern(size) for size in sizes]
    (_, got), counters = run(
        ("CAB1", send, (2, 1), messages), ("CAB2", receive, 1, [len(data) for data in messages]), boards=boards
    )
    assert got == [(1, data) for data in messages]
    assert (counters[0].bytes_in, counters[0].bytes_out) == (sum(sizes), 0)
    assert (counters[1].bytes_in, counters[1].bytes_out) == (0, sum(sizes))
    assert not counters[0].failed and not counters[1].failed


def test_transfers_of_one_packet_overlap_those_of_the_next():
    """Twenty packets more take as long as the slowest of their three transfers, VME at either end and the fiber, and
    not as long as two of them: from the sender's first look to the last byte in the receiver's memory."""

    async def tell(node):
        buffer = node.memory.allocate(40 * MAX_DATA)
        await node.attached()
        await node.sleep(1000)
        begun = []
        for packets in (5, 25):
            begun.append(await node.now_us())
            await node.datagram.send((2, 1), buffer.part(0, packets * MAX_DATA))
            await node.sleep(5000)
        return begun

    async def hear(node):
        buffer, ended = node.memory.allocate(40 * MAX_DATA), []
        for _ in range(2):
            await node.mailbox(1).receive(into=buffer)
            ended.append(await node.now_us())
        await node.mailbox(1).close()
        return ended

    (begun, ended), _ = run(("CAB1", tell), ("CAB2", hear))
    short, long = (end - begin for begin, end in zip(begun, ended))
    vme_us = 1586 * PROTOTYPE.cab_period_ps / 1e6  # sim/test_vme.py
    assert vme_us < (long - short) / 20 < 1.15 * vme_us


def test_calls_and_answers_lie_in_memory(boards="fast"):
    async def serve(node):
        service = await node.request.serve(7)
        buffer = node.memory.allocate(4000)
        for _ in range(2):
            request = await service.receive()
            data = await request.read()
            buffer.write(data[::-1])
            await request.reply(buffer.part(0, len(data)))
        await service.close()

    async def call(node):
        await node.attached()
        await node.sleep(3000)
        question, answer, got = node.memory.allocate(4000), node.memory.allocate(4000), []
        for size in (4, 3000):
            question.write(pattern(size))
            reply = await node.request.call((2, 7), question.part(0, size), into=answer)
            got.append(await reply.read())
        return got

    (_, got), counters = run(("CAB2", serve), ("CAB1", call), boards=boards)
    assert got == [pattern(size)[::-1] for size in (4, 3000)]
    assert counters[0].bytes_in == counters[0].bytes_out == counters[1].bytes_in == 3004


def test_a_multicast_from_memory_reaches_all():
    async def tell(node):
        buffer = node.memory.allocate(2500)
        buffer.write(pattern(2500))
        await node.attached()
        await node.sleep(1000)
        await node.multicast.send(([2, 3], 1), buffer)

    (_, *got), _ = run(
        ("CAB1", tell),
        *((name, receive, 1, [2500]) for name in ("CAB2", "CAB3")),
        topology="hub:3",
        nodes=["CAB1", "CAB2", "CAB3"],
    )
    assert got == [[(1, pattern(2500))]] * 2


def test_messages_that_came_before_are_put_into_memory_too():
    async def late(node):
        await node.attached()
        await node.sleep(6000)
        return await receive(node, 1, [30, 1500, 2])

    messages = [pattern(30), pattern(1500), pattern(2)]
    (_, got), _ = run(("CAB1", send, (2, 1), messages), ("CAB2", late))
    assert got == [(1, data) for data in messages]


# -- what goes wrong -------------------------------------------------------------------------------------


def freed(node):
    buffer = node.memory.allocate(10)
    buffer.free()
    return buffer


@pytest.mark.parametrize(
    "attempt, kind, words",
    [
        (lambda node: node.memory.allocate(0), ValueError, "1 byte or more, not 0"),
        (lambda node: node.memory.allocate(NODE_MEMORY_BYTES + 1), OutOfMemory, "cannot give 1048577: free some"),
        (lambda node: node.memory.allocate(10).write(bytes(11)), ValueError, "10 bytes has no 11 bytes at 0"),
        (lambda node: node.memory.allocate(10).part(8, 3), ValueError, "10 bytes has no 3 bytes at 8"),
        (lambda node: freed(node).free(), ValueError, "the buffer has been freed"),
        (lambda node: node.datagram.send((2, 1), freed(node)), ValueError, "the buffer has been freed"),
        (lambda node: node.datagram.send((99, 1), node.memory.allocate(10)), ProgramError, "a datagram to CAB 99"),
        (lambda node: node.datagram.send((2, 1), node.memory.allocate(65537)), MessageTooLong, "a datagram to CAB 2"),
        (lambda node: node.mailbox(1).receive(300, into=node.memory.allocate(9)), TimedOut, "has waited 300 us for"),
        (lambda node: node.mailbox(65535).receive(300, into=node.memory.allocate(9)), BadCommand, "mailbox 65535"),
    ],
)
def test_bad_input_gets_an_error_of_its_own(attempt, kind, words):
    async def process(node):
        await node.attached()
        with pytest.raises(kind) as caught:
            outcome = attempt(node)
            await outcome
        await node.mailbox(1).close()
        return str(caught.value)

    async def commands(cab):
        cab.commands.start()

    with system_of("hub:2", nodes=["CAB1"]) as system:
        system.spawn("CAB1", commands)
        thread = system.node("CAB1").spawn(process)
        system.go()
        assert words in thread.result and "\n" not in thread.result


@pytest.mark.parametrize(
    "address, length", [(NODE_MEMORY - 4, 8), (NODE_MEMORY + NODE_MEMORY_BYTES - 4, 8), (0xFFFFFFFC, 8), (0, 4)]
)
@pytest.mark.parametrize("code", [Code.DATAGRAM, Code.RECEIVE, Code.REPLY, Code.CALL])
def test_an_area_outside_of_the_memory_is_refused(code, address, length):
    async def process(node):
        await node.attached()
        command = await node.shared.place(code, "a try", port=1, cab=2, address=address, length=length, keep=True)
        with pytest.raises(BadCommand, match="bad area"):
            await node.shared.done(command)

    run(("CAB1", process))


def test_the_memory_of_another_node_is_refused():
    buffers = []

    async def process(node):
        await node.attached()
        await node.sleep(100)
        with pytest.raises(ValueError, match="in the memory of another node"):
            await node.datagram.send((1, 1), buffers[0])
        return True

    async def other(node):
        buffers.append(node.memory.allocate(10))

    (ended, _), _ = run(("CAB1", process), ("CAB2", other))
    assert ended


def test_a_machine_without_such_memory_says_so():
    machine = type("NoMemory", (EngineMachine,), {"capabilities": EngineMachine.capabilities - {Capability.MEMORY}})
    shape = small(load("hub:1"))
    system = System.of(machine(shape, PROTOTYPE, nodes=["CAB1"], boards="fast"), shape)
    try:
        with pytest.raises(CapabilityError, match="NoMemory has no memory of nodes on the VME bus: take another"):
            _ = system.node("CAB1").memory
    finally:
        system.close()


def test_a_message_that_is_too_long_stays_in_the_mailbox():
    async def hear(node):
        box, buffer = node.mailbox(1), node.memory.allocate(2000)
        for _ in range(2):
            with pytest.raises(MessageTooLong, match="a message of mailbox 1"):
                await box.receive(into=buffer.part(0, 99))
        got = [await (await box.receive(into=buffer)).read() for _ in range(2)]
        await box.close()
        return got

    (_, got), _ = run(("CAB1", send, (2, 1), [pattern(1500), pattern(10)]), ("CAB2", hear))
    assert got == [pattern(1500), pattern(10)]


def test_a_mailbox_is_read_in_one_way_at_a_time():
    async def process(node):
        box, buffer = node.mailbox(1), node.memory.allocate(10)
        await box.open()
        with pytest.raises(BadCommand):
            await box.receive(500, into=buffer)
        await box.close()
        with pytest.raises(TimedOut):
            await box.receive(500, into=buffer)
        with pytest.raises(BadCommand):
            await box.open()
        await box.close()
        await box.open()
        await box.close()

    run(("CAB1", process))


async def chat(node, destination, count):
    """Small messages that do not lie in the node's memory."""
    await node.attached()
    for number in range(count):
        await node.datagram.send(destination, bytes([number]))
        await node.sleep(300)


async def listen(node, mailbox, count):
    """Their reader."""
    box, got = node.mailbox(mailbox), []
    for _ in range(count):
        message = await box.receive(100_000)
        got += await message.read()
        message.free()
    await box.close()
    return got


@pytest.mark.parametrize("boards", ["fast", pytest.param("rtl", marks=pytest.mark.nightly)])
def test_a_bus_error_in_the_middle_of_a_packet_is_the_senders(boards):
    """The page is taken away while the DMA works on it. Other messages between the same CABs arrive."""

    async def tell(node):
        await node.attached()
        await node.sleep(1000)
        buffer = node.memory.allocate(30_000)
        started = await node.datagram.start((2, 1), buffer)
        await node.sleep(1500)
        buffer.free()
        with pytest.raises(NodeMemoryError, match="a datagram to CAB 2"):
            await started.done()
        buffer = node.memory.allocate(2000)
        buffer.write(pattern(2000))
        await node.datagram.send((2, 1), buffer)

    (_, got, _, heard), counters = run(
        ("CAB1", tell),
        ("CAB2", receive, 1, [30_000]),
        ("CAB1", chat, (2, 2), 10),
        ("CAB2", listen, 2, 10),
        boards=boards,
    )
    assert got == [(1, pattern(2000))] and heard == list(range(10))
    assert counters[0].failed == 1 and 5000 < counters[0].bytes_in - 2000 < 25_000


def test_a_bus_error_while_a_message_arrives_is_the_receivers():
    async def hear(node):
        buffer, box = node.memory.allocate(30_000), node.mailbox(1)

        async def close_page(node):
            await node.sleep(3000)
            buffer.free()

        node.spawn(close_page)
        with pytest.raises(NodeMemoryError, match="a message of mailbox 1"):
            await box.receive(into=buffer)
        buffer = node.memory.allocate(2000)
        got = await (await box.receive(into=buffer)).read()
        await box.close()
        return got

    (_, got), counters = run(("CAB1", send, (2, 1), [pattern(30_000), pattern(2000)]), ("CAB2", hear))
    assert got == pattern(2000) and counters[1].failed == 1


@pytest.mark.parametrize("stopped", ["CAB1", "CAB2"])
@pytest.mark.parametrize("boards", ["fast", pytest.param("rtl", marks=pytest.mark.nightly)])
def test_a_node_that_stops_in_the_middle_holds_up_nobody(stopped, boards):
    """Sender or receiver loses its power while a message is under way: tasks of both CABs go on, nothing is left."""

    async def tasks(cab, other):
        got = []
        for number in range(30):
            await cab.datagram.send((other, 9), bytes([number]))
            message = await cab.mailbox(9).take()
            got += await message.read()
            message.free()
            await cab.sleep(200)
        return got

    async def forever(node, process, *arguments):
        while True:
            await process(node, *arguments)

    with system_of(boards=boards) as system, nothing_leaks(system, False, LIMIT):
        sender = system.node("CAB1").spawn(forever, send, (2, 1), [pattern(30_000)], daemon=True)
        receiver = system.node("CAB2").spawn(forever, receive, 1, [30_000], daemon=True)
        threads = [system.spawn("CAB1", tasks, 2), system.spawn("CAB2", tasks, 1)]
        system.machine.plan(8_000_000_000, lambda: system.stop_node(stopped))
        system.go()
        assert [thread.result for thread in threads] == [list(range(30))] * 2
        assert isinstance((sender if stopped == "CAB1" else receiver).error, NodeStopped)
        counters = system.cab(stopped).memory.channel.counters
        assert counters.failed >= 1 and counters.bytes_in + counters.bytes_out > 2 * MAX_DATA
