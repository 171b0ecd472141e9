"""Bench of hdl/link/serial_receiver.py: what is delivered is what was sent, whatever a fiber may do to it; what was
damaged is told; and the link comes up in time."""

import random
from itertools import accumulate
from types import SimpleNamespace

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from nectar.hdl.link.serial_receiver import SerialReceiver
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import begin, ports
from nectar.verification.link.channel import (
    CODES,
    IDLE,
    VIOLATION,
    WRONG,
    Cable,
    levels,
    paced,
    random_symbols,
    raw,
    sample,
    word_bits,
)
from nectar.verification.link.watch import CIRCUIT, Expected, Thinned

CONFIGURATIONS = {"4 of 4": (4, 4), "1 of 5": (1, 5)}
JITTER = 0.2
#: Parts in a million that a sender is off where words are to take many times a cycle more or less; with a symbol to
#: spare in the elastic buffer for each 80.
FAR = 12000
#: Idles in front, so that bits and words are found and the trial is over; and behind, so that all has come.
FRONT, BACK = [IDLE] * 60, [IDLE] * 8


async def receive(dut, found, watch):
    """Drives samples; returns what was seen: ``symbols``, ``cycles`` (in which they came), ``violations``, ``losses``,
    ``overruns``, ``ups`` (first and last cycle of each time).

    ``watch`` is called in each cycle with its number and what was seen until then, so that what is wrong ends the claim
    at once."""
    samples, oversampling = CONFIGURATIONS[inside()]
    seen = SimpleNamespace(
        symbols=[], cycles=[], violations=0, losses=0, overruns=0, ups=[], up=False, word=10 * oversampling // samples
    )
    pins, edge = ports(dut), FallingEdge(dut.clk)
    line, valid, payload = pins.line, pins.symbols__valid, pins.symbols__payload
    violation, lost, overrun, is_up = pins.violation, pins.lost, pins.overrun, pins.up
    driven = None
    for cycle, value in enumerate(sample(found, samples)):
        if value != driven:
            line.value = driven = value
        await edge
        if valid.value:
            seen.symbols.append(payload.value)
            seen.cycles.append(cycle)
        seen.violations += violation.value
        seen.losses += lost.value
        seen.overruns += overrun.value
        up = bool(is_up.value)
        if up:
            if not seen.up:
                seen.ups.append([cycle, cycle])
            seen.ups[-1][1] = cycle
        seen.up = up
        watch(cycle, seen)
    return seen


async def compare(dut, line, runs=(), ppm=0, **cable):
    """Sends levels over a cable; what is seen must be what the specification says, each thing in its time, and in
    ``runs`` of so many symbols one right behind the other.

    Returns what was seen.
    """
    samples, oversampling = CONFIGURATIONS[inside()]
    within = {
        place for end, length in zip(accumulate(runs), runs, strict=True) for place in range(end - length + 2, end + 1)
    }
    expected = Expected(line, oversampling / samples / (1 + ppm * 1e-6))

    def watch(cycle, seen):
        assert not seen.overruns
        expected.follow(cycle, seen.symbols, seen.violations, seen.losses, 2 * len(seen.ups) - seen.up)
        if len(seen.symbols) in within:
            assert seen.cycles[-1] - seen.cycles[-2] == seen.word, "torn"

    seen = await receive(dut, Cable(ppm=ppm, **cable)(line, oversampling), watch)
    assert seen.symbols == expected.symbols
    assert (seen.violations, seen.losses, seen.overruns) == (expected.violations, expected.losses, 0)
    return seen


