"""Bench of hdl/ipsc2/node/deserializer.py: words, checksum, RDY, and messages that do not come to their end."""

import random

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import nibble, short_probe, word
from nectar.hdl.ipsc2.node.checksum import checksum
from nectar.hdl.ipsc2.node.deserializer import Deserializer
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock

INPUTS = "sink__open", "sink__data", "sink__strobe", "words__ready", "room", "drop"
LAST, BAD, CUT = 1 << 32, 1 << 33, 1 << 34


def message(length):
    """Words of 32 bits, the first of which has a probe of 8 bits in its low half."""
    words = [random.getrandbits(32) for _ in range(length)]
    return [words[0] & 0xFFFF00FF, *words[1:]] if words else []


def units(words):
    """Its words of 16 bits on the wire, the probe first."""
    return [unit for word in words for unit in (word & 0xFFFF, word >> 16)]


def burst(rest):
    """The bits of a checksum word that must flip together for the division to leave ``rest``."""
    for _ in range(16):
        rest = (rest << 1 & 0xFFFF) ^ (0x0811 if rest >> 15 else 0)  # the polynomial, backwards
    return rest


def pairs(probe, data, nibbles=0.3, flip=None, wrong=0):
    """The pairs of a message: the probe, then ``data`` with its checksum. ``flip``: number of a data bit that flips;
    ``wrong``: bits of the checksum that do."""
    found = short_probe(probe, ready=random.getrandbits(1)) + nibble(random.getrandbits(1))
    wire = [*data, checksum([probe, *data]) ^ wrong]
    for place, value in enumerate(wire):
        while random.random() < nibbles:
            found += nibble(random.getrandbits(1))
        if flip is not None and flip // 16 == place:
            value ^= 1 << flip % 16
        found += word(value, ready=random.getrandbits(1), end=place == len(wire) - 1)
    return found


class Environment:
    """A deserializer behind a sink port whose strobe stops at random."""

    def __init__(self, dut, pause=0.0, takes=1.0):
        self.clock, self.pause, self.takes = StepClock(dut), pause, takes
        self.found, self.readies = [], []
        self.drop = self.room = 0

    async def start(self):
        await self.clock.start(*INPUTS)

    async def cycle(self, opened=0, pair=None):
        """One cycle."""
        ready = random.random() < self.takes
        self.clock.drive(
            sink__open=opened,
            sink__data=random.getrandbits(2) if pair is None else pair,
            sink__strobe=pair is not None,
            words__ready=ready,
            room=self.room,
            drop=self.drop,
        )
        await self.clock.settle()
        if self.clock.pin("words__valid") and ready:
            self.found.append(self.clock.pin("words__payload"))
        self.readies.append(self.clock.pin("sink__ready"))
        receiving = self.clock.pin("receiving")
        await self.clock.edge()
        return receiving

    async def bring(self, row):
        """A circuit with these pairs, and then closed for a while."""
        for pair in row:
            while random.random() < self.pause:
                await self.cycle(1)
            await self.cycle(1, pair)

    async def close(self, cycles=None):
        """No circuit, for so many cycles."""
        for _ in range(cycles or random.choice([1, 1, 2, 9])):
            await self.cycle()

    async def drain(self):
        self.takes = 1
        await self.close(6)


