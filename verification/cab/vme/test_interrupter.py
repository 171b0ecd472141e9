"""Bench of hdl/cab/vme/interrupter.py: levels, the acknowledgment chain, status/ID."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.backplane import point
from nectar.verification.cab.vme.boards import BusMaster
from nectar.verification.cab.vme.rig import Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

REGISTER = VME_REG["VME_INTERRUPT"]


def raising(level, vector):
    return REGISTER.level.put(level) | REGISTER.vector.put(vector)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def each_interrupt_is_acknowledged_once_with_its_vector(dut):
    """C7, ANSI/IEEE 1014 chapter 4: the first board in the chain that asks at the level answers; the line falls with the
    acknowledgment; the rules of the bus are kept, with transfers in between."""
    rig = await Rig(dut, inside()).start()
    await rig.node.get_bus()
    master = BusMaster(rig.bus, slack=100)
    ours, others = {}, {}
    told = 0
    for _ in range(120):
        for level in random.sample(range(1, 8), random.randrange(4)):
            vector = random.getrandbits(8)
            if random.random() < 0.6:
                accepted = await rig.inside.write("vme_interrupt", raising(level, vector))
                assert accepted == (level not in ours)
                if accepted:
                    ours[level] = vector
            elif level not in others:
                others[level] = vector
                rig.other.interrupt(level, vector)
        await pause(3 * rig.period)
        assert REGISTER.pending.get(await rig.inside.read("vme_interrupt")) == sum(1 << level - 1 for level in ours)
        asking = [level for level in range(1, 8) if not rig.bus.level(f"irq{level}")]
        assert set(asking) == ours.keys() | others.keys()
        if asking and random.random() < 0.7:
            level = random.choice(asking)
            answer = await master.acknowledge(level)
            source = ours if level in ours else others
            told += source is ours
            assert answer.good and answer.value == source.pop(level)
            await pause(between(0, 5) * rig.period)
        else:
            assert (await master.read(0x900000 + random.randrange(256) * 4)).good
    await pause(5 * rig.period)
    assert rig.inside.events["taken"] == told
    rig.checker.done("CHAIN", "IACK-ORDER", "IACK-RELEASE", "IRQ-HOLD")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_for_nobody_goes_on(dut):
    """ANSI/IEEE 1014 chapter 4: a board that does not ask at the level passes IACKIN* on; the bus timer ends it."""
    rig = await Rig(dut, inside()).start()
    await rig.node.get_bus()
    rig.timer.ns = 3000
    master = BusMaster(rig.bus)
    assert await rig.inside.write("vme_interrupt", raising(5, 0x77))
    for level in (1, 4, 6, 7):
        assert (await master.acknowledge(level)).berr
    answer = await master.acknowledge(5)
    assert answer.good and answer.value == 0x77
    assert (await master.acknowledge(5)).berr
    rig.checker.done()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_cut_short_leaves_the_interrupt(dut):
    """docs/vme.md: an interrupt ends with the DTACK* of its acknowledgment, not before."""
    rig = await Rig(dut, inside(), cut_short=True).start()
    await rig.node.get_bus()
    master = BusMaster(rig.bus)
    rig.timer.ns = 3000
    cut, falls = 0, []
    rig.bus.watch(lambda name, old, new: falls.append(rig.bus.now()) if name == "dtack" and old and not new else None)
    for _ in range(60):
        falls.clear()
        await rig.inside.write("vme_interrupt", raising(3, 0x21))
        await master.open(3 << 1, 1, 0, 0x39, iack=0)
        answer = await master.transfer(1, 1, cut_after=between(20, 90 + 8 * rig.period))
        await master.close()
        await pause(10 * rig.period)
        waits = REGISTER.pending.get(await rig.inside.read("vme_interrupt")) == 1 << 2
        if answer is not None:
            assert answer.good and answer.value == 0x21 and not waits
        assert waits == (not falls)
        cut += waits
        again = await master.acknowledge(3)
        assert again.value == 0x21 if waits else True
    assert cut


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_level_that_waits_or_is_none_is_refused(dut):
    """docs/vme.md, VME_INTERRUPT: levels 1 to 7, each once."""
    rig = await Rig(dut, inside()).start()
    assert not await rig.inside.write("vme_interrupt", raising(0, 1))
    for level in range(1, 8):
        assert await rig.inside.write("vme_interrupt", raising(level, level))
        assert not await rig.inside.write("vme_interrupt", raising(level, 0xFF))
    await rig.node.get_bus()
    master = BusMaster(rig.bus)
    rig.timer.ns = 3000
    for level in random.sample(range(1, 8), 7):
        assert (await master.acknowledge(level)).value == level
    rig.checker.done()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_is_four_lines(dut):
    """docs/vme.md, interrupter: AS*, DS0*, IACK* and IACKIN*; with one of them high nothing is answered and nothing goes on, whether the level waits or not."""
    rig = await Rig(dut, inside(), cut_short=True).start()
    rig.chain.delay = (1e9, 1e9)
    await rig.node.get_bus()
    bus = rig.bus
    for level in (1, 2, 4, 7):
        assert await rig.inside.write("vme_interrupt", raising(level, 0x10 | level))
    for missing in 2 * ("as", "ds0", "iack", point("iackin", 1)):
        for level in random.choices((1, 2, 4, 7), k=2) + random.choices((3, 5, 6), k=2):
            lines = {"as": 0, "ds0": 0, "ds1": random.randrange(2), "iack": 0, point("iackin", 1): 0, "address": level, "am": 0x29, "write": 1} | {missing: 1}
            bus.drive("somebody", address=level, am=0x29)
            bus.drive("somebody", **lines)
            for _ in range(10):
                await pause(rig.period)
                assert bus.level("dtack") and bus.level(point("iackin", 2)) and not bus.driven("data_low")
            bus.drive("somebody", **dict.fromkeys(lines, None))
            await pause(4 * rig.period)
            assert REGISTER.pending.get(await rig.inside.read("vme_interrupt")) == 0b1001011


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def acknowledgments_follow_each_other_closely(dut):
    """docs/vme.md, interrupter: AS* is high for little more than 40 ns between them, or two cycles behind one that was cut short. A level that waits gets its
    status/ID, with 1 on D15 to D08, and lets go of IRQ* and raises VME_TAKEN with DTACK*; any other goes on within 4 cycles, but not before it has been seen."""
    rig = await Rig(dut, inside(), cut_short=True).start()
    await rig.node.get_bus()
    bus, ours, changes = rig.bus, {}, {}

    def look(name, old, new):
        if old != new:
            changes.setdefault((name, new), (bus.now(), bus.level("data_low")))
            if name.startswith("irq") and new:
                ended.append(ours.pop(int(name[3:])))
            elif name == "dtack" and not new:
                answers.append(bus.now())

    ended, answers = [], []
    bus.watch(look)
    bus.drive("somebody", **{"as": 1, "ds0": 1, "ds1": 1, "write": 1, "lword": 1, "iack": 0, "am": 0x29})
    answered = passed = 0
    for _ in range(150):
        for level in random.sample(range(1, 8), random.choice((0, 0, 3))):
            vector = random.getrandbits(8)
            if await rig.inside.write("vme_interrupt", raising(level, vector)):
                ours[level] = vector
        level = random.randrange(1, 8)
        bus.drive("somebody", address=random.getrandbits(20) << 3 | level)
        await pause(36)
        bus.set("somebody", "as", 0)
        await until(bus, lambda: bus.level("dtack"))
        changes.clear()
        await pause(between(0, 10))
        waits = level in ours
        bus.set("somebody", "ds0", 0)
        if waits and random.random() < 0.4:
            await until(bus, lambda: not bus.level(point("iackin", 1)))
            await pause(between(0.5, 3.5) * rig.period)
            if bus.level("dtack"):
                bus.drive("somebody", ds0=1, **{"as": 1})
                await pause(2 * rig.period)
                continue
        assert await until(bus, lambda: not (bus.level("dtack") and bus.level(point("iackin", 2))), 110 + 6 * rig.period)
        came = changes[point("iackin", 1), 0][0]
        await pause(0.01)
        if waits:
            at, lines = changes["dtack", 0]
            assert lines == 0xFF00 | ended[-1] and came + rig.period <= at
            assert bus.level(f"irq{level}") and level not in ours
            answered += 1
        else:
            assert came + rig.period <= changes[point("iackin", 2), 0][0] <= came + 4 * rig.period
            passed += 1
        await pause(between(40, 40 + 3 * rig.period))
        assert bus.level("dtack") or bus.level(point("iackin", 2))
        bus.drive("somebody", ds0=1, **{"as": 1})
        await pause(6)
    assert answered > 20 and passed > 20
    await pause(5 * rig.period)
    assert rig.inside.events["taken"] == len(ended) == len(answers)
    blamed = {violation.rule for violation in rig.checker.violations}      # by answers to what was cut short
    assert blamed <= {"ANSWER", "IRQ-HOLD", "READ-TURN"}, rig.checker.violations


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_interrupter(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
