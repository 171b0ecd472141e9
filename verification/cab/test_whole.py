"""The whole board with everything busy at once: CPU, both fibers at the link's rate, VME both ways, a host."""

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from nectar.hdl.cab.addresses import REGIONS
from nectar.verification.bench import Bench, inside
from nectar.verification.cab.broken_traffic import BrokenTraffic
from nectar.verification.cab.driver import Access
from nectar.verification.cab.kinds import BOARDS, VERILOG
from nectar.verification.cab.rates import PERIOD_PS, all_at_once, protection_latency
from nectar.verification.cab.whole import Whole
from nectar.verification.cab.whole_model import WholeModel

BOARD = BOARDS["with VME"]

#: Cycles of random traffic, and of a round of it, by configuration.
AMOUNTS = {"everyday": (12_000, 4_000), "nightly": (1_050_000, 30_000)}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_user_of_the_data_memory_has_its_rate_while_all_are_busy(dut):
    """C1, C2, C3: no symbol time of a fiber is lost in either direction (12.5 Mbyte/s each), VME has 10 Mbyte/s, no
    cycle of the memory is left unused (66 Mbyte/s), and the CPU, which asks in every cycle, waits for a frame at
    most with each access, and as long for the one before it: 3 + 3 + 4 cycles."""
    whole = await Whole(dut, PERIOD_PS).start()
    rates = await all_at_once(whole, BOARD["data_bytes"], 16_000)
    dut._log.info(f"{rates}, {rates.total:.2f} Mbyte/s in all")
    assert rates.unused == 0 and rates.backlog < 40
    assert rates.fiber_out == pytest.approx(12.5) and rates.fiber_in > 12.45 and rates.vme >= 10
    on, off = await protection_latency(whole.board, BOARD["data_bytes"])
    assert on == off and min(on) == 3, "C4: protection takes no time"
    assert rates.total > 65.5 and rates.share > 0.45 and rates.longest <= 10


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_is_asked_in_the_middle_of_a_cycle_is_done(dut):
    """Of the bench itself: those who wait for lines of VME do not go by the board's clock, and no access of theirs
    is lost."""
    whole = await Whole(dut, PERIOD_PS).start()
    for quarter in range(8):
        await RisingEdge(dut.clk)
        await Timer(quarter * PERIOD_PS // 8 + 1, unit="ps")
        words = [Access(REGIONS["data"].base + 4 * n, 1000 * quarter + n) for n in range(3)]
        await whole.board.block(words)
        for word in words:
            assert await whole.board.read(word.address) == word.value


@cocotb.test(timeout_time=400, timeout_unit="ms")
async def whatever_they_all_do_at_once_the_board_does_what_the_model_does(dut):
    """docs/cab.md and docs/vme.md as a whole: fibers, VME both ways as master and as slave, its window and
    interrupts, a host, the CPU in a user's domain, timers, all at random and all at once; refused accesses among
    them, and resets of the board in the middle of it."""
    whole = await Whole(dut, PERIOD_PS, delay=(31, 120)).start()
    traffic = BrokenTraffic(whole, WholeModel(whole.slave.bytes, **BOARD, period_ps=PERIOD_PS))
    await traffic.open_up()
    amount, each = AMOUNTS[inside()]
    begin = whole.board.cycles
    rare = True  # whether some kind of traffic has been there less than once in 5000 cycles
    while whole.board.cycles - begin < (2 * amount if rare else amount):
        await traffic.round(each)
        rare = min(traffic.counts[name] for name in traffic.counts if name != "break_off") <= amount // 5000
        await traffic.break_off(each // 8)
    dut._log.info(f"{whole.board.cycles - begin} cycles: {traffic.counts}")
    assert traffic.counts.pop("break_off") > amount // (8 * each)
    assert all(count > amount // 5000 for count in traffic.counts.values()) and len(traffic.counts) == 8


bench = Bench(__name__, dict.fromkeys(AMOUNTS, VERILOG["with VME"]), ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim",
    bench.cases(nightly=("nightly", "every_user_of_the_data_memory_has_its_rate_while_all_are_busy")),
)
def test_whole(configuration, claim, record_property):
    """Each claim."""
    bench.check(configuration, claim)
    if claim == whatever_they_all_do_at_once_the_board_does_what_the_model_does.name:
        record_property("cycles", AMOUNTS[configuration][0])
