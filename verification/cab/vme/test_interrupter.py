"""Bench of hdl/cab/vme/interrupter.py: levels, the acknowledgment chain, status/ID."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.registers import VME_REG
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.boards import BusMaster
from nectar.verification.cab.vme.rig import Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause

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
    cut = 0
    for _ in range(40):
        await rig.inside.write("vme_interrupt", raising(3, 0x21))
        await master.open(3 << 1, 1, 0, 0x39, iack=0)
        answer = await master.transfer(1, 1, cut_after=between(20, 8 * rig.period))
        await master.close()
        await pause(10 * rig.period)
        waits = REGISTER.pending.get(await rig.inside.read("vme_interrupt")) == 1 << 2
        if answer is not None:
            assert answer.good and answer.value == 0x21 and not waits
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


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_interrupter(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)
