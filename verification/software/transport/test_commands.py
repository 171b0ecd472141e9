"""Commands put into the command mailbox do what the procedures do, and each that is wrong is answered. Fact S5;
docs/transports.md."""

import hypothesis
import pytest
from hypothesis import strategies as st

from nectar.software.kernel.mailbox import Mailbox
from nectar.software.packet import COMMAND, RESULT, Code, Status
from nectar.software.transport.commands import MAILBOX, Command
from nectar.verification.properties import properties
from nectar.verification.software.helpers import BOARDS, pattern, receive_all
from nectar.verification.software.transport.exchange import settled, whole

REPLY, SERVICE, BOX, PORT = 90, 7, 3, 12


async def put(cab, data):
    """Puts bytes into the command mailbox, in place."""
    message = await cab.mailbox(MAILBOX).reserve(len(data))
    if data:
        cab.memory.write(message.address, data)
    cab.mailbox(MAILBOX).commit(message)


async def result(cab, mailbox=REPLY):
    """The next result: (tag, Status, bytes)."""
    message = await cab.mailbox(mailbox).take()
    data = await message.read()
    message.free()
    tag, status, length = RESULT.unpack_from(data)
    assert len(data) == RESULT.size + length
    return tag, Status(status), data[RESULT.size :]


async def do(cab, *fields, **more):
    """Has a command done; its result."""
    command = Command(*fields, **more)
    await put(cab, command.pack())
    tag, status, content = await result(cab, command.reply)
    assert tag == command.tag
    return status, content


async def echo(cab):
    service = cab.request.serve(SERVICE)
    while True:
        request = await service.receive()
        await request.reply((await request.read())[::-1])


@pytest.mark.parametrize("boards", BOARDS)
def test_each_transport_does_what_a_command_says(boards):
    data = pattern(5000)

    async def client(cab):
        cab.commands.start()
        connection = await cab.stream.connect((2, PORT))
        number = cab.commands.lend(connection)
        block = await cab.memory.allocate(8192)
        cab.memory.write(block, data)
        areas = [(block, 1000), (block + 1000, 0), (block + 1000, 4000)]
        got = [
            await do(cab, Code.DATAGRAM, REPLY, 1, BOX, [2], areas),
            await do(cab, Code.DATAGRAM, REPLY, 2, BOX, [2, 3], areas, circuit=1),
            await do(cab, Code.MULTICAST, REPLY, 3, BOX, [2, 3], areas),
            await do(cab, Code.REQUEST, REPLY, 4, SERVICE, [2], areas),
            await do(cab, Code.REQUEST, REPLY, 5, SERVICE, [2], [], 50_000),
            await do(cab, Code.STREAM, REPLY, 6, number, [], areas),
            await do(cab, Code.STREAM, REPLY, 7, number, [], areas[:1], 50_000),
        ]
        cab.commands.take_back(number)
        await connection.close()
        cab.memory.free(block)
        cab.commands.stop()
        return got

    async def reader(cab):
        connection = await cab.stream.listen(PORT).accept()
        parts = []
        while part := await connection.receive(10_000):
            parts.append(part)
        await connection.close()
        return b"".join(parts)

    with whole("hub:3", boards=boards, settle_us=150_000) as system:
        system.cab("CAB2").spawn(echo)
        stream = system.spawn("CAB2", reader)
        receivers = [system.spawn("CAB2", receive_all, BOX, 3), system.spawn("CAB3", receive_all, BOX, 2)]
        client = system.spawn("CAB1", client)
        system.go()
        assert (
            client.result
            == [(Status.DONE, b"")] * 3 + [(Status.DONE, data[::-1]), (Status.DONE, b"")] + [(Status.DONE, b"")] * 2
        )
        assert [len(thread.result) for thread in receivers] == [3, 2]
        assert all(message == (1, data) for thread in receivers for message in thread.result)
        assert stream.result == data + data[:1000]
        assert system.cab("CAB1").commands.counters.commands == 7


GOOD = dict(code=Code.DATAGRAM, reply=REPLY, tag=77, port=BOX, members=[2], areas=[])
WRONG = {
    Status.BAD_CODE: [dict(code=0), dict(code=5), dict(code=255)],
    Status.BAD_SWITCHING: [dict(circuit=2), dict(code=Code.REQUEST, circuit=1), dict(code=Code.MULTICAST, circuit=1)],
    Status.BAD_MEMBERS: [
        dict(members=[]),
        dict(code=Code.REQUEST, members=[2, 3]),
        dict(code=Code.REQUEST, members=[]),
        dict(code=Code.MULTICAST, members=[]),
        dict(code=Code.MULTICAST, members=[1, 2]),
        dict(members=[255]),
        dict(code=Code.STREAM, members=[2]),
        dict(code=Code.REQUEST, members=[1]),
    ],
    Status.BAD_AREA: [dict(areas=[(0, 4)]), dict(areas=[(0x1FFFFC, 5)]), dict(areas=[(0x100000, 4), (0xFFFFFFFF, 1)])],
    Status.BAD_CONNECTION: [dict(code=Code.STREAM, members=[], port=1)],
    Status.NO_ROUTE: [
        dict(members=[99]),
        dict(code=Code.REQUEST, members=[99]),
        dict(code=Code.MULTICAST, members=[2, 99]),
    ],
    Status.TOO_LONG: [dict(areas=[(0x100000, 40_000)] * 2), dict(code=Code.REQUEST, areas=[(0x100000, 1)] * 40)],
    Status.NO_SERVICE: [dict(code=Code.REQUEST, port=1234)],
    Status.SILENT: [dict(code=Code.REQUEST, port=SERVICE + 1, timeout_us=10)],
    Status.NOT_ALL: [dict(code=Code.MULTICAST, port=BOX + 1)],
}


