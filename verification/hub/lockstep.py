"""Lockstep: a component and a model of it in Python get the same inputs and must give the same outputs in every
cycle."""

from cocotb.clock import Clock
from cocotb.triggers import Timer

__all__ = ["Lockstep"]

#: Time of a cycle, in ns.
_PERIOD = 10


class Lockstep:
    """Drives a component cycle by cycle.

    Parameters
    ----------
    dut : handle
        The component; clock ``clk``, reset ``rst``.
    inputs : iterable of str
        Names of its inputs.
    masks : dict, optional
        Name of a mask → names of the pins of one bit that are its bits, bit 0 first: it can be driven, if it is one
        of ``inputs``, and read as if it was one pin.
    """

    def __init__(self, dut, inputs, masks=None):
        self.dut = dut
        self._masks = masks or {}
        self._driven = dict.fromkeys(inputs)
        self._handles = {}
        self._falling, self._rising = dut.clk.falling_edge, dut.clk.rising_edge
        #: Number of the current cycle, 0 for the first one after the reset.
        self.cycle = 0

    async def reset(self):
        """Starts the clock, resets, and returns in cycle 0 with all inputs 0."""
        self._drive(dict.fromkeys(self._driven, 0))
        self.dut.rst.value = 1
        Clock(self.dut.clk, _PERIOD, unit="ns").start()
        for _ in range(3):
            await self._rising
        self.dut.rst.value = 0

    async def restart(self, inputs=None):
        """Resets for one cycle, in the midst of what goes on and with ``inputs`` (those not named are 0), and
        returns in cycle 0."""
        self._drive(inputs or {})
        self.dut.rst.value = 1
        await self._rising
        self.dut.rst.value = 0
        self.cycle = 0

    def _drive(self, inputs):
        unknown = inputs.keys() - self._driven.keys()
        assert not unknown, f"no such inputs: {unknown}"
        for name, old in self._driven.items():
            new = int(inputs.get(name, 0))
            if new != old:
                if name in self._masks:
                    for bit, pin in enumerate(self._masks[name]):
                        self._handle(pin).value = new >> bit & 1
                else:
                    self._handle(name).value = new
                self._driven[name] = new

    def _handle(self, name):
        """The pin of that name: kept, since cocotb looks for it at each use, which takes longer than to read it."""
        found = self._handles.get(name)
        if found is None:
            found = self._handles[name] = getattr(self.dut, name)
        return found

    def read(self, name):
        """Value of an output, or of a mask, as an int."""
        if name in self._masks:
            return sum(self.read(pin) << bit for bit, pin in enumerate(self._masks[name]))
        return int(self._handle(name).value)

    async def step(self, inputs, expected=None, outputs=()):
        """One cycle with ``inputs`` (those not named are 0).

        Every output in ``expected`` (name → value; None: any) must have that value in this cycle, before its edge.
        Returns the values of ``outputs``.
        """
        self._drive(inputs)
        await self._falling
        for name, value in (expected or {}).items():
            if value is not None:
                got = self.read(name)
                assert got == int(value), (
                    f"cycle {self.cycle}: {name} is {got:#x}, expected {int(value):#x}; inputs {inputs}"
                )
        found = [self.read(name) for name in outputs]
        await self._rising
        self.cycle += 1
        return found

    async def rest(self, cycles, inputs=None):
        """``cycles`` cycles, at least one, with the same ``inputs`` (those not named are 0), in which nobody looks:
        many times as quick as ``step``."""
        self._drive(inputs or {})
        await Timer(_PERIOD * cycles - _PERIOD // 4, unit="ns")
        await self._rising
        self.cycle += cycles

    async def run(self, model, stimulus, cycles):
        """``cycles`` cycles: ``stimulus(model)`` gives the inputs, ``model.step(inputs)`` the expected outputs."""
        for _ in range(cycles):
            inputs = stimulus(model)
            await self.step(inputs, model.step(inputs))
