"""Bench of hdl/host/host_controller.py: requests, repeated, out of order and senseless ones among them, with
processors that do what they like."""

import random

import cocotb
import pytest

from nectar.hdl.host.host_controller import HostController
from nectar.hdl.host.numbers import (
    ANSWER,
    FRAME_WORDS,
    QUIET_EDGES,
    REQUEST,
    RESET_EDGES,
    VERSION,
    Answer,
    Item,
    Reason,
    Request,
    Turn,
    header,
)
from nectar.software.backends.cable.words import turns
from nectar.verification.bench import Bench, inside
from nectar.verification.harness import StepClock

IDENTITY = [0x12345678, 0x9ABCDEF0, 7]


class Fake:
    """A processor that takes what it is given, is busy for a while, lets some edges go by, and wants something
    again."""

    def __init__(self, eager):
        self.eager = eager
        self.absent()

    def absent(self):
        self.turn, self.busy, self.edges, self.sleeps = Turn.NONE, 0, None, True
        self.level = self.failed = self.error_write = self.error_address = 0
        self.results = []
        self.buffer = {}
        self.given = []

    @property
    def stall(self):
        return bool(self.busy or self.turn)

    def committed(self, count, attached, final):
        self.given.append(([self.buffer.pop(n) for n in range(count)], attached, final))
        assert not self.buffer, "words that nobody has counted"
        self.turn, self.busy = Turn.NONE, random.randrange(3)
        self.edges = random.choice((0, 1, 5, 300)) if random.random() < self.eager else None
        self.sleeps = self.edges is None

    def cycle(self, tick):
        if self.busy:
            self.busy -= 1
        elif tick and self.edges:
            self.edges -= 1
        if self.edges == 0 and not self.busy:
            self.edges = None
            self.turn = random.choice([turn for turn in Turn if turn])
            self.level, self.failed, self.error_write = (random.getrandbits(1) for _ in range(3))
            self.error_address = random.getrandbits(24)
            self.results = [random.getrandbits(32) for _ in range(random.choice((0, 0, 1, 3, 256)))]


class Board:
    """Everything around the conductor."""

    def __init__(self, dut, eager=0.8):
        self.clock = StepClock(dut)
        self.cabs = [Fake(eager) for _ in range(int(inside().split()[0]))]
        self.frames = [0] * FRAME_WORDS
        self.answers = []
        self.answer = []
        self.edges = 0
        self.woken = set()
        self.quiet = False
        self.patience = random.choice((1, 0.4))
        self.address = 0
        self.results = 0
        self.resets = 0

    async def start(self):
        await self.clock.start(
            "frame",
            "length",
            "word",
            "stall",
            "asleep",
            "quiet",
            "words__ready",
            *(
                f"host_{n}__{name}"
                for n in range(len(self.cabs))
                for name in ("turn", "level", "failed", "error_write", "error_address", "results", "result")
            ),
        )

    def pin(self, name):
        return self.clock.pin(name)

    async def cycle(self, frame=0, length=0):
        clock = self.clock
        for n, cab in enumerate(self.cabs):
            clock.drive(
                **{
                    f"host_{n}__turn": cab.turn,
                    f"host_{n}__level": cab.level,
                    f"host_{n}__failed": cab.failed,
                    f"host_{n}__error_write": cab.error_write,
                    f"host_{n}__error_address": cab.error_address,
                    f"host_{n}__results": len(cab.results),
                    f"host_{n}__result": cab.results[self.results]
                    if self.results < len(cab.results)
                    else random.getrandbits(32),
                }
            )
        stall = sum(cab.stall << n for n, cab in enumerate(self.cabs))
        clock.drive(
            frame=frame,
            word=self.frames[self.address],
            stall=stall,
            quiet=self.quiet,
            asleep=sum(cab.sleeps << n for n, cab in enumerate(self.cabs)),
            words__ready=random.random() < self.patience,
        )
        if length:
            clock.drive(length=length)
        await clock.settle()
        tick = self.pin("tick")
        assert not (tick and stall) or self.pin("reset"), "time goes on although a processor stalls"
        assert self.pin("hold") or not frame, "the buffer of a request can be overwritten"
        if tick:
            if self.pin("reset"):
                self.resets += 1
                self.edges = 0
            else:
                self.edges += 1
        if self.pin("words__valid") and clock.inputs["words__ready"]:
            payload = self.pin("words__payload")
            self.answer.append(payload & 0xFFFFFFFF)
            if payload >> 32:
                self.answers.append(self.answer)
                self.answer = []
        self.address = self.pin("address")
        for n, cab in enumerate(self.cabs):
            if self.pin(f"host_{n}__write"):
                cab.buffer[self.pin(f"host_{n}__address")] = self.pin(f"host_{n}__data")
            self.results = self.pin("host_0__address")
            if self.pin(f"host_{n}__wake"):
                self.woken.add(n)
            if self.pin("halt") >> n & 1:
                cab.absent()
            elif self.pin(f"host_{n}__commit"):
                cab.committed(
                    self.pin(f"host_{n}__count"), self.pin(f"host_{n}__attached"), self.pin(f"host_{n}__final")
                )
            else:
                cab.cycle(tick)
        await clock.edge()

    async def free(self):
        """Until a frame may come."""
        while self.pin("hold"):
            await self.cycle()

    async def request(self, words):
        """A frame comes, as soon as there may be one."""
        await self.free()
        self.frames[: len(words) + 1] = [*words, random.getrandbits(32)]
        await self.cycle(frame=1, length=len(words) + 1)

    async def answered(self, most=5000):
        """The next answer; None if there is none."""
        for _ in range(most):
            if self.answers:
                return self.answers.pop(0)
            await self.cycle()
        return None

    async def nothing(self):
        """There is no answer."""
        assert await self.answered(60) is None

    def status(self, answer, number):
        """What a STATUS says: reason, edges, and turns, which must be those of the processors."""
        first, reason, high, low, *rest = answer
        assert first == header(ANSWER, number, Answer.STATUS)
        told = [
            (turn.turn, turn.cab, turn.level, turn.failed, turn.error_write, turn.error_address, turn.results)
            for turn in turns(rest)
        ]
        assert told == [
            (cab.turn, n, cab.level, bool(cab.failed), bool(cab.error_write), cab.error_address, cab.results)
            for n, cab in enumerate(self.cabs)
            if cab.turn
        ]
        assert high << 32 | low == self.edges
        return Reason(reason)

    async def begin(self):
        """A session. Returns the number of its last request."""
        await self.start()
        number = random.getrandbits(8)
        await self.request([header(REQUEST, number, Request.IDENTIFY)])
        assert await self.answered() == [header(ANSWER, number, Answer.IDENTITY), *IDENTITY]
        number = number + 1 & 0xFF
        await self.request([header(REQUEST, number, Request.RESET)])
        assert (
            self.status(await self.answered(), number) == Reason.LIMIT
            and self.resets == RESET_EDGES
            and not self.pin("reset")
        )
        return number

    def items(self):
        """Items for those who have a turn, and some more: (words, what each CAB must get, who is woken, who is
        halted)."""
        words, expected, woken, halted = [], {}, set(), set()
        for n, cab in enumerate(self.cabs):
            if cab.turn or not cab.given:
                load = [random.getrandbits(32) for _ in range(random.choice((0, 1, 5, 256 if len(words) < 200 else 9)))]
                attached, final = random.getrandbits(1), random.getrandbits(1)
                words += [Item.LOAD << 28 | n << 24 | final << 21 | attached << 20 | len(load), *load]
                expected[n] = (load, attached, final)
            if random.random() < 0.1:
                words.append(Item.WAKE << 28 | n << 24)
                woken.add(n)
            elif random.random() < 0.03:
                words.append(Item.HALT << 28 | n << 24)
                halted.add(n)
                expected.pop(n, None)
        return words, expected, woken, halted


