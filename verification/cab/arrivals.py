"""What is around fiber in in its bench: the fiber before it, the memory behind it, its registers."""

import random
from collections import Counter

from nectar.hdl.cab.addresses import REG, REGIONS, Irq
from nectar.hdl.cab.packet_receiver import RECEIVER_REGISTERS
from nectar.hdl.cab.scatter import SCATTER_REGISTERS
from nectar.hdl.link.symbol import Control
from nectar.verification.cab.ports import RegisterPorts
from nectar.verification.harness import FiberSource

__all__ = ["DATA", "END", "ERRORS", "READY", "REGISTERS", "SIZE", "START", "Arrivals", "compare"]

SIZE = 4 << 10
DATA = REGIONS["data"].base
REGISTERS = [
    name.upper() for name in (*RECEIVER_REGISTERS, *SCATTER_REGISTERS, "rx_control", "rx_status", "reply", "rx_count")
]
START, END, READY = int(Control.START), int(Control.END), int(Control.READY)
ERRORS = [field.name for field in REG["ERRORS"].fields]


class Arrivals(RegisterPorts):
    """The fiber before it, the memory behind it."""

    def __init__(self, dut):
        super().__init__(dut, REGISTERS, ("rx__payload", "rx__valid", "memory__ready"))
        self.grant = 1.0  # the chance that the memory has a cycle
        self._source = FiberSource(self.clock, "rx", fill=lambda: random.getrandbits(9))
        self.fiber = self._source.queue  # symbols, or None
        self.memory = {}
        self.writes = 0
        self.errors = dict.fromkeys(ERRORS, 0)
        self.came = Counter()  # symbols, by their kind
        self.told = Counter()  # cycles in which a pin told of something

    def before(self):
        self.clock.drive(memory__ready=random.random() < self.grant)
        self._source.drive()
        self.came[self._source.offered] += 1

    def after(self):
        self._source.sample()
        for name in ERRORS:
            self.errors[name] += self.pin(name)
        for name in ("ready", "start", "threshold"):
            self.told[name] += self.pin(name)
        if self.pin("memory__valid") and self.clock.inputs["memory__ready"]:
            self.writes += 1
            for lane in range(4):
                if self.pin("memory__select") >> 3 - lane & 1:
                    self.memory[4 * self.pin("memory__address") + lane] = (
                        self.pin("memory__data") >> 8 * (3 - lane) & 0xFF
                    )

    async def quiet(self):
        """Until all has arrived and it is idle."""
        for _ in range(10_000):
            await self.cycle()
            if not self.fiber and self.pin("idle"):
                return
        raise AssertionError("never idle")

    async def receive(self, symbols):
        """Symbols arrive one behind the other; returns when nothing more happens."""
        self.fiber.extend(symbols)
        await self.quiet()


async def compare(around, model):
    """What both show when nothing moves."""
    for register in REGISTERS:
        if "r" in REG[register].access and register not in ("REPLY", "RX_QUEUE"):
            assert await around.read(register) == model.read(REG[register].address), register
    pins = (around.pin("packet"), around.pin("received"), around.pin("reply_waits"), around.pin("input"))
    assert pins == tuple(model.pending >> bit & 1 for bit in (Irq.PACKET, Irq.RECEIVED, Irq.REPLY, Irq.INPUT))
    for name in ERRORS:
        assert min(around.errors[name], 255) == model.counts[name], name
    assert (around.told["ready"], around.told["start"]) == (around.came[READY], around.came[START])
    assert around.told["threshold"] == (Irq.RX_THRESHOLD in model.events)
    around.told["threshold"] = 0
    model.events.discard(Irq.RX_THRESHOLD)
