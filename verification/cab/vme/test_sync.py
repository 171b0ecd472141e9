"""Bench of hdl/cab/vme/sync.py: lines that change at any time."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from nectar.hdl.cab.vme.sync import EdgeWatch, StrobeWatch, Synchroniser
from nectar.verification.bench import Bench

PERIOD = 62_500


class _Parts(wiring.Component):
    """The three parts side by side.

    Members
    -------
    lines_n, value : as in ``Synchroniser``
    as_n, set, now, seen : as in ``StrobeWatch``
    turn : as in ``EdgeWatch``, of ``as_n``

    Timing
    ------
    As theirs.
    """

    lines_n: In(4, init=15)
    value: Out(4)
    as_n: In(1, init=1)
    set: In(1)
    now: Out(1)
    seen: Out(1)
    turn: Out(1)

    def elaborate(self, platform):
        """Nothing but wires."""
        m = Module()
        m.submodules.synchroniser = synchroniser = Synchroniser(4)
        m.submodules.strobe = strobe = StrobeWatch()
        m.submodules.edge = edge = EdgeWatch()
        m.d.comb += [
            synchroniser.lines_n.eq(self.lines_n),
            self.value.eq(synchroniser.value),
            strobe.as_n.eq(self.as_n),
            strobe.set.eq(self.set),
            self.now.eq(strobe.now),
            self.seen.eq(strobe.seen),
            edge.asserted.eq(~self.as_n),
            self.turn.eq(edge.turn),
        ]
        return m


async def start(dut):
    dut.lines_n.value, dut.as_n.value, dut.set.value, dut.rst.value = 15, 1, 0, 1
    cocotb.start_soon(Clock(dut.clk, PERIOD, unit="ps").start())
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_change_is_seen_at_the_second_edge_after_it(dut):
    """docs/vme.md, the clock: two flip-flops; what is asserted when low becomes a 1."""
    await start(dut)
    history = []  # lines at each edge
    for _ in range(500):
        await Timer(random.randrange(1, PERIOD - 1), "ps")
        dut.lines_n.value = random.getrandbits(4)
        await RisingEdge(dut.clk)
        history.append(int(dut.lines_n.value))
        await Timer(1, "ps")
        if len(history) > 2:
            assert int(dut.value.value) == history[-2] ^ 15


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_holds_ends_with_the_strobe_however_short(dut):
    """docs/vme.md, the clock: AS* may be high for 30 ns only, less than a cycle, anywhere in it."""
    await start(dut)
    for _ in range(200):
        await Timer(random.randrange(1, PERIOD), "ps")
        dut.as_n.value = 0
        await RisingEdge(dut.clk)
        dut.set.value = 1
        await RisingEdge(dut.clk)
        dut.set.value = 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        assert dut.now.value == 1 and dut.seen.value == 1
        turn = int(dut.turn.value)
        await Timer(random.randrange(1, PERIOD), "ps")
        dut.as_n.value = 1
        await Timer(1, "ps")
        assert dut.now.value == 0
        await Timer(30_000, "ps")
        dut.as_n.value = 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        assert dut.now.value == 0 and dut.seen.value == 0
        assert int(dut.turn.value) == 1 - turn
        dut.as_n.value = 1
        await Timer(100_000, "ps")
        dut.set.value = 1
        for _ in range(2):
            await RisingEdge(dut.clk)
        dut.set.value = 0
        await Timer(1, "ps")
        assert dut.now.value == 0, "nothing is remembered while AS* is high"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_holds_is_seen_at_the_second_edge_after_it_and_stays(dut):
    """docs/vme.md, the clock: from the edge that set it on something holds until AS* rises, in every cycle; the
    board sees both two edges later, neither before nor in the midst of a cycle."""
    await start(dut)
    low = holds = False
    history = [False, False]  # what held at each edge
    for _ in range(800):
        seen, wish = history[-2], random.random() < 0.3
        dut.set.value = wish
        at = random.randrange(2, PERIOD - 2)
        await Timer(at, "ps")
        assert dut.now.value == holds and dut.seen.value == seen
        if random.random() < (0.15 if low else 0.5):
            low = not low
            dut.as_n.value = not low
            holds = holds and low
        await Timer(PERIOD - at - 1, "ps")
        assert dut.now.value == holds and dut.seen.value == seen
        history.append(holds)
        await RisingEdge(dut.clk)
        holds = holds or (wish and low)


bench = Bench(__name__, {"parts": _Parts}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_sync(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
