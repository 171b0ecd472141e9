"""Bench of hdl/host/uart_receiver.py: a line with bytes of any rate that it must understand, and with others."""

import random

import cocotb
import pytest

from nectar.hdl.host.uart_receiver import UartReceiver
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import StepClock


class Listener:
    """Moves the clock along a line and notes what the receiver says."""

    def __init__(self, dut):
        self.clock = StepClock(dut)
        self.bit = int(inside().split()[0])
        self.bytes = []
        self.wrong = 0

    async def start(self):
        await self.clock.start("rx")
        await self.line(1, 40)
        self.bytes, self.wrong = [], 0

    async def line(self, level, cycles):
        """The line shows ``level`` for so many cycles."""
        self.clock.drive(rx=level)
        for _ in range(cycles):
            await self.clock.settle()
            if self.clock.pin("valid"):
                self.bytes.append(self.clock.pin("data"))
            self.wrong += self.clock.pin("wrong")
            await self.clock.edge()

    async def send(self, bits, rate=1.0):
        """Bits on the line, each ``rate`` times as long as it should be."""
        time = 0.0
        for bit in bits:
            begin, time = time, time + self.bit * rate
            await self.line(bit, round(time) - round(begin))


def form(byte):
    """Start bit, data, stop bit."""
    return [0, *(byte >> n & 1 for n in range(8)), 1]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def each_byte_is_heard_once(dut):
    """docs/cable.md: bytes at once behind each other or with pauses, from a clock that is 2 percent off."""
    listener = Listener(dut)
    await listener.start()
    sent = [*range(256), *random.randbytes(200)]
    for byte in sent:
        await listener.send(form(byte), random.choice((0.98, 1.0, 1.02)) if listener.bit > 8 else 1.0)
        if random.random() < 0.5:
            await listener.line(1, random.randrange(1, 3 * listener.bit))
    await listener.line(1, 2 * listener.bit)
    assert listener.bytes == sent and not listener.wrong


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_byte_without_stop_bit_is_told_and_left_out(dut):
    """docs/cable.md: a line that is held at 0 is one wrong byte, however long; the byte behind it is heard."""
    listener = Listener(dut)
    await listener.start()
    for count in range(1, 20):
        await listener.send([*form(random.getrandbits(8))[:-1], *[0] * random.randrange(1, 30)])
        await listener.line(1, 2 * listener.bit)
        await listener.send(form(count))
        await listener.line(1, listener.bit)
        assert listener.bytes == list(range(1, count + 1)) and listener.wrong == count


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_spike_is_no_byte(dut):
    """The line is 0 for less than half a bit."""
    listener = Listener(dut)
    await listener.start()
    for _ in range(50):
        await listener.line(0, max(1, listener.bit // 2 - 1))
        await listener.line(1, random.randrange(listener.bit, 3 * listener.bit))
    await listener.send(form(0x5A))
    await listener.line(1, 2 * listener.bit)
    assert listener.bytes == [0x5A] and not listener.wrong


bench = Bench(__name__, {f"{n} cycles": lambda n=n: UartReceiver(n) for n in (4, 17)}, ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim",
    [pytest.param(*case, marks=pytest.mark.nightly) if case[0] == "17 cycles" else case for case in bench.cases()],
)
def test_uart_receiver(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "cycles, error, message",
    [
        (3, ValueError, "4 to 65536 cycles, not 3"),
        (65537, ValueError, "not 65537"),
        (4.5, TypeError, "whole number of cycles, not 4.5"),
    ],
)
def test_a_bit_that_cannot_be_is_refused(cycles, error, message):
    with pytest.raises(error, match=message):
        UartReceiver(cycles)
