"""A master and a slave on the bus, with delays of their own."""

import random

import cocotb

from nectar.hdl.cab.vme.numbers import BLOCK_BYTES, Modifier, Ns

from .waiting import between, pause, until

__all__ = ["Answer", "BusMaster", "BusSlave", "lanes"]


def lanes(address, size, value=None):
    """Which lines a transfer of ``size`` bytes uses: ``(ds0, ds1, lword, data lines)`` as levels; with ``value``
    what the data lines carry."""
    if size == 4:
        return 0, 0, 0, None if value is None else {"data_high": value >> 16, "data_low": value & 0xFFFF}
    if size == 2:
        return 0, 0, 1, None if value is None else {"data_low": value}
    odd = address & 1
    return 1 - odd, odd, 1, None if value is None else {"data_low": value << 8 * (1 - odd) | 0xA5 << 8 * odd}


class Answer:
    """What a transfer gave: ``value`` of a read, whether it ended with BERR*, or with nothing at all."""

    def __init__(self, value, berr, silent):
        self.value, self.berr, self.silent = value, berr, silent

    @property
    def good(self):
        """It ended with DTACK*."""
        return not self.berr and not self.silent


class BusMaster:
    """Makes cycles; the board must have the bus.

    Parameters
    ----------
    slack : float
        Largest random time in ns by which it takes longer than it must.
    patience : float
        After so many ns without an answer it gives up.
    """

    def __init__(self, bus, name="master", slack=60.0, patience=60_000):
        self.bus, self.name, self.slack, self.patience = bus, name, slack, patience

    def _more(self):
        return between(0.01, max(self.slack, 0.02))

    async def open(self, address, size, write, modifier, iack=1):
        """Address, then AS*."""
        bus = self.bus
        await until(bus, lambda: bus.level("as"))
        bus.drive(
            self.name,
            **{
                "address": address >> 1,
                "am": int(modifier),
                "lword": 0 if size == 4 else 1,
                "iack": iack,
                "write": 1 - write,
                "as": 1,
                "ds0": 1,
                "ds1": 1,
            },
        )
        await pause(Ns.ADDRESS_SETUP + self._more())
        bus.set(self.name, "as", 0)
        await pause(between(0.01, 20))

    async def transfer(self, address, size, write=False, value=0, cut_after=None):
        """One transfer of a cycle; None if it was cut short after ``cut_after`` ns."""
        bus = self.bus
        await until(bus, lambda: bus.level("dtack") and bus.level("berr"))
        ds0, ds1, _, lines = lanes(address, size, value)
        if bus.level("write") != 1 - write:
            bus.set(self.name, "write", 1 - write)
        if write:
            bus.drive(self.name, **lines)
        await pause(Ns.DATA_SETUP + self._more())
        await until(bus, lambda: bus.level("dtack") and bus.level("berr"))
        falling = [name for name, level in (("ds0", ds0), ("ds1", ds1)) if not level]
        random.shuffle(falling)
        for name in falling:
            if name != falling[0]:
                await pause(between(0, Ns.DS_SKEW - 0.01))
            bus.set(self.name, name, 0)
        answered = await until(bus, lambda: not bus.level("dtack") or not bus.level("berr"), cut_after or self.patience)
        if cut_after and not answered:
            await self._strobes_up()
            return None
        berr, silent = not bus.level("berr"), not answered
        await pause(self._more())
        high, low = bus.level("data_high"), bus.level("data_low")
        read = high << 16 | low if size == 4 else low if size == 2 else low >> 8 * (1 - (address & 1)) & 0xFF
        await self._strobes_up()
        return Answer(None if write else read, berr, silent)

    async def _strobes_up(self):
        self.bus.drive(self.name, ds0=1, ds1=1)
        await pause(between(Ns.WRITE_HOLD, 15))
        self.bus.drive(self.name, data_high=None, data_low=None)

    async def close(self):
        """AS* rises, everything is let go."""
        self.bus.set(self.name, "as", 1)
        await pause(between(5, 15))
        self.bus.drive(
            self.name, **dict.fromkeys(("address", "am", "lword", "iack", "write", "as", "ds0", "ds1"), None)
        )
        await pause(Ns.STROBE_HIGH + self._more())

    async def read(self, address, size=4, modifier=Modifier.A24_USER_DATA):
        """A read cycle."""
        await self.open(address, size, 0, modifier)
        answer = await self.transfer(address, size)
        await self.close()
        return answer

    async def write(self, address, value, size=4, modifier=Modifier.A24_USER_DATA):
        """A write cycle."""
        await self.open(address, size, 1, modifier)
        answer = await self.transfer(address, size, True, value)
        await self.close()
        return answer

    async def read_modify_write(self, address, change, size=4, modifier=Modifier.A24_USER_DATA, wait=0):
        """A read and a write in one cycle: both answers. ``change`` makes the new value of the old one."""
        await self.open(address, size, 0, modifier)
        first = await self.transfer(address, size)
        await pause(wait)
        second = await self.transfer(address, size, True, change(first.value)) if first.good else first
        await self.close()
        return first, second

    async def block(self, address, size, values=None, count=None, modifier=Modifier.A24_USER_BLOCK):
        """A block of writes (``values``) or of ``count`` reads: the answers, up to the first that is not good."""
        await self.open(address, size, values is not None, modifier)
        answers = []
        for number in range(count if values is None else len(values)):
            at = address + number * size
            answers.append(await self.transfer(at, size, values is not None, 0 if values is None else values[number]))
            if not answers[-1].good:
                break
        await self.close()
        return answers

    async def acknowledge(self, level, modifier=Modifier.A24_USER_DATA):
        """Reads the status/ID of an interrupt of ``level``."""
        await self.open(level << 1 | 1, 1, 0, modifier, iack=0)
        answer = await self.transfer(1, 1)
        await self.close()
        return answer


