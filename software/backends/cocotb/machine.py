"""The cocotb back end: the same boards and the same software, in a simulation that cocotb runs.

Python follows every clock edge of every board and carries every symbol over fibers of its own (``fiber``), as
``docs/engine.md`` rules; the processors are those of ``backends.processor``. It shares no line with the engine, so that
one checks the other; it is also the plain way of co-simulation that the engine's speed is measured against.

The simulated Verilog is that of ``nectar.verification.system.verilog``.
"""

import cocotb
from cocotb.triggers import Event, First, ReadWrite, Timer
from cocotb.utils import get_sim_time

from ....sim.profile import PROTOTYPE
from ....sim.tap import Tap
from ...door import Door
from ...machine import QUIET, STOPPED, TIME, Capability
from ..processor import Processor
from .board import Board, Cab
from .fiber import Fiber

__all__ = ["CocotbMachine"]

#: Clock cycles before the boards' time 0 that bring them into their reset state, and the time of each in picoseconds.
_LEAD_CYCLES = 4
_LEAD_PS = 1000


class CocotbMachine:
    """A Machine (``software.machine``) whose boards are simulated under cocotb.

    Parameters
    ----------
    topology : nectar.sim.topology.Topology
        Boards and fibers; the simulated Verilog must have been made for it.
    profile : nectar.sim.profile.Profile
        Clocks and fibers' times.
    recorder : Recorder or None
        What takes the events (docs/recording.md), those of fibers and software; it stays open when the machine is
        closed.

    Members
    -------
    doors : dict of str → Door
        By the CAB's name.
    recorder

    Raises ValueError for a fiber whose symbols are shorter than a board's clock cycle.

    Lives inside a cocotb test. The boards go on whenever simulated time does, so between two calls of ``run`` nothing
    else may be awaited that takes simulated time. A CPU whose software has failed stands still. Data memories keep what
    an earlier machine in the same simulation has left there; all else begins as after power-up."""

    capabilities = frozenset({Capability.EVENTS})

    def __init__(self, topology, profile=PROTOTYPE, *, recorder=None):
        dut = cocotb.top
        self.recorder = recorder
        if recorder is not None:
            slowest = max(fiber.symbol_ps or profile.symbol_ps for fiber in topology.fibers)
            recorder.begin(topology, profile, skew_ps=slowest)
        self.doors = {name: Door(profile.cpu_hz, recorder) for name in topology.cabs}
        self._fibers = []
        self._boards = {}
        self._origin_ps = None
        self._stop = None
        self._ended = None
        self._verdict = None
        self._error = None
        self._tasks = []
        self._closed = False
        for name, hub in topology.hubs.items():
            self._boards[name] = Board(dut, name, profile.hub_period_ps, hub.phase_ps)
        for name, cab in topology.cabs.items():
            self._boards[name] = Cab(dut, name, profile.cab_period_ps, cab.phase_ps, self._turned)
        for pair in topology.fibers:
            self._connect(pair.a, pair.b, pair.symbol_ps or profile.symbol_ps, pair.delay_ps)

    def _connect(self, a, b, symbol_ps, delay_ps):
        """Lays a pair of fibers between two Ends."""
        there, back = (Fiber((str(x), str(y)), symbol_ps, delay_ps) for x, y in ((a, b), (b, a)))
        boards = self._boards[a.board], self._boards[b.board]
        period_ps = max(board.period_ps for board in boards)
        if symbol_ps < period_ps or there.flight_ps <= period_ps:
            raise ValueError(
                f"fiber {a} - {b}: a symbol every {symbol_ps / 1000:g} ns is faster than a board's clock, or the fiber "
                "has no length; give it a longer symbol_ns or a delay"
            )
        for board, port, outward, inward in ((boards[0], a.port, there, back), (boards[1], b.port, back, there)):
            tap = None if self.recorder is None else Tap(self.recorder, len(self._fibers))
            board.connect(port, outward, inward, tap)
            self._fibers.append(outward)

    @property
    def time_ps(self):
        """Simulated time in picoseconds; 0 until the first ``run``."""
        return 0 if self._origin_ps is None else max(0, int(get_sim_time("step")) - self._origin_ps)

    def start(self, name, main):
        """Gives CAB ``name`` its main coroutine; it starts at the CAB's next clock edge after reset."""
        cab = self._boards[name]
        if cab.software:
            raise RuntimeError(f"{name} has its software already")
        cab.software = True
        cab.processor = Processor(self.doors[name], main)
        recorder = self.recorder
        if recorder is not None:
            place = recorder.places.index(name)
            cab.processor.note = lambda operation: recorder.note(self.time_ps, place, operation)

    def wake(self, name):
        """Ends a wait of the main coroutine of CAB ``name``, now or when it comes to wait."""
        processor = self._boards[name].processor
        if processor is not None:
            processor.wake()

    async def run(self, stop, until_ps=None, patient=True):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet
        (``software.machine``)."""
        if self._closed:
            raise RuntimeError("this machine is closed; make a new one")
        if self._origin_ps is None:
            await self._begin()
        if stop():
            return STOPPED
        self._stop, self._ended, self._verdict = stop, Event(), TIME
        if until_ps is None:
            await self._ended.wait()
        elif until_ps > self.time_ps:
            await First(self._ended.wait(), Timer(until_ps - self.time_ps, "step"))
        if self._ended.is_set():
            await ReadWrite()  # every board that has an edge at this time has seen it by then
        self._stop = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self._verdict

    async def _begin(self):
        """Brings all boards into their reset state, wherever an earlier machine has left them, and starts their
        clocks."""
        for level in (1, 0) * _LEAD_CYCLES:
            for board in self._boards.values():
                board.clk.value = level
            await Timer(_LEAD_PS // 2, "step")
        self._origin_ps = int(get_sim_time("step"))
        self._tasks = [cocotb.start_soon(board.run()) for board in self._boards.values()]
        self._tasks.append(cocotb.start_soon(self._watch()))

    def _end(self, verdict):
        if self._stop is not None and not self._ended.is_set():
            self._verdict = verdict
            self._ended.set()

    def _turned(self, error):
        """The software of some CAB has run, or has failed with ``error``."""
        if error is not None:
            self._error = self._error or error
            self._end(STOPPED)
        elif self._stop is not None and self._stop():
            self._end(STOPPED)

    async def _watch(self):
        """Notices when nothing can ever happen again."""
        cabs = [board for board in self._boards.values() if isinstance(board, Cab)]
        quiet = False
        interval = Timer(16 * max(board.period_ps for board in self._boards.values()), "step")
        while True:
            await interval
            before = quiet
            quiet = (
                all(cab.processor is None or cab.processor.asleep for cab in cabs)
                and not any(fiber.under_way for fiber in self._fibers)
                and all(board.quiet() for board in self._boards.values())
            )
            if quiet and before:
                self._end(QUIET)

    def close(self):
        """Ends all software and the following of the clocks. May be called twice."""
        if not self._closed and self.recorder is not None:
            self.recorder.end(self.time_ps)
        self._closed = True
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        for board in self._boards.values():
            board.close()
