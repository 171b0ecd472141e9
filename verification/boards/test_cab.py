"""Bench of boards/cab.py: symbols go between the CAB and the fiber while the CAB's time stands still and while it
does not."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from nectar.boards.cab import CabTop
from nectar.boards.fiber import Fiber
from nectar.boards.interface import BoardInterface
from nectar.hdl.cab.addresses import REG
from nectar.hdl.host.numbers import Request
from nectar.hdl.link.port import FiberPort
from nectar.hdl.link.symbol import Control
from nectar.software.door import Operation, OperationKind
from nectar.verification.bench import Bench
from nectar.verification.harness import FiberMonitor, FiberSource
from nectar.verification.host.session import Session

#: A bit of the cable has four cycles.
GIVEN, BAUD = BoardInterface(clock_hz=20_000_000, one_clock=True), 5_000_000
DIRECT = 1 << 8
VALID = 1 << 31
#: The last of a list of operations has to give a value.
NOW = Operation(OperationKind.NOW)


class WithFarEnds(wiring.Component):
    """The top, the far end of its fiber, and the cable's pins by the names that a Session wants."""

    rx: In(1)
    tx: Out(1)
    far: In(FiberPort())
    leds: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.top = top = CabTop(GIVEN, data_bytes=4096, baud=BAUD)
        m.submodules.far = far = Fiber(GIVEN)
        connect(m, flipped(self.far), far.port)
        m.d.comb += [
            top.uart.rx.eq(self.rx),
            self.tx.eq(top.uart.tx),
            self.leds.eq(top.leds),
            top.line_0.rx.eq(far.pins.tx),
            far.pins.rx.eq(top.line_0.tx),
        ]
        return m


def read(name):
    """An operation that reads a register."""
    return Operation(OperationKind.READ, REG[name].address, 4)


def write(name, value):
    """One that writes it."""
    return Operation(OperationKind.WRITE, REG[name].address, 4, value)


async def connected(dut):
    """(source and monitor at the far end, session, what the board says of itself) once the cable is in use and the
    fiber's light is on."""
    session = Session(dut, 4)
    clock = session.clock
    source, monitor = clock.attach(FiberSource(clock, "far__tx")), clock.attach(FiberMonitor(clock, "far__rx"))
    await session.start()
    identity = await session.ask(Request.IDENTIFY)
    await session.ask(Request.RESET)
    for _ in range(12_000):
        if int(dut.leds.value) >> 1 & 1:
            return source, monitor, session, identity
        await session.cycle()
    raise AssertionError("the fiber has no light")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_arrives_while_time_stands_still_is_kept(dut):
    """docs/boards.md, "cab": 700 symbols arrive between two requests; the CAB takes them afterwards, in order, none
    lost."""
    source, _, session, (shape, _, _, symbol_ps) = await connected(dut)
    assert (shape, symbol_ps) == (1 << 24, 10 * 10**12 // GIVEN.baud), (
        "one CAB, a HUB of no ports; a symbol has ten bits"
    )
    await session.do({0: [write("RX_MODE", DIRECT), NOW]})
    sent = [random.choice([random.randrange(256), Control.START, Control.END, Control.READY]) for _ in range(700)]
    sent = [symbol if symbol != Control.READY else 0 for symbol in sent]
    source.send(sent)
    for _ in range(20 * len(sent) + 2000):
        await session.cycle()
    assert source.idle
    await session.do({0: [Operation(OperationKind.SPEND, 0, 0, 3000), NOW]})
    found = []
    for _ in range(len(sent)):
        value = (await session.do({0: [read("RX_QUEUE")]}))[0]
        if not value & VALID:
            break
        found.append(value & 0x1FF)
    assert found == sent and not int(dut.leds.value) >> 2 & 1


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_has_arrived_for_another_program_is_gone_after_a_reset(dut):
    """docs/cable.md, "Boards with one CAB": the queue is emptied with the CAB."""
    source, _, session, _ = await connected(dut)
    source.send(random.randrange(256) for _ in range(50))
    while not source.idle:
        await session.cycle()
    for _ in range(200):
        await session.cycle()
    await session.ask(Request.RESET)
    await session.do({0: [write("RX_MODE", DIRECT), Operation(OperationKind.SPEND, 0, 0, 500), NOW]})
    assert not (await session.do({0: [read("RX_QUEUE")]}))[0] & VALID


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_the_cab_sends_leaves_once_and_in_order(dut):
    """The fiber takes each symbol once, though the CAB's clock may stand still in the middle."""
    _, monitor, session, _ = await connected(dut)
    sent = [random.randrange(256) for _ in range(24)]
    for symbol in sent:
        await session.do(
            {0: [write("TX_SYMBOL", symbol), Operation(OperationKind.SPEND, 0, 0, random.randrange(1, 60)), NOW]}
        )
        for _ in range(random.randrange(100)):
            await session.cycle()
    await session.do({0: [Operation(OperationKind.SPEND, 0, 0, 2000), NOW]})
    assert monitor.items == sent


bench = Bench(__name__, {"serial": WithFarEnds}, ports_only=True)


@pytest.mark.nightly
@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_cab(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"phy": "radio"}, "there is no fiber 'radio'"),
        ({"data_bytes": 5000}, "data_bytes must be a power of two"),
        ({"baud": 60_000_000}, "makes no serial line of 60000000 baud"),
    ],
)
def test_parameters_that_there_are_not_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        CabTop(**parameters)
