"""The system controller's part of the bus: arbiter, bus timer, driver of the acknowledgment chain; boards that only
pass the chains on."""

import cocotb
from cocotb.triggers import Event

from .backplane import point
from .waiting import between, pause, until

__all__ = ["Arbiter", "Board", "BusTimer", "ChainDriver"]


class Arbiter:
    """Grants the bus, the highest level first.

    Parameters
    ----------
    levels : tuple of int
        Levels that it looks at: (3,) for a single-level arbiter.
    delay : (float, float)
        Its delays in ns.
    """

    def __init__(self, bus, levels=(3, 2, 1, 0), delay=(5, 150)):
        self.bus, self.levels, self.delay = bus, levels, delay
        self.grants = []
        cocotb.start_soon(self._run())

    async def _run(self):
        bus = self.bus
        while True:
            await until(bus, lambda: bus.level("bbsy") and any(not bus.level(f"br{n}") for n in self.levels))
            await pause(between(*self.delay))
            asking = [n for n in self.levels if not bus.level(f"br{n}")]
            if not asking or not bus.level("bbsy"):
                continue
            line = point(f"bg{asking[0]}", 0)
            self.grants.append(asking[0])
            bus.set("arbiter", line, 0)
            await until(bus, lambda: not bus.level("bbsy"), 5000)
            await pause(between(*self.delay))
            bus.set("arbiter", line, 1)
            await pause(40)


class BusTimer:
    """Answers what nobody answers with BERR*, after ``ns``."""

    def __init__(self, bus, ns=20_000):
        self.bus, self.ns = bus, ns
        self.fired = 0
        cocotb.start_soon(self._run())

    def _strobed(self):
        return not (self.bus.level("ds0") and self.bus.level("ds1"))

    async def _run(self):
        bus = self.bus
        while True:
            await until(bus, self._strobed)
            if await until(
                bus, lambda: not self._strobed() or not bus.level("dtack") or not bus.level("berr"), self.ns
            ):
                await until(bus, lambda: not self._strobed())
                continue
            self.fired += 1
            bus.set("timer", "berr", 0)
            await until(bus, lambda: not self._strobed())
            bus.set("timer", "berr", 1)


class ChainDriver:
    """Starts the acknowledgment chain, and ends it with AS*."""

    def __init__(self, bus, delay=(10, 60)):
        self.bus, self.delay = bus, delay
        cocotb.start_soon(self._run())

    async def _run(self):
        bus = self.bus

        def on():
            return not (bus.level("as") or bus.level("iack") or (bus.level("ds0") and bus.level("ds1")))

        while True:
            await until(bus, on)
            await pause(between(*self.delay))
            if not bus.level("as"):
                bus.set("chain", point("iackin", 0), 0)
            await until(bus, lambda: bus.level("as"))
            await pause(between(1, 20))
            bus.set("chain", point("iackin", 0), 1)


class Board:
    """A slot: passes on grants and acknowledgments unless the board wants them.

    Parameters
    ----------
    level : int
        Level of its bus requests.
    """

    def __init__(self, bus, slot, level=3, delay=(2, 15)):
        self.bus, self.slot, self.level, self.delay = bus, slot, level, delay
        self.name = f"board {slot}"
        self._wants = False
        self._owned = Event()
        self._taken = 0.0
        self.pending = {}  # interrupt level → vector
        self.acknowledged = []
        for level in range(4):
            cocotb.start_soon(self._pass_grants(level))
        cocotb.start_soon(self._pass_acknowledgments())

    async def get_bus(self):
        """Waits until the bus is this board's."""
        bus = self.bus
        self._wants = True
        self._owned.clear()
        bus.set(self.name, f"br{self.level}", 0)
        await self._owned.wait()
        await until(bus, lambda: bus.level("as") and bus.level("dtack") and bus.level("berr"))
        await pause(between(5, 40))

    async def give_bus(self):
        """Lets the bus go."""
        await until(self.bus, lambda: self.bus.level(point(f"bg{self.level}", self.slot)))
        await pause(30 + between(*self.delay))
        await pause(self._busy_until())
        self.bus.set(self.name, "bbsy", 1)

    def _busy_until(self):
        return max(0, self._taken + 95 - self.bus.now())

    async def _pass_grants(self, level):
        bus, line, onward = self.bus, point(f"bg{level}", self.slot), point(f"bg{level}", self.slot + 1)
        while True:
            await until(bus, lambda: not bus.level(line))
            await pause(between(*self.delay))
            if level == self.level and self._wants:
                self._wants = False
                self._taken = bus.now()
                bus.set(self.name, "bbsy", 0)
                await pause(between(*self.delay))
                bus.set(self.name, f"br{level}", 1)
                self._owned.set()
            else:
                bus.set(self.name, onward, 0)
            await until(bus, lambda: bus.level(line))
            await pause(between(1, 5))
            bus.set(self.name, onward, 1)

    def interrupt(self, level, vector):
        """Raises an interrupt."""
        self.pending[level] = vector
        self.bus.set(self.name, f"irq{level}", 0)

    async def _pass_acknowledgments(self):
        bus, line, onward = self.bus, point("iackin", self.slot), point("iackin", self.slot + 1)
        while True:
            await until(bus, lambda: not bus.level(line))
            await pause(between(*self.delay) + 30)
            level = bus.level("address") & 7
            if level in self.pending:
                bus.drive(self.name, data_low=0xFF00 | self.pending[level])
                await pause(between(2, 200))
                self.acknowledged.append((level, self.pending.pop(level)))
                bus.set(self.name, f"irq{level}", 1)
                bus.set(self.name, "dtack", 0)
                await until(bus, lambda: bus.level("ds0"))
                bus.drive(self.name, data_low=None)
                await pause(between(1, 20))
                bus.set(self.name, "dtack", 1)
            elif not bus.level("as"):
                bus.set(self.name, onward, 0)
            await until(bus, lambda: bus.level("as"))
            await pause(between(0.5, 5))
            bus.set(self.name, onward, 1)
            await until(bus, lambda: bus.level(line))
