"""What is around fiber out in its bench: data memory, the fiber, the registers."""

import random

from nectar.hdl.cab.addresses import REGIONS
from nectar.verification.cab.contents import put
from nectar.verification.cab.ports import RegisterPorts
from nectar.verification.harness import FiberSink

__all__ = ["DATA", "REGISTERS", "SIZE", "Sender"]

SIZE = REGIONS["data"].size
DATA = REGIONS["data"].base
REGISTERS = (
    "TX_STATUS",
    "TX_COMMAND",
    "TX_ADDRESS",
    "TX_AREA",
    "TX_SYMBOL",
    "TX_READY",
    "TX_CONTROL",
    "TX_PROGRESS",
    "TX_THRESHOLD",
    "TX_COUNT",
)


class Sender(RegisterPorts):
    """The memory and the fiber around it."""

    def __init__(self, dut):
        super().__init__(dut, REGISTERS, ("memory__ready", "memory_data", "tx__ready", "ready"))
        self.memory = random.randbytes(SIZE)
        self.grant = self.take = 1.0  # probabilities
        self._sink = FiberSink(self.clock, "tx", pause=lambda: random.random() >= self.take)
        self.out, self.times = self._sink.items, self._sink.times
        self.sent = 0
        self.arrives = False  # a ready signal
        self.told = []  # TX_PROGRESS behind each cycle in which the threshold is told of
        self._word = None
        self._threshold = 0

    def before(self):
        self.clock.drive(memory__ready=random.random() < self.grant)
        self._sink.drive()
        self.clock.drive(ready=self.arrives, memory_data=random.getrandbits(32) if self._word is None else self._word)
        self.arrives, self._word = False, None

    def after(self):
        if self.pin("memory__valid") and self.clock.inputs["memory__ready"]:
            at = 4 * self.pin("memory__address")
            self._word = int.from_bytes(self.memory[at : at + 4], "big")
        symbol = self._sink.sample()
        self.sent += self.pin("sent")
        if self._threshold:
            self.told.append(self.pin("tx_progress__value"))
        self._threshold = self.pin("threshold")
        if self.pin("idle"):
            assert symbol is None and not self.pin("memory__valid")

    async def area(self, offset, length, **flags):
        """Adds an area to the list."""
        await self.write("TX_ADDRESS", DATA + offset)
        assert await self.write("TX_AREA", put("TX_AREA", length=length, **flags))

    async def refuses(self, name, value):
        """Whether a write would be refused; it is not done."""
        self.clock.drive(**{f"{name.lower()}__data": value})
        await self.clock.settle()
        return self.pin(f"{name.lower()}__refuse")

    async def reset(self):
        """A reset of one cycle, whatever is under way."""
        await self.clock.reset()
        self._sink.forget()
        self._word, self._threshold = None, 0

    async def quiet(self):
        """Until idle."""
        for _ in range(10_000):
            if self.pin("idle"):
                return
            await self.cycle()
        raise AssertionError("never idle")
