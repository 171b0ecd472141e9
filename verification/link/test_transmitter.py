"""Bench of hdl/link/transmitter.py: the line says what was taken, as the published table has it, at the rate and
with the idles of the specification."""

import random

import cocotb
import pytest

from nectar.hdl.link.transmitter import INTERVAL_CAB, INTERVAL_HUB, Transmitter
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import FiberSource, StepClock
from nectar.verification.link.channel import IDLE, RESERVED, SYMBOL_OF, WORD_OF

#: Configuration -> samples in a cycle, samples in a bit, interval.
CONFIGURATIONS = {"4 of 4": (4, 4, 3), "1 of 5": (1, 5, 20)}


class Line:
    """What the line says: ``symbols``, each with the cycle in which its first bit was there. Every cycle of a bit
    must have the same level."""

    def __init__(self, dut, samples, oversampling):
        self.dut, self.samples, self.beats = dut, samples, oversampling // samples
        self.level, self.cycle, self.bits, self.symbols, self.began = 0, 0, "", [], None

    def look(self):
        """In each cycle, from the first one on after the reset in which a bit begins."""
        value = int(self.dut.line.value)
        assert value in (0, (1 << self.samples) - 1), "all samples of a cycle are alike"
        level = value & 1
        if self.cycle % self.beats == 0:
            if not self.bits:
                self.began = self.cycle
            self.bits += str(level ^ self.level)
            if len(self.bits) == 10:
                self.symbols.append((SYMBOL_OF[self.bits], self.began))
                self.bits = ""
        else:
            assert level == self.level, "the level changes within a bit"
        self.level = level
        self.cycle += 1


async def send(dut, symbols, probability):
    """Offers symbols, with pauses; returns (symbol or None for each slot in which ``ready`` was 1, cycle), and the
    line."""
    samples, oversampling, interval = CONFIGURATIONS[inside()]
    clock = StepClock(dut)
    source = FiberSource(clock, "symbols", pause=1 - probability, fill=lambda: random.getrandbits(9))
    await clock.start("symbols__payload", "symbols__valid")
    source.send(symbols)
    taken, slots, line = [], [], Line(dut, samples, oversampling)
    beats = oversampling // samples
    rest = 60 * beats
    while rest:
        cycle = clock.cycles
        source.drive()
        await clock.settle()
        if cycle >= beats:  # the first bit of the first word
            line.look()
        if clock.pin("symbols__ready"):
            assert cycle % (10 * beats) == 10 * beats - 1, "it is taken in the last cycle of a symbol's time"
            slots.append(cycle)
            if source.offered is not None:
                taken.append((source.offered, cycle))
        elif cycle % (10 * beats) == 10 * beats - 1:
            slots.append(None)
        source.sample()
        rest -= source.idle
        await clock.edge()
    return taken, slots, line


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def the_line_says_what_was_taken(dut):
    """docs/serial.md, "Code" and "Sender": every symbol, each two cycles after it was taken (and a bit has more
    cycles: with the next bit); idles where there was none."""
    samples, oversampling, _ = CONFIGURATIONS[inside()]
    beats = oversampling // samples
    for probability in 1, 0.05:
        symbols = (
            [random.randrange(512) for _ in range(80)]
            + random.sample([*range(0xF8, 0x110), 0x1FF], 25)
            + [IDLE ^ 1 << n for n in range(9)]
        )
        taken, _, line = await send(dut, symbols, probability)
        assert len(taken) == len(symbols)
        expected = [(symbol if symbol in WORD_OF else RESERVED, cycle + 1) for symbol, cycle in taken if symbol != IDLE]
        assert [(symbol, began) for symbol, began in line.symbols if symbol != IDLE] == expected
        assert line.symbols[0][0] == IDLE and {began % (10 * beats) for _, began in line.symbols} == {0}


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def two_idles_in_a_row_come_in_time_and_no_more_than_needed(dut):
    """docs/serial.md, "Sender": full rate but for two idles behind each interval; fewer if there were idles anyway."""
    interval = CONFIGURATIONS[inside()][2]
    taken, slots, line = await send(dut, [random.randrange(256) for _ in range(4 * interval + 5)], 1)
    expected, since = [], 0
    for symbol, _ in taken:
        expected.append(symbol)
        since += 1
        if since == interval:
            expected += [IDLE, IDLE]
            since = 0
    said = [symbol for symbol, _ in line.symbols][1:]
    assert said[: len(expected)] == expected
    for probability in 0.02, 0.1, 0.5:
        taken, slots, line = await send(dut, [random.choice([IDLE, 1, 2, 3]) for _ in range(60)], probability)
        words = [symbol for symbol, _ in line.symbols]
        since, before = 0, True  # slots since two idles in a row; the slot before was idle
        for place, symbol in enumerate(words[1:]):
            forced = since == interval
            assert (slots[place] is None) == forced, f"slot {place}"
            assert not forced or symbol == IDLE
            since = 0 if symbol == IDLE and before else since + (not forced)
            before = symbol == IDLE
            assert since <= interval


bench = Bench(
    __name__, {name: lambda sizes=sizes: Transmitter(*sizes) for name, sizes in CONFIGURATIONS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("1 of 5",)))
def test_transmitter(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((4, 5, 20), "a bit of 5 samples does not take a whole number of cycles of 4"),
        ((4, 4, 1), "the interval must be 2 to 65535 symbols, not 1"),
        ((4, 4, 65536), "the interval must be 2 to 65535 symbols, not 65536"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Transmitter(*sizes)


def test_the_interval_is_an_integer():
    with pytest.raises(TypeError, match="the interval must be an integer, not 20.0"):
        Transmitter(4, 4, 20.0)


def test_a_hub_is_faster_than_any_cab():
    """docs/serial.md, "Sender": a fast CAB in front of a slow HUB, by 778 ppm; and receivers see two idles within
    2048 symbols."""
    cab = (1 + 100e-6) * INTERVAL_CAB / (INTERVAL_CAB + 2)
    hub = (1 - 100e-6) * INTERVAL_HUB / (INTERVAL_HUB + 2)
    assert 778e-6 < hub / cab - 1 < 779e-6 and max(INTERVAL_CAB, INTERVAL_HUB) + 2 == 2048
