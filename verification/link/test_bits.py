"""Bench of hdl/link/bits.py: no bit is lost, doubled or misread, whatever clocks and jitter the specification
allows."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge

from nectar.hdl.link.bits import BitRecovery
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import begin, ports
from nectar.verification.link.channel import Cable, line_of, random_symbols, sample

CONFIGURATIONS = {"4 of 4": (4, 4), "2 of 4": (2, 4), "1 of 5": (1, 5)}
#: Bits until bits are taken in the middle, whatever the phase is at the beginning.
SETTLED = 100
#: docs/serial.md, "Bits": how early or late a change may come.
JITTER = 0.2


async def receive(dut, found, samples):
    """Drives samples; returns the bits."""
    bits, pins, most = [], ports(dut), len(dut.bits)
    for value in [*sample(found, samples), *[0] * 4]:
        pins.line.value = value
        await FallingEdge(dut.clk)
        count, got = pins.count.value, pins.bits.value
        assert count <= most
        bits += [got >> n & 1 for n in range(count)]
    return bits


def follows(bits, line):
    """Whether ``bits`` are those of ``line``, but for what came while the receiver looked for the middle and for the
    last few. Returns how far they are off, too."""
    piece = bits[SETTLED : SETTLED + 100]
    for offset in range(-20, 21):
        if line[SETTLED + offset : SETTLED + offset + 100] == piece:
            end = min(len(bits), len(line) - offset) - 4
            return bits[SETTLED:end] == line[SETTLED + offset : end + offset] and end > len(line) - 40
    return False


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_bit_is_read_once_whatever_clock_and_jitter(dut):
    """docs/serial.md, "Bits": 200 ppm either way, changes early or late by 0.2 bits, drawn or as a sine."""
    samples, oversampling = CONFIGURATIONS[inside()]
    await begin(dut, line=0)
    jitters = {"none": {}, "drawn": {"jitter": JITTER}, "sine": {"jitter": JITTER, "period": random.uniform(50, 1000)}}
    for ppm in 0, 200, -200:
        for jitter in jitters.values():
            line = line_of(random_symbols(300, idle=0.1))
            for inverted in (False, True) if not ppm else (False,):
                cable = Cable(ppm=ppm, inverted=inverted, **jitter)
                bits = await receive(dut, cable(line, oversampling), samples)
                assert follows([bit ^ inverted for bit in bits], line), f"{ppm} ppm, {jitter}, {inverted}"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_clock_that_is_far_off_is_followed(dut):
    """Much more than is promised: the place moves by a sample every few changes, both ways, through all phases."""
    samples, oversampling = CONFIGURATIONS[inside()]
    await begin(dut, line=0)
    for ppm in 4000, -4000:
        line = line_of(random_symbols(150))
        assert follows(await receive(dut, Cable(ppm=ppm)(line, oversampling), samples), line), f"{ppm} ppm"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_middle_is_found_from_every_phase(dut):
    """The cable is plugged in at any time; within 100 bits bits are taken right."""
    samples, oversampling = CONFIGURATIONS[inside()]
    await begin(dut, line=0)
    for _ in range(20):
        line = line_of(random_symbols(30))
        bits = await receive(dut, Cable(jitter=0.05)(line, oversampling), samples)
        assert follows(bits, line)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def without_changes_bits_come_at_the_own_clock(dut):
    """A dark fiber: as many bits as its own clock has, all alike."""
    samples, oversampling = CONFIGURATIONS[inside()]
    for level in 0, 1:
        await begin(dut, line=0)
        bits = await receive(dut, [level] * oversampling * 200, samples)
        assert abs(len(bits) - 200) <= 5 and set(bits[8:-8]) == {level}


def bits_of(found, samples, oversampling):
    """The bits of each cycle, as docs/serial.md and the docstring of BitRecovery have it, the line being dark
    before."""
    few = (oversampling - 1) // 2
    found = [*[0] * oversampling, *found]
    place, votes, cycles = oversampling, 0, []
    for end in range(oversampling + samples, len(found) + 1, samples):
        bits, moved = [], 0
        while place < end:
            bits.append(found[place])
            changes = [
                one != other
                for one, other in zip(
                    found[place - oversampling : place], found[place - oversampling + 1 : place + 1], strict=True
                )
            ]
            if len(bits) == 1:
                moved = votes // 4 if abs(votes) == 4 else 0
                votes = 0 if moved else votes + any(changes[-few:]) - any(changes[:few])
                place += moved
            place += oversampling
        cycles.append(bits)
    return cycles


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_place_moves_by_a_sample_when_four_more_changes_are_early_or_late(dut):
    """docs/serial.md, "Bits"; the docstring of BitRecovery: bit by bit, on lines as bad as can be. A sample is what
    the pins are at the clock's edge."""
    samples, oversampling = CONFIGURATIONS[inside()]
    await begin(dut, line=0)
    assert not dut.count.value, "no bit is of before the reset"
    found = []
    for _ in range(30):
        cable = Cable(
            ppm=random.choice([200, 10000, 50000]) * random.choice([1, -1]), jitter=random.choice([0, 0.1, 0.4])
        )
        found += random.choice(
            [
                cable(line_of(random_symbols(8)), oversampling),
                [random.getrandbits(1) for _ in range(300)],
                [random.getrandbits(1)] * 60,
            ]
        )
    line = sample(found, samples)
    expected = bits_of([0] * 2 * samples + found, samples, oversampling)
    counts = set()
    for value, bits in zip(line, expected, strict=False):
        dut.line.value = value
        await RisingEdge(dut.clk)
        dut.line.value = random.getrandbits(samples)
        await FallingEdge(dut.clk)
        count, got = int(dut.count.value), int(dut.bits.value)
        assert [got >> n & 1 for n in range(count)] == bits
        counts.add(count)
    assert counts == ({0, 1} if samples < oversampling else {0, 1, 2})


bench = Bench(
    __name__, {name: lambda sizes=sizes: BitRecovery(*sizes) for name, sizes in CONFIGURATIONS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases(nightly=("1 of 5", "2 of 4")))
def test_bit_recovery(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((0, 4), "samples must be 1 to 8, not 0"),
        ((9, 9), "samples must be 1 to 8, not 9"),
        ((1, 3), "oversampling must be 4 to 8, not 3"),
        ((1, 9), "oversampling must be 4 to 8, not 9"),
        ((4, 5), "a bit of 5 samples does not take a whole number of cycles of 4"),
    ],
)
def test_samples_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        BitRecovery(*sizes)


@pytest.mark.parametrize(
    "sizes, message",
    [((1.0, 4), "samples must be an integer, not 1.0"), ((1, "4"), "oversampling must be an integer, not '4'")],
)
def test_samples_are_counted_in_integers(sizes, message):
    with pytest.raises(TypeError, match=message):
        BitRecovery(*sizes)
