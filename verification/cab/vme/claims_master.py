"""Claims about hdl/cab/vme/master.py that run with those of test_master.py: single transfers, and what ends those that
fail."""

import random

import cocotb

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.verification.bench import inside
from nectar.verification.cab.vme.asking import SELECTS, look, set_window
from nectar.verification.cab.vme.boards import BusSlave
from nectar.verification.cab.vme.testbench import VmeTestbench
from nectar.verification.cab.vme.waiting import pause

__all__ = ["BASE", "MASTER_RULES"]

BASE = 0x400000
#: Rules of the bus that every cycle of a master is looked at for.
MASTER_RULES = (
    "ADDRESS-SETUP",
    "ADDRESS-HOLD",
    "AS-HIGH",
    "AS-LOW",
    "OWNER",
    "DS-HIGH",
    "DS-FREE",
    "DATA-SETUP",
    "READ-TURN",
    "WRITE-HOLD",
)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def single_transfers_reach_a_slave_of_any_speed(dut):
    """C7, ANSI/IEEE 1014 chapter 2: bytes, halfwords and words, against a memory in Python; every rule of the bus is
    kept."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, BASE, 1024)
    for _ in range(120):
        slave.delay = random.choice(((31, 31), (31, 300), (500, 2000)))
        slave.release = random.choice(((1, 2), (1, 500)))
        modifier = random.choice((random.getrandbits(6), *(m for m in Modifier if not m.name.endswith("BLOCK"))))
        modifier -= modifier & 3 == 3
        await set_window(tb.inside, BASE, modifier)
        select = random.choice(list(SELECTS))
        first, size = SELECTS[select]
        offset = random.randrange(256) * 4
        at = slice(offset + first, offset + first + size)
        lanes = sum(0xFF << 8 * lane for lane in range(4) if select >> lane & 1)
        if random.random() < 0.5:
            word = random.getrandbits(32)
            assert await look(tb.plug, BASE + offset, select, word) == 0
            assert slave.bytes[at] == word.to_bytes(4, "big")[first : first + size]
        else:
            word = await look(tb.plug, BASE + offset, select)
            assert word & lanes == int.from_bytes(slave.bytes[offset : offset + 4], "big") & lanes
        assert slave.cycles[-1] == (modifier, BASE + offset + first, size, slave.cycles[-1][3])
    tb.checker.done(*MASTER_RULES)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def berr_is_an_error_and_the_next_transfer_works(dut):
    """docs/vme.md, master: a slave's or the bus timer's BERR* ends the cycle."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, BASE, 1024, berr=lambda address: address & 0x100)
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    before = bytes(slave.bytes)
    for _ in range(30):
        offset = random.randrange(256) * 4
        bad = offset & 0x100
        assert (await look(tb.plug, BASE + offset) is None) == bool(bad)
        if bad:
            assert await look(tb.plug, BASE + offset, 15, 1) is None
    assert slave.bytes == before
    tb.timer.ns = 2000
    assert await look(tb.plug, BASE + 0x1000) is None and tb.timer.fired == 1
    assert await look(tb.plug, BASE) is not None
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def nobody_answers_and_no_bus_timer_either(dut):
    """docs/vme.md, bus time-out: the master gives up by itself; the bus is free again."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.timer.ns = 10_000_000
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    began = tb.bus.now()
    assert await look(tb.plug, BASE) is None
    assert tb.timeout_ns <= tb.bus.now() - began <= 35_000
    await pause(10 * tb.period)
    assert tb.bus.level("as") and not tb.bus.driven("address")
    slave = BusSlave(tb.bus, BASE, 1024)
    assert await look(tb.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_bus_is_not_granted(dut):
    """docs/vme.md, bus time-out: the CPU gets an error; a grant that comes later is taken and given back when somebody
    wants the bus."""
    tb = await VmeTestbench(dut, inside()).start()
    tb.arbiter.levels = ()
    slave = BusSlave(tb.bus, BASE, 1024)
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    began = tb.bus.now()
    assert await look(tb.plug, BASE) is None
    assert tb.grant_ns <= tb.bus.now() - began <= 102_000
    assert not slave.cycles
    tb.arbiter.levels = (3, 2, 1, 0)
    await tb.other.get_bus()
    await tb.other.give_bus()
    assert await look(tb.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")
    tb.checker.done()
