"""Bench of hdl/ipsc2/node/serializer.py: frames, throttling, checksum, and messages that nobody can have."""

import random
from collections import deque

import cocotb
import pytest

from nectar.hdl.ipsc2.formats import WORD_PAIRS
from nectar.hdl.ipsc2.node.checksum import checksum
from nectar.hdl.ipsc2.node.serializer import Serializer
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock

INPUTS = "words__payload", "words__valid", "source__grant", "source__allow", "source__refused", "abort"


def division(words):
    """The remainder of the polynomial division, as docs/ipsc2-node.md, "Checksum" has it; bit 0 goes first."""
    bits = [word >> place & 1 for word in words for place in range(16)]
    dividend = [bit ^ (place < 16) for place, bit in enumerate(bits)] + [0] * 16
    for place in range(len(bits)):
        if dividend[place]:
            for power in (0, 4, 11, 16):  # x^16, x^12, x^5, 1
                dividend[place + power] ^= 1
    return sum(bit << place for place, bit in enumerate(dividend[-16:]))


def test_the_checksum_is_the_remainder_of_a_division():
    """docs/ipsc2-node.md, "Checksum"; a message with its checksum behind it has the remainder 0."""
    for length in (1, 2, 3, 9):
        words = [random.getrandbits(16) for _ in range(length)]
        assert checksum(words) == division(words)
        assert checksum([*words, checksum(words)]) == 0
        assert checksum([*words, checksum(words) ^ 0xFFFF]) != 0


def test_the_closing_word_of_a_router_is_no_checksum_of_a_probe():
    """docs/ipsc2.md, "An end before the circuit stands": its data are 0, and the destination finds it wrong."""
    assert all(division([probe]) for probe in range(256))


def message(length):
    """``length`` words of 32 bits."""
    return [random.getrandbits(32) for _ in range(length)]


def units(words):
    """The words of 16 bits that a message has on the wire, without its checksum: the probe first."""
    return [unit for word in words for unit in (word & 0xFFFF, word >> 16)]


class Router:
    """The node source as docs/ipsc2.md has it: takes pairs and makes frames of them, grants and allows at random.

    ``stays``: how likely allow is to keep its value. ``lag``: most cycles to a grant. ``refuses``: probes that are
    refused.
    """

    def __init__(self, stays=0.9, lag=30, refuses=(), allows=True):
        self.stays, self.lag, self.refuses, self.allows = stays, lag, refuses, allows
        self.waits, self.granted, self.allow = None, False, 0
        self.frames, self.pairs, self.done = [], [], []
        self.was_allowed = self.may = False
        self.asked = 0

    def inputs(self):
        """grant, allow."""
        if not self.granted:
            self.allow = 0
        elif random.random() > self.stays:
            self.allow = self.allows and random.getrandbits(1)
        return self.granted, self.allow

    def sample(self, request, probe, data):
        """A cycle; whether a message has ended in it."""
        if not self.granted:
            if not request:
                self.waits = None
            elif probe not in self.refuses:
                assert data == 0, "the first pair of a word"
                if self.waits is None:
                    self.waits, self.asked = random.randrange(self.lag), probe
                assert probe == self.asked, "probe holds"
                self.waits -= 1
                self.granted = self.waits < 0
                self.pairs, self.frames = [], []
            self.was_allowed = False
            return False
        if not self.pairs:
            self.may = self.allow or self.was_allowed
        self.was_allowed = self.allow
        self.pairs.append(data)
        if self.pairs[0] == 3 and len(self.pairs) == 2:
            assert self.frames, "the probe comes first"
            assert self.pairs[1] >> 1 == 1
            self.frames.append(None)
            self.pairs = []
        elif len(self.pairs) == WORD_PAIRS:
            assert self.pairs[0] == 0
            value = sum(pair << 2 * place for place, pair in enumerate(self.pairs[2:]))
            end = self.pairs[1] >> 1
            assert self.frames or value == self.asked, "the probe that is asked with is the one that is sent"
            self.frames.append((value, end, self.may))
            self.pairs = []
            if end:
                self.granted, self.waits = False, None
                self.done.append(self.frames)
                return True
        else:
            assert self.pairs[0] in (0, 3)
        return False


class Environment:
    """A serializer between words that come at random and a Router."""

    def __init__(self, dut, router, pause=0.0):
        self.clock, self.router, self.pause = StepClock(dut), router, pause
        self.words, self.events, self.offer = deque(), [], None
        self.abort = self.busy = False

    async def start(self):
        await self.clock.start(*INPUTS)

    def send(self, words):
        """Queues a message."""
        self.words += [each | (n == len(words) - 1) << 32 for n, each in enumerate(words)]

    async def cycle(self):
        """One cycle."""
        if self.offer is None and self.words and random.random() >= self.pause:
            self.offer = self.words.popleft()
        grant, allow = self.router.inputs()
        offer = random.getrandbits(33) if self.offer is None else self.offer
        self.clock.drive(
            words__payload=offer,
            words__valid=self.offer is not None,
            source__grant=grant,
            source__allow=allow,
            abort=self.abort,
            source__refused=0,
        )
        await self.clock.settle()
        pin = self.clock.pin
        if pin("source__request") and pin("source__probe") in self.router.refuses:
            self.clock.drive(source__refused=1)
            await self.clock.settle()
        self.busy = pin("busy")
        assert self.busy or not (pin("source__request") or grant)
        if self.offer is not None and pin("words__ready"):
            self.offer = None
        ended = self.router.sample(pin("source__request"), pin("source__probe"), pin("source__data"))
        told = [name for name in ("sent", "refused", "aborted") if pin(name)]
        assert len(told) <= 1
        if ended:
            assert told and told[0] != "refused"
        else:
            assert "sent" not in told
        self.events += told
        await self.clock.edge()
        return told

    async def until(self, count, limit):
        """Until ``count`` messages have ended in some way."""
        for _ in range(limit):
            if len(self.events) >= count and not self.words and self.offer is None:
                break
            await self.cycle()
        assert len(self.events) == count and not self.words and self.offer is None, self.events
        for _ in range(3):
            await self.cycle()
        assert len(self.events) == count and not self.clock.pin("busy")


