"""Bench of hdl/cab/vme/requester.py: the bus changes hands."""

import random

import cocotb
import pytest

from nectar.hdl.cab.vme.numbers import Modifier
from nectar.hdl.cab.vme.requester import Requester
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.vme.asking import look, set_window
from nectar.verification.cab.vme.boards import BusMaster, BusSlave
from nectar.verification.cab.vme.rig import Rig, configurations
from nectar.verification.cab.vme.waiting import between, pause

BASE = 0x400000


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def three_masters_share_the_bus(dut):
    """ANSI/IEEE 1014 chapter 3: at every level, beside others at the same or another level before and behind it in the
    chain, each gets the bus; nobody drives a line that is another's."""
    for level in random.sample(range(4), 4):
        rig = await Rig(dut, inside(), level=level).start()
        for board in (rig.node, rig.other):
            board.level = random.choice((level, random.randrange(4)))
        slave = BusSlave(rig.bus, BASE, 3 * 64)
        await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
        finished = []

        async def work(board, place, rig=rig, finished=finished):
            master = BusMaster(rig.bus, board.name)
            for number in range(8):
                await pause(between(0, 1500))
                await board.get_bus()
                for _ in range(random.randint(1, 3)):
                    assert (await master.write(BASE + place + 4 * number, number + place)).good
                await board.give_bus()
            finished.append(place)

        tasks = [cocotb.start_soon(work(rig.node, 64)), cocotb.start_soon(work(rig.other, 128))]
        for number in range(16):
            await pause(between(0, 1000))
            assert await look(rig.plug, BASE + 4 * number, 15, number) == 0
        for task in tasks:
            await task
        assert sorted(finished) == [64, 128]
        words = [int.from_bytes(slave.bytes[4 * n:4 * n + 4], "big") for n in range(48)]
        assert words[:16] == list(range(16))
        assert words[16:24] == [64 + n for n in range(8)] and words[32:40] == [128 + n for n in range(8)]
        rig.checker.done("BUSY-LOW", "BUSY-GRANT", "BUSY-FREE", "CHAIN", "OWNER")
        rig.plug.unplug()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_bus_is_kept_until_somebody_wants_it(dut):
    """ANSI/IEEE 1014 chapter 3, release on request: one grant for many transfers; BBSY* is let go when a request, or
    BCLR*, is seen."""
    rig = await Rig(dut, inside()).start()
    BusSlave(rig.bus, BASE, 64)
    await set_window(rig.inside, BASE, Modifier.A24_USER_DATA)
    for _ in range(10):
        assert await look(rig.plug, BASE) is not None
    assert len(rig.arbiter.grants) == 1 and not rig.bus.level("bbsy")
    await rig.other.get_bus()
    await rig.other.give_bus()
    assert len(rig.arbiter.grants) == 2
    assert await look(rig.plug, BASE) is not None
    assert len(rig.arbiter.grants) == 3
    rig.bus.set("arbiter", "bclr", 0)
    await pause(25 * rig.period)
    assert rig.bus.level("bbsy")
    rig.checker.done()


bench = Bench(__name__, configurations(), ports_only=True, share="vme")


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_requester(configuration, claim):
    """Each claim at each clock."""
    bench.check(configuration, claim)


def test_a_clock_that_cannot_keep_the_times_is_refused():
    """docs/vme.md, the clock."""
    with pytest.raises(ValueError, match="period_ps must be from 10000 to 75000, not 80000"):
        Requester(80_000)
