"""Bench of hdl/cab/vme/requester.py: the bus changes hands."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.registers import VME_REG
from nectar.hdl.cab.vme.requester import Requester
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import entry, look, set_window
from nectar.verification.cab.vme.backplane import point
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.testbench import VmeTestbench, configurations
from nectar.verification.cab.vme.waiting import between, pause, until

BASE = 0x400000


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def three_masters_share_the_bus(dut):
    """ANSI/IEEE 1014 chapter 3: at every level, beside others at the same or another level before and behind it in the
    chain, each gets the bus; nobody drives a line that is another's."""
    for level in random.sample(range(4), 4):
        tb = await VmeTestbench(dut, inside(), level=level).start()
        for board in (tb.node, tb.other):
            board.level = random.choice((level, random.randrange(4)))
        slave = BusSlave(tb.bus, BASE, 3 * 64)
        await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
        finished = []

        async def work(board, place, tb=tb, finished=finished):
            master = BusMaster(tb.bus, board.name)
            for number in range(8):
                await pause(between(0, 1500))
                await board.get_bus()
                for _ in range(random.randint(1, 3)):
                    assert (await master.write(BASE + place + 4 * number, number + place)).good
                await board.give_bus()
            finished.append(place)

        tasks = [cocotb.start_soon(work(tb.node, 64)), cocotb.start_soon(work(tb.other, 128))]
        for number in range(16):
            await pause(between(0, 1000))
            assert await look(tb.plug, BASE + 4 * number, 15, number) == 0
        for task in tasks:
            await task
        assert sorted(finished) == [64, 128]
        words = [int.from_bytes(slave.bytes[4 * n : 4 * n + 4], "big") for n in range(48)]
        assert words[:16] == list(range(16))
        assert words[16:24] == [64 + n for n in range(8)] and words[32:40] == [128 + n for n in range(8)]
        tb.checker.done("BUSY-LOW", "BUSY-GRANT", "BUSY-FREE", "CHAIN", "OWNER")
        tb.plug.unplug()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_bus_is_kept_until_somebody_wants_it(dut):
    """ANSI/IEEE 1014 chapter 3, release on request: one grant for many transfers; BBSY* is let go when a request, or
    BCLR*, is seen."""
    tb = await VmeTestbench(dut, inside()).start()
    BusSlave(tb.bus, BASE, 64)
    await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
    for _ in range(10):
        assert await look(tb.plug, BASE) is not None
    assert len(tb.arbiter.grants) == 1 and not tb.bus.level("bbsy")
    await tb.other.get_bus()
    await tb.other.give_bus()
    assert len(tb.arbiter.grants) == 2
    assert await look(tb.plug, BASE) is not None
    assert len(tb.arbiter.grants) == 3
    for _ in range(12):
        await pause(between(400, 400 + tb.period))
        assert not tb.bus.level("bbsy")
        began = tb.bus.now()
        tb.bus.set("somebody", "br2", 0)
        assert await until(tb.bus, lambda: tb.bus.level("bbsy"), 3 * tb.period), (
            "given up in the cycle behind the one in which the request is seen"
        )
        assert tb.bus.now() - began >= tb.period
        tb.bus.set("somebody", "br2", 1)
        assert await look(tb.plug, BASE) is not None
    tb.bus.set("arbiter", "bclr", 0)
    await pause(25 * tb.period)
    assert tb.bus.level("bbsy")
    tb.checker.done()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_grant_for_others_goes_on_in_time_and_once(dut):
    """docs/vme.md, requester: at its level within 4 cycles, at another one straight through. The next grant may come
    70 ns after the one before has ended (30 ns of BBSY*, 40 ns of the arbiter), at the same level or another one: it
    goes on once, too, and as ever not before it has been seen."""
    for level in range(4):
        tb = await VmeTestbench(dut, inside(), level=level).start()
        changes = []
        tb.bus.watch(
            lambda name, old, new, tb=tb, changes=changes: (
                changes.append((name, new, tb.bus.now())) if "bg" in name and old != new else None
            )
        )
        for line in random.choices((level, level, level, *range(4)), k=24):
            changes.clear()
            tb.bus.set("arbiter", point(f"bg{line}", 0), 0)
            if random.random() < 0.7:  # somebody takes it as soon as it comes
                await until(tb.bus, lambda tb=tb, line=line: not tb.bus.level(point(f"bg{line}", 2)), 6 * tb.period)
                await pause(between(20, 130))
            else:
                await pause(between(6, 8) * tb.period)
            tb.bus.set("arbiter", point(f"bg{line}", 0), 1)
            await pause(70)
            came = [time for name, new, time in changes if name == point(f"bg{line}", 1)]
            went = [(name, time) for name, new, time in changes if name.endswith("@2")]
            assert len(came) == 2 and [name for name, _ in went] == 2 * [point(f"bg{line}", 2)], changes
            assert went[0][1] - came[0] <= (4 * tb.period if line == level else 1) and went[1][1] - came[1] <= 1
            assert went[0][1] - came[0] >= tb.period or line != level
            if random.random() < 0.5:  # Requester, timing: in 3 cycles behind a pause
                await pause(between(2, 6) * tb.period)
                bus = tb.bus
                bus.set("arbiter", point(f"bg{level}", 0), 0)
                assert await until(
                    bus, lambda bus=bus, level=level: not bus.level(point(f"bg{level}", 2)), 3 * tb.period + 16
                )
                await pause(between(20, 130))
                bus.set("arbiter", point(f"bg{level}", 0), 1)
                await pause(70)
        assert tb.bus.level("bbsy") and all(tb.bus.level(f"br{n}") for n in range(4))
        tb.checker.done("CHAIN")
        tb.plug.unplug()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_request_at_any_level_gets_the_bus_behind_the_cycle_under_way(dut):
    """docs/vme.md, requester: asks at the level of its switch only; another BR*, whichever, or BCLR* makes it let
    go, between cycles only, and then at once."""
    for level, wish in ((level, wish) for level in range(4) for wish in ("br0", "br1", "br2", "br3", "bclr")):
        tb = await VmeTestbench(dut, inside(), level=level).start()
        slave = BusSlave(tb.bus, BASE, 64, delay=(40 * tb.period, 40 * tb.period))
        slave.release = (1, 2)
        await set_window(tb.inside, BASE, Modifier.A24_USER_DATA)
        asked = set()
        tb.bus.watch(
            lambda name, old, new, tb=tb, asked=asked: (
                asked.add(name) if name.startswith("br") and "cab" in tb.bus.drivers[name] else None
            )
        )
        assert await look(tb.plug, BASE) is not None
        await pause(10 * tb.period)
        assert asked == {f"br{level}"} and not tb.bus.level("bbsy")
        task = cocotb.start_soon(look(tb.plug, BASE + 4))
        await until(tb.bus, lambda tb=tb: not tb.bus.level("ds0"))
        tb.bus.set("somebody", wish, 0)
        await pause(20 * tb.period)
        assert not tb.bus.level("bbsy") and not tb.bus.level("as")
        assert await task is not None and len(slave.cycles) == 2
        assert await until(tb.bus, lambda tb=tb: tb.bus.level("bbsy"), 10 * tb.period) and tb.bus.level("as")
        tb.checker.done("BUSY-LOW", "BUSY-GRANT")
        tb.plug.unplug()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def only_its_own_grant_is_taken_and_given_back_when_nobody_needs_it(dut):
    """docs/vme.md, requester: a grant that had gone on when the wish came stays with others; while it asks, grants at
    other levels go straight through, whatever BR* and BCLR* are. A grant that comes when the wish is gone is taken, not
    given on, and the bus let go as soon as 90 ns and the grant are over."""
    for level in random.choices(range(4), k=4) + list(range(4)):
        tb = await VmeTestbench(dut, inside(), level=level).start()
        tb.arbiter.levels = ()
        bus, mine = tb.bus, point(f"bg{level}", 1)
        falls = {}
        bus.watch(
            lambda name, old, new, falls=falls, bus=bus: (
                falls.setdefault((name, new), bus.now()) if old != new else None
            )
        )
        bus.set("arbiter", point(f"bg{level}", 0), 0)
        await pause(between(3, 8) * tb.period)
        assert await entry(tb.inside, 0, 0x100000, BASE, 4, Modifier.A24_USER_DATA)
        await pause(between(0, 12) * tb.period)
        assert not bus.level(point(f"bg{level}", 2)) and bus.level(f"br{level}")
        bus.set("arbiter", point(f"bg{level}", 0), 1)
        assert await until(bus, lambda: not bus.level(f"br{level}"), 12 * tb.period)
        for line in range(4):
            bus.drive("somebody", bclr=line & 1, **{f"br{(level + 1 + line) % 4}": 0})
            if line != level:
                bus.set("arbiter", point(f"bg{line}", 0), 0)
                await pause(between(3, 5) * tb.period)
                assert not bus.level(point(f"bg{line}", 2))
                bus.set("arbiter", point(f"bg{line}", 0), 1)
                await pause(between(3, 5) * tb.period)
            assert (
                bus.level("bbsy")
                and not bus.level(f"br{level}")
                and all(bus.level(point(f"bg{n}", 2)) for n in range(4))
            )
        bus.drive("somebody", bclr=1, **dict.fromkeys((f"br{n}" for n in range(4)), 1))
        other = (level + random.randrange(1, 4)) % 4
        bus.set("somebody", f"br{other}", 0)
        assert await tb.inside.write("vd_control", 1)
        await pause(6 * tb.period)
        assert not bus.level(f"br{level}"), "a request stays until the grant"
        falls.clear()
        bus.set("arbiter", point(f"bg{level}", 0), 0)
        assert await until(bus, lambda: not bus.level("bbsy"), 20 + 4 * tb.period)
        await pause(random.choice((1, between(0, 12) * tb.period)))
        assert not VME_REG["VD_STATUS"].owner.get(tb.plug.get("vd_status__value")), (
            "the bus is ours when the grant is over"
        )
        bus.set("arbiter", point(f"bg{level}", 0), 1)
        assert await until(bus, lambda: bus.level("bbsy"), 120 + 8 * tb.period)
        assert falls["bbsy", 0] - falls[mine, 0] <= 3 * tb.period
        assert falls["bbsy", 1] <= max(falls["bbsy", 0] + 90, falls[mine, 1] + 2 * tb.period) + 3 * tb.period
        assert falls["bbsy", 1] - falls[f"br{level}", 1] >= 30 and (point(f"bg{level}", 2), 0) not in falls
        assert (f"br{level}", 0) not in falls, "it asks once"
        tb.checker.done("BUSY-LOW", "BUSY-GRANT")
        tb.plug.unplug()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_lets_go_of_the_bus_at_once(dut):
    """docs/vme.md, reset of the board: a request, and BBSY*, end with the next clock edge, while nobody has answered,
    while the grant is there, or behind it. A grant that is still there, or comes then, goes on; the bus is asked for
    anew when somebody needs it."""
    for level, stage in ((level, stage) for level in range(4) for stage in ("asked", "granted", "owned")):
        tb = await VmeTestbench(dut, inside(), level=level).start()
        tb.arbiter.levels = ()
        bus, plug, grant, onward = tb.bus, tb.plug, point(f"bg{level}", 0), point(f"bg{level}", 2)
        assert await entry(tb.inside, 0, 0x100000, BASE, 4, Modifier.A24_USER_DATA)
        assert await until(bus, lambda: not bus.level(f"br{level}"), 12 * tb.period)
        if stage != "asked":
            bus.set("arbiter", grant, 0)
            assert await until(bus, lambda: not bus.level("bbsy"), 20 + 4 * tb.period)
            await pause(between(0, 3) * tb.period)
        if stage == "owned":
            bus.set("arbiter", grant, 1)
            assert await until(bus, lambda: not bus.level("as"), 100 + 12 * tb.period)
        plug.put(rst=1)
        await pause(1.01 * tb.period)
        assert bus.level("bbsy") and all(bus.level(f"br{n}") for n in range(4)) and bus.level("as")
        await pause(between(0, 2) * tb.period)
        plug.put(rst=0)
        await pause(between(2, 3) * tb.period)
        if stage != "granted":
            bus.set("arbiter", grant, 0)
        assert await until(bus, lambda: not bus.level(onward), 20 + 4 * tb.period)
        await pause(between(4, 8) * tb.period)
        bus.set("arbiter", grant, 1)
        await pause(between(4, 8) * tb.period)
        assert bus.level("bbsy") and all(bus.level(f"br{n}") for n in range(4)) and bus.level(onward)
        assert not VME_REG["VD_STATUS"].owner.get(plug.get("vd_status__value"))
        assert await entry(tb.inside, 0, 0x100000, BASE, 4, Modifier.A24_USER_DATA)
        assert await until(bus, lambda: not bus.level(f"br{level}"), 12 * tb.period)
        plug.unplug()


bench = Bench(__name__, configurations(), ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("80 MHz",)))
def test_requester(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_a_clock_that_cannot_keep_the_times_is_refused():
    """docs/vme.md, the clock."""
    with pytest.raises(ValueError, match="period_ps must be from 10000 to 75000, not 80000"):
        Requester(80_000)