def size(most):
    """So many words; fewer if each takes many cycles."""
    samples, oversampling = CONFIGURATIONS[inside()]
    return most * samples // oversampling


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def it_is_up_in_time(dut):
    """docs/serial.md, "Belief": 40 words after light comes in idles; 34 and what is left of an interval in traffic,
    and symbols come from then on."""
    for inverted in False, True:
        await begin(dut, line=0)
        seen = await compare(dut, levels(word_bits([IDLE] * 50)), ppm=random.choice([200, -200]), inverted=inverted)
        assert len(seen.ups) == 1 and 32 * seen.word <= seen.ups[0][0] <= 40 * seen.word
        await begin(dut, line=0)
        traffic = random_symbols(100)
        before = random.randrange(10, 40)
        line = levels(word_bits([*traffic[:before], IDLE, IDLE, *traffic[before:], *BACK]))
        seen = await compare(dut, line, inverted=inverted)
        assert len(seen.ups) == 1 and seen.ups[0][0] <= (before + 36) * seen.word
        assert seen.symbols == traffic[before + 32 :]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def damage_is_told_and_nothing_else_is_changed(dut):
    """docs/serial.md, "Errors": levels read wrong, some in a thousand and some in a hundred; what is no word comes
    out as a violation, each counted."""
    violations = 0
    for rate in 0.002, 0.01:
        for _ in range(2):
            await begin(dut, line=0)
            line = levels(word_bits([*FRONT, *paced(random_symbols(size(500), idle=0.1), 100), *BACK]))
            first = 10 * len(FRONT)
            damaged = [
                level ^ (first <= place < len(line) - 10 * len(BACK) and random.random() < rate)
                for place, level in enumerate(line)
            ]
            seen = await compare(dut, damaged, jitter=0.1)
            violations += seen.violations
    assert violations > 2


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_trial_takes_32_good_words(dut):
    """docs/serial.md, "Belief": a violation within ends it, however long the words take; three right behind it are
    borne."""
    await begin(dut, line=0)
    for good, up in (32, True), (31, False), (random.randrange(31), False):
        for ppm in 0, FAR, -FAR:
            words = [
                *random_symbols(20),
                IDLE,
                IDLE,
                *random_symbols(good),
                *random.choices(WRONG, k=3),
                *random_symbols(5),
                *BACK,
            ]
            seen = await compare(dut, levels(raw(words)), ppm=ppm)
            assert len(seen.ups) == up and seen.violations == 3 * up
            await begin(dut, line=0)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def too_many_violations_lose_the_link(dut):
    """docs/serial.md, "Belief": each counts 4, a good word takes one off; more than 15, and it is lost, with one
    violation delivered for it; it is searched for two idles then."""
    await begin(dut, line=0)
    patterns = [
        "vvvv" + 50 * "g",
        "vvv",
        "vvvv",
        "vvvgv",
        "vvvgvv",
        "vvvggvgggvgv",
        "gggvvvv",
        "vgvgvgvgvgv",
        "vvv" + 12 * "g" + "vvv",
        "vvv" + 11 * "g" + "vvvg" + 3 * "v",
    ]
    losses = 0
    for pattern in [*patterns, *("".join(random.choice("vggg") for _ in range(40)) for _ in range(6))]:
        body = [random.choice(WRONG) if kind == "v" else random.randrange(256) for kind in pattern]
        words = [*FRONT[:40], *body, *random_symbols(3), *BACK[:6]]
        seen = await compare(dut, levels(raw(words)), ppm=random.choice([0, FAR, -FAR]))
        losses += seen.losses
        await begin(dut, line=0)
    assert losses > 3


