"""Nodes: what goes wrong, on fast boards and on the RTL. Each gets an error of its own, nobody else
notices, nothing is left; docs/nodes.md."""

import pytest

from nectar.software.errors import (
    BadCommand,
    CabSilent,
    MessageTooLong,
    NodeStopped,
    NoRoute,
    ProgramError,
    ServiceEnded,
    ServiceMissing,
    TimedOut,
)
from nectar.software.node.layout import (
    AREA,
    AREA_BYTES,
    BELL,
    BOXES,
    COMMAND,
    COMMANDS,
    COUNTS,
    POOL,
    POOL_BYTES,
    Code,
    command_at,
)
from nectar.software.packet import Status
from nectar.verification.software.helpers import BOARDS, nothing_leaks, pattern, simulated
from nectar.verification.software.nodes import failing, later, one, run, wait_and


@pytest.fixture(params=BOARDS)
def boards(request):
    return request.param


@pytest.mark.parametrize(
    "attempt, kind, words",
    [
        (lambda node: node.datagram.send((2, 1), bytes(65537)), MessageTooLong, "at most 65536 bytes"),
        (lambda node: node.datagram.send((99, 1), b"x"), NoRoute, "a datagram to CAB 99"),
        (lambda node: node.datagram.send((255, 1), b"x"), BadCommand, "bad members"),
        (lambda node: node.datagram.send((2, 65536), b"x"), ValueError, "0 to 65535"),
        (lambda node: node.request.call((2, 5), b"x"), ServiceMissing, "service 5 on CAB 2"),
        (lambda node: node.request.call((99, 5), b"x"), NoRoute, "CAB 99"),
        (lambda node: node.request.call((2, 5), b"x", 0), ValueError, "more than 0 us"),
        (lambda node: node.request.call((2, 5), bytes(65537)), MessageTooLong, "at most 65536 bytes"),
        (lambda node: node.mailbox(1).receive(300), TimedOut, "has waited 300 us for something in mailbox 1"),
        (lambda node: node.mailbox(65535).open(), BadCommand, "mailbox 65535"),
        (lambda node: node.mailbox(65536).open(), ValueError, "0 to 65535"),
    ],
)
def test_bad_input_gets_an_error_of_its_own(attempt, kind, words, boards):
    async def commands(cab):
        cab.commands.start()

    async def after(node):
        error = await later(node, 100, failing(attempt))
        for box in (1,):
            await node.mailbox(box).close()
        return error

    error, _ = run(("CAB1", after), tasks=[("CAB1", commands)], boards=boards, nodes=["CAB1"])
    assert type(error) is kind and words in str(error)


def test_a_mailbox_that_a_task_reads_from_is_not_the_nodes():
    async def reader(cab):
        return await (await cab.mailbox(1).take()).read()

    async def process(node):
        error = await later(node, 200, failing(lambda node: node.mailbox(1).open()))
        await node.datagram.send((1, 1), b"over")
        return error

    error, data = run(("CAB1", process), tasks=[("CAB1", reader)], nodes=["CAB1"], topology="hub:1", leaks=True)
    assert type(error) is BadCommand and data == b"over"


def test_no_more_boxes_than_there_are():
    async def process(node):
        for number in range(BOXES):
            await node.mailbox(number).open()
        error = await failing(lambda node: node.mailbox(BOXES).open())(node)
        for number in range(BOXES):
            await node.mailbox(number).close()
        await node.mailbox(BOXES).open()
        await node.mailbox(BOXES).close()
        return error

    (error,) = run(("CAB1", process), nodes=["CAB1"])
    assert type(error) is ProgramError and f"{BOXES} mailboxes and services already" in str(error)


def test_what_has_not_been_read_when_a_mailbox_is_closed_is_freed(boards):
    """Messages that the node has, messages behind them; and the box is used again."""

    async def process(node):
        box = node.mailbox(1)
        await box.open()
        await node.sleep(4000)
        first = await box.receive(1000)
        await box.close()
        with pytest.raises(ValueError, match="taken the message back, since mailbox 1 of CAB1.node was closed"):
            await first.read()
        first.free()
        again = node.mailbox(2)
        await again.open()
        await node.datagram.send((2, 1), b"go on")
        message = await again.receive(20_000)
        data = await message.read()
        message.free()
        await again.close()
        return data

    async def task(cab):
        for number in range(20):
            await cab.datagram.send((1, 1), bytes([number]))
        message = await cab.mailbox(1).receive()
        message.free()
        await cab.datagram.send((1, 2), b"second")

    data, _ = run(("CAB1", process), tasks=[("CAB2", task)], boards=boards, nodes=["CAB1"])
    assert data == b"second"


