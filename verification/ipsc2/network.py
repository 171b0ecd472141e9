"""A simulated cube with an agent at each end, and the messages between them."""

import random

from ...hdl.ipsc2.formats import CHANNELS, EXTERNAL
from ..harness import StepClock
from .agents import Deserializer, Message, Serializer

__all__ = ["Network"]


class Network:
    """``dut``: a Cube of so many ``dimensions``. ``serializer``, ``deserializer``: arguments of the agents."""

    def __init__(self, dut, dimensions, serializer=None, deserializer=None):
        self.clock = StepClock(dut)
        self.dimensions = dimensions
        self.nodes = 1 << dimensions
        self.ends = self.nodes + 2
        self.how = serializer or {}, deserializer or {}
        self.violations = 0
        self.hops = {}
        self._begin()

    def _begin(self):
        self.serializers = [Serializer(**self.how[0]) for _ in range(self.ends)]
        self.deserializers = [Deserializer(**self.how[1]) for _ in range(self.ends)]
        self.expected = {}  # (from, to) → messages, in order

    async def start(self):
        """From a reset."""
        await self.clock.start("request", "probe", "source_data", "ready", "cut")
        self._begin()

    async def reset(self):
        """All routers at once; what was under way is forgotten."""
        self.clock.drive(request=0, ready=0)
        await self.clock.reset()
        self._begin()

    def node(self, end):
        """The node of a router, or that with the device ``end``."""
        return end if end < self.nodes else (0, self.nodes - 1)[end - self.nodes]

    def probe(self, source, destination):
        """The probe from one end to another."""
        return self.node(source) ^ self.node(destination) | (destination >= self.nodes) << EXTERNAL

    def possible(self):
        """All pairs of ends between which there is a route."""
        return [
            (a, b)
            for a in range(self.ends)
            for b in range(self.ends)
            if a != b or a >= self.nodes  # a node has no message for itself
        ]

    def send(self, source, destination, size, patience=None):
        """A message of ``size`` random words, the one with EOM included; returns it."""
        words = [*(random.getrandbits(16) for _ in range(size - 1)), random.randrange(1, 1 << 16)]
        message = Message(self.probe(source, destination), words, patience)
        self.serializers[source].queue.append(message)
        self.expected.setdefault(destination, []).append(message)
        return message

    async def cycle(self):
        """A cycle of all."""
        request = probe = data = ready = 0
        for n, serializer in enumerate(self.serializers):
            asks, its_probe, pair = serializer.inputs()
            request |= asks << n
            probe |= its_probe << 16 * n
            data |= pair << 2 * n
            ready |= self.deserializers[n].ready() << n
        clock = self.clock
        clock.drive(request=request, probe=probe, source_data=data, ready=ready)
        await clock.settle()
        grant, allow, refused = clock.pin("grant"), clock.pin("allow"), clock.pin("refused")
        opened, strobe, pairs = clock.pin("open"), clock.pin("strobe"), clock.pin("data")
        if clock.pin("violation") or clock.pin("device_violation"):
            self.violations += 1
        for n in range(self.ends):
            self.serializers[n].sample(clock.cycles, grant >> n & 1, allow >> n & 1, refused >> n & 1)
            self.deserializers[n].sample(clock.cycles, opened >> n & 1, pairs >> 2 * n & 3, strobe >> n & 1)
        await clock.edge()

    async def run(self, cycles):
        """So many cycles."""
        for _ in range(cycles):
            await self.cycle()

    def quiet(self):
        """Whether nothing is left to send or on the way."""
        return not any(each.queue for each in self.serializers) and not any(
            each.message or each.pairs for each in self.deserializers
        )

    async def finish(self, limit):
        """Until all has arrived, within ``limit`` cycles; then each end has got what was sent to it, unchanged, those
        of each source in order; of what was given up it has got the beginning, if anything."""
        end = self.clock.cycles + limit
        while not self.quiet() or self.clock.pin("busy") or self.clock.pin("held"):
            assert self.clock.cycles < end, f"not within {limit} cycles: {self.clock.pin('held'):#x} is held"
            await self.cycle()
        await self.run(10)
        for n, deserializer in enumerate(self.deserializers):
            left = list(self.expected.get(n, []))
            given_up = [each for each in left if each.given_up]
            left = [each for each in left if not each.given_up]
            # Those that tell most first: a node and a device may have sent with the same probe.
            for message in sorted(
                (each for each in deserializer.received if each.given_up), key=lambda e: -len(e.words)
            ):
                *begun, _ = message.words
                whole = next(e for e in given_up if e.probe == message.probe and e.words[: len(begun)] == begun)
                whole.times["ended"] = message.times
                given_up.remove(whole)
            for message in (each for each in deserializer.received if not each.given_up):
                # The first that was sent by anybody with this probe: one probe, one source, but for devices.
                found = next(each for each in left if each.words == message.words)
                assert found.probe == message.probe and found.probe < 1 << CHANNELS
                sender = self._sender(found)
                assert found is next(each for each in left if self._sender(each) == sender), "out of order"
                found.times["arrived"] = message.times
                left.remove(found)
            assert not left, f"{n} has not got {left}"

    def forget(self):
        """What has arrived is not looked at again."""
        self.expected = {}
        for serializer, deserializer in zip(self.serializers, self.deserializers, strict=True):
            serializer.sent, deserializer.received = [], []

    def _sender(self, message):
        return next(n for n, each in enumerate(self.serializers) if any(message is one for one in each.sent))
