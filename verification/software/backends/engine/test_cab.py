"""Registers of the CAB as software sees them: the same scenarios on fast boards and on RTL boards, with the same
assertions. What these say is docs/cab.md."""

import zlib

import pytest

from nectar.hdl.cab.addresses import ID_VALUE, REG, REGIONS, TX_LIST_DEPTH, Irq
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.symbol import Control
from nectar.verification.software.helpers import BOARDS

from .scenario import DATA, pair, playing


@pytest.fixture(params=BOARDS)
def play(request):
    with playing(request.param) as play:
        yield play


# -- the bus -----------------------------------------------------------------------------------------
def test_what_is_not_there_is_a_bus_error(play):
    async def main(board):
        registers = REGIONS["registers"].base
        assert await board["ID"] == ID_VALUE
        bad = [(REGIONS["vme"].base, 4, None), (REGIONS["prom"].end, 4, None), (REGIONS["protection"].end, 4, None)]
        bad += [
            (REG["ID"].address, 2, None),
            (REG["ID"].address, 1, None),
            (REG["IRQ_ENABLE"].address, 2, 1),
            (registers + 0x100, 4, None),
        ]
        bad += [(register.address, 4, None) for register in REG.values() if "r" not in register.access]
        bad += [(register.address, 4, 0) for register in REG.values() if "w" not in register.access]
        bad += [(REG["RX_START"].address, 4, 16)]
        wrong = [case for case in bad if not await board.fails(*case[:2], case[2])]
        assert not wrong
        assert not await board.fails(DATA.end - 4, 4, 0x12345678)
        return await board.door.read(DATA.end - 1, 1)

    assert play(pair(), main)[0] == 0x78


def test_areas_must_lie_in_data_memory_and_the_list_has_its_depth(play):
    async def main(board):
        area = REG["TX_AREA"].address
        for address, length, fails in (
            (DATA.base, 0, False),
            (DATA.end - 4, 4, False),
            (DATA.end - 4, 5, True),
            (DATA.base - 1, 1, True),
            (0, 0, False),
        ):
            board.set("TX_ADDRESS", address)
            assert await board.fails(area, 4, length) == fails, hex(address)
        board.command(Op.CLOSE_ALL, wait_ready=True)
        board.door.spend(100)
        assert await board["TX_ADDRESS"] == 0
        board.set("TX_SYMBOL", symbol=Control.START)
        board.door.spend(100)
        board.command(Op.CLOSE_ALL, wait_ready=True)
        assert await board.get("TX_STATUS", "ready") == 0
        board.door.spend(20)
        written = 0
        while not await board.fails(REG["TX_COMMAND"].address, 4, 0):
            written += 1
            assert written <= 2 * TX_LIST_DEPTH
        assert await board.get("TX_STATUS", "free") == 0
        assert await board.get("TX_STATUS", "waiting") == 1
        board.set("TX_CONTROL", reset=1)
        board.door.spend(100)
        return written, await board.get("TX_STATUS", "free"), await board.get("TX_STATUS", "waiting")

    written, free, waiting = play(pair(), main)[0]
    # Entries behind the one that waits may have left the list too: the channel works ahead of the fiber.
    assert TX_LIST_DEPTH - 1 <= written and (free, waiting) == (TX_LIST_DEPTH, 0)


# -- the timer ---------------------------------------------------------------------------------------
def test_the_timer_fires_once_when_it_is_due(play):
    async def main(board):
        log = []
        now = await board["TIMER_NOW"]
        board.set("TIMER_COMPARE", now + 400)
        assert await board["TIMER_COMPARE"] == now + 400
        board.door.spend(300)
        log.append(await board["IRQ_PENDING"] >> Irq.TIMER & 1)
        board.door.spend(200)
        log.append(await board["IRQ_PENDING"] >> Irq.TIMER & 1)
        board.set("IRQ_PENDING", 1 << Irq.TIMER)
        board.door.spend(500)
        log.append(await board["IRQ_PENDING"] >> Irq.TIMER & 1)
        board.set("TIMER_COMPARE", now)  # late: at once
        board.door.spend(10)
        log.append(await board["IRQ_PENDING"] >> Irq.TIMER & 1)
        board.set("IRQ_PENDING", 1 << Irq.TIMER)
        board.set("TIMER_COMPARE", now + 3000)
        board.set("TIMER_STOP", 1)
        board.door.spend(3000)
        log.append(await board["IRQ_PENDING"] >> Irq.TIMER & 1)
        return log

    assert play(pair(), main)[0] == [0, 1, 0, 1, 0]