async def _go(board, number, met):
    """One GO with its answer, disturbed in all ways."""
    limit = random.choice((0, 1, 7, 60, 1000, 1000, 1000))
    words, expected, woken, halted = board.items()
    before = {n: len(cab.given) for n, cab in enumerate(board.cabs)}
    begin = board.edges
    board.woken = set()
    go = [header(REQUEST, number, Request.GO), limit, *words]
    await board.request(go)
    # What comes while it runs.
    answer = None
    for _ in range(random.randrange(4)):
        for _ in range(len(words) + random.randrange(20, 80)):
            await board.cycle()
        await board.free()
        if board.answers:
            break
        kind = random.randrange(4)
        if kind == 0:
            await board.request(go)
            answer = await board.answered()
            if answer != [header(ANSWER, number, Answer.BUSY)]:
                break
            met.add("busy")
            answer = None
        elif kind == 1:
            await board.request([header(REQUEST, number + 1 & 0xFF, Request.GO), 1, Item.WAKE << 28])
        elif kind == 2:
            await board.request([header(ANSWER, number, Answer.STATUS), 1])
        else:
            await board.request([header(REQUEST, number, Request.GO) ^ 3 << 16, 5])
    if answer is None:
        answer = await board.answered(2 * limit + 3000)
    reason = board.status(answer, number)
    met.add(reason)
    assert board.edges - begin <= limit
    if reason == Reason.LIMIT:
        assert board.edges - begin == limit
    assert (reason == Reason.TURN) == any(cab.turn for cab in board.cabs)
    for n, cab in enumerate(board.cabs):
        if n not in halted:
            assert cab.given[before[n] :] == ([expected[n]] if n in expected else [])
    assert board.woken == woken
    # The same again, what is no request, and what is not due: nothing is done.
    state = [(cab.turn, len(cab.given)) for cab in board.cabs], board.edges
    for _ in range(random.randrange(3)):
        kind = random.randrange(4)
        if kind == 0:
            await board.request(go)
            assert await board.answered() == answer
            met.add("again")
        elif kind == 1:
            await board.request([header(REQUEST, number + random.randrange(2, 256) & 0xFF, Request.GO), 9])
            await board.nothing()
        elif kind == 2:
            await board.request([header(REQUEST, number + 1 & 0xFF, random.choice((0, 4, 0x81)))])
            await board.nothing()
        else:
            await board.request(
                [random.choice((header(REQUEST, number + 1 & 0xFF, Request.GO) ^ 1 << 24 + random.randrange(8), 0)), 9]
            )
            await board.nothing()
        assert state == ([(cab.turn, len(cab.given)) for cab in board.cabs], board.edges)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def each_request_is_done_once_and_answered_as_often_as_it_comes(dut):
    """docs/cable.md: loads, limits, turns and results, repetitions, and requests that are out of order or none."""
    met = set()
    for count in range(4):
        board = Board(dut, eager=(0.9, 0.3)[count % 2])
        number = await board.begin()
        for _ in range(12):
            number = number + 1 & 0xFF
            await _go(board, number, met)
    assert met >= {Reason.TURN, Reason.LIMIT, "busy", "again"}


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_run_is_over_when_nothing_can_happen_any_more(dut):
    """docs/cable.md: after QUIET_EDGES edges in a row at which boards and processors sleep; not before, and again
    only when something was given."""
    board = Board(dut, eager=0)
    number = await board.begin()
    for count in range(1, 10):
        number = number + 1 & 0xFF
        board.quiet = False
        before = board.edges
        await board.request([header(REQUEST, number, Request.GO), 1000, Item.WAKE << 28])
        busy = random.randrange(50)
        while board.edges < before + busy:
            await board.cycle()
            board.quiet = board.edges < before + busy - 1 and random.random() < 0.5
        board.quiet = True
        assert board.status(await board.answered(), number) == Reason.QUIET
        assert QUIET_EDGES <= board.edges - before <= busy + QUIET_EDGES
        assert board.edges - before >= busy
        number = number + 1 & 0xFF
        before = board.edges
        await board.request([header(REQUEST, number, Request.GO), 1000])
        assert board.status(await board.answered(), number) == Reason.QUIET and board.edges == before


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_new_session_ends_a_run(dut):
    """docs/cable.md: IDENTIFY is taken at any time and with any number and version, and time stands still from there
    on; RESET follows."""
    for _ in range(5):
        board = Board(dut, eager=0)
        number = await board.begin()
        await board.request([header(REQUEST, number + 1 & 0xFF, Request.GO), 0xFFFF_FFFF, Item.WAKE << 28])
        for _ in range(100):
            await board.cycle()
        assert board.edges > 50
        number = random.getrandbits(8)
        await board.request([header(REQUEST, number, Request.IDENTIFY) ^ random.getrandbits(8) << 16])
        assert await board.answered() == [header(ANSWER, number, Answer.IDENTITY), *IDENTITY]
        edges = board.edges
        for _ in range(100):
            await board.cycle()
        assert board.edges == edges
        await board.request([header(REQUEST, number + 1 & 0xFF, Request.RESET)])
        board.status(await board.answered(), number + 1 & 0xFF)
        assert board.edges == 0


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def it_does_not_hang_whatever_a_request_says(dut):
    """Requests of random words, whole by their checksum: a session can begin behind each."""
    board = Board(dut)
    number = await board.begin()
    for _ in range(20):
        for cab in board.cabs:
            cab.committed = lambda *given: None
        words = [
            random.choice((random.getrandbits(32), Item.LOAD << 28 | random.getrandbits(9), 0))
            for _ in range(random.choice((0, 1, 5, 100)))
        ]
        await board.request([header(REQUEST, number + 1 & 0xFF, random.choice(list(Request))), *words])
        for _ in range(random.randrange(700)):
            await board.cycle()
        while board.pin("words__valid"):
            await board.cycle()
        board.answers, board.answer = [], []
        number = random.getrandbits(8)
        for _ in range(600):
            await board.cycle()
        await board.request([header(REQUEST, number, Request.IDENTIFY)])
        while (answer := await board.answered())[0] != header(ANSWER, number, Answer.IDENTITY):
            assert answer[0] & 0xFF in (Answer.STATUS, Answer.BUSY)


bench = Bench(
    __name__,
    {"1 cab": lambda: HostController(1, IDENTITY), "3 cabs": lambda: HostController(3, IDENTITY)},
    ports_only=True,
)


@pytest.mark.parametrize(
    "configuration, claim",
    [pytest.param(*case, marks=pytest.mark.nightly) if case[0] == "1 cab" else case for case in bench.cases()],
)
def test_host_controller(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)


@pytest.mark.parametrize(
    "cabs, error, message",
    [(0, ValueError, "1 to 16 CABs, not 0"), (17, ValueError, "not 17"), ("2", TypeError, "an integer, not '2'")],
)
def test_a_number_of_cabs_that_cannot_be_is_refused(cabs, error, message):
    with pytest.raises(error, match=message):
        HostController(cabs, IDENTITY)


def test_the_numbers_are_those_of_the_protocol():
    """docs/cable.md: the first word of a request."""
    assert header(REQUEST, 5, Request.GO) == 0x4E << 24 | VERSION << 16 | 5 << 8 | 3
