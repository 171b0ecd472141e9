"""Bench of hdl/cab/vme/slave.py: what other masters read and write through it."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.slave import VmeSlave
from nectar.verification.bench import Bench
from nectar.verification.cab.vme import claims_slave
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.claims_slave import MAP, rig_with_bus, some_place
from nectar.verification.cab.vme.testbench import A24_BASE, A32_BASE, DATA_BYTES, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

globals().update({name: item for name, item in vars(claims_slave).items() if hasattr(item, "expect_fail")})


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def single_transfers_reach_the_bytes_that_they_name(dut):
    """C7: D08(EO), D16 and D32, A24 and A32, against a memory in Python; the bus rules are kept."""
    tb = await rig_with_bus(dut)
    model = bytearray(tb.inside.memory)
    for _ in range(150):
        master = BusMaster(tb.bus, slack=random.choice((1, 60, 400)))
        size = random.choice((1, 2, 4))
        offset, base, modifier = some_place(size)
        address = base + MAP + offset
        if random.random() < 0.5:
            value = random.getrandbits(8 * size)
            answer = await master.write(address, value, size, modifier)
            model[offset : offset + size] = value.to_bytes(size, "big")
        else:
            answer = await master.read(address, size, modifier)
            assert answer.value == int.from_bytes(model[offset : offset + size], "big")
            assert tb.inside.accesses[-1][2] == modifier.name.endswith("PROGRAM")
        assert answer.good
    assert tb.inside.memory == model
    tb.checker.done("ANSWER", "ONE-ANSWER", "READ-SETUP", "READ-RELEASE", "ANSWER-HOLD", "CONFLICT")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def blocks_of_every_size_and_length_reach_their_bytes(dut):
    """C7: block transfers up to 256 bytes, read and written, between cycles of a fast slave elsewhere; AS* is high
    for as little as a master may keep it."""
    tb = await rig_with_bus(dut, slow=random.choice((0, 0.3, 0.7)))
    BusSlave(tb.bus, 0x10000, 256, delay=(31, 60))
    model = bytearray(tb.inside.memory)
    for _ in range(25):
        master = BusMaster(tb.bus, slack=random.choice((0, 60, 300, 1500)))
        size = random.choice((1, 2, 4, 4))
        offset = random.randrange(DATA_BYTES // size) * size
        count = random.randint(1, (256 - offset % 256) // size)
        at = slice(offset, offset + count * size)
        address, modifier = random.choice(((A24_BASE, Modifier.A24_SUPER_BLOCK), (A32_BASE, Modifier.A32_USER_BLOCK)))
        if random.random() < 0.5:
            values = [random.getrandbits(8 * size) for _ in range(count)]
            answers = await master.block(address + MAP + offset, size, values, modifier=modifier)
            model[at] = b"".join(value.to_bytes(size, "big") for value in values)
        else:
            answers = await master.block(address + MAP + offset, size, count=count, modifier=modifier)
            assert b"".join(answer.value.to_bytes(size, "big") for answer in answers) == model[at]
        assert len(answers) == count and all(answer.good for answer in answers)
        for _ in range(random.choice((0, 0, 1, 3))):
            assert (await master.read(0x10000 + random.randrange(64) * 4)).good
    await pause(20 * tb.period)
    assert tb.inside.memory == model
    tb.checker.done("ANSWER", "ONE-ANSWER", "READ-SETUP", "READ-RELEASE", "ANSWER-HOLD", "CONFLICT")


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def read_modify_write_is_indivisible(dut):
    """ANSI/IEEE 1014, read-modify-write: nothing of the CPU comes between. Both sides count up the same byte."""
    tb = await rig_with_bus(dut, slow=0.5)
    offset, counted = random.randrange(DATA_BYTES), [0]
    inner = tb.inside
    inner.memory[offset] = 0

    def cpu():
        if random.random() < 0.1:
            inner.memory[offset] = inner.memory[offset] + 1 & 0xFF
            counted[0] += 1

    inner.cpu = cpu
    for _ in range(60):
        master = BusMaster(tb.bus, slack=random.choice((1, 200)))
        first, second = await master.read_modify_write(A24_BASE + MAP + offset, lambda value: value + 1 & 0xFF, 1)
        assert first.good and second.good
        counted[0] += 1
    inner.cpu = lambda: None
    assert inner.memory[offset] == counted[0] & 0xFF
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_lock_ends_and_a_write_after_that_is_refused(dut):
    """docs/vme.md: the CPU is kept out for 10 us at most; a write that comes later gets BERR* and changes nothing."""
    tb = await rig_with_bus(dut)
    master = BusMaster(tb.bus)
    before = bytes(tb.inside.memory)
    for wait, refused in ((8_000, False), (11_000, True), (14_000, True)):
        first, second = await master.read_modify_write(A24_BASE + MAP, lambda value: value, wait=wait)
        assert first.good and second.berr == refused
    assert tb.inside.memory == before
    assert max(tb.inside.lock_lengths) * tb.period <= 11_000
    assert (await master.write(A24_BASE + MAP, 5)).good
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_not_there_gets_berr_and_changes_nothing(dut):
    """docs/vme.md: holes, transfers that are no byte, aligned halfword or word, blocks beyond 256 bytes."""
    tb = await rig_with_bus(dut)
    master = BusMaster(tb.bus)
    before = bytes(tb.inside.memory)
    for _ in range(30):
        size = random.choice((1, 2, 4))
        hole = A24_BASE + random.choice((0x0, 0x180000, 0x300000)) + random.randrange(256) * 4
        write = random.random() < 0.5
        assert (await (master.write(hole, 1, size) if write else master.read(hole, size))).berr
    for high, ds0, ds1 in ((1, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0)):
        calls = len(tb.inside.accesses)
        await master.open(A24_BASE + MAP + 2 * high, 4, 1, Modifier.A24_USER_DATA)
        await until(tb.bus, lambda: tb.bus.level("dtack") and tb.bus.level("berr"))
        tb.bus.drive(master.name, data_low=0x1234, data_high=0x5678)
        await pause(50)
        tb.bus.drive(master.name, ds0=ds0, ds1=ds1)
        await pause(40 * tb.period)
        assert not tb.bus.level("berr") and tb.bus.level("dtack")
        tb.bus.drive(master.name, ds0=1, ds1=1)
        await pause(20)
        tb.bus.drive(master.name, data_low=None, data_high=None)
        await master.close()
        assert len(tb.inside.accesses) == calls
    assert tb.inside.memory == before
    tb.checker.done()
    answers = await master.block(A24_BASE + MAP + 252, 4, [0x01020304, 0x05060708])
    assert [answer.berr for answer in answers] == [False, True]
    assert {violation.rule for violation in tb.checker.violations} == {"BLOCK"}
    assert tb.inside.memory[256:] == before[256:]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def other_addresses_and_modifiers_are_not_answered(dut):
    """docs/vme.md, where the board is: the bus timer ends what nobody answers; no access is made."""
    tb = await rig_with_bus(dut)
    tb.timer.ns = 3_000
    master = BusMaster(tb.bus)
    for address, modifier in (
        (A24_BASE ^ 0x800000 | MAP, 0x39),
        (A32_BASE ^ 0x01000000 | MAP, 0x0D),
        (A24_BASE | MAP, 0x38),
        (A24_BASE | MAP, 0x3C),
        (A24_BASE | MAP, 0x29),
        (A24_BASE | MAP, 0x2D),
        (A32_BASE | MAP, 0x10),
        (A24_BASE | MAP, 0x00),
        (A32_BASE | MAP, 0x08),
        (A24_BASE | MAP, 0x1B),
    ):
        fired = tb.timer.fired
        assert (await master.read(address, modifier=modifier)).berr
        assert tb.timer.fired == fired + 1
    assert not tb.inside.accesses
    tb.plug.put(select__a24=0, select__a32=0)
    for address, modifier in ((A24_BASE | MAP, 0x39), (A32_BASE | MAP, 0x0D)):
        assert (await master.read(address, modifier=modifier)).berr
    assert not tb.inside.accesses
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def cycles_cut_short_leave_nothing_behind(dut):
    """docs/vme.md: a master that ends a cycle before its answer finds the board as usual in the next one."""
    tb = await rig_with_bus(dut, cut_short=True)
    model = tb.inside.memory
    for _ in range(100):
        master = BusMaster(tb.bus, slack=random.choice((1, 100)))
        offset, base, modifier = some_place(4)
        write = random.random() < 0.5
        await master.open(base + MAP + offset, 4, write, modifier)
        before = int.from_bytes(model[offset : offset + 4], "big")
        value = random.getrandbits(32)
        answer = await master.transfer(offset, 4, write, value, cut_after=between(5, 12 * tb.period))
        await master.close()
        if write:
            await pause(20 * tb.period)
            stored = int.from_bytes(model[offset : offset + 4], "big")
            assert answer is None or answer.good
            assert stored == value if answer is not None else stored in (before, value)
        read = await master.read(base + MAP + offset, 4, modifier)
        assert read.good and read.value == int.from_bytes(model[offset : offset + 4], "big")
    blamed = {violation.rule for violation in tb.checker.violations}
    assert blamed <= {"ANSWER", "READ-SETUP"}, tb.checker.violations


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def short_cycles_of_others_between_ours_are_not_taken_for_ours(dut):
    """docs/vme.md, the clock: AS* falls twice before the board has looked once, with a slave elsewhere that answers in
    31 ns, and with cycles cut short at once; each of our cycles is still looked at anew."""
    tb = await rig_with_bus(dut, cut_short=True)
    fast = BusSlave(tb.bus, 0x10000, 256, delay=(31, 31))
    fast.release = (1, 1)
    master = BusMaster(tb.bus, slack=0)
    model = tb.inside.memory
    for _ in range(150):
        places = [4 * random.randrange(DATA_BYTES // 4) for _ in range(2)]
        kinds = [random.choice(("fast", "cut", "none"))]
        first = await master.read(A24_BASE + MAP + places[0])
        assert first.value == int.from_bytes(model[places[0] : places[0] + 4], "big")
        for kind in kinds * random.choice((1, 1, 2)):
            if kind == "fast":
                assert (await master.read(0x10000 + 4 * random.randrange(64))).good
            elif kind == "cut":
                await master.open(random.choice((0x10000, A24_BASE + MAP)) + 4, 4, 0, Modifier.A24_USER_DATA)
                await master.transfer(4, 4, cut_after=between(1, 80))
                await master.close()
        value = random.getrandbits(32)
        assert (await master.write(A24_BASE + MAP + places[1], value)).good
        assert model[places[1] : places[1] + 4] == value.to_bytes(4, "big")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_word_refused_behind_its_answer_fails_the_block(dut):
    """docs/vme.md, blocks: words after the first are answered before they are stored; if one is refused after all, the
    next is answered with BERR*, and none is stored after it."""
    tb = await rig_with_bus(dut, slow=0)
    inner = tb.inside
    usual = inner.holes
    for number in range(20):
        master = BusMaster(tb.bus, slack=random.choice((0, 30, 60, 200)))
        inner.slow = random.choice((0, 0, 0.5, 0.8))
        inner.holes = lambda address: usual(address) or address == MAP + 20
        before = bytes(inner.memory)
        answers = await master.block(A24_BASE + MAP + 8, 4, [number] * 20)
        assert [answer.berr for answer in answers] == [False] * 4 + [True]
        assert inner.memory[8:20] == 3 * bytes((0, 0, 0, number)) and inner.memory[20:] == before[20:]
        inner.holes = usual
        assert (await master.write(A24_BASE + MAP + 20, 9)).good
        assert inner.memory[20:24] == b"\0\0\0\t"
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def only_data_memory_is_read_ahead(dut):
    """docs/vme.md, blocks: reading a register may have effects, so none is read that the master does not ask for."""
    tb = await rig_with_bus(dut)
    tb.inside.holes = lambda address: False
    tb.inside.BASE = 0x200000
    master = BusMaster(tb.bus)
    for count in (1, 2, 5):
        calls = len(tb.inside.accesses)
        answers = await master.block(A24_BASE + 0x200000, 4, count=count)
        assert all(answer.good for answer in answers)
        await pause(30 * tb.period)
        assert [access[0] for access in tb.inside.accesses[calls:]] == [0x200000 + 4 * n for n in range(count)]
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_block_of_words_runs_at_ten_mbyte_a_second(dut):
    """C7: 10 Mbyte/s with a master that answers at once, read and written, both ways of looking at 252 bytes."""
    tb = await rig_with_bus(dut, slow=0)
    master = BusMaster(tb.bus, slack=0)
    falls, rates = [], []
    tb.bus.watch(lambda name, old, new: falls.append(tb.bus.now()) if name == "ds0" and old and not new else None)
    for values in (None, [random.getrandbits(32) for _ in range(64)]):
        falls.clear()
        answers = await master.block(A24_BASE + MAP, 4, values, count=64)
        assert len(answers) == 64 and all(answer.good for answer in answers)
        rate = 4 * 62 / (falls[-1] - falls[1]) * 1000
        dut._log.info(f"{'read' if values is None else 'written'}: {rate:.2f} Mbyte/s at a clock of {tb.period} ns")
        rates.append(rate)
    assert min(rates) >= 10
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_in_the_midst_of_a_cycle_lets_the_bus_go(dut):
    """docs/vme.md, reset: lines are let go, the cycle is not answered any more or answered as a new one, the next
    one is."""
    tb = await rig_with_bus(dut, cut_short=True)
    for _ in range(12):
        master = BusMaster(tb.bus)
        await master.open(A24_BASE + MAP, 4, 0, Modifier.A24_USER_DATA)
        tb.bus.drive(master.name, ds0=0, ds1=0)
        await pause(between(1, 14 * tb.period))
        tb.plug.put(rst=1)
        await pause(3 * tb.period)
        assert (
            tb.bus.level("dtack")
            and tb.bus.level("berr")
            and not tb.bus.driven("data_low")
            and not tb.plug.get("access__lock")
        )
        tb.bus.drive(master.name, ds0=1, ds1=1)
        await master.close()
        await pause(10 * tb.period)
        tb.plug.put(rst=0)
        await pause(10 * tb.period)
        assert (await master.read(A24_BASE + MAP)).value == int.from_bytes(tb.inside.memory[:4], "big")


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("80 MHz", "a_transfer_asks_for_its_own_bytes_only"))
)
def test_slave(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


@pytest.mark.parametrize("period", (9_999, 75_001))
def test_a_clock_that_cannot_keep_the_times_is_refused(period):
    """docs/vme.md, the clock."""
    with pytest.raises(ValueError, match=f"period_ps must be from 10000 to 75000, not {period}"):
        VmeSlave(period)
    with pytest.raises(TypeError, match="period_ps must be an integer, not 62.5"):
        VmeSlave(62.5)