@pytest.mark.parametrize("boards", BOARDS)
def test_what_is_wrong_is_answered_with_a_status_of_its_own(boards):
    """And a word in ASCII; the next command is executed as usual."""

    async def closed(cab):
        cab.mailbox(BOX + 1).close()
        await cab.sleep(1)

    async def client(cab):
        cab.commands.start()
        for status, cases in WRONG.items():
            for case in cases:
                got, text = await do(cab, **{**GOOD, **case})
                assert got == status and text.decode("ascii"), case
                assert await do(cab, **GOOD) == (Status.DONE, b"")
        for cut in (COMMAND.size, COMMAND.size + 3, COMMAND.size + 5, 40):
            data = Command(**{**GOOD, "areas": [(cab.memory.base, 4)]}).pack() + bytes(20)
            await put(cab, data[:cut])
            assert (await result(cab))[:2] == (77, Status.BAD_LENGTH)
        await put(cab, bytes(COMMAND.size - 1))
        await put(cab, b"")
        assert await do(cab, **GOOD) == (Status.DONE, b"")
        cab.commands.stop()
        counters = cab.commands.counters
        assert counters.headless == 2 and counters.refused == 4 + sum(
            len(cases) for status, cases in WRONG.items() if status < 16
        )

    with whole(boards=boards) as system:
        system.spawn("CAB2", closed)
        system.go()
        system.cab("CAB2").spawn(sink)
        system.spawn("CAB1", client)
        system.go()


async def sink(cab):
    while True:
        (await cab.mailbox(BOX).take()).free()


@pytest.mark.parametrize("boards", BOARDS)
def test_many_commands_at_once(boards):
    """More than are executed at the same time; each has its result, though the service takes its time."""

    async def slow(cab):
        service = cab.request.serve(SERVICE, capacity=100)
        while True:
            request = await service.receive()
            data = await request.read()
            await cab.sleep(200)
            await request.reply(data * 2)

    async def client(cab):
        cab.commands.start()
        block = await cab.memory.allocate(64)
        cab.memory.write(block, bytes(range(64)))
        for number in range(40):
            await put(cab, Command(Code.REQUEST, REPLY, number, SERVICE, [2], [(block + number, 1)]).pack())
        got = [await result(cab) for _ in range(40)]
        cab.memory.free(block)
        cab.commands.stop()
        return got

    with whole(boards=boards) as system:
        system.cab("CAB2").spawn(slow)
        client = system.spawn("CAB1", client)
        system.go()
        assert sorted(client.result) == [(number, Status.DONE, bytes([number, number])) for number in range(40)]


def test_a_result_that_finds_no_place_is_dropped_and_counted():
    async def client(cab):
        cab.mailboxes[REPLY] = Mailbox(cab.kernel, REPLY, capacity=1)
        cab.mailbox(REPLY + 1).close()
        cab.commands.start(5)
        for reply in (REPLY, REPLY, REPLY + 1):
            message = await cab.mailbox(5).reserve(COMMAND.size + 4)
            cab.memory.write(message.address, Command(**{**GOOD, "reply": reply}).pack())
            cab.mailbox(5).commit(message)
        await cab.sleep(110_000)
        assert cab.commands.counters.unanswered == 2
        assert (await result(cab))[:2] == (77, Status.DONE)
        cab.mailbox(REPLY + 1).open()
        cab.commands.stop()

    with whole() as system:
        system.cab("CAB2").spawn(sink)
        system.spawn("CAB1", client)
        system.go()


def test_one_thread_takes_commands_and_may_be_stopped_and_started():
    async def client(cab):
        cab.commands.start()
        with pytest.raises(ValueError, match="takes commands already"):
            cab.commands.start()
        assert await do(cab, **GOOD) == (Status.DONE, b"")
        cab.commands.stop()
        cab.commands.stop()
        await cab.pause()
        await put(cab, Command(**GOOD).pack())
        await cab.sleep(1000)
        assert len(cab.mailbox(MAILBOX)) == 1
        cab.commands.start()
        assert (await result(cab))[1] == Status.DONE
        cab.commands.stop()
        numbers = {cab.commands.lend(None) for _ in range(65535)}
        assert numbers == set(range(1, 65536))
        cab.commands.take_back(9)
        assert cab.commands.lend(None) == 9

    with whole() as system:
        system.cab("CAB2").spawn(sink)
        system.spawn("CAB1", client)
        system.go()
        settled(system, 100)


@properties
@hypothesis.given(
    st.builds(
        Command,
        st.integers(0, 255),
        st.integers(0, 65535),
        st.integers(0, 65535),
        st.integers(0, 65535),
        st.lists(st.integers(0, 255), max_size=9).map(tuple),
        st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), max_size=5).map(tuple),
        st.integers(0, 2**32 - 1),
        st.integers(0, 255),
    )
)
def test_a_command_is_read_as_it_was_written(command):
    assert Command.unpack(command.pack()) == command
