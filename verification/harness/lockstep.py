"""Lockstep: a component and a model of it in Python get the same inputs and must give the same outputs in every
cycle."""

from .clock import StepClock

__all__ = ["Lockstep", "in_each_cycle"]


def in_each_cycle(stimulus, model, cycles):
    """The inputs of ``cycles`` cycles: ``stimulus(model)``, asked at the beginning of each cycle."""
    for _ in range(cycles):
        yield stimulus(model)


class Lockstep(StepClock):
    """A component whose outputs are compared in each cycle.

    Parameters
    ----------
    dut : cocotb handle
        The top, as in ``StepClock``.
    inputs : iterable of str
        Names of its inputs: one that a cycle does not name is 0 in that cycle. If none are given, each input keeps
        its value until it is named again.
    masks : dict, optional
        Name of a mask → names of the pins of one bit that are its bits, bit 0 first: it can be driven and read as if
        it was one pin.

    Members
    -------
    cycles : int
        Cycles since ``start`` or ``reset``.

    Timing
    ------
    A cycle drives the inputs, compares the outputs when they have settled, and ends with the edge.

    Raises
    ------
    AssertionError
        At the first difference: cycle, output, what it is and what was expected, the inputs of the cycle. Also if a
        cycle names an input that is none of ``inputs``.
    """

    def __init__(self, dut, inputs=(), masks=None):
        super().__init__(dut)
        self._names = tuple(inputs)
        self._nothing = dict.fromkeys(self._names, 0)
        self._allowed = self._nothing.keys()
        self._masks = masks or {}

    def _reader(self, name):
        """What gives the value of a pin, or of a mask."""
        if name not in self._masks:
            return super()._reader(name)
        bits = [super(Lockstep, self)._reader(pin) for pin in reversed(self._masks[name])]

        def read():
            value = 0
            for bit in bits:
                value = value << 1 | bit()
            return value

        return read

    def drive(self, **values):
        """Sets inputs, for this cycle and the next ones."""
        for mask in self._masks:
            value = values.pop(mask, None)
            if value is None:
                continue
            if self.inputs.get(mask) != value:
                self.inputs[mask] = value
                for bit, pin in enumerate(self._masks[mask]):
                    self.set(pin, int(value) >> bit & 1)
        super().drive(**values)

    def _give(self, inputs):
        if self._names:
            assert inputs.keys() <= self._allowed, f"no such inputs: {inputs.keys() - self._allowed}"
            inputs = self._nothing | inputs
        self.drive(**inputs)

    async def start(self, *inputs):
        """Sets the inputs to 0, these and those of the constructor, and resets for three cycles; returns in
        cycle 0."""
        await super().start(*self._names, *inputs)

    async def reset(self, inputs=None):
        """A reset of one cycle, in the midst of what goes on and with ``inputs`` as in ``step``; returns in cycle
        0."""
        self._give(inputs or {})
        await super().reset()
        self.cycles = 0

    async def rest(self, cycles, inputs=None):
        """Many cycles with the same ``inputs``, as in ``step``, in which nobody looks: much faster."""
        self._give(inputs or {})
        await self.run(cycles)

    async def _compare(self, expected, outputs=()):
        await self.settle()
        for name, value in (expected or {}).items():
            if value is not None:
                found = self.pin(name)
                assert found == int(value), (
                    f"cycle {self.cycles}: {name} is {found:#x}, expected {int(value):#x}; inputs {self.inputs}"
                )
        values = [self.pin(name) for name in outputs]
        await self.edge()
        return values

    async def step(self, inputs, expected=None, outputs=()):
        """One cycle with ``inputs`` (name → value).

        Every output in ``expected`` (name → value; None: any) must have that value in this cycle, before its edge.
        Returns the values of ``outputs``, read at the same time.
        """
        self._give(inputs)
        return await self._compare(expected, outputs)

    async def follow(self, step, stimuli):
        """A cycle for each of ``stimuli``, an iterable of inputs.

        ``step(inputs)`` is the model: it takes all inputs of a cycle as a dict of name → value, returns the outputs
        of that cycle likewise (what may be anything is left out or None), and moves the model on to the next cycle.
        """
        for given in stimuli:
            self._give(given)
            await self._compare(step(dict(self.inputs)))