#: Symbols that differ from an idle in one bit or two, of those that a board may send.
NEARLY_IDLE = [0, *(1 << bit for bit in range(8)), 0x102, 0x103, 0x104, 0x105, 0x106]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def no_run_of_a_slow_sender_is_torn(dut):
    """docs/serial.md, "Elastic buffer": its first symbol waits for the second. Also behind a loss, when words are
    believed in the middle of a run."""
    await begin(dut, line=0)
    lengths = [*(random.randrange(1, 70) for _ in range(4)), 70, 70]
    sent = [*FRONT]
    for length in lengths:
        sent += [*random.choices(NEARLY_IDLE, k=length), *[IDLE] * random.choice([1, 2, 3])]
    await compare(dut, levels(word_bits([*sent, *BACK])), runs=lengths, ppm=-FAR)
    for _ in range(2):
        await begin(dut, line=0)
        words = [
            *FRONT,
            *random_symbols(10),
            *[random.choice(WRONG) for _ in range(4)],
            IDLE,
            IDLE,
            *random_symbols(32 + 70),
            *BACK,
        ]
        seen = await compare(dut, levels(raw(words)), runs=[14, 70], ppm=-FAR)
        assert seen.losses == 1 and len(seen.symbols) == 14 + 70


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_looks_like_an_idle_does_not_tear_a_run(dut):
    """docs/serial.md, "Words", "Elastic buffer": a single wrong level may show one across two words, and then these
    are violations; it is none."""
    await begin(dut, line=0)
    data = [CODES[digit] for digit in "0123456789ABCDEF"]
    words, length = [*FRONT], 70
    for _ in range(4):
        body = random_symbols(length)
        place = random.randrange(40, length - 2)
        body[place : place + 2] = random.choice(data) + CODES["J"], CODES["K"] + random.choice(data)
        words += [*body, IDLE, IDLE]
    seen = await compare(dut, levels(raw([*words, *BACK])), runs=[length] * 4, ppm=-FAR)
    assert seen.violations == 8 and seen.losses == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_in_traffic_is_followed_by_a_search(dut):
    """docs/serial.md, "Belief": it is not up, however long the traffic, before two idles have come; at all places of
    a word."""
    samples, oversampling = CONFIGURATIONS[inside()]
    await begin(dut, line=0)
    for place in [*range(10)] * samples:
        before, after = random_symbols(4), random_symbols(36)
        found = sample(Cable(phase=0.5)(levels(word_bits([*before, *after])), oversampling), samples)
        cut = (20 + place) * oversampling // samples
        dut.rst.value = 1
        for value in found[:cut]:
            dut.line.value = value
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        for value in found[cut:]:
            dut.line.value = value
            await FallingEdge(dut.clk)
            assert not dut.up.value and not dut.symbols__valid.value


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_bit_lost_or_doubled_loses_the_link_and_it_comes_back(dut):
    """docs/serial.md, "Belief": some nine words later, at most 100 here; and at the next two idles it is tried
    again."""
    for _ in range(3):
        await begin(dut, line=0)
        bits = word_bits([*FRONT, *random_symbols(120), IDLE, IDLE, *random_symbols(50), *BACK])
        place = 10 * len(FRONT) + random.randrange(20, 100)
        if random.random() < 0.5:
            del bits[place]
        else:
            bits.insert(place, bits[place] ^ random.getrandbits(1))
        seen = await compare(dut, levels(bits), jitter=0.05)
        assert seen.losses == 1 and len(seen.ups) == 2, seen.ups
        assert seen.ups[0][1] <= (place / 10 + 100) * seen.word


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def words_at_another_place_are_tried_first(dut):
    """docs/serial.md, "Belief": two idles found elsewhere while it is up lose the link at once; what follows is
    delivered after a trial."""
    for shift in 1, 5, 9:
        await begin(dut, line=0)
        tail = random_symbols(40)
        bits = [*word_bits([*FRONT, 0x12, 0x34]), *[1] * shift, *word_bits([IDLE, IDLE, *tail, *BACK])]
        seen = await compare(dut, levels(bits))
        assert seen.losses == 1 and seen.symbols[-8:] == tail[32:] and VIOLATION in seen.symbols[:-8]