def check(frames, words):
    """A message on the wire is what it should be."""
    data = [frame for frame in frames if frame]
    assert [value for value, _, _ in data] == [*units(words), checksum(units(words))]
    assert [end for _, end, _ in data] == [0] * (len(data) - 1) + [1]
    assert frames[0] == data[0] and all(may for _, _, may in data[1:]), "words need allow data"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_go_out_whole_and_in_order(dut):
    """D1 to D3; docs/ipsc2-node.md, "Serializer": probe, words, checksum with EOM; nibbles where words may not go."""
    for stays, lag, pause in [(0.97, 30, 0), (0.7, 1, 0.1), (0.9, 5, 0.9)]:
        environment = Environment(dut, Router(stays, lag), pause)
        await environment.start()
        sent = [message(random.choice([1, 1, 2, 3, 8])) for _ in range(20)]
        for each in sent:
            environment.send(each)
        await environment.until(len(sent), 40_000)
        assert environment.events == ["sent"] * len(sent)
        for frames, words in zip(environment.router.done, sent, strict=True):
            check(frames, words)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def words_follow_each_other_without_gaps(dut):
    """D1: 2.8 Mbyte/s: with allow data there is no nibble between words; the next message asks at once."""
    router = Router(stays=1, lag=1)
    environment = Environment(dut, router)
    await environment.start()
    sent = [message(5), message(1)]
    for each in sent:
        environment.send(each)
    router.allow = 1
    cycles = 0
    while len(environment.events) < 2:
        if router.granted:
            router.allow, router.stays = 1, 2
        await environment.cycle()
        cycles += 1
    for frames, words in zip(router.done, sent, strict=True):
        check(frames, words)
        assert frames.count(None) <= 1
    # A cycle to take the first word, two to be granted, the frames.
    assert cycles <= sum(3 + WORD_PAIRS * (2 * len(words) + 1) + 4 for words in sent)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_message_to_nobody_is_refused_and_dropped(dut):
    """docs/ipsc2-node.md, "What can go wrong": the next message goes out as if it had not been."""
    environment = Environment(dut, Router(0.9, 5, refuses=(0, 0x100)), 0.2)
    await environment.start()
    good = []
    expected = []
    for _ in range(30):
        words = message(random.choice([1, 2, 4]))
        if random.getrandbits(1):
            words[0] = words[0] & ~0xFFFF | random.choice([0, 0x100])
            expected.append("refused")
        else:
            words[0] |= 1
            good.append(words)
            expected.append("sent")
        environment.send(words)
    await environment.until(len(expected), 30_000)
    assert environment.events == expected
    for frames, words in zip(environment.router.done, good, strict=True):
        check(frames, words)


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_message_that_is_given_up_ends_with_a_wrong_checksum(dut):
    """docs/ipsc2-node.md, "What can go wrong": whenever it is given up; and what comes next is sent."""
    for _ in range(120):
        router = Router(random.choice([0.5, 0.9]), random.choice([1, 3, 20]), allows=random.random() < 0.7)
        environment = Environment(dut, router, random.choice([0, 0.3]))
        await environment.start()
        words, after = message(random.choice([1, 2, 3])), message(2)
        environment.send(words)
        environment.send(after)
        if not router.allows:
            wait = random.randrange(10, 60)
        else:
            wait = random.randrange(150)
        once, given_up, told = random.getrandbits(1), None, []
        while not told and environment.clock.cycles < 1000:
            now = environment.clock.cycles
            environment.abort = now >= wait and (not once or environment.busy and given_up is None)
            told = await environment.cycle()
            if environment.abort and environment.busy and given_up is None:
                given_up = now
        environment.abort, router.allows = False, True
        assert told in (["sent"], ["aborted"]), "it ends without allow data"
        # The checksum word is chosen with the last pair of the frame before.
        if told == ["sent"]:
            assert given_up is None or given_up >= now - WORD_PAIRS, "it was given up in time"
        first = len(environment.events)
        done = len(router.done)
        for frames in router.done:
            data = [value for value, _, _ in filter(None, frames)]
            wire = [*units(words), checksum(units(words))]
            if told == ["sent"]:
                assert data == wire
            else:
                *begun, last = data
                assert begun == wire[: len(begun)] and len(begun) < len(wire)
                assert last == checksum(begun) ^ 0xFFFF
                assert frames[-2] is None, "a nibble is in front, also behind the probe"
        await environment.until(first + 1, 4000)
        assert environment.events[-1] == "sent"
        assert len(router.done) == done + 1
        check(router.done[-1], after)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def giving_up_without_a_message_does_nothing(dut):
    """docs/ipsc2-node.md, "Serializer"."""
    environment = Environment(dut, Router(0.9, 3))
    await environment.start()
    environment.abort = True
    for _ in range(20):
        await environment.cycle()
    environment.abort = False
    words = message(2)
    environment.send(words)
    await environment.until(1, 1000)
    check(environment.router.done[0], words)


bench = Bench(__name__, {"serializer": Serializer}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_serializer(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
