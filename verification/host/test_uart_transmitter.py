"""Bench of hdl/host/uart_transmitter.py: what is on the line, bit by bit."""

import random

import cocotb
import pytest

from nectar.hdl.host.uart_transmitter import UartTransmitter
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import StepClock


async def _follow(dut, sent, eager):
    """The line, cycle by cycle, while ``sent`` is handed over."""
    clock = StepClock(dut)
    await clock.start("bytes__valid", "bytes__payload")
    line, left = [], list(sent)
    bit = int(inside().split()[0])
    while left or len(line) < 20 * bit or not all(line[-10 * bit :]):
        clock.drive(
            bytes__valid=bool(left) and (eager or random.random() < 0.1),
            bytes__payload=left[0] if left else random.getrandbits(8),
        )
        await clock.settle()
        line.append(clock.pin("tx"))
        if clock.inputs["bytes__valid"] and clock.pin("bytes__ready"):
            left.pop(0)
        await clock.edge()
    return line, bit


def _read(line, bit):
    """The bytes on a line, each bit of which must be whole."""
    found, at = [], 0
    while at < len(line):
        if line[at]:
            at += 1
            continue
        bits = [line[at + n * bit : at + (n + 1) * bit] for n in range(10)]
        assert all(len(set(one)) == 1 for one in bits) and bits[9][0] == 1, f"at {at}: {bits}"
        found.append(sum(one[0] << n for n, one in enumerate(bits[1:9])))
        at += 10 * bit
    return found


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def bytes_go_out_one_after_the_other_without_gap(dut):
    """docs/cable.md: a start bit, eight bits with the lowest first, a stop bit; ten bits a byte."""
    sent = random.sample(range(256), 256) + list(random.randbytes(10))
    line, bit = await _follow(dut, sent, True)
    assert _read(line, bit) == sent
    first = line.index(0)
    assert all(line[first + 10 * bit * n] == 0 for n in range(len(sent)))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_line_is_high_between_bytes(dut):
    """With pauses of any length between bytes."""
    sent = list(random.randbytes(60))
    line, bit = await _follow(dut, sent, False)
    assert _read(line, bit) == sent


bench = Bench(__name__, {f"{n} cycles": lambda n=n: UartTransmitter(n) for n in (4, 7)}, ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim",
    [pytest.param(*case, marks=pytest.mark.nightly) if case[0] == "7 cycles" else case for case in bench.cases()],
)
def test_uart_transmitter(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


def test_a_bit_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="4 to 65536 cycles, not 0"):
        UartTransmitter(0)