def test_messages_for_a_closed_mailbox_are_refused():
    async def process(node):
        await node.mailbox(1).open()
        await node.mailbox(1).close()
        await node.sleep(3000)

    async def task(cab):
        await cab.sleep(5000)
        await cab.datagram.send((1, 1), b"late")

    with simulated(nodes=["CAB1"]) as system, nothing_leaks(system):
        system.node("CAB1").spawn(process)
        system.spawn("CAB2", task)
        system.go()
        system.spawn("CAB2", task)
        system.go()
        system.spawn("CAB1", wait_and(lambda cab: cab.pause()), 1000)
        system.go()
        assert system.cab("CAB1").mailbox(1).refused == 2


def test_a_request_that_its_node_does_not_answer_ends_with_its_service(boards):
    async def serve(node):
        service = await node.request.serve(7)
        await service.receive(100_000)
        await service.close()

    async def call(node):
        return await failing(lambda node: node.request.call((2, 7), b"x", 50_000))(node)

    error, _ = run(("CAB1", later, 300, call), ("CAB2", serve), boards=boards)
    assert isinstance(error, ServiceEnded)


@pytest.mark.parametrize("cancel_us, close_us", [(3000, 6000), (6000, 3000), (3300, 3000), (4000, 3000)])
def test_a_cancelled_request_is_freed_whenever_its_service_is_closed(cancel_us, close_us):
    async def serve(node):
        service = await node.request.serve(7)
        await service.receive(100_000)
        await node.sleep(close_us)
        await service.close()

    async def call(cab):
        await cab.sleep(8000)
        started = await cab.request.start((2, 7), pattern(2000))
        await cab.sleep(cancel_us)
        started.cancel()

    run(("CAB2", serve), tasks=[("CAB1", call)], nodes=["CAB2"])


def test_nonsense_in_the_shared_area_is_refused_or_counted(boards):
    """What a node's process stores that does not keep to the library: nobody else notices."""

    async def wild(node, entries):
        await node.attached()
        statuses = []
        for number, fields in enumerate(entries):
            node.door.write_block(command_at(number), COMMAND.pack(*fields))
            node.door.write(COUNTS, number + 1)
            node.door.write(BELL, 0)
            word = 0
            while word >> 8 != number + 1:
                word = await node.door.read(command_at(number) + COMMAND.size + 8)
            statuses.append(Status(word & 0xFF))
        for count, value in ((0, len(entries) + COMMANDS + 1), (3, 17)):
            node.door.write(COUNTS + 4 * count, value)
            node.door.write(BELL, 0)
        await node.sleep(100)
        return statuses

    top = 1 << 24
    entries = [
        (0, 0, 0, 0, 0),
        (99 * top, 0, 0, 0, 0),
        (Code.DATAGRAM * top, 2, AREA, 4, 0),
        (Code.DATAGRAM * top, 2, POOL + POOL_BYTES - 4, 5, 0),
        (Code.DATAGRAM * top, 2, 0xFFFFFFFF, 0xFFFFFFFF, 0),
        (Code.DATAGRAM * top, 0xFFFF, POOL, 4, 0),
        (Code.OPEN * top | BOXES << 16, 0, 0, 0, 0),
        (Code.CLOSE * top | 2 << 16, 0, 0, 0, 0),
        (Code.FREE * top, 0, AREA, 0, 0),
        (Code.REPLY * top, 12345, 0, 0, 0),
        (Code.OPEN * top | 2 << 16 | 8, 0, 0, 0, 0),
        (Code.OPEN * top | 2 << 16 | 9, 0, 0, 0, 0),
        (Code.CLOSE * top | 2 << 16, 0, 0, 0, 0),
    ]
    with simulated(nodes=["CAB1"], boards=boards) as system, nothing_leaks(system):
        thread = system.node("CAB1").spawn(wild, entries)
        other = system.spawn("CAB1", wait_and(lambda cab: cab.now_us()), 1000)
        system.go()
        assert thread.result == [
            Status.BAD_CODE,
            Status.BAD_CODE,
            Status.BAD_AREA,
            Status.BAD_AREA,
            Status.BAD_AREA,
            Status.BAD_MEMBERS,
            Status.BAD_CONNECTION,
            Status.BAD_CONNECTION,
            Status.BAD_AREA,
            Status.BAD_CONNECTION,
            Status.DONE,
            Status.BAD_CONNECTION,
            Status.DONE,
        ]
        counters = system.cab("CAB1").port.counters
        assert other.error is None and counters.refused == 11 and counters.nonsense == 2


