"""Claims about hdl/cab/vme/slave.py that run with those of test_slave.py: where it is, which accesses it makes and
when it answers, what is behind a reset."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.verification.bench import inside
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.testbench import A24_BASE, A32_BASE, DATA_BYTES, VmeTestbench
from nectar.verification.cab.vme.waiting import between, pause, until

__all__ = ["MAP", "rig_with_bus", "some_place"]

MAP = 0x100000  # data memory in the board's map


async def rig_with_bus(dut, **options):
    tb = await VmeTestbench(dut, inside(), **options).start()
    await tb.node.get_bus()
    return tb


def some_place(size):
    base = random.choice((A24_BASE, A32_BASE))
    modifier = random.choice(
        [
            m
            for m in Modifier
            if m.name.startswith("A24" if base == A24_BASE else "A32") and not m.name.endswith("BLOCK")
        ]
    )
    return random.randrange(DATA_BYTES // size) * size, base, modifier


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_board_answers_where_its_switches_say(dut):
    """docs/vme.md, slave: any setting of the switches, any modifier, addresses that differ in a bit; what is
    answered is an access to the place of the map that the address names, a fetch if it is a read with a program
    modifier; no acknowledgment is answered as a transfer."""
    tb = await rig_with_bus(dut, slow=0.6)
    tb.timer.ns = 3_000
    master = BusMaster(tb.bus, slack=1)
    answered, stored = 0, []

    def holes(address):
        stored.append(tb.plug.get("access__write_data"))
        return True

    tb.inside.holes = holes
    for number in range(150):
        a24, half, a32, base = number % 4 != 1, random.randrange(2), number % 4 != 2, random.getrandbits(8)
        tb.plug.put(select__a24=a24, select__a24_half=half, select__a32=a32, select__a32_base=base)
        modifier = random.choice([*Modifier] * 3 + [random.getrandbits(6)])
        in_24 = modifier >> 4 == 3
        place = random.getrandbits(23) & ~3 if in_24 else random.getrandbits(24) & ~3
        address = random.getrandbits(8) << 24 | half << 23 | place if in_24 else base << 24 | place
        if random.random() < 0.3:
            address ^= 1 << (23 if in_24 else random.randrange(24, 32))
        ours = modifier in set(Modifier) and (
            a24 and address >> 23 & 1 == half if in_24 else a32 and address >> 24 == base
        )
        write, fired, calls = random.random() < 0.3, tb.timer.fired, len(tb.inside.accesses)
        iack = random.random() < 0.9
        await master.open(address, 4, write, modifier, iack=iack)
        value = random.getrandbits(32)
        assert (await master.transfer(address, 4, write, value)).berr
        await master.close()
        ours = ours and iack
        assert (tb.timer.fired == fired) == ours
        execute = bool(ours and modifier & 3 == 2 and not write)
        assert [access[:4] for access in tb.inside.accesses[calls:]] == ([(place, write, execute, 15)] if ours else [])
        assert not (ours and write) or stored[-1] == value
        answered += ours
    assert 30 < answered < 120
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_transfer_asks_for_its_own_bytes_only(dut):
    """docs/vme.md, slave: bytes, halfwords and words, one by one and in blocks, select these bytes of the word; the
    upper data lines are driven for words only; the answer goes 3 cycles after the strobes at most, and data with
    them."""
    tb = await rig_with_bus(dut)
    bus, plug = tb.bus, tb.plug
    rose, late, driven, began = [0], [], set(), [0]

    def look(name, old, new):
        strobes = bus.level("ds0") and bus.level("ds1")
        if name in ("ds0", "ds1") and new and strobes:
            rose[0] = bus.now()
        elif name in ("dtack", "berr") and new and not old:
            late.append(bus.now() - rose[0])
        elif name == "dtack" and bus.level("write"):
            assert 1 < bus.now() - began[0] < float("inf")
        elif name in ("data_low", "data_high") and plug.name in bus.drivers[name]:
            began[0] = bus.now() if (name, "on") not in driven else began[0]
            driven.update(((name, bool(bus.level("lword"))), (name, "on")))
        elif name in ("data_low", "data_high"):
            driven.discard((name, "on"))

    bus.watch(look)
    for _ in range(60):
        master = BusMaster(bus, slack=random.choice((1, 100)))
        size, write, block = random.choice((1, 2, 4)), random.random() < 0.5, random.random() < 0.4
        offset, base, modifier = some_place(size)
        calls, where = len(tb.inside.accesses), [offset]
        if block:
            modifier = modifier & ~3 | 3
            where = [offset + size * n for n in range(random.randint(1, (256 - offset % 256) // size))]
            answers = await master.block(
                base + MAP + offset,
                size,
                [random.getrandbits(8 * size) for _ in where] if write else None,
                len(where),
                modifier,
            )
        else:
            answers = [
                await (
                    master.write(base + MAP + offset, random.getrandbits(8 * size), size, modifier)
                    if write
                    else master.read(base + MAP + offset, size, modifier)
                )
            ]
        assert len(answers) == len(where) and all(answer.good for answer in answers)
        await pause(20 * tb.period)
        made = tb.inside.accesses[calls:]
        asked = [(MAP + at & ~3, write, ((1 << size) - 1) << 4 - at % 4 - size) for at in where]
        assert all(begun[:2] == wanted[:2] for begun, wanted in zip(made, asked))
        if write or size == 1 or not block:
            assert [(address, wrote, select) for address, wrote, _, select, *_ in made] == asked
        assert len(where) <= len(made) <= len(where) + 1
        assert all((address & 0xFF00) == (MAP + offset & 0xFF00) for address, *_ in made)
        lock = not write and not block
        assert all(bool(access[4]) == lock for access in made)
    assert max(late) <= 3 * tb.period and driven >= {("data_low", False), ("data_high", False), ("data_low", True)}
    assert ("data_high", True) not in driven
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_words_of_a_block_are_answered_at_the_third_edge(dut):
    """docs/vme.md, blocks: in data memory the transfers of 16 or 32 bits after the first, read and written, at the
    third clock edge after the strobes, or the first one after 30 ns."""
    tb = await rig_with_bus(dut, slow=0)
    bus, edges, fell, counts = tb.bus, [], [], []

    async def clock():
        while True:
            await RisingEdge(dut.clk)
            edges.append(bus.now())

    def look(name, old, new):
        if name in ("ds0", "ds1") and not new and old:
            fell.append(bus.now())
        elif name == "dtack" and old and not new:
            first, last = fell[-2:]
            counts.append(max(sum(last < edge <= bus.now() for edge in edges), 0))
            assert bus.now() - first >= 30

    cocotb.start_soon(clock())
    bus.watch(look)
    for size in (2, 4):
        for values in (None, [random.getrandbits(8 * size) for _ in range(30)]):
            counts.clear()
            edges.clear()
            master = BusMaster(bus, slack=200)
            await master.open(A24_BASE + MAP, size, values is not None, Modifier.A24_USER_BLOCK)
            for number in range(30):
                assert (await master.transfer(size * number, size, values is not None, values and values[number])).good
                await pause(10 * tb.period if tb.period < 30 else 0)
            await master.close()
            assert set(counts[1:]) <= ({3} if tb.period == 62.5 else {3, 4}), counts
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_block_of_any_size_ends_at_256_bytes(dut):
    """docs/vme.md, slave: in data memory and elsewhere the first transfer beyond a multiple of 256 bytes gets BERR*,
    and no access is made beyond."""
    tb = await rig_with_bus(dut)
    inner, master = tb.inside, BusMaster(tb.bus, slack=30)
    for number in range(24):
        inner.BASE = random.choice((MAP, 0x200000))
        inner.holes = lambda address: not inner.BASE <= address < inner.BASE + DATA_BYTES
        size, left = random.choice((1, 2, 4)), random.randint(1, 5)
        end = 256 * random.randint(1, DATA_BYTES // 256 - 1)
        before, calls = bytes(inner.memory[end:]), len(inner.accesses)
        values = [random.getrandbits(8 * size) for _ in range(left + 2)] if number % 2 else None
        answers = await master.block(
            A32_BASE + inner.BASE + end - left * size, size, values, left + 2, Modifier.A32_SUPER_BLOCK
        )
        assert [answer.berr for answer in answers] == [False] * left + [True]
        await pause(20 * tb.period)
        assert (
            all(address < inner.BASE + end for address, *_ in inner.accesses[calls:]) and inner.memory[end:] == before
        )
    assert {violation.rule for violation in tb.checker.violations} == {"BLOCK"}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_cycle_that_is_still_there_behind_a_reset_is_answered(dut):
    """docs/vme.md, reset of the board: a cycle that is still there afterwards is looked at as a new one."""
    tb = await rig_with_bus(dut, cut_short=True)
    seen = set()
    for number in range(24):
        master = BusMaster(tb.bus, slack=1)
        offset, base, modifier = some_place(4)
        write, value = number % 2, random.getrandbits(32)
        await master.open(base + MAP + offset, 4, write, modifier)
        if write:
            tb.bus.drive(master.name, data_high=value >> 16, data_low=value & 0xFFFF)
        await until(tb.bus, lambda: tb.bus.level("dtack"))
        await pause(60)
        tb.bus.drive(master.name, ds0=0, ds1=0)
        if await until(tb.bus, lambda: not tb.bus.level("dtack"), between(1, 24 * tb.period)):
            seen.add("answered")
        else:
            tb.plug.put(rst=1)
            await pause(between(12, 16) * tb.period)  # till the board behind it has answered what it was asked
            tb.plug.put(rst=0)
            assert await until(tb.bus, lambda: not tb.bus.level("dtack"), 40 * tb.period)
            seen.add("again")
        word = tb.bus.level("data_high") << 16 | tb.bus.level("data_low")
        tb.bus.drive(master.name, ds0=1, ds1=1)
        await pause(15)
        tb.bus.drive(master.name, data_high=None, data_low=None)
        await master.close()
        assert (value if write else word) == int.from_bytes(tb.inside.memory[offset : offset + 4], "big")
    assert seen == {"answered", "again"}


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def the_next_address_may_come_early(dut):
    """docs/vme.md, slave: once a transfer is answered, its master may put out the next address, let AS* rise and fall
    again, and only then end the transfer; each cycle, ours or another slave's, gets its own bytes."""
    tb = await rig_with_bus(dut, cut_short=True)
    bus, inner = tb.bus, tb.inside
    far = BusSlave(bus, 0x10000, 4096, delay=(31, 60))
    far.release = (1, 2)
    made = 0
    for _ in range(50):
        master = BusMaster(bus, slack=random.choice((1, 60)))
        offset = 4 * random.randrange(1024)
        ours = random.random() < 0.6
        address = A24_BASE + MAP + offset if ours else 0x10000 + offset
        await master.open(address, 4, 0, Modifier.A24_USER_DATA)
        for _ in range(3):
            await until(bus, lambda: bus.level("dtack") and bus.level("berr"))
            await pause(50)
            bus.drive(master.name, ds0=0, ds1=0)
            await until(bus, lambda: not bus.level("dtack") or not bus.level("berr"))
            assert bus.level("berr")
            await pause(5)
            kept = inner.memory if ours else far.bytes
            made += ours
            following, onward = random.random() < 0.6, 4 * random.randrange(1024)
            bus.set(master.name, "as", 1)
            bus.drive(
                master.name,
                address=(A24_BASE + MAP if following else 0x10000) + onward >> 1,
                am=int(Modifier.A24_SUPER_DATA),
            )
            early = following and random.random() < 0.7
            if early:
                await pause(45)
                bus.set(master.name, "as", 0)
                await pause(between(0, 12 * tb.period))
            read = bus.level("data_high") << 16 | bus.level("data_low")
            assert read == int.from_bytes(kept[offset : offset + 4], "big")
            bus.drive(master.name, ds0=1, ds1=1)
            if not early:
                await pause(45)
                bus.set(master.name, "as", 0)
            offset, ours = onward, following
        bus.set(master.name, "as", 1)
        await master.close()
        await pause(20 * tb.period)
        assert len(inner.accesses) == made


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_lock_is_counted_from_the_first_read(dut):
    """docs/vme.md, read-modify-write: from the first read of a cycle, however many follow, and for 10 us at most;
    the next cycle has a lock of its own, a write ends it, and a cycle that ends does."""
    tb = await rig_with_bus(dut, slow=0.5)
    get, master, lengths = tb.plug.get, BusMaster(tb.bus, slack=1), []

    async def count():
        """Cycles of each lock in which no access waits or is under way."""
        waits = locked = 0
        while True:
            await RisingEdge(dut.clk)
            if get("access__lock"):
                lengths.extend([] if locked else [0])
                lengths[-1] += not waits and not get("access__valid")
            locked = get("access__lock")
            waits = get("access__valid") and get("access__ready") or waits and not get("access__done")

    cocotb.start_soon(count())
    for waits, refused in (
        ((6_000,), False),
        ((6_000, 6_000), True),
        ((3_000, 3_000), False),
        ((9_000, 100), False),
        ((12_000,), True),
        ((2_000,), False),
        ((1_000, 1_500, 1_300, 2_100, 900, 700, 5_000), True),
        ((500, 500, 500, 500, 9_000), True),
    ):
        size = random.choice((1, 1, 2, 4))
        address = A24_BASE + MAP + random.randrange(64) * size
        await master.open(address, size, 0, Modifier.A24_USER_DATA)
        for number, wait in enumerate(waits, 1):
            assert (await master.transfer(address, size)).good
            await pause(wait)
            assert get("access__lock") == (sum(waits[:number]) < 10_000)
        assert (await master.transfer(address, size, True, 7)).berr == refused
        await pause(4 * tb.period)
        assert not get("access__lock")
        assert not refused or lengths[-1] == round(10_000 / tb.period)
        await master.close()
    address = A24_BASE + MAP
    await master.open(address, 4, 0, Modifier.A24_USER_DATA)
    assert (await master.transfer(address, 4)).good and get("access__lock")
    await master.close()
    await pause(6 * tb.period)
    assert not get("access__lock")
    tb.checker.done()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_transfer_that_was_cut_short_may_be_asked_for_again(dut):
    """docs/vme.md, cycles cut short: in the same cycle or in the next, however soon; the answer is that of the last
    one, with its own bytes, and none begins while the strobes are high."""
    tb = await rig_with_bus(dut, cut_short=True)
    bus, memory, wrong = tb.bus, tb.inside.memory, []

    def look(name, old, new):
        if name in ("dtack", "berr") and old and not new and bus.level("ds0") and bus.level("ds1"):
            wrong.append((bus.now(), name))

    bus.watch(look)
    for _ in range(80):
        master = BusMaster(bus, slack=1)
        offset, base, modifier = some_place(4)
        hole = random.random() < 0.3
        base += 0x80000 if hole else 0
        size = random.choice((2, 4, 4))
        write, value = random.random() < 0.4, random.getrandbits(8 * size)
        await master.open(base + MAP + offset, size, write, modifier)
        for _ in range(random.choice((1, 1, 2))):
            answer = await master.transfer(offset, size, write, value, cut_after=between(30, 14 * tb.period))
            if random.random() < 0.3 and not answer:
                await master.close()
                offset = 4 * random.randrange(DATA_BYTES // 4)
                await master.open(base + MAP + offset, size, write, modifier)
        answer = await master.transfer(offset, size, write, value)
        assert answer.berr if hole else answer.good
        await master.close()
        assert hole or (value if write else answer.value) == int.from_bytes(memory[offset : offset + size], "big")
    assert not wrong
    blamed = {violation.rule for violation in tb.checker.violations}
    assert blamed <= {"ANSWER", "READ-SETUP"}, tb.checker.violations


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_block_of_halfwords_may_have_bytes_in_it(dut):
    """docs/vme.md, blocks: a byte in the midst of a block of halfwords, and one strobe of a block of words, are
    taken for what they are, at any pace, read and written."""
    tb = await rig_with_bus(dut)
    inner = tb.inside
    model = bytearray(inner.memory)
    for _ in range(40):
        master = BusMaster(tb.bus, slack=random.choice((0, 60, 300, 1500)))
        inner.slow = random.choice((0, 0.3, 0.8))
        write, base, at = random.random() < 0.5, 256 * random.randrange(DATA_BYTES // 256), 0
        await master.open(A24_BASE + MAP + base, 2, write, Modifier.A24_USER_BLOCK)
        for _ in range(random.randint(3, 12)):
            for size in random.choice(((2,), (2,), (1, 1))):
                value, here = random.getrandbits(8 * size), slice(base + at, base + at + size)
                answer = await master.transfer(at, size, write, value)
                assert answer.good
                if write:
                    model[here] = value.to_bytes(size, "big")
                else:
                    assert answer.value.to_bytes(size, "big") == model[here]
                at += size
        await master.close()
    await pause(20 * tb.period)
    assert inner.memory == model
    for write in (0, 1):
        master = BusMaster(tb.bus, slack=30)
        await master.open(A24_BASE + MAP, 4, write, Modifier.A24_USER_BLOCK)
        for _ in range(3):
            assert (await master.transfer(0, 4, write, 7)).good
        await until(tb.bus, lambda: tb.bus.level("dtack"))
        await pause(50)
        tb.bus.drive(master.name, ds0=0)
        assert await until(tb.bus, lambda: not tb.bus.level("berr"), 60 * tb.period)
        tb.bus.drive(master.name, ds0=1, data_low=None, data_high=None)
        await master.close()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_first_transfer_of_a_cycle_is_looked_at_for_as_long_as_it_must_be(dut):
    """Timing of VmeSlave: an access of a cycle's first transfer is asked for when its strobes have been seen and
    looked at, after as many clock edges each time."""
    tb = await rig_with_bus(dut)
    bus, fell, counts = tb.bus, [0], []
    bus.watch(lambda name, old, new: fell.__setitem__(0, 0) if name in ("ds0", "ds1") and old and not new else None)

    async def clock():
        before = 0
        while True:
            await RisingEdge(dut.clk)
            valid = tb.plug.get("access__valid")
            if valid and not before:
                counts.append(fell[0])
            before = valid
            fell[0] += 1

    cocotb.start_soon(clock())
    for _ in range(30):
        offset, base, modifier = some_place(1)
        master = BusMaster(bus, slack=100)
        assert (
            await (
                master.write(base + MAP + offset, 1, 1, modifier)
                if random.random() < 0.5
                else master.read(base + MAP + offset, 1, modifier)
            )
        ).good
    assert len(counts) == 30 and set(counts) == {8 if tb.period == 62.5 else 11}, set(counts)
    tb.checker.done()
