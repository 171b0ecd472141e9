"""Bench of boards/hub.py and boards/fiber.py: packets from fiber to fiber through a HUB on a board, with each kind
of fiber."""

import random

import cocotb
import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import FallingEdge

from nectar.boards.fiber import Fiber
from nectar.boards.hub import HubTop
from nectar.boards.interface import BoardInterface
from nectar.hdl.hub.commands import Op
from nectar.hdl.link.port import FiberPort
from nectar.hdl.link.symbol import ANY_HUB, Control, command, packet
from nectar.verification.bench import Bench
from nectar.verification.harness import begin, start_clock

HUB, PORTS = 9, 2


class WithFarEnds(wiring.Component):
    """A HUB as a top, and the far end of each of its fibers; with two clocks, ``line_clk`` is that of the lines."""

    def __init__(self, interface, phy):
        self.interface = interface
        self.phy = phy
        super().__init__(
            {
                "line_clk": In(1),
                "leds": Out(interface.leds),
                **{f"far_{n}": In(FiberPort()) for n in range(PORTS)},
                "far_up": Out(PORTS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if not self.interface.one_clock:
            m.domains.line = ClockDomain()
            m.d.comb += [ClockSignal("line").eq(self.line_clk), ResetSignal("line").eq(ResetSignal())]
        m.submodules.top = top = HubTop(self.interface, ports=PORTS, phy=self.phy, hub_id=HUB)
        m.d.comb += self.leds.eq(top.leds)
        for n in range(PORTS):
            m.submodules[f"far_{n}"] = far = Fiber(self.interface, self.phy)
            connect(m, flipped(getattr(self, f"far_{n}")), far.port)
            m.d.comb += self.far_up[n].eq(far.up)
            near = getattr(top, f"line_{n}" if self.phy == "serial" else f"wires_{n}")
            for one, other in (near, far.pins), (far.pins, near):
                for name in ("",) if self.phy == "serial" else ("_data", "_strobe"):
                    m.d.comb += getattr(one, f"rx{name}").eq(getattr(other, f"tx{name}"))
        return m


class Ends:
    """The far ends: what each has to send, what each has got but hellos; each ``start`` is answered."""

    def __init__(self, dut):
        self.dut = dut
        self.out = [[] for _ in range(PORTS)]
        self.got = [[] for _ in range(PORTS)]

    async def begin(self):
        """Clocks and reset."""
        dut = self.dut
        start_clock(dut.line_clk, 14_000)
        quiet = {f"far_{n}__tx__{pin}": 0 for n in range(PORTS) for pin in ("valid", "payload")}
        await begin(dut, period_ps=20_000, cycles=5, **quiet)

    async def cycle(self):
        """One cycle of ``sync``."""
        dut = self.dut
        for n in range(PORTS):
            if getattr(dut, f"far_{n}__tx__valid").value and getattr(dut, f"far_{n}__tx__ready").value:
                self.out[n].pop(0)
            if getattr(dut, f"far_{n}__rx__valid").value:
                symbol = int(getattr(dut, f"far_{n}__rx__payload").value)
                self.got[n].append(symbol)
                if symbol == Control.START:
                    self.out[n].insert(
                        min(1, len(self.out[n])), int(Control.READY)
                    )  # not in the place of one that is offered
        await FallingEdge(dut.clk)

    async def run(self, until, limit):
        """Cycles until ``until()``."""
        for _ in range(limit):
            if until():
                return
            for n in range(PORTS):
                getattr(self.dut, f"far_{n}__tx__valid").value = bool(self.out[n])
                getattr(self.dut, f"far_{n}__tx__payload").value = self.out[n][0] if self.out[n] else 0
            await cocotb.triggers.ReadOnly()
            await self.cycle()
        raise AssertionError(f"not within {limit} cycles: {[len(out) for out in self.out]} to send, got {self.got}")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def fibers_come_up_and_packets_go_from_each_to_each(dut):
    """docs/boards.md: a HUB whose ports are fibers; light N + 1 shows that port N hears its neighbour, light 0 that
    something is under way."""
    ends = Ends(dut)
    await ends.begin()
    assert int(dut.leds.value) >> 1 == 0
    whole = (1 << PORTS) - 1
    await ends.run(lambda: int(dut.leds.value) >> 1 == whole and int(dut.far_up.value) == whole, 8000)
    for source in range(PORTS):
        for target in range(PORTS):
            if target != source:
                data = packet(random.randbytes(random.randint(1, 40))) + command(Op.CLOSE_ALL, ANY_HUB, 0)
                ends.got[target].clear()
                ends.got[source].clear()
                ends.out[source] += command(Op.OPEN_RETRY_REPLY, HUB, target) + data
                await ends.run(lambda target=target, data=data: len(ends.got[target]) >= len(data), 20_000)
                await ends.run(lambda source=source: len(ends.got[source]) >= 5, 4000)
                assert ends.got[target] == data
                assert sorted(ends.got[source]) == sorted(
                    [Control.REPLY, Op.OPEN_RETRY_REPLY, HUB, target, Control.READY]
                )
    assert int(dut.leds.value) & 1


bench = Bench(
    __name__,
    {
        "serial, one clock": lambda: WithFarEnds(BoardInterface(one_clock=True), "serial"),
        "serial, two clocks, four samples": lambda: WithFarEnds(BoardInterface(samples=4, leds=5), "serial"),
        "parallel": lambda: WithFarEnds(BoardInterface(one_clock=True), "parallel"),
    },
    ports_only=True,
)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_hub(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"ports": 1}, "a HUB has 2 to 128 ports, not 1"),
        ({"profile": "fast"}, "a HUB has no profile 'fast'; there are prototype, modern"),
        ({"phy": "radio"}, "there is no fiber 'radio'; there are serial and parallel"),
        ({"hub_id": 255}, "the ID of a HUB is 0 to 254, not 255"),
        ({"hub_id": -1}, "the ID of a HUB is 0 to 254, not -1"),
    ],
)
def test_parameters_that_there_are_not_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        HubTop(**parameters)


def test_an_id_is_an_integer():
    with pytest.raises(TypeError, match="the ID of a HUB must be an integer, not 'one'"):
        HubTop(hub_id="one")
