"""The engine back end: software on simulated RTL, at speed.

The processors of the CABs are part of the engine's C++ core and follow ``docs/door.md``; Python runs only when software
has a turn.
"""

from heapq import heappop, heappush
from struct import Struct

from ....hdl.cab.vme.numbers import NODE_MEMORY_BYTES
from ....hdl.hub.commands import Op
from ....hdl.link.symbol import command
from ....sim.engine import Engine
from ....sim.machines import machine_of
from ....sim.numbers import Code, FaultEffect, Result, SymbolClass, Word
from ...door import BusError, Door, Runner
from ...errors import FaultError
from ...faults import LINE_FAULTS, threshold
from ...machine import QUIET, STOPPED, TIME, Capability, node_name

__all__ = ["EngineMachine"]

# Looked up once: enumerations are slow, and this is done at every turn.
_PAUSE, _RESUME, _INTERRUPT = int(Code.PAUSE), int(Code.RESUME), int(Code.INTERRUPT)
_BOARD = int(Word.BOARD)
_UNTIL, _FOREVER = int(Word.UNTIL), 2**63 - 1
#: BOARD, LEVEL, RESULT, NUMBER and LENGTH of the exchange.
_TURN = Struct("5q")
_NOTHING, _NUMBER, _BYTES = int(Result.NOTHING), int(Result.NUMBER), int(Result.BYTES)


class _FiberFault:
    """A fault on one direction of a fiber."""

    def __init__(self, engine, number):
        self._engine, self._number = engine, number

    def count(self):
        """(hits, symbols)."""
        return self._engine.fault_count(self._number)

    def end(self, time_ps):
        """Ends it at ``time_ps``."""
        self._engine.fault_end(self._number, time_ps)


