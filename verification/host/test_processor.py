"""Bench of hdl/host/processor.py: the same software on it and on the processor of the cocotb back end, on the same
board, edge by edge."""

import random

import cocotb
import pytest

from nectar.hdl.host.numbers import BUFFER_WORDS, Turn
from nectar.hdl.host.processor import Processor
from nectar.software.backends.cable.words import encode, value
from nectar.software.backends.processor import Processor as Reference
from nectar.software.door import INTERRUPT, THREAD, BusError, Door, Runner
from nectar.verification import seeds
from nectar.verification.bench import Bench
from nectar.verification.harness import StepClock


class Software:
    """Does random things at a door, and notes what comes of them. Two with the same seed do the same. ``long``: what
    is longer than its buffers, "blocks" or "lists", and comes first; or None. ``brief``: it ends soon, with a store."""

    def __init__(self, door, seed, long, brief):
        self.door = door
        self.long, self.brief = long, brief
        self.rng = seeds.rng("software", seed)
        self.handled = seeds.rng("handler", seed)
        self.notes = []
        self.counts = (0, 1, 3, BUFFER_WORDS + 20) if long == "lists" else range(6)
        self.sizes = (0, 1), (1, 9), (4 * BUFFER_WORDS + 1, 8 * BUFFER_WORDS + 40) if long == "blocks" else (8, 40)

    def post(self, rng):
        """One posted operation."""
        door = self.door
        kind = rng.randrange(8)
        if kind < 2:
            size = rng.choice((1, 2, 4))
            door.write(rng.randrange(1 << 22) * size, rng.getrandbits(32), size)
        elif kind == 2:
            door.write_block(rng.randrange(1 << 23), rng.randbytes(rng.randint(*rng.choice(self.sizes))))
        elif kind == 3:
            door.supervise(rng.random() < 0.5)
        elif kind == 4:
            (door.mask if rng.random() < 0.3 else door.unmask)()
        elif kind == 5 and rng.random() < 0.3:
            door.attach(self.handler)
        else:
            door.spend(rng.choice((0, 1, 2, rng.randrange(20))))

    async def awaited(self, rng, long=False):
        """One awaited operation, its result or error noted. ``long``: it is a block of the longest sizes."""
        door = self.door
        kind = 2 if long else rng.randrange(6)
        try:
            if kind < 2:
                size = rng.choice((1, 2, 4))
                got = await door.read(rng.randrange(1 << 22) * size, size)
            elif kind < 4:
                sizes = self.sizes[-1] if long else rng.choice(self.sizes)
                got = await door.read_block(rng.randrange(1 << 23), rng.randint(*sizes))
            elif kind == 4 or rng is self.handled:
                got = await door.now()
            else:
                got = await door.wait()
        except BusError as error:
            got = (error.address, error.write)
        self.notes.append((kind, got))

    async def main(self):
        """Level 0; when it ends its last operations may fail with nobody left to hear of it."""
        if self.long == "lists":
            for _ in range(self.counts[-1]):
                self.post(self.rng)
        elif self.long:
            await self.awaited(self.rng, long=True)
        for _ in range(1 if self.brief else self.rng.randint(1, 40)):
            for _ in range(self.rng.choice(self.counts)):
                self.post(self.rng)
            await self.awaited(self.rng)
        for _ in range(self.rng.randrange(4)):
            self.post(self.rng)
        if self.brief:
            self.door.write(0, 0)

    async def handler(self):
        """Level 1."""
        self.notes.append("handler")
        for _ in range(self.handled.randrange(3)):
            self.post(self.handled)
            if self.handled.random() < 0.5:
                await self.awaited(self.handled)


class Board:
    """What a CAB might answer."""

    def __init__(self, errors):
        self.patience = random.choice((1, 0.6, 0.2))
        self.irq = random.choice((0, 0.05, 0.5))
        self.errors = errors
        self.due = []  # edges until each answer, oldest first

    def pins(self):
        """What it shows at the next edge."""
        done = bool(self.due) and self.due[0] <= 0
        return {
            "bus__done": done,
            "bus__read_data": random.getrandbits(32),
            "bus__error": done and random.random() < self.errors,
            "bus__ready": random.random() < self.patience,
            "irq": random.random() < self.irq,
        }

    def edge(self, pins, asked):
        """An edge, at which it showed ``pins``; ``asked``: a request was there."""
        if pins["bus__done"]:
            self.due.pop(0)
        self.due = [edges - 1 for edges in self.due]
        if asked and pins["bus__ready"]:
            self.due.append(random.choice((0, 2, 2, 5)))


