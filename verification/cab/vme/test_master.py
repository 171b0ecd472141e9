"""Bench of hdl/cab/vme/master.py: transfers on the bus, single ones and blocks, and what becomes of those that fail."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.master import VmeMaster
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme import claims_master
from nectar.verification.cab.vme.asking import entry, look, set_window
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.claims_master import BASE, MASTER_RULES
from nectar.verification.cab.vme.testbench import DATA_BYTES, VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

globals().update({name: item for name, item in vars(claims_master).items() if hasattr(item, "expect_fail")})

RESULT = VME_REG["VD_RESULT"]


def entries_ended(tb):
    return tb.inside.events["done"] + tb.inside.events["failed"]


async def result(tb, before=None):
    """Waits until an entry of the list has ended, more than ``before`` if given; VD_RESULT, which is forgotten then."""
    before = entries_ended(tb) if before is None else before
    while entries_ended(tb) == before:
        await pause(5 * tb.period)
    value = await tb.inside.read("vd_result")
    assert await tb.inside.write("vd_result", 0)
    return value


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def blocks_reach_a_slave_of_any_speed(dut):
    """C7, ANSI/IEEE 1014 chapter 2: blocks of 16 and 32 bits, one transfer to 256 bytes, anywhere in 32 bits of
    address, with every modifier of blocks, read and written; the slave sees just these transfers in one cycle each,
    and the rules are kept."""
    tb = await VmeTestbench(dut, inside()).start()
    tb.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(tb.bus, 0, 256)
    falls = []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.level("am")) if name == "as" and old and not new else None)
    for _ in range(20):
        slave.base = random.getrandbits(24) << 8
        tb.inside.slow = random.choice((0, 0.3, 0.9))
        slave.delay = random.choice(((31, 31), (31, 300)))
        slave.release = random.choice(((1, 2), (1, 500)))
        send, half = random.randrange(2), random.randrange(2)
        size, modifier = (
            (2 if half else 4),
            random.choice((random.getrandbits(6) | 3, *(m for m in Modifier if m.name.endswith("BLOCK")))),
        )
        count = random.choice((1, 2, random.randint(1, 24)))
        first = random.randrange(256 // size - count + 1) * size
        near = random.randrange(DATA_BYTES - 256)
        here, there = bytearray(tb.inside.memory), bytearray(slave.bytes)
        slave.cycles.clear()
        falls.clear()
        assert await entry(tb.inside, send, 0x100000 + near, slave.base + first, count * size, modifier, half)
        assert await result(tb) == 0
        if send:
            there[first : first + count * size] = here[near : near + count * size]
        else:
            here[near : near + count * size] = there[first : first + count * size]
        assert tb.inside.memory == here and slave.bytes == there
        assert slave.cycles == [
            (modifier, slave.base + first + size * n, size, bool(send)) for n in range(count)
        ] and falls == [modifier]
        if random.random() < 0.5:
            await pause(between(0, 8) * tb.period)
    tb.checker.done(*MASTER_RULES, "BLOCK")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def what_went_wrong_is_told_as_what_it_was(dut):
    """docs/vme.md, master: BERR* is one error, no answer and an answer of before that stays are another, in a single
    transfer and in a block; then the lines are let go, and the next transfer works."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.timer.ns = 10_000_000
    bus = tb.bus
    slave = BusSlave(bus, BASE, 256, delay=(31, 31))
    slave.release = (1, 2)
    for modifier in (Modifier.A24_USER_DATA, Modifier.A24_USER_BLOCK):
        for send in (0, 1):
            wrong = BASE + 4 * random.randrange(4)
            slave.berr = lambda address, wrong=wrong: address == wrong
            assert await entry(tb.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(tb) == RESULT.berr.put(1)
            slave.berr = lambda address: False
            await pause(8 * tb.period)
            assert bus.level("as") and not bus.driven("as") and not bus.driven("ds0") and not bus.driven("data_low")
            slave.size = 0 if modifier == Modifier.A24_USER_BLOCK else 8
            began = bus.now()
            assert await entry(tb.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(tb) == RESULT.timeout.put(1)
            assert tb.timeout_ns <= bus.now() - began <= 32_000 + 40 * tb.period
            await pause(8 * tb.period)
            assert bus.level("as") and not bus.driven("as") and not bus.driven("ds0") and not bus.driven("data_low")
            slave.base, slave.size = BASE, 256
            assert await entry(tb.inside, send, 0x100000, BASE, 32, modifier)
            assert await result(tb) == 0
    for line in ("dtack", "berr"):
        await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
        task = cocotb.start_soon(look(tb.plug, BASE))
        await until(bus, lambda line=line: not bus.level("dtack"))
        bus.set("somebody", line, 0)
        await task
        calls = len(slave.cycles)
        began = bus.now()
        assert await look(tb.plug, BASE) is None and len(slave.cycles) == calls
        assert tb.grant_ns <= bus.now() - began <= 132_000 and bus.level("ds0") and bus.level("as")
        bus.set("somebody", line, 1)
        assert await look(tb.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def waits_are_as_long_as_they_must_be(dut):
    """docs/vme.md, master: no answer for `timeout_ns`, in a single transfer or in the midst of a block, no grant for
    `grant_ns`: an error then, a few cycles later at most, and each wait from its own beginning; an answer just before
    that is one."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.timer.ns = 10_000_000
    slow, bus, falls, rises = tb.timeout_ns, tb.bus, [], []
    bus.watch(
        lambda name, old, new: (rises if new else falls).append(bus.now()) if name == "ds0" and old != new else None
    )
    slave = BusSlave(bus, BASE, 256, delay=(slow - 400, slow - 400))
    slave.release = (1, 2)
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    for silent in (False, True):
        slave.size = 0 if silent else 256
        assert (await look(tb.plug, BASE) is None) == silent
        assert slow <= rises[-1] - falls[-1] < slow + tb.period or not silent
    slave.size, slave.delay = 256, (31, 31)

    def pauses(address):
        slave.delay = (slow + 3_000, slow + 3_000) if address == BASE + 8 else (31, 31)
        return False

    slave.berr = pauses
    for send in (0, 1):
        assert await entry(tb.inside, send, 0x100000, BASE, 32, Modifier.A24_USER_BLOCK)
        assert await result(tb) == RESULT.timeout.put(1)
        assert await tb.inside.read("vd_progress") == 12
        assert slow <= rises[-1] - falls[-1] < slow + tb.period
        await pause(4_000)
        slave.delay = (31, 31)
    await tb.node.get_bus()
    for _ in range(2):
        await RisingEdge(dut.clk)
        began = bus.now()
        assert await look(tb.plug, BASE) is None
        assert tb.grant_ns <= bus.now() - began < tb.grant_ns + 3 * tb.period
    await tb.node.give_bus()
    assert await look(tb.plug, BASE) == int.from_bytes(slave.bytes[:4], "big")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_transfers_of_a_block_follow_each_other_as_soon_as_they_may(dut):
    """docs/vme.md, rate: to a slave that reacts at once, one each 6 cycles of 62.5 ns, and 29 Mbyte/s at 12.5 ns,
    read and written."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    slave = BusSlave(tb.bus, BASE, 256, delay=(31, 31))
    slave.release = (1, 1)
    falls = []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "ds0" and old and not new else None)
    for send in (0, 1):
        falls.clear()
        assert await entry(tb.inside, send, 0x100000, BASE, 64, Modifier.A24_USER_BLOCK)
        assert await result(tb) == 0
        steps = {round((after - before) / tb.period, 3) for before, after in zip(falls, falls[1:])}
        assert len(falls) == 16 and steps == {6 if tb.period == 62.5 else 11}
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_reset_lets_the_bus_go_at_once(dut):
    """docs/vme.md, reset of the board: at any time of a transfer all lines are let go; the next transfer is as
    usual."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    bus, plug = tb.bus, tb.plug
    slave = BusSlave(bus, 0, 1 << 23, delay=(31, 200))
    slave.release = (1, 2)
    seen = set()
    for number in range(16):
        await set_window(tb.inside, 0, Modifier.A24_USER_DATA)
        offset, word = 4 * random.randrange(1 << 16), random.getrandbits(32)
        task = cocotb.start_soon(look(plug, offset, 15, word if number % 2 else None))
        await until(bus, lambda: not bus.level("bbsy"))
        await pause(between(0, 8 * tb.period))
        seen.add((bus.level("as"), bus.level("ds0"), bus.driven("data_low")))
        plug.put(rst=1)
        await pause(1.1 * tb.period)
        lines = [name for name, drivers in bus.drivers.items() if plug.name in drivers and "@" not in name]
        assert not lines, lines
        await pause(between(1, 20) * tb.period)
        assert not [name for name, drivers in bus.drivers.items() if plug.name in drivers and "@" not in name]
        plug.put(rst=0)
        answer = await task
        assert answer == (0 if number % 2 else int.from_bytes(slave.bytes[offset : offset + 4], "big"))
        assert not number % 2 or slave.bytes[offset : offset + 4] == word.to_bytes(4, "big")
    assert len(seen) > 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_answer_that_stays_in_the_midst_of_a_block_is_a_time_out(dut):
    """docs/vme.md, master: DTACK* or BERR* that stays low: no new transfer, and the bus is let go after
    `timeout_ns`."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    bus = tb.bus
    slave = BusSlave(bus, BASE, 256, delay=(31, 31))
    slave.release = (1, 2)
    for line in ("dtack", "berr"):
        for send in (0, 1):
            slave.cycles.clear()
            assert await entry(tb.inside, send, 0x100000, BASE, 64, Modifier.A24_USER_BLOCK)
            await until(bus, lambda: len(slave.cycles) == 3 and not bus.level("dtack"))
            await until(bus, lambda: bus.level("ds0"))
            bus.set("somebody", line, 0)
            began = bus.now()
            await until(bus, lambda: bus.level("as"))
            assert tb.timeout_ns <= bus.now() - began <= tb.timeout_ns + 4 * tb.period and len(slave.cycles) == 3
            assert await result(tb) == RESULT.timeout.put(1)
            await pause(8 * tb.period)
            assert bus.level("as") and not bus.driven("as") and not bus.driven("ds0") and not bus.driven("data_low")
            bus.set("somebody", line, 1)
    assert await entry(tb.inside, 1, 0x100000, BASE, 64, Modifier.A24_USER_BLOCK)
    assert await result(tb) == 0 and slave.bytes[:64] == tb.inside.memory[:64]
    assert {violation.rule for violation in tb.checker.violations} <= {"ANSWER", "ONE-ANSWER"}, tb.checker.violations


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_block_that_ends_before_its_end_is_over(dut):
    """docs/vme.md, master and DMA channel: BERR* and *stop* end a block's cycle, also while it waits for data; an
    access of the CPU that waits for the bus meanwhile is a transfer of its own, to its own address, and another
    board gets the bus."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    bus, plug = tb.bus, tb.plug
    slave, other = (
        BusSlave(bus, BASE, 1024, delay=(31, 31)),
        BusSlave(bus, 0x10000, 1024, delay=(31, 31), name="other slave"),
    )
    slave.release = other.release = (1, 2)
    await set_window(tb.inside, 0x10000, Modifier.A24_USER_PROGRAM)
    for number in range(24):
        tb.inside.slow = random.choice((0, 0.5, 0.95))
        wrong = BASE + 4 * random.randrange(12) if number % 3 == 0 else 0
        slave.berr = lambda address, wrong=wrong: address == wrong
        other.cycles.clear()
        before = entries_ended(tb)
        assert await entry(tb.inside, number % 2, 0x100000, BASE, 1024, Modifier.A24_SUPER_BLOCK)
        await until(bus, lambda: not bus.level("as"))
        await pause(between(0, 60) * tb.period)
        offset, word = 4 * random.randrange(256), random.getrandbits(32)
        task = cocotb.start_soon(look(plug, 0x10000 + offset, 15, word))
        taken = cocotb.start_soon(tb.other.get_bus())
        if not wrong:
            assert await tb.inside.write("vd_control", 1)
        assert await result(tb, before) == (RESULT.berr if wrong else RESULT.stopped).put(1)
        await taken
        await tb.other.give_bus()
        assert await task == 0
        assert other.bytes[offset : offset + 4] == word.to_bytes(4, "big")
        assert other.cycles == [(Modifier.A24_USER_PROGRAM, 0x10000 + offset, 4, True)]
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def another_board_gets_the_bus_after_the_cycle_under_way(dut):
    """docs/vme.md, requester: the bus is given between cycles, after each, to who asks for it, however much there is
    still to do, but not before DTACK* is high; no line is driven while another board has it."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    bus = tb.bus
    slave, master = BusSlave(bus, BASE, 1024, delay=(31, 31)), BusMaster(bus, tb.node.name)
    falls, early, ours = [], [], [False]

    def look(name, old, new):
        if name == "as" and old and not new:
            falls.append(bus.now())
        elif name == "bbsy" and not new:
            ours[0] = tb.plug.name in bus.drivers[name]
        elif name == "bbsy" and not old and ours[0] and not bus.level("dtack"):
            early.append(bus.now())

    bus.watch(look)
    for modifier in (Modifier.A24_USER_DATA, Modifier.A24_USER_BLOCK):
        slave.release = random.choice(((1, 2), (300, 600)))
        before = entries_ended(tb)
        assert await entry(tb.inside, 1, 0x100000, BASE, 1024, modifier)
        for _ in range(4):
            await pause(between(10, 40) * tb.period)
            falls.clear()
            await tb.node.get_bus()
            assert len(falls) <= 2
            await pause(between(1, 40) * tb.period)
            assert not bus.driven("address") and not bus.driven("data_low")
            assert (await master.read(BASE)).good
            await tb.node.give_bus()
        assert await result(tb, before) == 0
    assert slave.bytes == tb.inside.memory[:1024] and not early
    tb.checker.done()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_lines_are_set_up_for_as_many_cycles_as_the_table_says(dut):
    """docs/vme.md, the clock: 2 cycles of 62.5 ns, or 4 of 12.5, from the address to AS*, and from the data of a
    block's transfer to the data strobes at least."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    bus, steps = tb.bus, []
    slave = BusSlave(bus, BASE, 256, delay=(31, 31))
    slave.release = (1, 1)
    changed = {"address": 0.0, "data_low": 0.0}

    def look(name, old, new):
        if name in changed and tb.plug.name in bus.drivers[name]:
            changed[name] = bus.now()
        elif name == "as" and old and not new:
            steps.append(("as", round((bus.now() - changed["address"]) / tb.period, 3)))
        elif name == "ds0" and old and not new:
            steps.append(("ds", round((bus.now() - changed["data_low"]) / tb.period, 3)))

    bus.watch(look)
    for modifier in (Modifier.A24_USER_DATA, Modifier.A24_USER_BLOCK):
        assert await entry(tb.inside, 1, 0x100000, BASE, 64, modifier)
        assert await result(tb) == 0
    cycles = 2 if tb.period == 62.5 else 4
    assert {step for name, step in steps if name == "as"} == {cycles}
    assert min(step for name, step in steps if name == "ds") >= cycles
    tb.checker.done()


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("80 MHz",)))
def test_master(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_a_clock_that_cannot_keep_the_times_is_refused():
    """docs/vme.md, the clock."""
    with pytest.raises(ValueError, match="period_ps must be from 10000 to 75000, not 9999"):
        VmeMaster(9_999)
