"""A clock that the bench moves by hand, and components compared with a reference model in every cycle."""

from cocotb.clock import Clock
from cocotb.triggers import Timer

__all__ = ["HandClock", "lockstep"]

_HALF_PS = 5000


class HandClock:
    """Clock and reset of a component; the bench sets its inputs, calls ``settle``, looks at the outputs, calls
    ``edge``.

    Parameters
    ----------
    dut : cocotb handle
        The top. A component without registers has neither clock nor reset.
    half_ps : int
        Half a period of the clock.

    Members
    -------
    inputs : dict of str → int
        Inputs and what they are driven to.
    cycles : int
        Cycles since reset.
    """

    def __init__(self, dut, half_ps=_HALF_PS):
        self.dut = dut
        self.half_ps = half_ps
        self.inputs = {}
        self.cycles = 0
        self._handles = {}
        self._clock = getattr(dut, "clk", None)
        self._reset = getattr(dut, "rst", None)
        self._half = Timer(half_ps, unit="ps")  # one for all half cycles: to make one takes 3 us, a tenth of a cycle

    def handle(self, name):
        """The pin of that name."""
        if name not in self._handles:
            self._handles[name] = getattr(self.dut, name)
        return self._handles[name]

    def drive(self, **values):
        """Sets inputs, for this cycle and the next ones."""
        for name, value in values.items():
            if self.inputs.get(name) != value:
                self.inputs[name] = value
                self.handle(name).value = int(value)

    async def start(self, *inputs):
        """Sets the named inputs to 0 and resets."""
        self.drive(**dict.fromkeys(inputs, 0))
        if self._reset is not None:
            self._reset.value = 1
        for _ in range(3):
            await self.settle()
            await self.edge()
        if self._reset is not None:
            self._reset.value = 0
        self.cycles = 0

    async def reset(self):
        """A reset of one cycle, with the inputs as they are."""
        self._reset.value = 1
        await self.settle()
        await self.edge()
        self._reset.value = 0

    async def settle(self):
        """The low half of a cycle; at its end the outputs are those of this cycle."""
        if self._clock is not None:
            self._clock.value = 0
        await self._half

    async def edge(self):
        """The rising edge that ends the cycle."""
        if self._clock is not None:
            self._clock.value = 1
        await self._half
        self.cycles += 1

    async def run(self, cycles):
        """Many cycles with the inputs as they are, by a clock that runs by itself and is much faster; ends as
        ``edge`` does, a little before its end."""
        period = 2 * self.half_ps
        clock = Clock(self._clock, period, unit="ps", impl="gpi")
        clock.start(start_high=False)
        await Timer(period * cycles - self.half_ps // 2, unit="ps")
        clock.stop()
        self.cycles += cycles


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
    for given in stimuli:
        clock.drive(**given)
        await clock.settle()
        for name, value in step(dict(clock.inputs)).items():
            seen = int(clock.handle(name).value)
            assert seen == value, f"cycle {clock.cycles}: {name} is {seen:#x}, not {value:#x}"
        await clock.edge()