def test_an_enabled_interrupt_wakes_the_cpu(play):
    async def main(board):
        door, log = board.door, []

        async def handler():
            log.append(("handler", await door.now(), await board["IRQ_PENDING"]))
            board.set("IRQ_PENDING", 1 << Irq.TIMER)

        door.attach(handler)
        board.set("IRQ_ENABLE", 1 << Irq.TIMER)
        board.set("TIMER_COMPARE", 1000)
        await door.wait()
        log.append(("woken", await door.now(), None))
        return log

    (_, at, pending), (_, woken, _) = play(pair(), main)[0]
    assert pending == 1 << Irq.TIMER and 1000 <= at <= 1004 and woken == at + 8


# -- packets -----------------------------------------------------------------------------------------
LENGTHS = [0, 1, 3, 4, 5, 15, 16, 17, 19, 20, 21, 23, 24, 100, 1020]


def test_packets_of_any_length_arrive_with_header_data_and_crc(play):
    content = bytes(i * 7 & 0xFF for i in range(1020))

    async def send(board):
        board.door.write_block(DATA.base + 5, content)
        for length in LENGTHS:
            board.command(Op.CLOSE_ALL, wait_ready=True)
            board.area(DATA.base + 5, length, start=1, end=1, crc=1, notify=1)
        board.door.spend(5000)
        return await board.get("TX_STATUS", "sent")

    async def receive(board):
        return [await board.packet(DATA.base + 0x8000 + length % 4) for length in LENGTHS]

    sent, packets = play(pair(), send, receive)
    for length, (header, data, result) in zip(LENGTHS, packets):
        assert header == content[: min(length, 16)].ljust(16, b"\0"), length
        assert data == content[16:length], length
        assert result == ({"header": min(length, 16)} if length else {}), length
    assert len(packets) == len(LENGTHS) and sent > 0


def test_a_packet_is_gathered_and_its_crc_covers_all_of_it(play):
    content = bytes(range(200))

    async def send(board):
        board.door.write_block(DATA.base, content)
        board.area(DATA.base + 3, 30, start=1)
        board.area(DATA.base + 100, 1)
        board.area(DATA.base, 0)
        board.area(DATA.base + 50, 49, end=1, crc=1)

    async def receive(board):
        return await board.packet()

    whole = content[3:33] + content[100:101] + content[50:99]
    _, (header, data, result) = play(pair(), send, receive)
    assert (header + data, result) == (whole, {"header": 16})


def test_errors_of_packets_are_told(play):
    """Without CRC, cut short by a start, longer than allowed, shorter than a CRC."""
    content = bytes(range(100, 200))

    async def send(board):
        board.door.write_block(DATA.base, content)
        board.area(DATA.base, 60, start=1, end=1)
        board.door.spend(1000)
        board.area(DATA.base, 40, start=1)
        board.door.spend(1000)
        board.area(DATA.base, 60, start=1, end=1, crc=1)
        board.door.spend(1000)
        board.area(DATA.base, 3, start=1, end=1)

    async def receive(board):
        packets = [await board.packet(), await board.packet(), await board.packet(limit=30), await board.packet()]
        return packets, await board.get("ERRORS", "framing")

    _, (packets, framing) = play(pair(), send, receive)
    assert packets[0][1:] == (content[16:56], {"header": 16, "crc_bad": 1})
    assert packets[1][1:] == (content[16:36], {"header": 16, "crc_bad": 1, "framing": 1})
    assert packets[2][1:] == (content[16:46], {"header": 16, "too_long": 1})
    assert packets[3][1:] == (b"", {"crc_bad": 1})
    assert framing == 1


