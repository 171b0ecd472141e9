"""Bench of hdl/cab/vme/master.py: single transfers on the bus, and what becomes of those that fail."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.master import VmeMaster
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import entry, look, set_window
from nectar.verification.cab.vme.boards import BusSlave
from nectar.verification.cab.vme.rig import DATA_BYTES, Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

BASE = 0x400000
RESULT = VME_REG["VD_RESULT"]
SELECTS = {0b1111: (0, 4), 0b1100: (0, 2), 0b0011: (2, 2), 0b1000: (0, 1), 0b0100: (1, 1), 0b0010: (2, 1), 0b0001: (3, 1)}


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def single_transfers_reach_a_slave_of_any_speed(dut):
    """C7, ANSI/IEEE 1014 chapter 2: bytes, halfwords and words, against a memory in Python; every rule of the bus is
    kept."""
    rig = await Rig(dut, inside()).start()
    slave = BusSlave(rig.bus, BASE, 1024)
    for _ in range(120):
        slave.delay = random.choice(((31, 31), (31, 300), (500, 2000)))
        slave.release = random.choice(((1, 2), (1, 500)))
        modifier = random.choice([m for m in Modifier if not m.name.endswith("BLOCK")])
        await set_window(rig.inside, BASE, modifier)
        select = random.choice(list(SELECTS))
        first, size = SELECTS[select]
        offset = random.randrange(256) * 4
        at = slice(offset + first, offset + first + size)
        lanes = sum(0xFF << 8 * lane for lane in range(4) if select >> lane & 1)
        if random.random() < 0.5:
            word = random.getrandbits(32)
            assert await look(rig.plug, BASE + offset, select, word) == 0
            assert slave.bytes[at] == word.to_bytes(4, "big")[first:first + size]
        else:
            word = await look(rig.plug, BASE + offset, select)
            assert word & lanes == int.from_bytes(slave.bytes[offset:offset + 4], "big") & lanes
        assert slave.cycles[-1] == (modifier, BASE + offset + first, size, slave.cycles[-1][3])
    rig.checker.done("ADDRESS-SETUP", "ADDRESS-HOLD", "AS-HIGH", "AS-LOW", "OWNER", "DS-HIGH", "DS-FREE", "DATA-SETUP",
                     "READ-TURN", "WRITE-HOLD")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def berr_is_an_error_and_the_next_transfer_works(dut):
    """docs/vme.md, master: a slave's or the bus timer's BERR* ends the cycle."""
    rig = await Rig(dut, inside()).start()
    slave = BusSlave(rig.bus, BASE, 1024, berr=lambda address: address & 0x100)
    await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
    before = bytes(slave.bytes)
    for _ in range(30):
        offset = random.randrange(256) * 4
        bad = offset & 0x100
        assert (await look(rig.plug, BASE + offset) is None) == bool(bad)
        if bad:
            assert await look(rig.plug, BASE + offset, 15, 1) is None
    assert slave.bytes == before
    rig.timer.ns = 2000
    assert await look(rig.plug, BASE + 0x1000) is None and rig.timer.fired == 1
    assert await look(rig.plug, BASE) is not None
    rig.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def nobody_answers_and_no_bus_timer_either(dut):
    """docs/vme.md, bus time-out: the master gives up by itself; the bus is free again."""
    rig = await Rig(dut, inside(), cut_short=True).start()
    rig.timer.ns = 10_000_000
    await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
    began = rig.bus.now()
    assert await look(rig.plug, BASE) is None
    assert 30_000 <= rig.bus.now() - began <= 35_000
    await pause(10 * rig.period)
    assert rig.bus.level("as") and not rig.bus.driven("address")
    slave = BusSlave(rig.bus, BASE, 1024)
    assert await look(rig.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")
    rig.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_bus_is_not_granted(dut):
    """docs/vme.md, bus time-out: the CPU gets an error; a grant that comes later is taken and given back when somebody
    wants the bus."""
    rig = await Rig(dut, inside()).start()
    rig.arbiter.levels = ()
    slave = BusSlave(rig.bus, BASE, 1024)
    await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
    began = rig.bus.now()
    assert await look(rig.plug, BASE) is None
    assert 100_000 <= rig.bus.now() - began <= 102_000
    assert not slave.cycles
    rig.arbiter.levels = (3, 2, 1, 0)
    await rig.other.get_bus()
    await rig.other.give_bus()
    assert await look(rig.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")
    rig.checker.done()


async def result(rig):
    """Waits until an entry of the list has ended; VD_RESULT, which is forgotten then."""
    ended = rig.inside.events
    before = ended["done"] + ended["failed"]
    while ended["done"] + ended["failed"] == before:
        await pause(5 * rig.period)
    value = await rig.inside.read("vd_result")
    assert await rig.inside.write("vd_result", 0)
    return value


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def blocks_reach_a_slave_of_any_speed(dut):
    """C7, ANSI/IEEE 1014 chapter 2: blocks of 16 and 32 bits, one transfer to 256 bytes, anywhere in 32 bits of address, with every modifier of blocks, read and
    written; the slave sees just these transfers in one cycle each, and the rules are kept."""
    rig = await Rig(dut, inside(), slow=random.choice((0, 0.3))).start()
    rig.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(rig.bus, 0, 256)
    falls = []
    rig.bus.watch(lambda name, old, new: falls.append(rig.bus.level("am")) if name == "as" and old and not new else None)
    for _ in range(20):
        slave.base = random.getrandbits(24) << 8
        slave.delay = random.choice(((31, 31), (31, 300)))
        slave.release = random.choice(((1, 2), (1, 500)))
        send, half = random.randrange(2), random.randrange(2)
        size, modifier = (2 if half else 4), random.choice([m for m in Modifier if m.name.endswith("BLOCK")])
        count = random.choice((1, 2, random.randint(1, 24)))
        first = random.randrange(256 // size - count + 1) * size
        near = random.randrange(DATA_BYTES - 256)
        here, there = bytearray(rig.inside.memory), bytearray(slave.bytes)
        slave.cycles.clear()
        falls.clear()
        assert await entry(rig.inside, send, 0x100000 + near, slave.base + first, count * size, modifier, half)
        assert await result(rig) == 0
        if send:
            there[first:first + count * size] = here[near:near + count * size]
        else:
            here[near:near + count * size] = there[first:first + count * size]
        assert rig.inside.memory == here and slave.bytes == there
        assert slave.cycles == [(modifier, slave.base + first + size * n, size, bool(send)) for n in range(count)] and falls == [modifier]
        if random.random() < 0.5:
            await pause(between(0, 8) * rig.period)
    rig.checker.done("ADDRESS-SETUP", "ADDRESS-HOLD", "AS-HIGH", "AS-LOW", "OWNER", "DS-HIGH", "DS-FREE", "DATA-SETUP", "READ-TURN", "WRITE-HOLD", "BLOCK")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def what_went_wrong_is_told_as_what_it_was(dut):
    """docs/vme.md, master: BERR* is one error, no answer and an answer of before that stays are another, in a single transfer and in a block; then the lines are
    let go, and the next transfer works."""
    rig = await Rig(dut, inside(), cut_short=True).start()
    rig.timer.ns = 10_000_000
    bus = rig.bus
    slave = BusSlave(bus, BASE, 256, delay=(31, 31))
    slave.release = (1, 2)
    for modifier in (Modifier.A24_USER_DATA, Modifier.A24_USER_BLOCK):
        for send in (0, 1):
            wrong = BASE + 4 * random.randrange(4)
            slave.berr = lambda address, wrong=wrong: address == wrong
            assert await entry(rig.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(rig) == RESULT.berr.put(1)
            slave.berr = lambda address: False
            await pause(8 * rig.period)
            assert bus.level("as") and not bus.driven("as") and not bus.driven("ds0") and not bus.driven("data_low")
            slave.size = 0 if modifier == Modifier.A24_USER_BLOCK else 8
            began = bus.now()
            assert await entry(rig.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(rig) == RESULT.timeout.put(1)
            assert 30_000 <= bus.now() - began <= 32_000 + 40 * rig.period
            await pause(8 * rig.period)
            assert bus.level("as") and not bus.driven("as") and not bus.driven("ds0") and not bus.driven("data_low")
            slave.base, slave.size = BASE, 256
            assert await entry(rig.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(rig) == 0
    for line in ("dtack", "berr"):
        await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
        task = cocotb.start_soon(look(rig.plug, BASE))
        await until(bus, lambda line=line: not bus.level("dtack"))
        bus.set("somebody", line, 0)
        await task
        calls = len(slave.cycles)
        began = bus.now()
        assert await look(rig.plug, BASE) is None and len(slave.cycles) == calls
        assert 100_000 <= bus.now() - began <= 132_000 and bus.level("ds0") and bus.level("as")
        bus.set("somebody", line, 1)
        assert await look(rig.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_master(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_a_clock_that_cannot_keep_the_times_is_refused():
    """docs/vme.md, the clock."""
    with pytest.raises(ValueError, match="period_ps must be from 10000 to 75000, not 9999"):
        VmeMaster(9_999)
