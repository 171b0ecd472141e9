"""Drives a part of the CAB that has registers of its own, without the CPU bus: fiber in, fiber out, receiver."""

from nectar.hdl.cab.addresses import REG
from nectar.verification.cab.reference import fields
from nectar.verification.harness import StepClock

__all__ = ["RegisterPorts"]


class RegisterPorts:
    """A component and its registers.

    Parameters
    ----------
    dut : cocotb handle
        The top.
    registers : iterable of str
        Names of its registers.
    inputs : iterable of str
        Its other inputs.

    A subclass gives the surroundings: ``before`` sets inputs for a cycle, ``after`` looks at the settled outputs.
    """

    def __init__(self, dut, registers, inputs):
        self.clock = StepClock(dut)
        self.written = [name for name in registers if "w" in REG[name].access]
        self.inputs = [
            *inputs,
            *(
                f"{name.lower()}__{pin}"
                for name in registers
                for pin in (("write", "data") if "w" in REG[name].access else ())
            ),
        ]
        self.inputs += [f"{name.lower()}__read" for name in registers if "r" in REG[name].access]

    def before(self):
        """Sets inputs."""

    def after(self):
        """Looks at outputs."""

    def pin(self, name):
        """A pin's value."""
        return self.clock.pin(name)

    async def start(self):
        """Resets."""
        await self.clock.start(*self.inputs)

    async def cycle(self):
        """One cycle."""
        self.before()
        await self.clock.settle()
        self.after()
        await self.clock.edge()

    async def run(self, cycles):
        """Some cycles."""
        for _ in range(cycles):
            await self.cycle()

    async def write(self, name, value=0):
        """Writes a register in the next cycle; whether its owner lets it be. The word comes by the others, too
        (``RegisterPort``)."""
        low = name.lower()
        self.clock.drive(**{f"{other.lower()}__data": value for other in self.written})
        await self.clock.settle()
        refused = self.pin(f"{low}__refuse")
        self.clock.drive(**{f"{low}__write": not refused})
        await self.cycle()
        self.clock.drive(**{f"{low}__write": 0})
        return not refused

    async def read(self, name):
        """Reads a register in the next cycle; its word."""
        low = name.lower()
        self.clock.drive(**{f"{low}__read": 1})
        self.before()
        await self.clock.settle()
        word = self.pin(f"{low}__value")
        self.after()
        await self.clock.edge()
        self.clock.drive(**{f"{low}__read": 0})
        return word

    async def fields(self, name):
        """Reads a register; its fields as a dict."""
        return fields(name, await self.read(name))