def whole(words, bad=0):
    """What software is told of a message."""
    return [*words[:-1], words[-1] | LAST | bad]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def behind_a_reset_there_is_no_message(dut):
    """Nothing is coming in, nothing has ended, and RDY is 0."""
    environment = Environment(dut)
    await environment.start()
    environment.room = 1
    for _ in range(6):
        assert not await environment.cycle()
    assert not environment.found and not any(environment.readies)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_forgets_the_message(dut):
    """Wherever it comes: also a word that waits; the next message is whole."""
    environment = Environment(dut)
    await environment.start()
    for _ in range(40):
        probe, *data = units(message(random.choice([1, 3])))
        row = pairs(probe, data)
        environment.takes = random.getrandbits(1)
        await environment.bring(row[: random.randrange(1, len(row) + 1)])
        environment.clock.drive(sink__strobe=0)
        await environment.clock.reset()
        environment.found.clear()
        environment.takes = 1
        await environment.close(3)
        assert not environment.found
        words = message(2)
        probe, *data = units(words)
        await environment.bring(pairs(probe, data))
        await environment.drain()
        assert environment.found == whole(words)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_arrive_without_their_checksum(dut):
    """D2, D3; docs/ipsc2-node.md, "Deserializer": words, the last one marked; none is bad."""
    for pause in (0, 0.3, 0.8):
        environment = Environment(dut, pause)
        await environment.start()
        expected = []
        for _ in range(30):
            words = message(random.choice([1, 1, 2, 3, 7]))
            probe, *data = units(words)
            await environment.bring(pairs(probe, data))
            await environment.close()
            expected += whole(words)
        await environment.drain()
        assert environment.found == expected


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def every_bit_that_flips_is_found(dut):
    """docs/ipsc2-node.md, "Checksum": any one bit of the data, the probe or the checksum."""
    environment = Environment(dut)
    await environment.start()
    words = message(3)
    probe, *data = units(words)
    for flip in range(16 * (len(data) + 1)):
        environment.found.clear()
        await environment.bring(pairs(probe, data, 0.1, flip))
        await environment.close()
        await environment.drain()
        assert len(environment.found) == 3 and environment.found[-1] >> 32 == (LAST | BAD) >> 32
    for bit in range(8):
        environment.found.clear()
        row = pairs(probe, data)
        row[2 + bit // 2] ^= 1 << bit % 2
        await environment.bring(row)
        await environment.close()
        await environment.drain()
        assert environment.found == [words[0] ^ 1 << bit, *whole(words, BAD)[1:]]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_remainder_but_zero_is_found(dut):
    """docs/ipsc2-node.md, "Checksum": each burst in the checksum word, also those of which the division leaves a single
    bit."""
    environment = Environment(dut)
    await environment.start()
    for bit in range(16):
        words = message(2)
        probe, *data = units(words)
        wrong = burst(1 << bit)
        assert checksum([probe, *data, checksum([probe, *data]) ^ wrong]) == 1 << bit
        environment.found.clear()
        await environment.bring(pairs(probe, data, 0, wrong=wrong))
        await environment.close()
        await environment.drain()
        assert environment.found == whole(words, BAD)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def ready_follows_the_room_once_the_probe_is_there(dut):
    """D3; docs/ipsc2-node.md, "Deserializer"."""
    environment = Environment(dut, 0.2)
    await environment.start()
    environment.room = 1
    for _ in range(20):
        words = message(2)
        probe, *data = units(words)
        environment.readies.clear()
        await environment.bring(short_probe(probe))
        assert not any(environment.readies)
        for _ in range(5):
            environment.room = random.getrandbits(1)
            await environment.cycle(1)
            assert environment.readies[-1] == environment.room
        environment.room = 1
        await environment.bring(pairs(probe, data)[6:])
        environment.readies.clear()
        await environment.close(4)
        assert not any(environment.readies)
    await environment.drain()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_last_word_waits_and_holds_off_the_next_message(dut):
    """docs/ipsc2-node.md, "Deserializer": an end is never lost; a message that ends behind it unread is forgotten."""
    for _ in range(20):
        environment = Environment(dut)
        await environment.start()
        environment.room = 1
        words, after = message(random.choice([1, 2])), message(2)
        probe, *data = units(words)
        row = pairs(probe, data)
        await environment.bring(row[:-1])
        environment.takes = random.getrandbits(1)
        await environment.bring(row[-1:])
        environment.takes = 0
        await environment.close()
        before = len(environment.found)
        environment.readies.clear()
        await environment.bring(short_probe(1) + nibble(0) * 3)
        assert not any(environment.readies)
        await environment.bring(word(checksum([1]) ^ 0xFFFF, end=True))
        await environment.close()
        assert len(environment.found) == before == len(words) - 1
        await environment.drain()
        assert environment.found == whole(words)
        probe, *data = units(after)
        await environment.bring(pairs(probe, data))
        await environment.drain()
        assert environment.found == whole(words) + whole(after)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_word_that_finds_no_room_makes_the_message_bad(dut):
    """docs/ipsc2-node.md, "What can go wrong"."""
    environment = Environment(dut)
    await environment.start()
    for lost in range(4):
        environment.found.clear()
        words = message(5)
        probe, *data = units(words)
        row = pairs(probe, data, 0)
        # Word n is given on when word n + 1 is whole.
        begin = 6 + 2 + 10 * (2 * lost + 2)
        await environment.bring(row[: begin + 1])
        environment.takes = 0
        await environment.bring(row[begin + 1 : begin + 15])
        environment.takes = 1
        await environment.bring(row[begin + 15 :])
        await environment.close()
        await environment.drain()
        assert environment.found == [*words[:lost], *words[lost + 1 : -1], words[-1] | LAST | BAD]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_is_cut_short_is_told(dut):
    """docs/ipsc2-node.md, "What can go wrong": a circuit that closes, or is given up, anywhere; what comes next is
    whole."""
    for _ in range(150):
        environment = Environment(dut, random.choice([0, 0.3]))
        await environment.start()
        words, after = message(random.choice([1, 2, 3])), message(2)
        probe, *data = units(words)
        row = pairs(probe, data)
        most = random.randrange(1, len(row))
        await environment.bring(row[:most])
        gives_up = random.getrandbits(1)
        if gives_up:
            environment.drop = 1
            assert await environment.cycle(1)
            environment.drop = 0
            assert not await environment.cycle(1)
            await environment.bring(row[most:])
            assert not environment.readies[-1]
        await environment.close()
        await environment.drain()
        arrived = _units(row[:most])
        cut = [arrived[n] | arrived[n + 1] << 16 for n in range(0, len(arrived) - 1, 2)] or arrived or [0]
        assert environment.found == whole(cut, BAD | CUT)
        probe, *data = units(after)
        await environment.bring(pairs(probe, data))
        await environment.drain()
        assert environment.found[len(cut) :] == whole(after)


def _units(row):
    """The words of 16 bits that are whole in a row of pairs, the short probe first, without the one with EOM."""
    found, place = [], 0
    while place < len(row):
        size = 2 if row[place] == 3 else 10 if place else 6
        frame = row[place : place + size]
        if len(frame) == size and size > 2:
            found.append(sum(pair << 2 * n for n, pair in enumerate(frame[2:])))
        place += size
    return found


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def half_a_word_at_the_end_is_told(dut):
    """docs/ipsc2-node.md, "Deserializer": a message of an odd number of halves, and one of a probe alone."""
    environment = Environment(dut)
    await environment.start()
    for halves in (0, 2, 4):
        environment.found.clear()
        probe, *data = units(message(3))[: halves + 1]
        await environment.bring(pairs(probe, data))
        await environment.close()
        await environment.drain()
        row = [probe, *data]
        words = [row[n] | row[n + 1] << 16 for n in range(0, halves, 2)] or [probe]
        assert environment.found == whole(words, CUT)
        await environment.bring(pairs(probe, data)[:-30])
        await environment.drain()


bench = Bench(__name__, {"deserializer": Deserializer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_deserializer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
