"""Bench of hdl/cab/vme/window.py: where on the bus the CPU's accesses go, beside the DMA channel."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import entry, look, set_window
from nectar.verification.cab.vme.boards import BusSlave
from nectar.verification.cab.vme.rig import Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause

REGISTER = VME_REG["VME_WINDOW"]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_window_lies_where_its_register_says(dut):
    """docs/vme.md, window: bits 22 to 2 of the address are the access's, bits 31 to 23 and the modifier the register's."""
    rig = await Rig(dut, inside()).start()
    rig.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(rig.bus, 0, 1 << 20)
    for _ in range(40):
        page, modifier = random.getrandbits(9), random.choice((0x09, 0x0D, 0x39, 0x2D))
        assert await rig.inside.write("vme_window", REGISTER.page.put(page) | REGISTER.modifier.put(modifier))
        assert await rig.inside.read("vme_window") == REGISTER.page.put(page) | REGISTER.modifier.put(modifier)
        offset = random.randrange(1 << 18) * 4
        slave.base = page << 23
        word = random.getrandbits(32)
        assert await look(rig.plug, offset, 15, word) == 0
        assert slave.cycles[-1] == (modifier, (page << 23) + offset, 4, True)
        assert await look(rig.plug, offset) == word
    rig.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_no_single_transfer_is_an_error_at_once(dut):
    """docs/vme.md, window: sets of bytes that are no byte, aligned halfword or word; modifiers of block transfers."""
    rig = await Rig(dut, inside()).start()
    slave = BusSlave(rig.bus, 0x400000, 64)
    await set_window(rig.inside, 0x400000, Modifier.A24_USER_DATA)
    for select in (0b0000, 0b0101, 0b0110, 0b0111, 0b1001, 0b1010, 0b1011, 0b1101, 0b1110):
        assert await look(rig.plug, 0x400000, select) is None
    await set_window(rig.inside, 0x400000, Modifier.A24_USER_BLOCK)
    assert await look(rig.plug, 0x400000) is None
    assert not slave.cycles and not rig.arbiter.grants
    rig.checker.done()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def the_cpu_gets_in_between_the_blocks_of_the_dma(dut):
    """docs/vme.md, window: while the DMA channel works, an access waits for a block at most; both end right."""
    rig = await Rig(dut, inside(), slow=0).start()
    slave = BusSlave(rig.bus, 0x400000, 2048, delay=(31, 60))
    await set_window(rig.inside, 0x400000, Modifier.A24_USER_DATA)
    near, far = bytearray(rig.inside.memory), bytearray(slave.bytes)
    for send in (0, 1):
        assert await entry(rig.inside, send, 0x100003, 0x400101, 1500, Modifier.A24_SUPER_BLOCK)
        if send:
            far[0x101:0x101 + 1500] = near[3:1503]
        else:
            near[3:1503] = far[0x101:0x101 + 1500]
        for number in range(6):
            await pause(between(0, 20_000))
            began = rig.bus.now()
            value = random.getrandbits(32)
            assert await look(rig.plug, 0x400000 + 4 * number, 15, value) == 0
            far[4 * number:4 * number + 4] = value.to_bytes(4, "big")
            assert rig.bus.now() - began < 66 * 12 * rig.period
        while rig.inside.events["done"] == send:
            await pause(20 * rig.period)
        assert rig.inside.memory == near and slave.bytes == far
    rig.checker.done()


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_window(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
