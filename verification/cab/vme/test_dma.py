"""Bench of hdl/cab/vme/dma.py: the list, its registers, areas between data memory and VME."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.dma import VmeDma
from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_LIST_DEPTH
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme import claims_dma
from nectar.verification.cab.vme.asking import entry
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.claims_dma import BASE, MAP, RESULT, STATUS, modifiers, settled
from nectar.verification.cab.vme.testbench import A24_BASE, DATA_BYTES, VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause

globals().update({name: item for name, item in vars(claims_dma).items() if hasattr(item, "expect_fail")})


@cocotb.test(timeout_time=8, timeout_unit="ms")
async def lists_of_areas_move_every_byte_to_its_place(dut):
    """C2, docs/vme.md: any alignment on both sides, any length from 0, single transfers and blocks, 16 and 32 bits, in
    order, beside another master and a memory that is often taken."""
    tb = await VmeTestbench(dut, inside(), slow=random.choice((0, 0.3, 0.8))).start()
    slave = BusSlave(tb.bus, BASE, 2048)
    near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
    stop = []

    async def other():
        master = BusMaster(tb.bus, tb.other.name)
        while not stop:
            await pause(between(0, 20_000))
            await tb.other.get_bus()
            assert (await master.read(A24_BASE + MAP)).good
            await tb.other.give_bus()

    task = cocotb.start_soon(other())
    notified = 0
    for _ in range(8):
        slave.delay = random.choice(((31, 31), (31, 300)))
        for _ in range(random.randint(1, 5)):
            length = random.choice((0, 1, 2, 3, random.randrange(12), random.randrange(300)))
            send, half, notify = random.randrange(2), random.random() < 0.2, random.randrange(2)
            here, there = random.randrange(DATA_BYTES - length), random.randrange(2048 - length)
            assert await entry(tb.inside, send, MAP + here, BASE + there, length, modifiers(), half, notify)
            if send:
                far[there : there + length] = near[here : here + length]
            else:
                near[here : here + length] = far[there : there + length]
            notified += notify
        status = await settled(tb)
        assert STATUS.done.get(status) == notified % 256
        assert await tb.inside.read("vd_progress") == length
        assert tb.inside.memory == near and slave.bytes == far
        assert await tb.inside.read("vd_result") == 0
    stop.append(True)
    await task
    assert tb.inside.events["done"] == notified and not tb.inside.events["failed"]
    tb.checker.done("BLOCK", "DATA-SETUP", "OWNER")


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def an_error_empties_the_list_and_tells_how_far_it_came(dut):
    """docs/vme.md, DMA: bytes before the one that failed have arrived, those after it have not; nothing is entered
    until the result has been forgotten."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, BASE, 1024)
    for number in range(14):
        send = random.randrange(2)
        length = random.randint(20, 400)
        here, there = random.randrange(DATA_BYTES - length), random.randrange(1024 - length)
        wrong = BASE + there + random.randrange(length)
        slave.berr = lambda address, wrong=wrong: address <= wrong < address + 4
        near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
        assert await entry(tb.inside, send, MAP + here, BASE + there, length, modifiers())
        assert await entry(tb.inside, send, MAP, BASE, 100, 0x39) or await tb.inside.read("vd_result")
        await settled(tb)
        assert tb.inside.events["failed"] == number + 1 and not tb.inside.events["done"]
        assert await tb.inside.read("vd_result") == RESULT.berr.put(1)
        came = await tb.inside.read("vd_progress")
        assert wrong - BASE - there - 7 <= came <= wrong - BASE - there
        if send:
            far[there : there + came] = near[here : here + came]
        else:
            near[here : here + came] = far[there : there + came]
        assert tb.inside.memory == near and slave.bytes == far
        assert not await tb.inside.write("vd_send", 4)
        assert await tb.inside.write("vd_result", 0)
    slave.berr = lambda address: False
    assert await entry(tb.inside, 1, MAP, BASE, 100, 0x39)
    await settled(tb)
    assert slave.bytes[:100] == tb.inside.memory[:100]
    tb.checker.done()


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def stop_ends_after_the_transfer_under_way(dut):
    """docs/vme.md, DMA: stopped at any time, the bus is let go, the rest of the list is forgotten, progress is
    exact."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, BASE, 1024)
    stopped = 0
    for _ in range(20):
        send = random.randrange(2)
        near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
        here, there = random.randrange(64), random.randrange(64)
        done = tb.inside.events["done"]
        for _ in range(2):
            assert await entry(tb.inside, send, MAP + here, BASE + there, 700, modifiers())
        await pause(between(0, 800) * tb.period)
        assert await tb.inside.write("vd_control", 1)
        await settled(tb)
        came = await tb.inside.read("vd_progress")
        result = await tb.inside.read("vd_result")
        if result:
            assert result == RESULT.stopped.put(1) and came < 700
            stopped += 1
        assert tb.inside.events["failed"] == stopped
        if tb.inside.events["done"] > done:
            came = 700  # the first entry; the second, stopped or not, moves the same again
        if send:
            far[there : there + came] = near[here : here + came]
        else:
            near[here : here + came] = far[there : there + came]
        assert tb.inside.memory == near and slave.bytes == far
        await pause(20 * tb.period)
        assert tb.bus.level("as") and tb.bus.level("ds0")
        await tb.inside.write("vd_result", 0)
    assert stopped
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_cannot_be_done_is_refused_when_it_is_written(dut):
    """C2, docs/vme.md, DMA: areas outside of data memory, a full list; an area of no bytes lies anywhere."""
    tb = await VmeTestbench(dut, inside()).start()
    tb.arbiter.levels = ()
    for near, length in (
        (MAP - 1, 1),
        (MAP + DATA_BYTES, 1),
        (MAP + DATA_BYTES - 4, 5),
        (0x80000, 4),
        (0x200000, 4),
        (MAP, 4097),
        (MAP, 0xFFFFF),
    ):
        assert not await entry(tb.inside, random.randrange(2), near, BASE, length, 0x39)
    assert STATUS.free.get(await tb.inside.read("vd_status")) == VME_LIST_DEPTH
    assert await entry(tb.inside, 1, 0x200000, BASE, 0, 0x39)
    assert await entry(tb.inside, 1, MAP + DATA_BYTES - 4, BASE, 4, 0x39)
    await pause(10 * tb.period)
    for number in range(VME_LIST_DEPTH):
        assert STATUS.free.get(await tb.inside.read("vd_status")) == VME_LIST_DEPTH - number
        assert await entry(tb.inside, 1, MAP, BASE, 4, 0x39)
    assert not await entry(tb.inside, 1, MAP, BASE, 4, 0x39)
    tb.checker.done()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def an_entry_that_runs_does_not_see_what_is_written_for_the_next(dut):
    """docs/vme.md, DMA: VD_ADDRESS and VD_REMOTE are taken with the entry. They are overwritten at any time while it
    runs, with places of the next and with places where nothing may be moved; each entry moves just its own bytes."""
    tb = await VmeTestbench(dut, inside()).start()
    slave = BusSlave(tb.bus, BASE, 1024)
    met = 0
    for _ in range(12):
        near, far = bytearray(tb.inside.memory), bytearray(slave.bytes)
        for length in (random.randint(100, 400), random.randint(1, 100)):
            send, here, there = (
                random.randrange(2),
                random.randrange(DATA_BYTES - length),
                random.randrange(1024 - length),
            )
            assert await entry(tb.inside, send, MAP + here, BASE + there, length, modifiers())
            if send:
                far[there : there + length] = near[here : here + length]
            else:
                near[here : here + length] = far[there : there + length]
            for _ in range(random.randrange(1, 6)):
                await pause(between(0, 60) * tb.period)
                met += STATUS.busy.get(await tb.inside.read("vd_status"))
                assert await tb.inside.write(
                    "vd_address", random.choice((MAP + random.randrange(DATA_BYTES), 0x80000, 0))
                )
                assert await tb.inside.write(
                    "vd_remote", random.choice((BASE + random.randrange(1024), 0, 0xFFFF_FFFF))
                )
        await settled(tb)
        assert tb.inside.memory == near and slave.bytes == far
        assert await tb.inside.read("vd_result") == 0
    assert met > 12
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_threshold_is_told_once_when_it_is_passed(dut):
    """docs/vme.md, DMA: VME_THRESHOLD, once for each entry that comes so far."""
    tb = await VmeTestbench(dut, inside()).start()
    BusSlave(tb.bus, BASE, 1024)
    told = 0
    for _ in range(20):
        length, threshold = random.randrange(80), random.choice((0, random.randrange(80)))
        assert await tb.inside.write("vd_threshold", threshold)
        assert await tb.inside.read("vd_threshold") == threshold
        assert await entry(tb.inside, random.randrange(2), MAP, BASE, length, modifiers())
        await settled(tb)
        told += 0 < threshold <= length
        assert tb.inside.events["threshold"] == told
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def blocks_run_at_ten_mbyte_a_second(dut):
    """C7: 10 Mbyte/s to and from a slave that answers at once, at any alignment in data memory."""
    tb = await VmeTestbench(dut, inside(), slow=0).start()
    slave = BusSlave(tb.bus, BASE, 1024, delay=(31, 31))
    slave.release = (1, 1)
    falls, rates = [], []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "ds0" and old and not new else None)
    for send in (0, 1):
        for offset in range(4):
            falls.clear()
            assert await entry(tb.inside, send, MAP + offset, BASE, 256, Modifier.A24_SUPER_BLOCK)
            await settled(tb)
            assert len(falls) == 64
            rates.append(4 * 63 / (falls[-1] - falls[0]) * 1000)
            way = "to" if send else "from"
            dut._log.info(f"{way} VME, offset {offset}: {rates[-1]:.2f} Mbyte/s at a clock of {tb.period} ns")
    assert min(rates) >= 10
    tb.checker.done()


bench = Bench(__name__, configurations(), ports_only=True)


#: Another clock, and the claims that take longest.
NIGHTLY = (
    "80 MHz",
    "progress_and_what_is_told_agree_in_every_cycle",
    "an_entry_that_runs_does_not_see_what_is_written_for_the_next",
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=NIGHTLY))
def test_dma(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_a_memory_of_an_impossible_size_is_refused():
    """docs/cab.md, data memory."""
    with pytest.raises(ValueError, match="data_bytes must be a power of two"):
        VmeDma(5000)