class BusSlave:
    """A memory on the bus.

    Parameters
    ----------
    base, size : int
        Its addresses.
    delay : (float, float)
        From data strobe to answer and back, in ns; at least 30.
    berr : callable
        Takes an address: whether that is answered with BERR*.
    modifiers : set of int, optional
        Address modifiers that it answers to.
    """

    def __init__(self, bus, base, size, delay=(31, 200), berr=lambda address: False, modifiers=None, name="slave"):
        self.bus, self.base, self.size, self.delay, self.berr, self.name = bus, base, size, delay, berr, name
        self.modifiers = modifiers
        self.bytes = bytearray(random.randbytes(size))
        self.cycles = []  # (modifier, address, size, write) of each transfer
        self.release = (1, delay[1])
        cocotb.start_soon(self._run())

    def _strobed(self):
        return not (self.bus.level("ds0") and self.bus.level("ds1"))

    async def _run(self):
        bus = self.bus
        rises = [0]

        def look(name, old, new):
            rises[0] += name == "as" and new == 1 and old == 0

        bus.watch(look)
        while True:
            await until(bus, lambda: not bus.level("as") and self._strobed())
            address, modifier = bus.level("address") << 1, bus.level("am")
            mine = bus.level("iack") and self.base <= address < self.base + self.size
            if mine and self.modifiers is not None:
                mine = modifier in self.modifiers
            risen = rises[0]
            while mine and rises[0] == risen:
                address = await self._transfer(address, modifier)
                await until(bus, lambda: rises[0] != risen or self._strobed())
            await until(bus, lambda: rises[0] != risen)

    async def _transfer(self, address, modifier):
        bus = self.bus
        write = not bus.level("write")
        await pause(max(between(*self.delay), 31))
        size = 4 if not bus.level("lword") else 2 if not (bus.level("ds0") or bus.level("ds1")) else 1
        at = address & ~1 | (size == 1 and not bus.level("ds0"))
        self.cycles.append((modifier, at, size, write))
        bad = self.berr(at)
        if not bad and write:
            word = bus.level("data_high") << 16 | bus.level("data_low")
            value = word if size == 4 else word & 0xFFFF if size == 2 else word >> 8 * (1 - (at & 1)) & 0xFF
            self.bytes[at - self.base : at - self.base + size] = value.to_bytes(size, "big")
        elif not bad:
            value = int.from_bytes(self.bytes[at - self.base : at - self.base + size], "big")
            bus.drive(self.name, **lanes(at, size, value)[3])
            await pause(0.5)
        line = "berr" if bad else "dtack"
        bus.set(self.name, line, 0)
        await until(bus, lambda: not self._strobed())
        await pause(between(0.5, 5))
        bus.drive(self.name, data_high=None, data_low=None)
        await pause(max(between(*self.release) - 5, 0.5))
        bus.set(self.name, line, 1)
        if modifier & 3 != 3:
            return address
        onward = at + size
        return onward if onward % BLOCK_BYTES else at
