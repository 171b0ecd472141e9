"""Commands of the HUB as software sees them: the same scenarios on fast boards and on RTL boards, with the same
assertions. What these say is docs/hub.md."""

import pytest

from nectar.hdl.cab.addresses import REG, Irq
from nectar.hdl.hub.commands import STATUS_IN_USE, Error, Op
from nectar.sim.topology import load
from nectar.verification.software.helpers import BOARDS

from .scenario import DATA, playing, silent


@pytest.fixture(params=BOARDS)
def play(request):
    with playing(request.param) as play:
        yield play


def test_a_hub_answers_as_the_table_of_commands_says(play):
    async def main(board):
        replies = []

        async def ask(opcode, param):
            board.command(opcode, 1, param)
            if not await board.pending(Irq.REPLY):
                replies.append(None)
                return
            word = await board["REPLY"]
            assert word >> 31 and REG["REPLY"].hub.get(word) == 1
            replies.append((REG["REPLY"].opcode.get(word), REG["REPLY"].value.get(word)))

        await ask(Op.STATUS_OUTPUT, 2)
        await ask(Op.OPEN_RETRY_REPLY, 2)
        await ask(Op.STATUS_OUTPUT, 2)
        await ask(Op.OPEN_RETRY_REPLY, 2)
        await ask(Op.OPEN_RETRY_REPLY, 0)
        await ask(Op.OPEN_RETRY_REPLY, 77)
        await ask(Op.STATUS_OUTPUT, 77)
        board.command(Op.CLOSE, 1, 2)
        await ask(Op.STATUS_OUTPUT, 2)
        await ask(0x7F, 0)
        await ask(Op.STATUS_ERRORS, 0)
        assert await board["REPLY"] == 0
        return replies

    refused = Op.OPEN_RETRY_REPLY & ~1
    assert play(load("hub:3"), main, silent, silent)[0] == [
        (Op.STATUS_OUTPUT, 0),
        (Op.OPEN_RETRY_REPLY, 2),
        (Op.STATUS_OUTPUT, STATUS_IN_USE | 0),
        (Op.OPEN_RETRY_REPLY, 2),
        (refused, Error.BAD_PORT),
        (refused, Error.BAD_PORT),
        (Op.STATUS_OUTPUT & ~1, Error.BAD_PORT),
        (Op.STATUS_OUTPUT, 0),
        (0x7E, Error.UNKNOWN),
        (Op.STATUS_ERRORS, 4),
    ]


def test_an_open_waits_for_the_output_and_a_test_open_for_its_ready_bit(play):
    """CAB1 holds the output to CAB2 for a time; then CAB3's packet comes, and its second one waits for CAB2's ready
    signal."""

    async def first(board):
        board.command(Op.OPEN_RETRY, 1, 1)
        board.door.spend(2000)
        board.command(Op.CLOSE_ALL)

    async def receiver(board):
        times = []
        for _ in range(2):
            assert await board.pending(Irq.PACKET)
            times.append(await board.door.now())
            board.door.spend(3000)
            await board.packet()
        return times

    async def third(board):
        board.door.spend(200)
        for _ in range(2):
            board.command(Op.TEST_OPEN_RETRY, 1, 1, wait_ready=True)
            board.area(DATA.base, 64, start=1, end=1, crc=1)
            board.command(Op.CLOSE_ALL)

    _, times, _ = play(load("hub:3"), first, receiver, third)
    assert 2000 < times[0] < 2100
    assert times[0] + 3000 < times[1] < times[0] + 3400


def test_a_plain_open_of_a_taken_output_loses_what_follows(play):
    async def first(board):
        board.command(Op.OPEN_RETRY, 1, 1)
        board.door.spend(2000)
        board.command(Op.CLOSE_ALL)

    async def receiver(board):
        return await board.packet()

    async def third(board):
        board.door.spend(200)
        board.command(Op.OPEN, 1, 1)
        board.area(DATA.base, 64, start=1, end=1, crc=1)
        board.command(Op.CLOSE_ALL)
        board.door.spend(500)
        return await board.get("TX_STATUS", "ready")

    assert play(load("hub:3"), first, receiver, third)[1:] == [None, 1]


def test_a_packet_reaches_several_outputs_at_once(play):
    content = bytes(range(64))

    async def send(board):
        board.door.write_block(DATA.base, content)
        for port in (1, 2):
            board.command(Op.TEST_OPEN_RETRY, 1, port)
        board.area(DATA.base, 64, start=1, end=1, crc=1)
        board.command(Op.CLOSE_ALL)
        board.door.spend(1000)
        for port in (1, 2):
            board.command(Op.STATUS_OUTPUT, 1, port)
        board.door.spend(500)
        return [REG["REPLY"].value.get(await board["REPLY"]) for _ in range(2)]

    async def receive(board):
        return await board.packet()

    free, *packets = play(load("hub:3"), send, receive, receive)
    assert free == [0, 0]
    for header, data, result in packets:
        assert (header + data, result) == (content, {"header": 16})
