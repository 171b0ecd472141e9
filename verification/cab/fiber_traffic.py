"""Random traffic on the fibers of a whole CAB, beside the reference model: what arrives, what is received, what is
sent."""

import random

from nectar.hdl.cab.addresses import REG, REGIONS, TX_LIST_DEPTH, Irq
from nectar.hdl.cab.regions import PAGE_BITS
from nectar.hdl.link.symbol import Control
from nectar.verification.cab.contents import put, random_arrival
from nectar.verification.cab.reference import fields
from nectar.verification.cab.scenario import Scenario

__all__ = ["DATA", "PARTS", "PROGRAM", "FiberTraffic"]

DATA, PROGRAM = REGIONS["data"].base, REGIONS["program"].base
_KBYTE = 1 << PAGE_BITS
#: Parts of the data memory, in kbyte: first and last but one. What is in ``closed`` only the kernel may touch.
PARTS = {
    "sent": (0, 4),
    "received": (4, 8),
    "vme": (8, 11),
    "node": (11, 13),
    "host": (13, 14),
    "cpu": (14, 15),
    "closed": (15, 16),
}
#: Symbols that may wait in the input queue: some less than it holds.
_QUEUED = 1000
#: Replies that may wait: one less than it holds, as the model gives one out a little before the board.
_REPLIES = 7


class FiberTraffic(Scenario):
    """The tasks of the fibers, and what every task needs.

    Parameters
    ----------
    whole : Whole
        Started.
    model : WholeModel
        Just made.
    """

    def __init__(self, whole, model):
        super().__init__(whole.board, model)
        self.whole = whole
        self.vme_domain = model.protection.domains - 1
        self.end = 0
        self.arriving = False
        self.heard = 0  # symbols sent that the other end of the fiber has seen
        self.fired = False
        self.breaks = False  # what is under way at the end of the traffic is not waited for

    def part(self, name, length=0):
        """Offset in data memory of a random place for ``length`` bytes in that part."""
        first, end = PARTS[name]
        return random.randrange(first * _KBYTE, end * _KBYTE - length + 1)

    async def raw(self, name):
        """A register of the board, whatever the model says; in the user's domain."""
        return await self.board.read(REG[name].address, kernel=False)

    async def until(self, condition):
        """Waits, looking now and then; ``condition`` is a coroutine function."""
        while not await condition():
            await self.board.run(random.randrange(2, 40))

    async def irq(self, irq):
        """Waits until an interrupt is pending on the board."""

        async def pending():
            return await self.raw("IRQ_PENDING") >> irq & 1

        await self.until(pending)

    def user(self):
        """Pins of an access in the kernel's or in the user's domain."""
        return {"kernel": random.random() < 0.3}

    def _arrive(self, symbols):
        for symbol in symbols:
            self.board.arrivals.append(int(symbol))
            self.model.arrive(symbol)

    def _listen(self):
        """Answers each start that has arrived at the other end with a ready signal; whether there was one."""
        news = self.board.tx[self.heard :]
        self.heard += len(news)
        starts = news.count(Control.START)
        self._arrive([Control.READY] * starts)
        return starts

    async def arrivals(self):
        """Something arrives, if there is room for it."""
        self._listen()
        symbols = [symbol for symbol in random_arrival() if symbol != Control.READY]
        if (
            len(self.model.queue) + len(symbols) <= _QUEUED
            and len(self.board.arrivals) < 200
            and len(self.model.replies) + symbols.count(Control.REPLY) <= _REPLIES
        ):
            self._arrive(symbols)
        await self.board.run(random.choice([5, 50, 400]))

    async def receive(self):
        """Takes a reply or a packet, if there is one: to areas, or not at all."""
        model = self.model
        if model.replies:
            await self.irq(Irq.REPLY)
            await self.register("REPLY", **self.user())
        if model.packet is not None and model.packet.waits:
            await self.irq(Irq.PACKET)
            for number in range(4):
                await self.register(f"RX_HEADER{number}", **self.user())
            if random.random() < 0.15:
                await self.register("RX_CONTROL", put("RX_CONTROL", discard=1), **self.user())
            else:
                for _ in range(random.choice([0, 0, 2])):
                    await self._area("RX_AREA", random.choice([0, 1, 3, 30, 200]))
                while model.packet is not None and not model.packet.answered:  # it may end at once
                    await self._area("RX_START", random.choice([0, 5, 100, 1500]))
        if model.result is not None:
            await self.irq(Irq.RECEIVED)
            await self.register("RX_RESULT", **self.user())
            await self.register("RX_RELEASE", 0, **self.user())

    async def _area(self, name, length):
        """An area for what is received; now and then one that is refused."""
        address = DATA + self.part("received", length)
        pins = self.user()
        if random.random() < 0.1:
            address, length, pins = (
                DATA + random.choice([self.part("node", 100), len(self.model.data) - 1]),
                100,
                {"kernel": False},
            )
        await self.register("RX_ADDRESS", address, **pins)
        await self.register(name, length, **pins)

    async def send_entries(self):
        """A few entries of the fiber-out list, when there is room."""

        async def room():
            # In the model, the entries that the board has read ahead of one that waits are still in the list.
            self._listen()
            listed = TX_LIST_DEPTH - fields("TX_STATUS", await self.raw("TX_STATUS"))["free"]
            return max(listed, len(self.model.entries)) <= TX_LIST_DEPTH - 4

        await self.until(room)
        for _ in range(random.randrange(1, 4)):
            kind = random.random()
            if kind < 0.2:
                await self.register(
                    "TX_COMMAND",
                    random.getrandbits(31) | put("TX_COMMAND", wait_ready=random.random() < 0.3),
                    **self.user(),
                )
            elif kind < 0.3:
                await self.register("TX_SYMBOL", random.choice([random.getrandbits(9), *Control]), **self.user())
            elif kind < 0.4:
                await self.register("TX_READY", 0, **self.user())
            else:
                length, pins = random.choice([0, 1, 2, 3, random.randrange(40), random.randrange(1200)]), self.user()
                place = self.part("sent", length)
                if random.random() < 0.05:
                    place, length, pins = (
                        random.choice([len(self.model.data), self.part("closed")]),
                        1,
                        {"kernel": False},
                    )
                await self.register("TX_ADDRESS", DATA + place, **pins)
                await self.register(
                    "TX_AREA",
                    put(
                        "TX_AREA",
                        length=length,
                        **{name: random.random() < 0.5 for name in ("start", "end", "crc", "internet", "notify")},
                    ),
                    **pins,
                )
