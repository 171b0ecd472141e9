"""Claims about hdl/cab/vme/dma.py that run with those of test_dma.py: its registers, what may be entered, what is
told and when."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH, VME_REG
from nectar.verification.bench import inside
from nectar.verification.cab.vme.asking import entry
from nectar.verification.cab.vme.boards import BusSlave
from nectar.verification.cab.vme.testbench import DATA_BYTES, VmeTestbench
from nectar.verification.cab.vme.waiting import between, pause, until

__all__ = ["BASE", "MAP", "RESULT", "STATUS", "modifiers", "settled"]

BASE = 0x400000
MAP = 0x100000
RESULT = VME_REG["VD_RESULT"]
STATUS = VME_REG["VD_STATUS"]


async def settled(tb, limit=3000):
    """Waits until the list is empty and nothing is under way."""
    for _ in range(limit):
        status = await tb.inside.read("vd_status")
        if not STATUS.busy.get(status) and STATUS.free.get(status) == VME_LIST_DEPTH:
            return status
        await pause(20 * tb.period)
    raise AssertionError("the list does not come to its end")


class Sparse:
    """Bytes of a slave that is everywhere: they read as zeros."""

    def __getitem__(self, at):
        return bytes(at.stop - at.start)

    def __setitem__(self, at, value):
        pass


def modifiers():
    return random.choice([m for m in Modifier if "DATA" in m.name or "BLOCK" in m.name])


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_list_that_stop_empties_is_told_as_that(dut):
    """docs/vme.md, DMA: whenever *stop* comes, each entry has either ended, or VME_ERROR and VD_RESULT tell that the
    list was emptied before its end."""
    tb = await VmeTestbench(dut, inside()).start()
    BusSlave(tb.bus, BASE, 1024, delay=(31, 31))
    events, failed = tb.inside.events, 0
    met = set()
    for wait in range(12):
        before = events["done"]
        await tb.node.get_bus()
        for length in (4, 0, 0, 0):
            assert await entry(tb.inside, random.randrange(2), MAP, BASE, length, 0x39)
        await tb.node.give_bus()
        while events["done"] == before:
            await RisingEdge(dut.clk)
        for _ in range(wait):
            await RisingEdge(dut.clk)
        assert await tb.inside.write("vd_control", 1)
        await settled(tb)
        await pause(8 * tb.period)
        whole = events["done"] - before == 4
        met.add(whole)
        failed += not whole
        assert events["failed"] == failed
        assert await tb.inside.read("vd_result") == (0 if whole else RESULT.stopped.put(1))
        assert await tb.inside.write("vd_result", 0)
    assert len(met) == 2
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def registers_keep_what_is_written_until_a_reset(dut):
    """docs/vme.md, DMA channel; docs/cab.md, reset: each register keeps its own bits, tells the protection the area's
    address, and is 0 behind a reset, which forgets the list and what is under way."""
    tb = await VmeTestbench(dut, inside(), cut_short=True).start()
    plug, inner = tb.plug, tb.inside
    BusSlave(tb.bus, BASE, 1024)
    now = {"vd_address": 0, "vd_remote": 0, "vd_threshold": 0}
    bits = {"vd_address": 24, "vd_remote": 32, "vd_threshold": 20}

    async def check():
        for name, value in now.items():
            assert await inner.read(name) == value
        assert plug.get("vd_send__area_address") == plug.get("vd_fetch__area_address") == now["vd_address"]

    for number in range(5):
        for _ in range(8):
            name = random.choice(list(now))
            assert await inner.write(name, random.getrandbits(32) if random.random() < 0.3 else 0xFFFF_FFFF) or True
            now[name] = plug.get(f"{name}__data") & (1 << bits[name]) - 1
            plug.put(**{f"{other}__data": random.getrandbits(32) for other in now})
            await check()
        assert await inner.write("vd_threshold", 0)
        for _ in range(3):
            assert await entry(inner, number % 2, MAP, BASE, 300, modifiers())
        await pause(between(0, 200) * tb.period)
        if number == 2:
            assert await inner.write("vd_control", 1)
            await settled(tb)
            assert await inner.read("vd_result") == RESULT.stopped.put(1)
        plug.put(rst=1)
        await pause(2 * tb.period)
        plug.put(rst=0)
        now = dict.fromkeys(now, 0)
        told = dict(inner.events)
        await pause(2 * tb.period)
        await check()
        assert await inner.read("vd_progress") == 0 and await inner.read("vd_result") == 0
        assert await inner.read("vd_status") == STATUS.free.put(VME_LIST_DEPTH)
        await pause(30 * tb.period)
        assert await inner.read("vd_status") == STATUS.free.put(VME_LIST_DEPTH) and inner.events == told


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def entries_with_notify_are_counted_modulo_256(dut):
    """docs/vme.md, registers: VD_STATUS.done and VME_DONE count entries with *notify*, and no others."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    count = 0
    for number in range(290):
        notify = number % 16 != 5
        name = random.choice(("vd_send", "vd_fetch"))
        while not await tb.inside.write(name, VME_REG["VD_SEND"].notify.put(notify)):
            await pause(tb.period)
        count += notify
        await pause(5 * tb.period)
        assert STATUS.done.get(await tb.inside.read("vd_status")) == count % 256
        assert tb.inside.events["done"] == count
    assert count > 256


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def areas_are_looked_at_bit_by_bit(dut):
    """docs/vme.md, DMA: of all addresses and lengths just those areas that lie in data memory are accepted, by both
    registers; none after an error."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    plug = tb.plug

    async def refused(name, length):
        plug.put(**{f"{name}__data": length | random.getrandbits(7) << 20 | 1 << 31})
        await ReadOnly()
        value = bool(plug.get(f"{name}__refuse"))
        await RisingEdge(dut.clk)
        return value

    for _ in range(120):
        near = random.choice(
            (MAP + random.randrange(DATA_BYTES), MAP + random.randrange(DATA_BYTES) ^ 1 << random.randrange(12, 24))
        )
        room = MAP + DATA_BYTES - near if MAP <= near < MAP + DATA_BYTES else 0
        assert await tb.inside.write("vd_address", near)
        for name in ("vd_send", "vd_fetch"):
            for length in (
                0,
                1,
                room,
                room + 1,
                random.randint(0, room),
                room + (1 << random.randrange(20)),
                1 << random.randrange(20),
            ):
                length &= 0xFFFFF
                assert await refused(name, length) == (length > room)
                plug.put(vd_send__data=random.getrandbits(32), vd_fetch__data=random.getrandbits(32))
    assert await tb.inside.write("vd_address", MAP)
    BusSlave(tb.bus, BASE, 64, berr=lambda address: True)
    for modifier, stop, expected in ((0x39, 0, RESULT.berr), (0x39, 1, RESULT.stopped), (0x0D, 0, RESULT.timeout)):
        tb.timer.ns = 10_000_000
        assert await entry(tb.inside, 1, MAP, BASE if modifier == 0x39 else 0x1000, 8, modifier)
        if stop:
            assert await tb.inside.write("vd_control", 1)
        await settled(tb)
        assert await tb.inside.read("vd_result") == expected.put(1)
        assert await refused("vd_send", 0) and await refused("vd_fetch", 0)
        assert await tb.inside.write("vd_result", random.getrandbits(32))
        assert not await refused("vd_send", 0) and not await refused("vd_fetch", 0)
    assert tb.inside.events["failed"] == 3


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def entries_reach_any_address_with_any_modifier(dut):
    """docs/vme.md, DMA: each entry keeps all bits of its own address on VME, its modifier, width and direction,
    while those before it are worked on."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    tb.plug.put(select__a24=0, select__a32=0)
    slave = BusSlave(tb.bus, 0, 0, delay=(31, 31))
    slave.size, slave.bytes = 1 << 32, Sparse()
    for _ in range(10):
        jobs = []
        slave.cycles.clear()
        await tb.node.get_bus()
        for _ in range(random.randint(1, 5)):
            far, near, length = random.getrandbits(32), random.randrange(DATA_BYTES - 40), random.randint(1, 40)
            far = min(far, (1 << 32) - length)
            send, half, notify, modifier = (
                random.randrange(2),
                random.randrange(2),
                random.randrange(2),
                random.getrandbits(6),
            )
            assert await entry(tb.inside, send, MAP + near, far, length, modifier, half, notify)
            jobs.append((send, near, far, length, modifier, half))
        await tb.node.give_bus()
        await settled(tb)
        expected = []
        for send, near, far, length, modifier, half in jobs:
            end = far + length
            while far < end:
                size = next(
                    size for size in (4, 2, 1) if size <= (2 if half else 4) and far % size == 0 and far + size <= end
                )
                single = modifier & ~3 | 1 if modifier & 3 == 3 and size < (2 if half else 4) else modifier
                expected.append((single, far, size, bool(send)))
                far += size
        assert slave.cycles == expected
    tb.checker.done()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def progress_and_what_is_told_agree_in_every_cycle(dut):
    """docs/vme.md, DMA: VME_THRESHOLD comes in the cycle in which VD_PROGRESS reaches VD_THRESHOLD, once for each
    entry; the board is not idle while there is an entry; *owner* is 1 in each transfer; *free* counts."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    plug, bus = tb.plug, tb.bus
    BusSlave(bus, BASE, 4096, delay=(31, 31))
    told, limit, wrong = [], [0], []

    async def watch():
        before = 0
        while True:
            await RisingEdge(dut.clk)
            progress, status = plug.get("vd_progress__value"), plug.get("vd_status__value")
            if plug.get("threshold") != (before < limit[0] <= progress):
                wrong.append((before, progress, limit[0]))
            told.append(plug.get("threshold"))
            before = progress
            waits = STATUS.busy.get(status) or STATUS.free.get(status) < VME_LIST_DEPTH
            if plug.get("idle") and waits or plug.name in bus.drivers["as"] and not STATUS.owner.get(status):
                wrong.append(status)

    cocotb.start_soon(watch())
    count = 0
    for number, length in enumerate((DATA_BYTES - 1, DATA_BYTES, *(random.randrange(700) for _ in range(10)))):
        limit[0] = random.choice(
            (
                0,
                length,
                length + 1,
                *(random.randint(length // 2, length) for _ in range(4)),
                random.getrandbits(20),
                1 << random.randrange(12),
            )
        )
        assert await tb.inside.write("vd_threshold", limit[0])
        assert await entry(tb.inside, number % 2, MAP, BASE, length, Modifier.A24_USER_BLOCK)
        await settled(tb)
        count += 0 < limit[0] <= length
        assert not wrong and sum(told) == count
        assert await until(bus, lambda: bus.level("as"), 1000)
        await tb.node.get_bus()
        assert not STATUS.owner.get(await tb.inside.read("vd_status"))
        await tb.node.give_bus()
        await pause(10 * tb.period)
        assert plug.get("idle")
    tb.checker.done()