async def pull(dut, kind, idles=()):
    """The cable is pulled while symbols or ``idles`` come, and plugged again."""
    samples, oversampling = CONFIGURATIONS[inside()]
    word = 10 * oversampling // samples
    symbols, again = random_symbols(30), random_symbols(20)
    sent = Cable(ppm=200, jitter=0.1)(levels(word_bits([*FRONT, *symbols, *idles])), oversampling)
    gap = oversampling * (1500 if kind == "noise" else 200)
    nothing = {"dark": lambda: 0, "light": lambda: 1, "noise": lambda: random.getrandbits(1)}[kind]
    back = Cable(ppm=-200)(levels(word_bits([*FRONT, *again, *BACK])), oversampling)
    # Cycles: the cable is out, the link lost at the latest; it is plugged, and what noise looked like has left the
    # buffer.
    out = len(sent) // samples
    lost = out + (40 * word if kind == "noise" else 12 * oversampling // samples + CIRCUIT)
    plugged = out + gap // samples
    silent = plugged + 30 * word
    before = 0

    def watch(cycle, seen):
        nonlocal before
        assert not seen.overruns and seen.losses <= (cycle > out)
        if len(FRONT) * word < cycle < out or cycle > plugged + 40 * word:
            assert seen.up
        elif cycle < 32 * word or lost <= cycle <= plugged:
            assert not seen.up
        count = len(seen.symbols)
        assert seen.symbols[:28] == symbols[: min(count, 28)] and count >= min(cycle // word - len(FRONT) - 10, 28)
        if lost + 10 * word < cycle and kind != "noise":
            assert VIOLATION in seen.symbols
        if cycle < silent:
            before = count
        else:
            assert seen.symbols[before:] == again[: count - before] and count - before >= min(
                (cycle - plugged) // word - len(FRONT) - 10, len(again)
            )

    seen = await receive(dut, [*sent, *(nothing() for _ in range(gap)), *back], watch)
    between = [symbol for cycle, symbol in zip(seen.cycles, seen.symbols, strict=True) if out < cycle < silent]
    assert len(seen.ups) == 2 and seen.losses == 1, kind
    assert seen.symbols[:28] == symbols[:28] and seen.symbols[-20:] == again, kind
    assert seen.ups[0][1] < lost
    if kind != "noise":
        assert between[-1] == VIOLATION and between.count(VIOLATION) <= 2
    assert 0 < seen.ups[1][0] - plugged <= 40 * word, kind


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_cable_may_be_pulled_and_plugged_at_any_time(dut):
    """docs/serial.md, "Belief": dark, light or noise: lost within ten bits and what the circuit takes, one violation
    told for it; up again in time."""
    for kind, idles in ("dark", []), ("light", []), ("noise", []), ("dark", BACK), ("light", BACK):
        await begin(dut, line=0)
        await pull(dut, kind, idles)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def noise_is_not_believed(dut):
    """docs/serial.md, "Belief": nothing is delivered, nothing is counted."""

    def watch(cycle, seen):
        assert not seen.ups and not seen.symbols and not seen.violations and not seen.losses

    await begin(dut, line=0)
    samples, oversampling = CONFIGURATIONS[inside()]
    await receive(dut, [random.getrandbits(1) for _ in range(5000 * samples)], watch)
    held = [random.getrandbits(1) for _ in range(1500)]
    await receive(dut, [level for level in held for _ in range(oversampling)], watch)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_sender_that_is_far_too_fast_is_told(dut):
    """A sender that sends no idle and is off by 12000 ppm: each symbol that finds no room is counted, all others
    come in order."""
    await begin(dut, line=0)
    _, oversampling = CONFIGURATIONS[inside()]
    symbols = random_symbols(700)
    thinned, come = Thinned(symbols), 0

    def watch(cycle, seen):
        nonlocal come
        if len(seen.symbols) > come:
            come += 1
            thinned.take(seen.symbols[-1])
        assert thinned.lost <= seen.overruns
        assert come + seen.overruns >= min(cycle // seen.word - len(FRONT) - 10, len(symbols)), "too late"

    seen = await receive(
        dut, Cable(ppm=12000)(levels(word_bits([*FRONT, *symbols, *BACK, *BACK])), oversampling), watch
    )
    assert seen.overruns and len(seen.symbols) + seen.overruns == len(symbols)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def full_rate_without_loss_at_any_clock_and_jitter(dut):
    """docs/serial.md, "Rates", "Bits", "Elastic buffer": 200 ppm either way, changes 0.2 bits early or late; no run
    is torn."""
    for ppm in 200, -200:
        for shape in {"jitter": JITTER}, {"jitter": JITTER, "period": random.uniform(50, 1000)}, {"inverted": True}:
            await begin(dut, line=0)
            symbols = random_symbols(size(1000))
            first = size(700)
            sent = [*FRONT, *paced(symbols, first), *BACK]
            seen = await compare(dut, levels(word_bits(sent)), runs=[first, len(symbols) - first], ppm=ppm, **shape)
            assert seen.symbols == symbols and not seen.violations and len(seen.ups) == 1


bench = Bench(
    __name__,
    {name: lambda sizes=sizes: SerialReceiver(*sizes) for name, sizes in CONFIGURATIONS.items()},
    ports_only=True,
)


@pytest.mark.parametrize(
    "configuration, claim", bench.cases(nightly=("1 of 5", "full_rate_without_loss_at_any_clock_and_jitter"))
)
def test_serial_receiver(configuration, claim):
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((4, 5), "a bit of 5 samples does not take a whole number of cycles of 4"),
        ((1, 3), "oversampling must be 4 to 8, not 3"),
    ],
)
def test_samples_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        SerialReceiver(*sizes)