class EngineMachine:
    """A Machine (``software.machine``) whose boards are simulated RTL, or fast boards.

    Parameters
    ----------
    topology : Topology
        Boards and fibers.
    profile : Profile or None
        Clocks and symbol time; None for the one that the machine has first.
    nodes : iterable of str
        Names of the CABs that have a node (docs/nodes.md).
    waves : path or None
        File for waveforms, ``.vcd`` or ``.fst``; it appears when the machine is closed.
    wave_boards : list of str or None
        Boards to record; None for all.
    wave_window : (int, int) or None
        Picoseconds from which and up to which they are recorded; None for all of the time.
    wave_limit : int or None
        Bytes of VCD after which recording ends; None for no limit.
    wave_views : bool
        Whether a save file and names for viewers are written beside it.
    boards : str
        ``rtl``, or ``fast`` for boards in C++ that show the same at their pins (docs/engine.md).
    rtl : iterable of str
        Names of boards that are RTL nevertheless.
    sleep : bool
        Whether boards that have nothing to do are left out. The result is the same.
    threads : int or None
        Threads that evaluate boards; None for all cores, as soon as this pays. The result is the same.
    recorder : Recorder or None
        What takes the events (docs/recording.md); it stays open when the machine is closed.

    Members
    -------
    doors : dict
        Name of each board with a CPU → Door.
    nodes : dict
        Name of a node (``software.machine.node_name``) → Door.
    engine : Engine
        The simulation itself: counters.
    """

    capabilities = frozenset(
        {Capability.FAULTS, Capability.EVENTS, Capability.NODES, Capability.MEMORY, Capability.WAVES}
    )

    node_memory_bytes = NODE_MEMORY_BYTES

    def __init__(
        self,
        topology,
        profile=None,
        *,
        nodes=(),
        waves=None,
        wave_boards=None,
        wave_window=None,
        wave_limit=None,
        wave_views=False,
        boards="rtl",
        rtl=(),
        sleep=True,
        threads=None,
        recorder=None,
    ):
        profile = profile or machine_of(topology).profile
        self.engine = Engine(
            topology,
            profile,
            nodes={name: node_name(name) for name in nodes},
            boards=boards,
            rtl=rtl,
            sleep=sleep,
            threads=threads,
            recorder=recorder,
            waves=waves,
            wave_boards=wave_boards,
            wave_window=wave_window,
            wave_limit=wave_limit,
            wave_views=wave_views,
        )
        self.recorder = recorder
        self.doors = {name: Door(profile.cpu_hz, recorder) for name in topology.computers}
        self.nodes = {
            node_name(name): Door(profile.cpu_hz, recorder) for name in topology.computers if name in set(nodes)
        }
        self.fibers = self.engine.fibers
        self.hub_ports = {name: hub.ports for name, hub in topology.switches.items()}
        self._held_off = machine_of(topology).held_off
        self._hub_ids = {name: hub.id for name, hub in topology.switches.items()}
        self._cpu_hz = profile.cpu_hz
        self._runners = [None] * len(self.engine.cpus)
        self._plans = []  # (time, order, action)
        self._planned = 0

    def start(self, name, main):
        """Gives CAB or node ``name`` its main coroutine; it starts at the CAB's next clock edge after reset."""
        index = self.engine.cpus.index(name)
        if self._runners[index] is not None:
            raise RuntimeError(f"{name} has its software already")
        door = self.nodes[name] if name in self.nodes else self.doors[name]
        self._runners[index] = Runner(door, main)
        self.engine.start(name, door.handler is not None)

    def wake(self, name):
        """Ends a wait of the main coroutine of CAB or node ``name``, now or when it comes to wait."""
        self.engine.wake(name)

    async def run(self, stop, until_ps=None, patient=True):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet
        (``software.machine``)."""
        engine = self.engine
        exchange, go, answer = engine.exchange, engine.go, engine.answer
        runners = self._runners
        plans = self._plans
        until = _FOREVER if until_ps is None else until_ps
        told = None
        while True:
            if stop():
                return STOPPED
            limit = until
            if plans and plans[0][0] < limit:
                limit = plans[0][0]
            if limit != told:
                exchange[_UNTIL] = told = limit
            code = go()
            if code == _RESUME or code == _INTERRUPT:
                board, level, result, value, length = _TURN.unpack_from(exchange)
                runner = runners[board]
                try:
                    if code == _INTERRUPT:
                        words = runner.begin()
                    elif result == _BYTES:
                        words = runner.step(level, engine.bytes(length))
                    elif result == _NUMBER:
                        words = runner.step(level, value)
                    elif result == _NOTHING:
                        words = runner.step(level)
                    else:
                        words = runner.step(level, None, self._bus_error())
                    answer(words)
                    door = runner.door
                    if door.blocks:
                        engine.answer_blocks(door.blocks)
                        door.blocks = bytearray()
                    if door.attached_anew:
                        self._attach(board, door)
                except BaseException:
                    engine.halt(board)
                    raise
            elif code == _PAUSE:
                engine.pause()
            elif code == Code.TIME or code == Code.QUIET:
                if not plans or code == Code.QUIET and not patient:
                    return TIME if code == Code.TIME else QUIET
                engine.skip(limit)
                if plans[0][0] > limit:
                    return TIME
                while plans and plans[0][0] <= engine.time_ps:
                    heappop(plans)[2]()
            elif code == Code.UNHANDLED:
                raise self._bus_error()
            else:
                raise RuntimeError(f"{engine.cpus[exchange[_BOARD]]}: {engine.fault()}")

    def _bus_error(self):
        exchange = self.engine.exchange
        return BusError(exchange[Word.ADDRESS], bool(exchange[Word.WRITE]))

    def _attach(self, board, door):
        """Tells the engine of the handler that software has attached."""
        door.attached_anew = False
        self.engine.attach(board, door.handler is not None, door.first)

    # -- faults (software.machine) -------------------------------------------------------------------
    def plan(self, time_ps, action):
        """Calls ``action()`` at ``time_ps``, in a run."""
        self._planned += 1
        heappush(self._plans, (time_ps, self._planned, action))

    def fault(self, ends, fault, key, begin_ps, end_ps):
        """Puts a fault on a direction of a fiber. Raises FaultError for what a link of lines has not."""
        if not self._held_off and (fault.kind or fault.what not in LINE_FAULTS):
            raise FaultError(f"{fault}: links of lines have the faults {', '.join(LINE_FAULTS)}, of no kind")
        number = self.engine.add_fault(
            ends,
            FaultEffect[fault.what.upper()],
            SymbolClass[(fault.kind or "symbol").upper()],
            key=key,
            threshold=None if fault.rate is None else threshold(fault.rate),
            nth=fault.nth,
            times=fault.times,
            length=fault.length,
            begin_ps=begin_ps,
            end_ps=end_ps,
            delay_ps=fault.delay_ps,
        )
        return _FiberFault(self.engine, number)

    def check_enable(self, hub):
        """Raises FaultError if all ports of a HUB have a fiber."""
        if not self.engine.inject(hub, ()):
            raise FaultError(
                f"{hub} has a fiber at each of its ports, so that nobody could tell it to disable one: give it one "
                f"port more"
            )

    def enable(self, hub, port, on):
        """Has a HUB enable or disable a port."""
        self.engine.inject(hub, command(Op.ENABLE_REPLY if on else Op.DISABLE_REPLY, self._hub_ids[hub], port))

    def reset(self, hub):
        """Resets a HUB."""
        self.engine.reset(hub)

    def stop(self, name):
        """Ends the software of a CAB or of a node."""
        self.engine.stop(name)
        index = self.engine.cpus.index(name)
        if self._runners[index] is not None:
            self._runners[index].close()
            self._runners[index] = None

    def restart(self, name):
        """Resets the board of a CAB and gives it a new Door."""
        self.engine.reset(name)
        self.doors[name] = Door(self._cpu_hz, self.recorder)

    @property
    def time_ps(self):
        """Simulated time in picoseconds."""
        return self.engine.time_ps

    @property
    def waves_full_ps(self):
        """Simulated time in picoseconds at which ``wave_limit`` has ended the recording; None if it has not."""
        return self.engine.waves_full_ps

    @property
    def waves_written(self):
        """While ``close`` makes an FST file, how much of it is made, from 0 to 1; else None. For any thread."""
        return self.engine.waves_written

    def close(self):
        """Ends all software, closes the waveform file, frees the boards. May be called twice."""
        for runner in self._runners:
            if runner is not None:
                runner.close()
        self._runners = [None] * len(self._runners)
        self.engine.close()
