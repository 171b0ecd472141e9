"""What the board does with input that makes no sense: a defined answer, nothing hangs, nothing is lost
(docs/cab.md)."""

import random

import cocotb
import pytest

from nectar.hdl.cab.addresses import REG, REGIONS, REGISTERS, Irq
from nectar.hdl.cab.vme.registers import VME_REGISTERS
from nectar.hdl.link.symbol import Control, packet
from nectar.verification.bench import Bench
from nectar.verification.cab.contents import put, with_crc
from nectar.verification.cab.driver import Access, BoardDriver
from nectar.verification.cab.kinds import VERILOG, bus_error, registers_of
from nectar.verification.cab.reference import fields

DATA = REGIONS["data"].base
#: Registers whose value is the time.
_MOVING = {"TIMER_NOW"}
_WORD = 0xFFFF_FFFF


def reserved(register):
    """Bits of the register's word that are in no field; of a register without fields, none."""
    return _WORD & ~sum(((1 << field.width) - 1) << field.low for field in register.fields) if register.fields else 0


async def snapshot(board):
    """All that a program can read, and what is on the fiber."""
    await board.run(60)
    values = {}
    for register in registers_of(board.dut):
        if "r" in register.access and register.name not in _MOVING:
            values[register.name] = await board.register(register.name)
    return values, list(board.tx)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def reserved_bits_read_as_0_and_are_ignored_when_written(dut):
    """docs/cab.md, address map: each register is written with and without them, and all the board shows is the same."""
    board = BoardDriver(dut)
    await board.start()
    for register in registers_of(dut):
        if "w" not in register.access or not reserved(register):
            continue
        value = 0
        if "r" in register.access and register.name != "VME_INTERRUPT":  # no other raises what is not undone
            value = random.getrandbits(32) & ~reserved(register)
        shown = []
        for spare in (0, reserved(register), random.getrandbits(32) & reserved(register)):
            await board.register("RESET", put("RESET", board=1))
            if register in VME_REGISTERS and "r" in register.access and register.name != "VME_INTERRUPT":
                await board.register(register.name, 0)
            board.tx.clear()
            refused = await bus_error(board, register.address, value | spare)
            shown.append((refused, *await snapshot(board)))
        assert shown[0] == shown[1] == shown[2], register.name
        values = shown[0][1]
        assert not any(values[other.name] & reserved(other) for other in registers_of(dut) if other.name in values)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_word_of_the_register_region_that_is_no_register_is_a_hole(dut):
    """docs/cab.md, address map: all of them, loads and stores, by kernel and user."""
    board = BoardDriver(dut)
    await board.start()
    known = {register.address for register in registers_of(dut)}
    region = REGIONS["registers"]
    holes = [at for at in range(region.base, region.end, 4) if at not in known]
    accesses = [Access(at, value, kernel=kernel) for at in holes for value in (None, _WORD) for kernel in (True, False)]
    assert len(accesses) > 3000
    before = await snapshot(board)
    await board.block(accesses)
    assert all(access.error for access in accesses)
    assert await snapshot(board) == before


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def accesses_while_reset_are_not_answered_and_change_nothing(dut):
    """docs/cab.md, interrupts and reset: memory keeps its content, registers are as after any reset; the board answers
    again behind it."""
    board = BoardDriver(dut)
    await board.start()
    await board.write(DATA, 0x01020304)
    clean = await snapshot(board)
    await board.register("IRQ_ENABLE", 1)
    for _ in range(20):
        await board.run(random.randrange(5))
        dut.rst.value = 1
        await board.cycle()
        for _ in range(random.randrange(2, 12)):
            board.clock.drive(
                bus__valid=1,
                bus__kernel=1,
                bus__write=1,
                bus__select=15,
                bus__write_data=_WORD,
                bus__address=random.choice(
                    [DATA, REG["IRQ_ENABLE"].address, REG["TX_SYMBOL"].address, REGIONS["vme"].base]
                ),
            )
            await board.clock.settle()
            assert not dut.bus__done.value and not dut.irq.value and not dut.fiber__tx__valid.value
            await board.clock.edge()
        dut.rst.value = 0
        board.clock.drive(bus__valid=0)
        await board.cycle()
        assert await board.read(DATA) == 0x01020304
        assert await snapshot(board) == clean


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def dma_that_runs_does_not_see_what_is_written_for_the_next(dut):
    """docs/cab.md, fiber out and fiber in: addresses, areas, modes and thresholds written while DMA runs leave its
    bytes alone; RX_START and RX_AREA are bus errors then."""
    board = BoardDriver(dut)
    await board.start()
    content = bytes(random.getrandbits(8) for _ in range(200))
    for at in range(0, 200, 4):
        await board.write(DATA + at, int.from_bytes(content[at : at + 4], "big"))
    for _ in range(5):
        board.tx.clear()
        await board.register("TX_ADDRESS", DATA)
        await board.register("TX_AREA", put("TX_AREA", length=200, start=1, end=1))
        board.rx.extend(packet(with_crc(content)))
        while not (await board.register("IRQ_PENDING")) >> Irq.PACKET & 1:
            pass
        await board.register("RX_ADDRESS", DATA + 1024)
        await board.register("RX_START", 1000)
        seen = 0
        while fields("RX_STATUS", await board.register("RX_STATUS"))["dma"]:
            seen += 1
            await board.register("TX_ADDRESS", DATA + 2048 + random.randrange(100))
            await board.register("RX_ADDRESS", DATA + 2048 + random.randrange(100))
            assert await bus_error(board, REG["RX_START"].address, random.randrange(500))
            assert await bus_error(board, REG["RX_AREA"].address, random.randrange(500))
            await board.register("RX_MODE", put("RX_MODE", check=random.randrange(3)))
        assert seen > 3
        await board.register("RX_MODE", 0)
        await board.quiet()
        assert board.tx == [Control.START, *content, Control.END]
        result = fields("RX_RESULT", await board.register("RX_RESULT"))
        assert (result["length"], result["crc_bad"], result["too_long"]) == (len(content) - 16, 0, 0)
        words = await board.block(Access(DATA + 1024 + at) for at in range(0, len(content) - 16, 4))
        assert b"".join(word.data.to_bytes(4, "big") for word in words) == content[16:]
        await board.register("RX_RELEASE", 0)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def an_area_is_not_let_in_because_it_is_refused_for_a_while(dut):
    """docs/cab.md, protection: a discarded packet that ends while the pages of an area are looked at, in whichever
    cycle, does not hide those that are forbidden."""
    board = BoardDriver(dut)
    await board.start()
    base = REGIONS["protection"].base + (1 << 14)
    for page in range(0, 4, 4):
        await board.write(base + (DATA >> 10) + page, 0x02000000)  # the first page alone
    await board.write(base + (REGIONS["registers"].base >> 10), 0x02020202)
    await board.register("DOMAINS_ON", 2)
    await board.register("DOMAIN", 1)
    traps = 0
    for delay in range(24):
        await board.register("RX_MODE", put("RX_MODE", check=2))
        board.rx.extend([Control.START, *bytes(20)])
        while not (await board.register("IRQ_PENDING")) >> Irq.PACKET & 1:
            pass
        await board.register("RX_ADDRESS", DATA + 1000)
        await board.register("RX_CONTROL", put("RX_CONTROL", discard=1))
        await board.run(20)
        board.rx.append(Control.END)
        await board.run(delay // 2)
        access = await board.access(Access(REG["RX_AREA"].address, 1000, kernel=False))
        assert access.error, delay
        traps += fields("TRAP_INFO", await board.register("TRAP_INFO"))["valid"]
        await board.register("TRAP_INFO", 0)
        await board.quiet()
        assert fields("RX_STATUS", await board.register("RX_STATUS"))["areas"] == 15
        await board.register("RX_RELEASE", 0)
    assert traps > 5


bench = Bench(__name__, VERILOG, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("4 kbyte", "64 kbyte")))
def test_bad_input(configuration, claim):
    """Each claim on each board."""
    bench.check(configuration, claim)


def test_a_register_has_reserved_bits():
    """What the bench goes by."""
    assert sum(reserved(register) != 0 for register in REGISTERS) > 30