def test_a_packet_can_be_discarded_before_and_during_its_dma(play):
    async def send(board):
        for _ in range(3):
            board.area(DATA.base, 600, start=1, end=1, crc=1)
            board.door.spend(2500)

    async def receive(board):
        results = []
        for begun in (False, True):
            assert await board.pending(Irq.PACKET)
            if begun:
                board.set("RX_ADDRESS", DATA.base)
                board.set("RX_START", limit=1000)
            board.set("RX_CONTROL", discard=1)
            assert await board.pending(Irq.RECEIVED)
            results.append((await board.get("RX_RESULT", "discarded"), await board.get("RX_RESULT", "crc_bad")))
            board.set("RX_RELEASE")
        results.append((await board.packet())[2])
        return results

    assert play(pair(), send, receive)[1] == [(1, 0), (1, 0), {"header": 16}]


def test_data_outside_packets_are_stray_and_reset_forgets_the_packet_under_way(play):
    async def send(board):
        board.area(DATA.base, 5)
        board.area(DATA.base, 5, end=1)
        board.area(DATA.base, 100, start=1)
        board.door.spend(2000)
        board.area(DATA.base, 100, end=1, crc=1)
        board.area(DATA.base, 50, start=1, end=1, crc=1)

    async def receive(board):
        assert await board.pending(Irq.PACKET)
        first = await board.get("ERRORS", "stray")
        status = await board["RX_STATUS"]
        board.set("RX_CONTROL", reset=1)
        packet = await board.packet()
        return (
            first,
            REG["RX_STATUS"].open.get(status),
            packet[2],
            await board.get("ERRORS", "stray"),
            await board["IRQ_PENDING"] >> Irq.ERROR & 1,
        )

    assert play(pair(), send, receive)[1] == (1, 1, {"header": 16}, 2, 1)


def test_a_packet_that_waits_too_long_overflows_the_queue_and_is_marked(play):
    async def send(board):
        board.area(DATA.base, 3000, start=1, end=1, crc=1)
        board.door.spend(10_000)
        board.area(DATA.base, 30, start=1, end=1, crc=1)

    async def receive(board):
        assert await board.pending(Irq.PACKET)
        board.door.spend(6000)
        await board.door.now()
        late = await board.packet()
        return late[2].get("framing"), (await board.get("ERRORS", "overrun")) > 0, (await board.packet())[2]

    assert play(pair(), send, receive)[1] == (1, True, {"header": 16})


def test_the_ready_bit_holds_what_waits_for_it(play):
    async def send(board):
        log = [await board.get("TX_STATUS", "ready")]
        for _ in range(3):
            board.command(Op.CLOSE_ALL, wait_ready=True)
            board.area(DATA.base, 30, start=1, end=1, crc=1, notify=1)
        board.door.spend(200)
        status = await board["TX_STATUS"]
        log += [
            REG["TX_STATUS"].ready.get(status),
            REG["TX_STATUS"].waiting.get(status),
            REG["TX_STATUS"].sent.get(status),
        ]
        board.door.spend(2000)
        log.append(await board.get("TX_STATUS", "sent"))  # the receiver has sent one ready signal
        board.set("TX_CONTROL", set_ready=1)
        board.door.spend(1000)
        log.append(await board.get("TX_STATUS", "sent"))
        return log

    async def receive(board):
        board.door.spend(1000)
        await board.packet(ready=True)
        await board.packet(ready=False)
        await board.packet(ready=False)

    assert play(pair(), send, receive)[0] == [1, 0, 1, 1, 2, 3]


def test_the_crc_on_the_wire_is_that_of_zlib(play):
    """The receiver takes in a packet without its last four bytes being a CRC that hardware made."""
    content = bytes(range(77))

    async def send(board):
        board.door.write_block(DATA.base, content + zlib.crc32(content).to_bytes(4, "big"))
        board.area(DATA.base, 81, start=1, end=1)

    async def receive(board):
        return await board.packet()

    header, data, result = play(pair(), send, receive)[1]
    assert (header + data, result) == (content, {"header": 16})
