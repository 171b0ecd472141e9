"""Clock and reset of a component under cocotb.

A cycle ends with a rising edge. In each cycle the inputs are driven first, the outputs are looked at when they have
settled, and the edge comes last; so a bench sees each cycle as the registers of the component see it.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from .ports import reader, writer

__all__ = ["RunningClock", "StepClock", "begin", "start_clock"]

_HALF_PS = 5000


class _Pins:
    """Pins of a component by their names, and the agents beside it.

    An agent is an object with two methods: ``drive()`` sets inputs at the beginning of a cycle, ``sample()`` looks at
    the outputs when all agents have driven and the outputs have settled.
    """

    def __init__(self, dut):
        self.dut = dut
        self.inputs = {}
        self.cycles = 0
        self._readers = {}
        self._writers = {}
        self._agents = []

    def has(self, name):
        """Whether the component has a pin of that name."""
        return hasattr(self.dut, name)

    def pin(self, name):
        """Value of a pin, as an int."""
        read = self._readers.get(name)
        if read is None:
            read = self._readers[name] = self._reader(name)
        return read()

    def _reader(self, name):
        """What gives the value of a pin."""
        return reader(name)

    def set(self, name, value):
        """Sets the pin of that name to an int."""
        write = self._writers.get(name)
        if write is None:
            write = self._writers[name] = writer(name)
        write(value)

    def drive(self, **values):
        """Sets inputs, for this cycle and the next ones."""
        for name, value in values.items():
            if self.inputs.get(name) != value:
                self.inputs[name] = value
                self.set(name, int(value))

    def attach(self, agent):
        """Has ``agent`` drive and sample in each cycle from now on; returns it."""
        self._agents.append(agent)
        return agent

    def _drive_agents(self):
        for agent in self._agents:
            agent.drive()

    def _sample_agents(self):
        for agent in self._agents:
            agent.sample()


class StepClock(_Pins):
    """A clock that the bench moves by hand: nothing depends on the order of tasks.

    Parameters
    ----------
    dut : cocotb handle
        The top. Clock ``clk`` and reset ``rst``; a component without registers has neither.
    half_ps : int
        Half a period of the clock.

    Members
    -------
    inputs : dict of str → int
        Inputs and what they are driven to.
    cycles : int
        Cycles since ``start``.

    Timing
    ------
    A cycle is ``cycle()``; or, for a bench that looks itself, ``drive``, ``settle``, ``pin``, ``edge``. Time stands
    still while the bench awaits nothing of the clock's.

    Raises
    ------
    AssertionError
        By ``until``, after its limit. AttributeError if the component has no pin of a name.
    """

    def __init__(self, dut, half_ps=_HALF_PS):
        super().__init__(dut)
        self.half_ps = half_ps
        self._clock = writer("clk") if self.has("clk") else None
        self._reset = writer("rst") if self.has("rst") else None
        self._half = Timer(half_ps, unit="ps")  # one for all half cycles: to make one takes 3 us, a tenth of a cycle

    async def start(self, *inputs):
        """Sets the named inputs to 0 and resets for three cycles; returns in cycle 0."""
        self.drive(**dict.fromkeys(inputs, 0))
        if self._reset is not None:
            self._reset(1)
        for _ in range(3):
            await self.settle()
            await self.edge()
        if self._reset is not None:
            self._reset(0)
        self.cycles = 0

    async def reset(self):
        """A reset of one cycle, with the inputs as they are."""
        self._reset(1)
        await self.settle()
        await self.edge()
        self._reset(0)

    async def settle(self):
        """The low half of a cycle; at its end the outputs are those of this cycle."""
        if self._clock is not None:
            self._clock(0)
        await self._half

    async def edge(self):
        """The rising edge that ends the cycle."""
        if self._clock is not None:
            self._clock(1)
        await self._half
        self.cycles += 1

    async def cycle(self):
        """A cycle with what the agents do in it."""
        self._drive_agents()
        await self.settle()
        self._sample_agents()
        await self.edge()

    async def until(self, condition, limit=10_000):
        """Cycles with the agents until ``condition()``; AssertionError after ``limit`` cycles."""
        end = self.cycles + limit
        while not condition():
            assert self.cycles < end, f"not within {limit} cycles"
            await self.cycle()

    async def run(self, cycles):
        """Many cycles with the inputs as they are and without agents, by a clock that runs by itself and is much
        faster; ends as ``edge`` does, a little before its end."""
        period = 2 * self.half_ps
        clock = Clock(self.dut.clk, period, unit="ps", impl="gpi")
        clock.start(start_high=False)
        await Timer(period * cycles - self.half_ps // 2, unit="ps")
        clock.stop()
        self.cycles += cycles


class RunningClock(_Pins):
    """A clock that runs by itself, with agents that follow it: for components with more than one clock, and beside
    tasks of the bench's own.

    Parameters
    ----------
    dut : cocotb handle
        The top.
    name : str
        Pin of the clock.
    period_ps : int
        Its period.

    Members
    -------
    inputs : dict of str → int
        Inputs and what they are driven to.
    cycles : int
        Cycles since ``start``.

    Timing
    ------
    Agents drive behind the rising edge and sample at the falling edge.

    Raises
    ------
    AssertionError
        By ``until``, after its limit. What an agent raises fails the test.
    """

    def __init__(self, dut, name="clk", period_ps=2 * _HALF_PS):
        super().__init__(dut)
        self.clk = getattr(dut, name)
        self.period_ps = period_ps
        self._tasks = []

    def start(self):
        """Starts the clock."""
        self._tasks.append(Clock(self.clk, self.period_ps, unit="ps").start())

    def follow(self):
        """Starts the agents, in the next cycle; the clock may be one that somebody else has started."""
        self._tasks.append(cocotb.start_soon(self._follow()))

    async def _follow(self):
        rising, falling = RisingEdge(self.clk), FallingEdge(self.clk)
        await rising
        while True:
            self._drive_agents()
            await falling
            self._sample_agents()
            await rising
            self.cycles += 1

    async def until(self, condition, limit=10_000):
        """Waits until ``condition()``; AssertionError after ``limit`` cycles."""
        end = self.cycles + limit
        while not condition():
            assert self.cycles < end, f"not within {limit} cycles"
            await RisingEdge(self.clk)

    def stop(self):
        """Stops clock and agents."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []


#: Clocks that were started by ``start_clock``: handle of the pin, task. A task ends with its test.
_started = []


def start_clock(clk, period_ps=2 * _HALF_PS):
    """Starts a clock at the pin ``clk``, low at first, if this test has not done so yet; the time is
    ``period_ps`` a cycle."""
    _started[:] = [(pin, task) for pin, task in _started if not task.done()]
    if not any(pin is clk for pin, _ in _started):
        _started.append((clk, Clock(clk, period_ps, unit="ps", impl="gpi").start(start_high=False)))


async def begin(dut, *, period_ps=2 * _HALF_PS, cycles=3, **inputs):
    """Clock (if this test has none yet), given inputs, and a reset of so many cycles; returns behind a falling edge,
    in a cycle without reset."""
    start_clock(dut.clk, period_ps)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    for _ in range(cycles):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
