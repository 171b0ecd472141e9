"""Bench of hdl/link/aligner.py: each word is found, in the right place, whatever bits come and however many at a
time."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from nectar.hdl.link.aligner import Aligner
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import begin, ports
from nectar.verification.link.channel import IDLE, Deserialiser, levels, random_symbols, word_bits

CONFIGURATIONS = {"one bit": 1, "two bits": 2}


async def drive(dut, bits, reference, weights):
    """Sends bits, so many at a time as ``weights`` has it; every word, and each cycle's ``quiet``, must be what the
    reference says. Returns what was seen."""
    line = levels(bits, reference.level)
    reference.level = line[-1]
    place, expected, seen = 0, [], []
    quiets, pins, width = [], ports(dut), len(dut.bits)
    while place < len(line) or quiets:
        more = min(random.choices(range(len(weights)), weights)[0], len(line) - place)
        pins.count.value = more
        pins.bits.value = (
            sum(level << n for n, level in enumerate(line[place : place + more]))
            | random.getrandbits(2) << more & (1 << width) - 1
        )
        events = [event for event in (reference.push(bit) for bit in bits[place : place + more]) if event]
        expected.append(next((event for event in events if event[1]), events[0] if events else None))
        quiets.append(more > 0 and reference.quiet)
        place += more
        await FallingEdge(dut.clk)
        if len(expected) > 1:
            event, quiet = expected.pop(0), quiets.pop(0)
            found = (
                (f"{pins.word.value:010b}", bool(pins.pair.value), bool(pins.moved.value))
                if pins.strobe.value
                else None
            )
            assert found == event, f"bit {place}"
            assert event or not (pins.pair.value or pins.moved.value)
            assert bool(pins.quiet.value) == quiet, f"bit {place}"
            seen += [event] if event else []
            if place == len(line) and not any(expected) and not any(quiets):
                break
    return seen


def new_reference():
    """A deserialiser that knows the level that came last."""
    reference = Deserialiser()
    reference.level = 0
    return reference


def weights():
    """How often none, one or two bits come."""
    width = CONFIGURATIONS[inside()]
    return (
        random.choice([[0, 1], [1, 1], [1, 20], [5, 1]])
        if width == 1
        else random.choice([[1, 20, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0], [3, 1, 1]])
    )


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def words_are_found_and_found_again(dut):
    """docs/serial.md, "Words": two idles in a row tell where words begin, and one alone does not; with bits lost,
    doubled and wrong."""
    await begin(dut, bits=0, count=0)
    reference, moved, pairs = new_reference(), 0, 0
    for _ in range(60):
        symbols = [*random_symbols(random.randrange(12), idle=0.1), *[IDLE] * random.randrange(5)]
        bits = word_bits(symbols) or [1]
        harm = random.choice(["none", "none", "lost", "doubled", "wrong", "lone idle"])
        where = random.randrange(len(bits))
        if harm == "lost" and len(bits) > 1:
            del bits[where]
        elif harm == "doubled":
            bits.insert(where, bits[where])
        elif harm == "wrong":
            bits[where] ^= 1
        elif harm == "lone idle":
            bits[where:where] = word_bits([IDLE])[: random.randrange(1, 11)]
        seen = await drive(dut, bits, reference, weights())
        moved += sum(event[2] for event in seen)
        pairs += sum(event[1] for event in seen)
    assert moved > 2 and pairs > moved


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_pair_is_ten_bits_apart_at_every_distance_from_words(dut):
    """Two idles, so many bits apart and so many bits behind a word that every case is met; with them also a word
    that is due in the same cycle."""
    await begin(dut, bits=0, count=0)
    reference = new_reference()
    for shift in range(12):
        for gap in -1, -1, 0, 0, 1, 2, 9, 10, 11:  # -1: they share a bit
            bits = [
                *word_bits([IDLE, IDLE, 0x35]),
                *[1] * shift,
                *word_bits([IDLE]),
                *[1] * gap,
                *word_bits([IDLE, 0x7A])[gap == -1 :],
            ]
            await drive(dut, bits, reference, weights())


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_word_that_is_nearly_idle_is_none(dut):
    """docs/serial.md, "Words": two idles, in one of which, or in both, any one bit is another; as many bits at a
    time as there can be, or any number."""
    await begin(dut, bits=0, count=0)
    reference, idle = new_reference(), word_bits([IDLE])
    for place in range(10):
        near = [bit ^ (number == place) for number, bit in enumerate(idle)]
        for words in (near, idle), (idle, near), (near, near):
            for parity in 0, 1:
                for pace in [*[0] * len(dut.bits), 1], weights():
                    await drive(dut, [*word_bits([0x3C]), *[1] * parity, *words[0], *words[1], 1], reference, pace)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def behind_a_reset_nothing_is_told_and_words_begin_anew(dut):
    """docs/serial.md, "Words": a reset of one cycle, at any place in traffic; then one idle alone, any number of bits
    later, is not taken for two, nor is one behind an idle whose first bits came before the reset."""
    await begin(dut, bits=0, count=0)
    for gap, idle in ((gap, idle) for gap in range(25) for idle in (0, 2)):
        line = levels([*word_bits([IDLE, IDLE, *random_symbols(2)]), *[1] * gap])
        for level in line[gap % 10 :]:
            dut.count.value, dut.bits.value = 1, level
            await FallingEdge(dut.clk)
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        assert not (dut.strobe.value or dut.pair.value or dut.moved.value or dut.quiet.value)
        dut.rst.value, dut.count.value = 0, 0
        for _ in range(idle):
            await FallingEdge(dut.clk)
            assert not (dut.strobe.value or dut.pair.value or dut.moved.value or dut.quiet.value)
        before = [1] * gap if gap < 15 else word_bits([IDLE])[gap - 15 :]
        await drive(dut, [*before, *word_bits([IDLE, *random_symbols(1)])], new_reference(), weights())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_line_without_changes_is_quiet(dut):
    """docs/serial.md, "Belief": ten bits that have not changed the level, no less."""
    await begin(dut, bits=0, count=0)
    reference = new_reference()
    for zeros in [*range(7, 13), 30]:
        await drive(dut, [*word_bits([IDLE, IDLE, 0x55]), 1, *[0] * zeros, 1, 1], reference, weights())


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def noise_gives_what_the_specification_says(dut):
    """Bits that are no words at all."""
    await begin(dut, bits=0, count=0)
    reference = new_reference()
    await drive(dut, [random.getrandbits(1) for _ in range(2000)], reference, weights())


bench = Bench(
    __name__, {name: lambda width=width: Aligner(width) for name, width in CONFIGURATIONS.items()}, ports_only=True
)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_aligner(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize("width", [0, 3, "2"])
def test_one_or_two_bits_come_in_a_cycle(width):
    with pytest.raises(ValueError, match=f"1 or 2 bits come in a cycle, not {width!r}"):
        Aligner(width)
