"""A host at the pins of a cable's serial line, for benches."""

import random

from nectar.hdl.host.numbers import REQUEST, Item, Reason, Request, Turn, header
from nectar.software.backends.cable.words import Deframer, encode, frame, turns, value
from nectar.software.door import Operation, OperationKind
from nectar.verification.harness import StepClock

__all__ = ["Session", "disturbed"]

#: What a processor does that has nothing to do.
_FILLER = [Operation(OperationKind.SPEND, 0, 0, 20), Operation(OperationKind.NOW)]


class Session:
    """Moves the clock, sends requests and finds answers.

    Parameters
    ----------
    dut : cocotb handle
        Has ``clk``, ``rst``, ``rx`` and ``tx``.
    bit : int
        Cycles of a bit.
    spoil : callable
        What the line makes of bytes, in both directions.

    Members
    -------
    clock : StepClock
        What else stands at the pins is attached to it.
    """

    def __init__(self, dut, bit, spoil=lambda data: data):
        self.clock = StepClock(dut)
        self.bit = bit
        self.spoil = spoil
        self.number = random.getrandbits(8)
        self.repeats = 0
        self._deframer = Deframer()
        self._frames = []
        self._bits = []  # to be sent
        self._wait = 0
        self._since = None  # cycles since the start bit of what is received
        self._byte = 0

    async def start(self):
        """Resets."""
        self.clock.drive(rx=1)
        await self.clock.start()

    async def cycle(self):
        """A cycle of the clock and of the line."""
        if self._wait:
            self._wait -= 1
        elif self._bits:
            self.clock.drive(rx=self._bits.pop(0))
            self._wait = self.bit - 1
        await self.clock.cycle()
        if self._since is None:
            if self.clock.pin("tx"):
                return
            self._since = 0
        self._since += 1
        place, middle = divmod(self._since, self.bit)
        if middle == self.bit // 2:
            if 1 <= place <= 8:
                self._byte = self._byte >> 1 | self.clock.pin("tx") << 7
            elif place == 9:
                assert self.clock.pin("tx"), "no stop bit"
                self._frames += self._deframer.take(self.spoil(bytes([self._byte])))
                self._since = None

    def send(self, data):
        """Puts bytes on the line."""
        for byte in self.spoil(data):
            self._bits += [0, *(byte >> n & 1 for n in range(8)), 1]

    async def ask(self, kind, words=(), patience=200):
        """The answer to a request; it is repeated after so many bits without an answer."""
        self.number = self.number + 1 & 0xFF
        request = frame([header(REQUEST, self.number, kind), *words])
        for _ in range(200):
            self.send(request)
            silent = 0
            while silent < patience * self.bit:
                await self.cycle()
                silent = 0 if self._bits or self._since is not None else silent + 1
                while self._frames:
                    first, *rest = self._frames.pop(0)
                    if first >> 8 & 0xFF == self.number and first & 0xFF != 0x80:
                        return rest
            self.repeats += 1
        raise AssertionError("no answer, however often the request was sent")

    async def do(self, work):
        """Has each processor do operations, the last of which is awaited; ``work``: CAB's number → operations, for
        all CABs. The values, by CAB.

        Those that are done before the others compute until these are, too.
        """
        given = {cab: encode(operations) for cab, operations in work.items()}
        loads = {cab: list(one.loads) for cab, one in given.items()}
        results = {cab: [] for cab in work}
        values = {}
        due = set(work)
        while len(values) < len(work):
            words = []
            for cab in due:
                load = encode(_FILLER).loads[0] if cab in values else loads[cab].pop(0) if loads[cab] else []
                words += [Item.LOAD << 28 | cab << 24 | len(load), *load]
            reason, _, edges, *rest = await self.ask(Request.GO, [100_000, *words])
            assert reason == Reason.TURN
            told = turns(rest)
            due = {turn.cab for turn in told}
            for turn in told:
                assert not turn.failed
                if turn.cab in values:
                    continue
                results[turn.cab] += turn.results
                if turn.turn == Turn.RESUME:
                    values[turn.cab] = value(given[turn.cab].awaited, results[turn.cab], edges)
                else:
                    assert turn.turn == (Turn.MORE if loads[turn.cab] else Turn.RESULTS)
        return values


def disturbed(rate):
    """A line that loses, doubles or damages a byte in ``1 / rate``."""

    def spoil(data):
        out = b""
        for byte in data:
            if random.random() < rate:
                out += random.choice(
                    (b"", bytes([byte, byte]), bytes([byte ^ 1 << random.randrange(8)]), random.randbytes(2))
                )
            else:
                out += bytes([byte])
        return out

    return spoil
