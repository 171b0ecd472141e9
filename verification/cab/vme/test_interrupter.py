"""Bench of hdl/cab/vme/interrupter.py: levels, the acknowledgment chain, status/ID."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.backplane import point
from nectar.verification.cab.vme.boards import BusMaster
from nectar.verification.cab.vme.testbench import VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

REGISTER = VME_REG["VME_INTERRUPT"]


def raising(level, vector):
    return REGISTER.level.put(level) | REGISTER.vector.put(vector)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def each_interrupt_is_acknowledged_once_with_its_vector(dut):
    """C7, ANSI/IEEE 1014 chapter 4: the first board in the chain that asks at the level answers; the line falls with
    the acknowledgment; the rules of the bus are kept, with transfers in between."""
    tb = await VmeTestbench(dut, inside()).start()
    await tb.node.get_bus()
    master = BusMaster(tb.bus, slack=100)
    ours, others = {}, {}
    told = 0
    for _ in range(120):
        for level in random.sample(range(1, 8), random.randrange(4)):
            vector = random.getrandbits(8)
            if random.random() < 0.6:
                accepted = await tb.inside.write("vme_interrupt", raising(level, vector))
                assert accepted == (level not in ours)
                if accepted:
                    ours[level] = vector
            elif level not in others:
                others[level] = vector
                tb.other.interrupt(level, vector)
        await pause(3 * tb.period)
        assert REGISTER.pending.get(await tb.inside.read("vme_interrupt")) == sum(1 << level - 1 for level in ours)
        asking = [level for level in range(1, 8) if not tb.bus.level(f"irq{level}")]
        assert set(asking) == ours.keys() | others.keys()
        if asking and random.random() < 0.7:
            level = random.choice(asking)
            answer = await master.acknowledge(level)
            source = ours if level in ours else others
            told += source is ours
            assert answer.good and answer.value == source.pop(level)
            await pause(between(0, 5) * tb.period)
        else:
            assert (await master.read(0x900000 + random.randrange(256) * 4)).good
    await pause(5 * tb.period)
    assert tb.inside.events["taken"] == told
    tb.checker.done("CHAIN", "IACK-ORDER", "IACK-RELEASE", "IRQ-HOLD")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_for_nobody_goes_on(dut):
    """ANSI/IEEE 1014 chapter 4: a board that does not ask at the level passes IACKIN* on; the bus timer ends it."""
    tb = await VmeTestbench(dut, inside()).start()
    await tb.node.get_bus()
    tb.timer.ns = 3000
    master = BusMaster(tb.bus)
    assert await tb.inside.write("vme_interrupt", raising(5, 0x77))
    for level in (1, 4, 6, 7):
        assert (await master.acknowledge(level)).berr
    answer = await master.acknowledge(5)
    assert answer.good and answer.value == 0x77
    assert (await master.acknowledge(5)).berr
    tb.checker.done()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_cut_short_leaves_the_interrupt(dut):
    """docs/vme.md: an interrupt ends with the DTACK* of its acknowledgment, not before."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    await tb.node.get_bus()
    master = BusMaster(tb.bus)
    tb.timer.ns = 3000
    cut, falls = 0, []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "dtack" and old and not new else None)
    for _ in range(60):
        falls.clear()
        await tb.inside.write("vme_interrupt", raising(3, 0x21))
        await master.open(3 << 1, 1, 0, 0x39, iack=0)
        answer = await master.transfer(1, 1, cut_after=between(20, 90 + 8 * tb.period))
        await master.close()
        await pause(10 * tb.period)
        waits = REGISTER.pending.get(await tb.inside.read("vme_interrupt")) == 1 << 2
        if answer is not None:
            assert answer.good and answer.value == 0x21 and not waits
        assert waits == (not falls)
        cut += waits
        again = await master.acknowledge(3)
        assert again.value == 0x21 if waits else True
    assert cut


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_interrupt_ends_with_dtack_that_the_node_can_see_or_stays(dut):
    """docs/vme.md, interrupter: DS0* rises in every quarter of a cycle from IACKIN* until behind DTACK*. DTACK* falls
    while DS0* is low, with the status/ID, and the interrupt has ended; or it does not fall, and the interrupt waits.
    Data are driven while DS0* is low only, and valid a cycle before DTACK*, which falls 3 to 4 cycles after IACKIN*."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.chain.delay = (1e9, 1e9)
    await tb.node.get_bus()
    bus, falls, told = tb.bus, [], 0
    bus.watch(
        lambda name, old, new: (
            falls.append((bus.level("ds0"), bus.level("data_low"), bus.driven("data_low")))
            if name == "dtack" and old and not new
            else None
        )
    )
    bus.watch(lambda name, old, new: times.setdefault((name, bus.driven(name)), bus.now()))
    outcomes, times = [], {}
    for quarter in 2 * tuple(range(36)):
        level, vector = random.randrange(1, 8), random.getrandbits(8)
        assert await tb.inside.write("vme_interrupt", raising(level, vector))
        lines = {"as": 0, "ds0": 0, "iack": 0, "write": 1}
        bus.drive("somebody", address=level, am=0x29)
        bus.drive("somebody", **lines)
        await pause(between(20, 20 + 2 * tb.period))
        falls.clear()
        times.clear()
        came = bus.now()
        bus.set("somebody", point("iackin", 1), 0)
        await pause((quarter + random.random()) / 4 * tb.period)
        bus.set("somebody", "ds0", 1)
        await pause(0.01)
        assert not bus.driven("data_low")
        answered = bool(falls)
        assert bus.level("dtack") != answered and bus.level(f"irq{level}") == answered
        for _ in range(10):
            await pause(tb.period)
            assert len(falls) == answered and not bus.driven("data_low")
        assert bus.level("dtack") and bus.level(point("iackin", 2)) and bus.level(f"irq{level}") == answered
        bus.drive("somebody", **dict.fromkeys((*lines, point("iackin", 1)), None))
        outcomes.append(answered)
        told += answered
        if answered:
            assert falls == [(0, 0xFF00 | vector, True)]
            fell = times["dtack", True]
            assert (
                came + 3 * tb.period <= fell <= came + 4 * tb.period
                and times["data_low", True] <= fell - 0.99 * tb.period
            )
        assert tb.inside.events["taken"] == told
        assert REGISTER.pending.get(await tb.inside.read("vme_interrupt")) == (0 if answered else 1 << level - 1)
        if not answered:
            await pause(between(40, 40 + 4 * tb.period))
            bus.drive("somebody", **lines)
            bus.set("somebody", point("iackin", 1), 0)
            assert await until(bus, lambda: not bus.level("dtack"), 6 * tb.period)
            assert falls == [(0, 0xFF00 | vector, True)]
            bus.drive("somebody", **dict.fromkeys((*lines, point("iackin", 1)), None))
            told += 1
        assert await until(bus, lambda: bus.level("dtack"), 3 * tb.period + 1)
        await pause(3 * tb.period)
    assert not any(outcomes[:4]) and all(outcomes[32:36])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_right_behind_one_cut_short_is_another(dut):
    """docs/vme.md, interrupter: AS* and DS0* are high for 40 ns only, IACKIN* for little more. The next acknowledgment,
    of
    the same level or another, waits for its own IACKIN*, and gets its own status/ID within 6 cycles, or goes on within
    5."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.chain.delay = (1e9, 1e9)
    await tb.node.get_bus()
    bus, ours, changes = tb.bus, {}, []
    bus.watch(
        lambda name, old, new: (
            changes.append((name, new, bus.level("data_low")))
            if name in ("dtack", point("iackin", 2)) and old != new
            else None
        )
    )
    kinds = set()
    bus.drive("somebody", **{"as": 1, "ds0": 1, "iack": 0, "am": 0x29, "write": 1, point("iackin", 1): 1})
    for quarter in 3 * tuple(range(24)):
        for level in random.sample(range(1, 8), 3):
            vector = random.getrandbits(8)
            if await tb.inside.write("vme_interrupt", raising(level, vector)):
                ours[level] = vector
        first, second = random.choices(range(1, 8), k=2)
        bus.set("somebody", "address", first)
        await pause(between(36, 36 + tb.period))
        changes.clear()
        bus.drive("somebody", ds0=0, **{"as": 0, point("iackin", 1): 0})
        await pause((quarter + random.random()) / 4 * tb.period)
        cut = bus.level("dtack")
        bus.drive("somebody", ds0=1, **{"as": 1})
        if not cut:
            assert ours.pop(first) == changes.pop()[2] & 0xFF
            assert await until(bus, lambda: bus.level("dtack"), 3 * tb.period + 1)
        await pause(between(1, 4))
        bus.drive("somebody", address=second, **{point("iackin", 1): 1})
        await pause(36)
        bus.drive("somebody", ds0=0, **{"as": 0})
        await pause(0.01)
        assert bus.level("dtack") and bus.level(point("iackin", 2))
        changes.clear()
        await pause(between(5, 5 + 2 * tb.period))
        assert not changes and not bus.driven("data_low"), "its IACKIN* has not come yet"
        bus.set("somebody", point("iackin", 1), 0)
        waits = second in ours
        assert await until(bus, lambda: bool(changes), (6 if waits else 5) * tb.period)
        assert changes == [("dtack", 0, 0xFF00 | ours.pop(second)) if waits else (point("iackin", 2), 0, changes[0][2])]
        kinds.add((cut, waits, first == second))
        await pause(3 * tb.period)
        bus.drive("somebody", ds0=1, **{"as": 1})
        await pause(5)
        bus.set("somebody", point("iackin", 1), 1)
        await pause(4 * tb.period)
    assert {kind[:2] for kind in kinds} == {(a, b) for a in (0, 1) for b in (False, True)} and (1, True, True) in kinds


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_level_that_waits_or_is_none_is_refused(dut):
    """docs/vme.md, VME_INTERRUPT: levels 1 to 7, each once."""
    tb = await VmeTestbench(dut, inside()).start()
    assert not await tb.inside.write("vme_interrupt", raising(0, 1))
    for level in range(1, 8):
        assert await tb.inside.write("vme_interrupt", raising(level, level))
        assert not await tb.inside.write("vme_interrupt", raising(level, 0xFF))
    await tb.node.get_bus()
    master = BusMaster(tb.bus)
    tb.timer.ns = 3000
    for level in random.sample(range(1, 8), 7):
        assert (await master.acknowledge(level)).value == level
    tb.checker.done()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_acknowledgment_is_four_lines(dut):
    """docs/vme.md, interrupter: AS*, DS0*, IACK* and IACKIN*; with one of them high nothing is answered and nothing
    goes on, whether the level waits or not."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.chain.delay = (1e9, 1e9)
    await tb.node.get_bus()
    bus = tb.bus
    for level in (1, 2, 4, 7):
        assert await tb.inside.write("vme_interrupt", raising(level, 0x10 | level))
    for missing in 2 * ("as", "ds0", "iack", point("iackin", 1)):
        for level in random.choices((1, 2, 4, 7), k=2) + random.choices((3, 5, 6), k=2):
            lines = {
                "as": 0,
                "ds0": 0,
                "ds1": random.randrange(2),
                "iack": 0,
                point("iackin", 1): 0,
                "address": level,
                "am": 0x29,
                "write": 1,
            } | {missing: 1}
            bus.drive("somebody", address=level, am=0x29)
            bus.drive("somebody", **lines)
            for _ in range(10):
                await pause(tb.period)
                assert bus.level("dtack") and bus.level(point("iackin", 2)) and not bus.driven("data_low")
            bus.drive("somebody", **dict.fromkeys(lines, None))
            await pause(4 * tb.period)
            assert REGISTER.pending.get(await tb.inside.read("vme_interrupt")) == 0b1001011


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def acknowledgments_follow_each_other_closely(dut):
    """docs/vme.md, interrupter: AS* is high for little more than 40 ns between them, or two cycles behind one that
    was cut short. A level that waits gets its status/ID, with 1 on D15 to D08, and lets go of IRQ* and raises
    VME_TAKEN with DTACK*; any other goes on within 4 cycles (Interrupter, timing: 3), but not before it has been
    seen."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    await tb.node.get_bus()
    bus, ours, changes = tb.bus, {}, {}

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
            if await tb.inside.write("vme_interrupt", raising(level, vector)):
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
            await pause(between(0.5, 3.5) * tb.period)
            if bus.level("dtack"):
                bus.drive("somebody", ds0=1, **{"as": 1})
                await pause(2 * tb.period)
                continue
        assert await until(bus, lambda: not (bus.level("dtack") and bus.level(point("iackin", 2))), 110 + 6 * tb.period)
        came = changes[point("iackin", 1), 0][0]
        await pause(0.01)
        if waits:
            at, lines = changes["dtack", 0]
            assert lines == 0xFF00 | ended[-1] and came + tb.period <= at
            assert bus.level(f"irq{level}") and level not in ours
            answered += 1
        else:
            assert came + tb.period <= changes[point("iackin", 2), 0][0] <= came + 3 * tb.period
            passed += 1
        await pause(between(40, 40 + 3 * tb.period))
        assert bus.level("dtack") or bus.level(point("iackin", 2))
        bus.drive("somebody", ds0=1, **{"as": 1})
        await pause(6)
    assert answered > 20 and passed > 20
    await pause(5 * tb.period)
    assert tb.inside.events["taken"] == len(ended) == len(answers)
    blamed = {violation.rule for violation in tb.checker.violations}  # by answers to what was cut short
    assert blamed <= {"ANSWER", "IRQ-HOLD", "READ-TURN"}, tb.checker.violations


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_level_that_is_raised_when_its_acknowledgment_comes_is_answered_or_waits(dut):
    """docs/vme.md, interrupter: raised in every cycle around an acknowledgment of it, which is answered, or goes on
    and is not answered any more, however long it lasts."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.chain.delay = (1e9, 1e9)
    await tb.node.get_bus()
    bus, onward = tb.bus, point("iackin", 2)
    lines = {"as": 0, "ds0": 0, "iack": 0, "write": 1, point("iackin", 1): 0}
    answered = []
    for cycles in 3 * tuple(range(12)):
        level, vector = random.randrange(1, 8), random.getrandbits(8)
        bus.drive("somebody", address=level, am=0x29)
        await pause(between(0, tb.period))
        bus.drive("somebody", **lines)
        await pause(cycles * tb.period)
        assert await tb.inside.write("vme_interrupt", raising(level, vector))
        await pause(10 * tb.period)
        answered.append(not bus.level("dtack"))
        assert bus.level(onward) == answered[-1] == bus.level(f"irq{level}") == bus.driven("data_low")
        assert not answered[-1] or bus.level("data_low") == 0xFF00 | vector
        bus.drive("somebody", **dict.fromkeys(lines, None))
        await pause(5 * tb.period)
        assert bus.level("dtack") and bus.level(onward)
        if not answered[-1]:
            bus.drive("somebody", **lines)
            assert (
                await until(bus, lambda: not bus.level("dtack"), 6 * tb.period)
                and bus.level("data_low") == 0xFF00 | vector
            )
            bus.drive("somebody", **dict.fromkeys(lines, None))
            await pause(5 * tb.period)
    assert all(answered[::12]) and not any(answered[11::12])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_lets_go_of_everything_at_once(dut):
    """docs/vme.md, reset of the board: whatever waits is forgotten, and DTACK* and data are let go with the next clock
    edge, before an answer and behind it. An acknowledgment that is still there is looked at as a new one, which nothing
    waits for; levels can be raised anew."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    tb.chain.delay = (1e9, 1e9)
    await tb.node.get_bus()
    bus, plug, onward = tb.bus, tb.plug, point("iackin", 2)
    lines = {"as": 0, "ds0": 0, "iack": 0, "write": 1, point("iackin", 1): 0}
    stages = set()
    for half in 3 * tuple(range(14)):
        for level in range(1, 8):
            assert await tb.inside.write("vme_interrupt", raising(level, random.getrandbits(8)))
        level = random.randrange(1, 8)
        bus.drive("somebody", address=level, am=0x29)
        await pause(between(0, tb.period))
        bus.drive("somebody", **lines)
        await pause((half + random.random()) / 2 * tb.period)
        stages.add((bus.level("dtack"), bus.driven("data_low")))
        plug.put(rst=1)
        await pause(1.01 * tb.period)
        assert bus.level("dtack") and not bus.driven("data_low") and all(bus.level(f"irq{n}") for n in range(1, 8))
        await pause(between(0, 2) * tb.period)
        plug.put(rst=0)
        await pause(between(2, 3) * tb.period)
        assert REGISTER.pending.get(await tb.inside.read("vme_interrupt")) == 0
        assert await until(bus, lambda: not bus.level(onward), 4 * tb.period)
        await pause(between(0, 4) * tb.period)
        assert bus.level("dtack") and not bus.driven("data_low")
        bus.drive("somebody", **dict.fromkeys(lines, None))
        await pause(1)
        assert bus.level(onward)
        await pause(5 * tb.period)
    assert stages == {(1, False), (1, True), (0, True)}


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("80 MHz",)))
def test_interrupter(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
