"""Bench of hdl/link/serial.py: a port on one side, the line on the other, both ways at once; and its counters."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

from nectar.hdl.link.serial import SerialPhy
from nectar.verification.bench import Bench
from nectar.verification.harness import begin, ports
from nectar.verification.link.channel import (
    IDLE,
    SYMBOL_OF,
    VIOLATION,
    WRONG,
    Cable,
    ReceiverModel,
    levels,
    paced,
    random_symbols,
    raw,
    sample,
    word_bits,
)
from nectar.verification.link.watch import Expected, Thinned

INTERVAL = 50
#: Cycles of a symbol, and samples of a cycle and of a bit.
CYCLES, SAMPLES = 10, 4
FRONT, BACK = [IDLE] * 60, [IDLE] * 8


async def fresh(dut):
    """After a reset, with a dark line."""
    await begin(dut, line__rx=0, fiber__tx__valid=0, fiber__tx__payload=0, clear=0)


async def run(dut, found, offers=(), loop=False, watch=lambda cycle, delivered, out: None):
    """Drives samples in (or, with ``loop``, what came out, inverted, so many cycles), offers symbols; returns what the
    port was given, and the bits of the line.

    ``watch`` is called in each cycle with its number, what the port was given until then, and the samples of the line,
    so that what is wrong ends the claim at once."""
    offers, delivered, taken, line = list(offers), [], [], []
    mask, pins = (1 << SAMPLES) - 1, ports(dut)
    for cycle, value in enumerate(sample(found, SAMPLES)):
        pins.line__rx.value = line[-1] ^ mask if loop and line else value
        pins.fiber__tx__valid.value = bool(offers)
        pins.fiber__tx__payload.value = offers[0] if offers else random.getrandbits(9)
        await Timer(1, "ns")
        if offers and pins.fiber__tx__ready.value:
            taken.append(offers.pop(0))
        if pins.fiber__rx__valid.value:
            delivered.append(pins.fiber__rx__payload.value)
        line.append(pins.line__tx.value)
        watch(cycle, delivered, line[-1])
        await FallingEdge(dut.clk)
    assert not offers
    return delivered, [value & 1 for value in line]


def words_of(line):
    """Symbols of a line's levels, which begin with an idle's first bit in the second cycle."""
    bits = [one ^ other for one, other in zip(line, line[1:], strict=False)]
    return [SYMBOL_OF["".join(map(str, bits[place : place + 10]))] for place in range(0, len(bits) - 9, 10)]


def counters(dut):
    """Violations, losses, overruns."""
    pins = ports(dut)
    return pins.violations.value, pins.losses.value, pins.overruns.value


def follow(dut, line, ppm=0):
    """A watch: what comes of these levels is what the specification says, each thing in its time."""
    expected, ups, up, pins = Expected(line, 1 / (1 + ppm * 1e-6)), 0, 0, ports(dut)

    def watch(cycle, delivered, out):
        nonlocal ups, up
        ups, up = ups + (pins.up.value != up), pins.up.value
        violations, losses, overruns = counters(dut)
        assert not overruns
        expected.follow(cycle, delivered, violations, losses, ups, stop=255)

    return watch


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def both_ways_at_full_rate_at_once(dut):
    """docs/serial.md: what the port gives is on the line, what is on the line the port is given; neither waits for
    the other, nor for light."""
    await fresh(dut)
    there, here = random_symbols(300), random_symbols(280)
    sent = levels(word_bits([*FRONT, *paced(there, 100), *BACK]))
    comes = follow(dut, sent, ppm=-200)
    goes = [0, *levels(word_bits([IDLE, *paced(here, INTERVAL), *[IDLE] * 100]))]

    def watch(cycle, delivered, out):
        comes(cycle, delivered, out)
        assert out == goes[cycle] * 15, f"line in cycle {cycle}"

    delivered, line = await run(dut, Cable(ppm=-200, jitter=0.1)(sent, SAMPLES), here, watch=watch)
    assert delivered == there and dut.up.value == 1 and counters(dut) == (0, 0, 0)
    said = words_of(line)
    assert said[1 : 1 + len(paced(here, INTERVAL))][:290] == paced(here, INTERVAL)[:290]
    assert [symbol for symbol in said if symbol != IDLE] == here


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_is_sent_comes_back_from_its_own_end(dut):
    """Sender and receiver say the same; light and dark exchanged."""

    def believed(cycle, delivered, out):
        assert not delivered and dut.up.value == (cycle > 350 or dut.up.value and cycle > 320)

    def watch(cycle, delivered, out):
        assert delivered == offers[: len(delivered)] and len(delivered) >= min(
            (cycle // CYCLES - 10) * INTERVAL // (INTERVAL + 2) - 2, len(offers)
        )

    await fresh(dut)
    await run(dut, [0] * SAMPLES * CYCLES * 60, loop=True, watch=believed)
    assert dut.up.value == 1
    offers = random_symbols(200)
    delivered, _ = await run(dut, [0] * SAMPLES * CYCLES * 220, offers, loop=True, watch=watch)
    assert delivered == offers and counters(dut) == (0, 0, 0)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_goes_wrong_is_counted(dut):
    """docs/serial.md, "Errors": violations while up, losses, overruns; set to 0 by ``clear``, and no further than
    255."""
    await fresh(dut)
    body = [word for _ in range(7) for word in (random.choice(WRONG), *[0x55] * 6)]
    line = levels(raw([*FRONT, *body, *BACK]))
    delivered, _ = await run(dut, Cable()(line, SAMPLES), watch=follow(dut, line))
    assert counters(dut) == (7, 0, 0) and delivered.count(VIOLATION) == 7
    await run(dut, [1] * SAMPLES * CYCLES * 5)
    violations, losses, overruns = counters(dut)
    assert (losses, overruns) == (1, 0) and dut.up.value == 0
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    assert counters(dut) == (0, 0, 0)
    dut.clear.value = 0
    body = [word for _ in range(270) for word in (random.choice(WRONG), *[0x55] * 5)]
    line = levels(raw([*FRONT, *body, *BACK]))
    await run(dut, Cable()(line, SAMPLES), watch=follow(dut, line))
    assert counters(dut) == (255, 0, 0) and dut.up.value == 1


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_finds_no_room_is_counted(dut):
    """docs/serial.md, "Errors": a sender far too fast and without idles."""
    await fresh(dut)
    there = random_symbols(600)
    watch = thinned(dut, there, len(FRONT))
    delivered, _ = await run(
        dut,
        Cable(ppm=15000)(levels(word_bits([*FRONT, *there, *BACK, *BACK])), SAMPLES),
        watch=lambda cycle, delivered, out: watch(cycle, delivered),
    )
    _, losses, overruns = counters(dut)
    assert overruns == len(there) - len(delivered) > 0 and not losses


def thinned(dut, symbols, front, cleared=False):
    """A watch: behind so many words these symbols come in order, and each that does not is counted, or none if the
    counters are held at 0."""
    order, taken, come, before = Thinned(symbols), 0, 0, counters(dut)[2]

    def watch(cycle, delivered):
        nonlocal taken, come
        if len(delivered) > taken:
            taken += 1
            if delivered[-1] != VIOLATION:  # where bits begin anew
                come += 1
                order.take(delivered[-1])
        elif cycle % CYCLES:
            return
        lost = counters(dut)[2]
        assert lost == 0 if cleared else order.lost <= lost - before or lost == 255
        assert cleared or lost == 255 or come + lost - before >= min(cycle // CYCLES - front - 10, len(symbols)), (
            "too late"
        )

    return watch


def none(dut):
    """Nothing has been counted."""
    assert counters(dut) == (0, 0, 0)


async def feed(dut, values, each):
    """Drives so many samples in each cycle and sends nothing; ``each`` is called once a cycle, with its number and
    the symbols that the port was given, which are returned."""
    delivered = []
    for cycle, value in enumerate(values):
        dut.line__rx.value = value
        await FallingEdge(dut.clk)
        if dut.fiber__rx__valid.value:
            delivered.append(int(dut.fiber__rx__payload.value))
        each(cycle, delivered)
    return delivered


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def every_loss_is_counted_up_to_255_and_none_while_cleared(dut):
    """docs/serial.md, "Errors": the link is lost 258 times, each time to idles at another place; violations come
    with it. Nothing that happens while ``clear`` is 1 is counted."""
    await fresh(dut)
    reference, period = ReceiverModel(), [*[1], *word_bits([IDLE] * 36)]
    level = 0

    async def again(each=lambda cycle, delivered: None):
        nonlocal level
        line = levels(period, level)
        level = line[-1]
        for one in line:
            reference.push(one)
        await feed(dut, [15 * one for one in line], each)

    for _ in range(260):
        await again()
        assert counters(dut) == (min(reference.violations, 255), min(reference.losses, 255), 0)
    assert reference.losses > 255
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    losses = reference.losses
    await again(lambda cycle, delivered: none(dut))
    assert reference.losses > losses
    dut.clear.value = 0
    await FallingEdge(dut.clk)
    none(dut)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def every_symbol_without_room_is_counted_up_to_255_and_none_while_cleared(dut):
    """docs/serial.md, "Errors": a sender that is far too fast, again and again; ``clear`` as in the claim above."""
    await fresh(dut)
    many_changes = [16 * high + low for high in (0, 7, 11, 13, 15) for low in (0, 7, 11, 13, 15)]
    lost = 0

    async def again(count, cleared=False):
        line, level = [], 0
        symbols = random.choices(many_changes, k=count)
        for ppm, words in (0, FRONT), (25000, symbols), (0, [*BACK, *BACK]):
            bits = levels(word_bits(words), level)
            level = bits[-1]
            line += Cable(ppm=ppm, phase=0)(bits, SAMPLES)
        delivered = await feed(dut, sample(line, SAMPLES), thinned(dut, symbols, len(FRONT), cleared))
        return len(symbols) - sum(symbol != VIOLATION for symbol in delivered)

    while lost <= 260:
        more = await again(3000)
        assert more > 40
        lost += more
        assert counters(dut)[2] == min(lost, 255)
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    assert await again(500, cleared=True) > 4
    dut.clear.value = 0
    await FallingEdge(dut.clk)
    none(dut)


bench = Bench(__name__, {"4 of 4": lambda: SerialPhy(4, 4, INTERVAL)}, ports_only=True)


@pytest.mark.parametrize(
    "configuration, claim",
    bench.cases(
        nightly=(
            "every_symbol_without_room_is_counted_up_to_255_and_none_while_cleared",
            "every_loss_is_counted_up_to_255_and_none_while_cleared",
        )
    ),
)
def test_serial_phy(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((4, 5), "a bit of 5 samples does not take a whole number of cycles of 4"),
        ((4, 4, 0), "the interval must be 2 to 65535 symbols, not 0"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        SerialPhy(*sizes)
