"""Bench of hdl/cab/cab.py: the whole board against the reference model."""

import random
import zlib

import cocotb
import pytest

from nectar.hdl.cab.addresses import ID_VALUE, REG, REGIONS, REGISTERS, Irq
from nectar.hdl.cab.cab import Cab
from nectar.hdl.link.symbol import Control, command, packet, reply
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.driver import Access, BoardDriver
from nectar.verification.cab.reference import Board, BusFault, fields
from nectar.verification.cab.scenario import Scenario, put, with_crc

SIZES = {"64 kbyte": 64 << 10, "4 kbyte": 4 << 10}
DATA = REGIONS["data"].base


def size_of(dut):
    """Bytes of the board's data memory."""
    return SIZES[inside()]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_single_access_takes_three_cycles(dut):
    """docs/cab.md, CPU bus: memory and registers, reads, writes and errors; the board answers from its first cycle on."""
    board = BoardDriver(dut)
    await board.start()
    accesses = [Access(REG["ID"].address), Access(DATA, 0x01020304), Access(DATA), Access(REG["IRQ_ENABLE"].address, 5),
                Access(REGIONS["vme"].base), Access(REG["TX_STATUS"].address)]
    for access in accesses:
        await board.access(access)
        assert access.done - access.taken == 3
        await board.run(random.randrange(3))
    assert accesses[0].data == ID_VALUE and accesses[2].data == 0x01020304 and accesses[4].error


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def requests_may_follow_each_other_in_every_cycle(dut):
    """docs/cab.md, CPU bus: a block moves one word a cycle, is answered in order, and reads what was written just before."""
    board = BoardDriver(dut)
    await board.start()
    words = [random.getrandbits(32) for _ in range(200)]
    accesses = []
    for number, word in enumerate(words):
        accesses += [Access(DATA + 4 * number, word), Access(DATA + 4 * number)]
    await board.block(accesses)
    assert [access.data for access in accesses[1::2]] == words
    assert [access.done for access in accesses] == [accesses[0].taken + 3 + number for number in range(len(accesses))]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def bytes_are_big_endian_and_selected_one_by_one(dut):
    """docs/cab.md, CPU bus: select bit 3 is the byte at the word's own address, bits 31 to 24; the low address bits are ignored."""
    board = BoardDriver(dut)
    await board.start()
    await board.write(DATA, 0xA1B2C3D4)
    await board.write(DATA, 0x11, select=0b0001)
    await board.write(DATA + 3, 0x22000000, select=0b1000)
    await board.write(DATA + 1, 0xFFFFFFFF, select=0)
    assert await board.read(DATA + 2) == 0x22B2C311
    content = {DATA + at: 0 for at in range(0, 64, 4)}
    for address in content:
        await board.write(address, 0)
    for _ in range(300):
        address, value, select = random.choice(list(content)), random.getrandbits(32), random.getrandbits(4)
        await board.write(address + random.randrange(4), value, select)
        mask = sum(0xFF << 8 * bit for bit in range(4) if select >> bit & 1)
        content[address] = content[address] & ~mask | value & mask
        address = random.choice(list(content))
        assert await board.read(address, random.getrandbits(4)) == content[address]


@cocotb.test(timeout_time=200, timeout_unit="ms")
async def whatever_happens_the_board_does_what_the_model_does(dut):
    """docs/cab.md as a whole: random operations of all kinds, the board asleep in between; compared whenever it is idle."""
    board, model = BoardDriver(dut), Board(size_of(dut))
    await board.start()
    scenario = Scenario(board, model)
    await scenario.begin()
    weights = {"receive_anything": 10, "overflow": 0.3, "ready_signal": 2, "answer": 8, "discard": 0.5, "release": 6,
               "reset_receiver": 0.3, "take_replies": 2, "send": 10, "reset_sender": 0.7, "send_ready": 2, "interrupts": 3,
               "memory": 2, "anywhere": 5}
    for density in (1, 0.8, 0.3):
        board.takes = lambda density=density: random.random() < density
        await scenario.run(150, weights)
        await scenario.reset_receiver()
        await scenario.compare()
        await scenario.compare_memory()


bench = Bench(__name__, {name: lambda size=size: Cab(data_bytes=size) for name, size in SIZES.items()}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_cab(configuration, claim):
    """Each claim on each size."""
    bench.check(configuration, claim)
