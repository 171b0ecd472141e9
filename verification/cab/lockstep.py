"""A clock that the bench moves by hand, and components compared with a reference model in every cycle."""

from cocotb.triggers import Timer

__all__ = ["HandClock", "lockstep"]

_HALF_NS = 5


class HandClock:
    """Clock and reset of a component; the bench sets its inputs, calls ``settle``, looks at the outputs, calls ``edge``.

    Parameters
    ----------
    dut : cocotb handle
        The top; every input that is not driven later is set to 0 by ``start``.
    """

    def __init__(self, dut):
        self.dut = dut
        self.cycles = 0

    async def start(self, *inputs):
        """Sets the named inputs to 0 and resets."""
        for name in inputs:
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        for _ in range(3):
            await self.settle()
            await self.edge()
        self.dut.rst.value = 0
        self.cycles = 0

    async def settle(self):
        """The low half of a cycle; at its end the outputs are those of this cycle."""
        self.dut.clk.value = 0
        await Timer(_HALF_NS, unit="ns")

    async def edge(self):
        """The rising edge that ends the cycle."""
        self.dut.clk.value = 1
        await Timer(_HALF_NS, unit="ns")
        self.cycles += 1


async def lockstep(clock, step, stimuli):
    """Compares outputs with a reference model in every cycle.

    Parameters
    ----------
    clock : HandClock
        Started.
    step : callable
        Takes the inputs of a cycle as a dict of name → int, returns the outputs of that cycle likewise (what may be
        anything is left out), and moves the model on to the next cycle.
    stimuli : iterable of dict
        Inputs, one dict for each cycle; what is left out keeps its value.
    """
    dut = clock.dut
    handles = {}
    inputs = {}
    for given in stimuli:
        for name, value in given.items():
            if inputs.get(name) != value:
                handles.setdefault(name, getattr(dut, name)).value = value
        inputs.update(given)
        await clock.settle()
        for name, value in step(dict(inputs)).items():
            seen = int(handles.setdefault(name, getattr(dut, name)).value)
            assert seen == value, f"cycle {clock.cycles}: {name} is {seen:#x}, not {value:#x}"
        await clock.edge()