def test_a_node_reaches_only_what_is_shared(boards):
    """Other data memory, the protection table, the kernel's registers: each access is a bus error, and has no
    effect."""

    async def process(node):
        await node.attached()
        outcomes = []
        for address in (AREA + AREA_BYTES, 0x200C00, 0x200020, 0x300000, 0x080000):
            with pytest.raises(CabSilent) as caught, node.shared.bus():
                node.door.write(address, 0xDEADBEEF)
                await node.door.now()
            outcomes.append(str(caught.value))
            with pytest.raises(CabSilent), node.shared.bus():
                await node.door.read(address)
        return outcomes

    with simulated(nodes=["CAB1"], boards=boards) as system:
        thread = system.node("CAB1").spawn(process)
        system.go()
        assert len(thread.result) == 5 and "refuses a store to 0x140000" in thread.result[0]
        assert await_read(system, AREA + AREA_BYTES) != b"\xde\xad\xbe\xef"


def await_read(system, address):
    """Four bytes of CAB1's data memory."""

    async def look(cab):
        return await cab.memory.read(address, 4)

    thread = system.spawn("CAB1", look)
    system.go()
    return thread.result


def test_a_node_that_stops_leaves_the_others_alone(boards):
    async def forever(node):
        while True:
            await node.sleep(50)

    async def task(cab):
        await cab.sleep(3000)
        await cab.datagram.send((1, 1), b"nobody reads this")
        return await cab.request.call((1, 3), b"a")

    async def serve(cab):
        service = cab.request.serve(3)
        request = await service.receive()
        await request.reply(b"b")
        service.close()

    with simulated(nodes=["CAB1"], boards=boards) as system:
        stopped = system.node("CAB1").spawn(forever)
        system.machine.plan(2_500_000_000, lambda: system.stop_node("CAB1"))
        threads = [system.spawn("CAB2", task), system.spawn("CAB1", serve)]
        system.go()
        assert isinstance(stopped.error, NodeStopped) and threads[0].result == b"b"
        assert "CAB1.node was stopped at 2.500 ms" in str(stopped.error)


def test_a_cab_that_stops_and_starts_again_is_noticed(boards):
    """Processes hear of it; the node uses the CAB's next start without more ado."""

    async def process(node):
        await node.attached()
        await node.sleep(1500)
        error = await failing(lambda node: node.datagram.send((2, 1), b"lost"))(node)
        boot = node.boot
        while node.boot == boot:
            await node.sleep(200)
        await node.datagram.send((2, 1), b"found")
        return error

    with simulated(nodes=["CAB1"], boards=boards) as system:
        thread = system.node("CAB1").spawn(process)
        receiver = system.spawn("CAB2", one)
        system.machine.plan(3_000_000_000, lambda: system._stop("CAB1"))
        system.machine.plan(6_000_000_000, lambda: system._restart("CAB1"))
        system.go()
        assert isinstance(thread.result, CabSilent) and receiver.result == b"found"


def test_a_cab_with_a_node_needs_memory_to_share():
    with pytest.raises(ProgramError, match="CAB1 has no room for what it shares with its node: give it 524288 bytes"):
        with simulated(nodes=["CAB1"], memory_bytes=1 << 18):
            pass


def test_a_process_that_fails_ends_the_run_with_its_error():
    async def process(node):
        raise KeyError("what")

    with simulated(nodes=["CAB1"]) as system:
        system.node("CAB1").spawn(process)
        with pytest.raises(ProgramError, match="CAB1.node failed at .* KeyError: 'what'"):
            system.go()


def test_there_is_no_node_where_none_was_named():
    with simulated(nodes=["CAB1"]) as system:
        with pytest.raises(ProgramError, match="CAB2 has no node; name it in the program's NODES"):
            system.node("CAB2")
        with pytest.raises(ProgramError, match="there is no CAB 'CAB7'"):
            system.node("CAB7")
