"""Bench of hdl/cab/vme/window.py: where on the bus the CPU's accesses go, beside the DMA channel."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import SELECTS, entry, look, set_window
from nectar.verification.cab.vme.boards import BusSlave
from nectar.verification.cab.vme.testbench import VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause

REGISTER = VME_REG["VME_WINDOW"]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_window_lies_where_its_register_says(dut):
    """docs/vme.md, window: bits 22 to 2 of the address are the access's, bits 31 to 23 and the modifier the
    register's."""
    tb = await VmeTestbench(dut, inside()).start()
    tb.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(tb.bus, 0, 1 << 20)
    for _ in range(40):
        page, modifier = random.getrandbits(9), random.choice((0x09, 0x0D, 0x39, 0x2D))
        assert await tb.inside.write("vme_window", REGISTER.page.put(page) | REGISTER.modifier.put(modifier))
        assert await tb.inside.read("vme_window") == REGISTER.page.put(page) | REGISTER.modifier.put(modifier)
        offset = random.randrange(1 << 18) * 4
        slave.base = page << 23
        word = random.getrandbits(32)
        assert await look(tb.plug, offset, 15, word) == 0
        assert slave.cycles[-1] == (modifier, (page << 23) + offset, 4, True)
        assert await look(tb.plug, offset) == word
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_no_single_transfer_is_an_error_at_once(dut):
    """docs/vme.md, window: sets of bytes that are no byte, aligned halfword or word; modifiers of block transfers."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, 0x400000, 64)
    await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
    for select in (0b0000, 0b0101, 0b0110, 0b0111, 0b1001, 0b1010, 0b1011, 0b1101, 0b1110):
        assert await look(tb.plug, 0x400000, select) is None
    await set_window(tb.inside, 0x400000, Modifier.A24_USER_BLOCK)
    assert await look(tb.plug, 0x400000) is None
    assert not slave.cycles and not tb.arbiter.grants
    tb.checker.done()


async def counted(plug, offset, select, value):
    """An access to the window: (cycles until it was done, error, what was read)."""
    await RisingEdge(plug.dut.clk)
    plug.put(
        window__valid=1,
        window__address=offset,
        window__write=value is not None,
        window__select=select,
        window__write_data=value or 0,
    )
    cycles = 0
    while True:
        await RisingEdge(plug.dut.clk)
        cycles += 1
        if plug.get("window__done"):
            break
    result = cycles, plug.get("window__error"), plug.get("window__read_data")
    plug.put(window__valid=0)
    await RisingEdge(plug.dut.clk)
    return result


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_set_of_bytes_is_one_transfer_or_an_error_in_the_first_cycle(dut):
    """docs/vme.md, window: bytes, aligned halfwords and words, each with every modifier that is no block transfer's,
    are one transfer of just these bytes; all else is an error at once, and nothing happens on the bus."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    tb.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(tb.bus, 0, 64, delay=(31, 60))
    assert await tb.inside.read("vme_window") == 0
    for number in random.sample(range(64), 64):
        select, modifier = number & 15, random.getrandbits(4) << 2 | number >> 4
        page = random.getrandbits(9)
        slave.base = page << 23
        assert await tb.inside.write("vme_window", REGISTER.page.put(page) | REGISTER.modifier.put(modifier))
        tb.plug.put(vme_window__data=random.getrandbits(32))
        for write in (1, 0):
            at, value = 4 * random.randrange(16), random.getrandbits(32) | 1
            before = bytes(slave.bytes[at : at + 4])
            slave.cycles.clear()
            if modifier & 3 == 3 or select not in SELECTS:
                assert (await counted(tb.plug, at, select, value if write else None))[:2] == (1, 1)
                await pause(3 * tb.period)
                assert not slave.cycles and slave.bytes[at : at + 4] == before and tb.bus.level("as")
                continue
            first, size = SELECTS[select]
            cycles, error, read = await counted(tb.plug, at, select, value if write else None)
            assert not error and cycles > 1 and slave.cycles == [(modifier, slave.base + at + first, size, bool(write))]
            wanted = bytearray(before)
            if write:
                wanted[first : first + size] = value.to_bytes(4, "big")[first : first + size]
            else:
                assert read.to_bytes(4, "big")[first : first + size] == before[first : first + size]
            assert slave.bytes[at : at + 4] == wanted
        assert await tb.inside.read("vme_window") == REGISTER.page.put(page) | REGISTER.modifier.put(modifier)
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_not_answered_or_answered_with_berr_is_an_error(dut):
    """docs/vme.md, master: BERR*, or no answer for the time-out, ends an access of the window with an error; the
    next one is what it is by itself."""
    tb = await VmeTestbench(dut, inside(), slow=0, cut_short=True).start()
    tb.timer.ns = 1e9
    slave = BusSlave(tb.bus, 0x400000, 64, berr=lambda address: address & 32)
    await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
    for offset, error, least in (
        (0, 0, 0),
        (32, 1, 0),
        (4, 0, 0),
        (0x4000, 1, 30_000),
        (8, 0, 0),
        (0x8000, 1, 30_000),
        (36, 1, 0),
        (60, 1, 0),
        (12, 0, 0),
    ):
        began = tb.bus.now()
        _, told, read = await counted(tb.plug, 0x400000 + offset, 15, None)
        assert told == error and least <= tb.bus.now() - began <= 2 * least + 3000
        assert error or read == int.from_bytes(slave.bytes[offset : offset + 4], "big")
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_ends_an_access_and_forgets_the_window(dut):
    """docs/vme.md, window and reset of the board: the register is 0 again, and an access that comes then is one of
    its own."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    slave = BusSlave(tb.bus, 0x400000, 64, delay=(200, 400))
    await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
    for half in range(24):
        assert await tb.inside.write("vme_window", 0xFFFFFFFF)
        await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
        tb.plug.put(window__valid=1, window__address=0x400000, window__write=0, window__select=15)
        await pause((half + random.random()) / 2 * tb.period)
        tb.plug.put(rst=1, window__valid=0)
        await pause(between(1, 3) * tb.period)
        tb.plug.put(rst=0)
        assert await tb.inside.read("vme_window") == 0
        await pause(500)
        await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
        at = 4 * random.randrange(1, 16)
        assert await look(tb.plug, 0x400000 + at) == int.from_bytes(slave.bytes[at : at + 4], "big")


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def the_cpu_gets_in_between_the_blocks_of_the_dma(dut):
    """docs/vme.md, window: while the DMA channel works, an access waits for one cycle of the bus at most, a block of
    64 transfers; both end right."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    slave = BusSlave(tb.bus, 0x400000, 2048, delay=(31, 60))
    await set_window(tb.inside, 0x400000, Modifier.A24_USER_DATA)
    near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
    falls = []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "as" and old and not new else None)
    longest = max(
        12 * tb.period, 8 * tb.period + 2 * 60
    )  # a transfer, with what the slave takes to answer and to let go
    for send in (0, 1):
        assert await entry(tb.inside, send, 0x100003, 0x400101, 1500, Modifier.A24_SUPER_BLOCK)
        if send:
            far[0x101 : 0x101 + 1500] = near[3:1503]
        else:
            near[3:1503] = far[0x101 : 0x101 + 1500]
        for number in range(6):
            await pause(between(0, 20_000))
            began = tb.bus.now()
            value = random.getrandbits(32)
            falls.clear()
            assert await look(tb.plug, 0x400000 + 4 * number, 15, value) == 0
            assert len(falls) <= 2, "one cycle that had been asked for before, and its own"
            far[4 * number : 4 * number + 4] = value.to_bytes(4, "big")
            assert tb.bus.now() - began < 66 * longest
        while tb.inside.events["done"] == send:
            await pause(20 * tb.period)
        assert tb.inside.memory == near and slave.bytes == far
    tb.checker.done()


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("80 MHz",)))
def test_window(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