class Host:
    """The software's host, at the pins of a processor."""

    def __init__(self, clock, software):
        self.clock = clock
        self.runner = Runner(software.door, software.main())
        self.loads = [[], []]
        self.awaited = [None, None]
        self.results = []
        self.edges = 0
        self.told = set()

    def pin(self, name):
        return self.clock.pin(name)

    async def cycle(self, **pins):
        """A cycle without tick; now and then some more."""
        self.clock.drive(**pins)
        await self.clock.settle()
        await self.clock.edge()
        self.clock.drive(host__commit=0, host__write=0, host__wake=0, tick=0)
        while random.random() < 0.1:
            await self.clock.settle()
            await self.clock.edge()

    async def give(self, operations, level):
        """The processor gets operations of a level."""
        given = encode(operations)
        self.awaited[level] = given.awaited
        self.loads[level] = given.loads
        self.results = []
        await self.load(level)

    async def load(self, level):
        words = self.loads[level].pop(0)
        for address, word in enumerate(words):
            await self.cycle(host__write=1, host__address=address, host__data=word)
        await self.commit(len(words), not self.loads[level] and self.runner.ended)

    async def commit(self, count=0, final=False):
        await self.cycle(
            host__commit=1, host__count=count, host__final=final, host__attached=self.runner.door.handler is not None
        )

    async def settle(self):
        """Serves turns until the next edge may come. Returns the error that nobody is left to hear of, if there is
        one."""
        while True:
            await self.clock.settle()
            if not self.pin("stall"):
                return None
            turn = Turn(self.pin("host__turn"))
            self.told.add(turn)
            level = self.pin("host__level")
            if turn == Turn.NONE:
                await self.clock.edge()
            elif turn == Turn.MORE:
                await self.load(level)
            elif turn == Turn.UNHANDLED:
                return self.pin("host__error_address"), bool(self.pin("host__error_write"))
            elif turn == Turn.INTERRUPT:
                await self.give(self.runner.interrupt(), INTERRUPT)
            else:
                for address in range(self.pin("host__results")):
                    await self.cycle(host__address=address)
                    self.results.append(self.pin("host__result"))
                await self.resumed(turn, level)

    async def resumed(self, turn, level):
        if turn == Turn.RESULTS:
            await self.commit()
        elif self.pin("host__failed"):
            error = BusError(self.pin("host__error_address"), bool(self.pin("host__error_write")))
            await self.give(self.runner.resume(level, None, error), level)
        else:
            await self.give(self.runner.resume(level, value(self.awaited[level], self.results, self.edges)), level)


PINS = ("bus__done", "bus__read_data", "bus__error", "bus__ready", "irq")
INPUTS = (
    *PINS,
    "tick",
    "host__write",
    "host__address",
    "host__data",
    "host__commit",
    "host__count",
    "host__attached",
    "host__final",
    "host__wake",
)


async def scenario(clock, most, long, fails=False):
    """Random software on both, until it has ended or ``most`` edges are over. What turns there were, and how it
    ended. ``fails``: it ends soon, and each of its accesses fails, also the last, of which no await is to hear."""
    await clock.start(*INPUTS)
    seed = random.getrandbits(32)
    theirs, ours = (Software(Door(16_000_000), seed, long, fails) for _ in range(2))
    reference = Reference(theirs.door, theirs.main())
    host = Host(clock, ours)
    board = Board(1 if fails else random.choice((0, 0, 0.1)))
    await host.give(host.runner.resume(THREAD), THREAD)
    assert await host.settle() is None and not host.pin("bus__valid"), "it starts before its first edge"
    asked = False
    ended = "not"
    for edge in range(most):
        pins = board.pins()
        host.edges = edge + 1
        clock.drive(tick=1, **pins)
        await clock.settle()
        await clock.edge()
        clock.drive(tick=0)
        board.edge(pins, asked)
        lost = await host.settle()
        try:
            request = reference.edge(*pins.values())
        except BusError as error:
            assert lost == (error.address, error.write)
            ended = "badly"
            break
        assert lost is None, f"edge {edge}: an error that the software is to hear of is told the host"
        asked = bool(host.pin("bus__valid"))
        got = (
            (
                host.pin("bus__address"),
                bool(host.pin("bus__write")),
                host.pin("bus__select"),
                host.pin("bus__write_data"),
                bool(host.pin("bus__kernel")),
            )
            if asked
            else None
        )
        assert got == (request and tuple(request)), f"edge {edge}: {got}, not {request}"
        assert ours.notes == theirs.notes, f"edge {edge}"
        assert host.pin("asleep") == reference.asleep, f"edge {edge}"
        if reference.ended:
            ended = "well"
            break
        if reference.asleep and random.random() < 0.1:
            reference.wake()
            await host.cycle(host__wake=1)
    assert ours.notes == theirs.notes
    reference.close()
    host.runner.close()
    return host.told | {ended}


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def it_does_what_the_door_says_at_each_edge(dut):
    """docs/door.md: requests, interrupts, computing, waiting, errors, both levels, at the same edges as the
    reference."""
    clock = StepClock(dut)
    met = await scenario(clock, 2000, None, fails=True)
    for _ in range(30):
        met |= await scenario(clock, 400, None)
    assert met >= {Turn.RESUME, Turn.INTERRUPT, Turn.UNHANDLED, "well", "badly"}


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def what_is_longer_than_its_buffers_takes_no_more_time(dut):
    """docs/cable.md: blocks and lists of any length are given and taken in parts, while time stands still."""
    clock = StepClock(dut)
    met = set()
    for count in range(5):
        met |= await scenario(clock, 2500, ("blocks", "lists")[count % 2])
    assert met >= {Turn.MORE, Turn.RESULTS}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_spend_takes_as_many_cycles_as_it_says(dut):
    """docs/door.md: spend(n) fetched at edge k ends at edge k + n; the longest that one word can say is taken, too."""
    clock = StepClock(dut)
    await clock.start(*INPUTS)

    class Spender:
        door = Door(16_000_000)
        ends = []

        async def main(self):
            for cycles in (0, 1, 2, 7, 1000):
                self.door.spend(cycles)
                self.ends.append(await self.door.now())

    software = Spender()
    host = Host(clock, software)
    await host.give(host.runner.resume(THREAD), THREAD)
    await host.settle()
    while not host.runner.ended:
        host.edges += 1
        clock.drive(tick=1)
        await clock.settle()
        await clock.edge()
        clock.drive(tick=0)
        await host.settle()
    assert software.ends == [0, 1, 3, 10, 1010]


bench = Bench(__name__, {"processor": Processor}, ports_only=True)


@pytest.mark.parametrize("configuration, claim", bench.cases())
def test_processor(configuration, claim):
    """Each claim."""
    bench.check(configuration, claim)
