"""The cable back end: software on a host, its CABs inside an FPGA at the other end of a serial line.

The processors of the CABs are in the FPGA and follow ``docs/door.md``; the boards' time stands still while software has a turn
(``docs/cable.md``). A machine of this kind has no faults on demand and no log of symbols.
"""

import time
from collections import deque

from ...hdl.cab.addresses import REGIONS
from ...hdl.host.numbers import BAUD, BUFFER_WORDS, FRAME_WORDS, RESET_EDGES, Item, Reason, Turn
from ...hdl.hub.profile import HUB_PROFILES
from ...sim.profile import Profile
from ...sim.topology import Topology
from ..door import INTERRUPT, THREAD, BusError, Door, Kind, Runner
from ..errors import CableError
from ..machine import QUIET, STOPPED, TIME
from .cableline import Line
from .cablewords import TurnWords, encode, turns, value

__all__ = ["CableMachine"]

#: Edges of a GO: at first, and at most. It is to last some time that a user does not notice.
_FEW, _MOST = 1 << 14, (1 << 32) - 1
_SHORT_S, _LONG_S = 0.2, 1.0
#: Words of a GO besides its items: header, limit, checksum.
_FIXED = 3


class _Cpu:
    """A processor in the FPGA, seen from here."""

    def __init__(self, runner):
        self.runner = runner
        self.awaited = [None, None]      # for each level what its software waits for
        self.loads = [deque(), deque()]  # for each level what the processor has not got yet
        self.results = []


class CableMachine:
    """A Machine (``software.machine``) whose boards are gates of an FPGA.

    Parameters
    ----------
    path : str
        The serial line.
    baud : int
        Its bits in a second.
    cabs : int or None
        How many of the board's CABs are used; all if None.
    line : keyword arguments of ``Line``

    Members
    -------
    doors : dict of str → Door
    topology : Topology
        What is in the FPGA: HUB1, and CAB1, CAB2, ... on its ports 0, 1, ...
    profile : Profile
    memory_bytes : int
        Data memory of each CAB.
    hub_ports : dict of str → int
    line : Line

    Raises CableError.
    """

    def __init__(self, path, baud=BAUD, *, cabs=None, **line):
        self.line = Line(path, baud, **line)
        try:
            self._identify(path, cabs)
            self._status(self.line.reset())
        except BaseException:
            self.line.close()
            raise
        self.doors = {name: Door(self.profile.cpu_hz) for name in self.topology.cabs}
        self._names = list(self.topology.cabs)
        self._cpus = [None] * len(self._names)
        self._items = []         # what the next GO brings
        self._turns = deque()    # TurnWords, and CABs whose software is to start
        self._stretch = _FEW     # edges of a GO
        self._reached_ps = 0     # up to where a run was asked to go
        self._closed = False

    def _identify(self, path, cabs):
        shape, period_ps, memory, *_ = [*self.line.identify(), 0, 0, 0]
        there, ports, hub_id, profile = shape.to_bytes(4, "big")
        data_bytes, program_bytes, buffer, _ = memory.to_bytes(4, "big")
        if not there or not period_ps or 1 << buffer != BUFFER_WORDS or profile >= len(HUB_PROFILES) or 1 << data_bytes > REGIONS["data"].size:
            raise CableError(f"{path}: the board says of itself what cannot be; build its top with this version of Nectar")
        if cabs is not None and cabs > there:
            raise CableError(f"{path}: the board has {there} CAB{'s' * (there != 1)}, not {cabs}")
        self.memory_bytes = 1 << data_bytes
        self.profile = Profile("cable", list(HUB_PROFILES)[profile], period_ps, period_ps, period_ps)
        self.topology = topology = Topology(f"the board at {path}").hub("HUB1", ports=ports, id=hub_id)
        for n in range(there if cabs is None else cabs):
            topology.cab(f"CAB{n + 1}").fiber(f"CAB{n + 1}", f"HUB1.P{n}", delay_ns=period_ps / 1000)
        self.hub_ports = {"HUB1": ports}

    def start(self, name, main):
        """Gives CAB ``name`` its main coroutine; it starts at the CAB's next clock edge."""
        index = self._names.index(name)
        if self._cpus[index] is not None:
            raise RuntimeError(f"{name} has its software already")
        self._cpus[index] = _Cpu(Runner(self.doors[name], main))
        self._turns.append(index)

    def wake(self, name):
        """Ends a wait of the main coroutine of CAB ``name``, now or when it comes to wait."""
        index = self._names.index(name)
        if self._cpus[index] is not None:
            self._items.append([Item.WAKE << 28 | index << 24])

    async def run(self, stop, until_ps=None):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet (``software.machine``)."""
        if self._closed:
            raise RuntimeError("this machine is closed; make a new one")
        end = None if until_ps is None else max(0, -(-until_ps // self.profile.cab_period_ps) - RESET_EDGES)
        while True:
            if stop():
                return STOPPED
            if self._turns:
                self._serve(self._turns.popleft())
                continue
            left = self._stretch if end is None else min(self._stretch, end - self._edges)
            if left <= 0 and not self._items:
                self._reached_ps = max(self._reached_ps, until_ps)
                return TIME
            reason = self._go(max(0, left))
            if not self._turns and reason == Reason.QUIET:
                return QUIET

    # -- turns ---------------------------------------------------------------------------------------
    def _serve(self, turn):
        """Does what a processor wants, a TurnWords, or starts the software of a CAB."""
        if not isinstance(turn, TurnWords):
            self._software(turn, THREAD, lambda runner: runner.resume(THREAD))
            return
        cpu = self._cpus[turn.cab]
        if turn.turn == Turn.MORE:
            self._load(turn.cab, turn.level)
        elif turn.turn == Turn.RESULTS:
            cpu.results += turn.results
            self._put(turn.cab, [])
        elif turn.turn == Turn.UNHANDLED:
            self._put(turn.cab, [])
            raise BusError(turn.error_address, turn.error_write)
        elif turn.turn == Turn.INTERRUPT:
            self._software(turn.cab, INTERRUPT, lambda runner: runner.interrupt())
        elif turn.failed:
            error = BusError(turn.error_address, turn.error_write)
            self._software(turn.cab, turn.level, lambda runner: runner.resume(turn.level, None, error))
        else:
            got = value(cpu.awaited[turn.level], cpu.results + turn.results, self._edges)
            self._software(turn.cab, turn.level, lambda runner: runner.resume(turn.level, got))

    def _software(self, index, level, step):
        """Runs software of a CAB and gives its operations to the processor."""
        cpu = self._cpus[index]
        cpu.results = []
        try:
            given = encode(step(cpu.runner))
            if level == INTERRUPT and given.awaited is not None and given.awaited.kind == Kind.WAIT:
                raise RuntimeError(f"{self._names[index]}: an interrupt handler cannot wait for an interrupt: it holds all of them off")
        except BaseException:
            self._items.append([Item.HALT << 28 | index << 24])
            cpu.runner.close()
            raise
        cpu.awaited[level] = given.awaited
        cpu.loads[level].extend(given.loads)
        self._load(index, level)

    def _load(self, index, level):
        """The next words of a level's operations."""
        loads = self._cpus[index].loads[level]
        if not loads:
            raise CableError(f"{self.line.path}: {self._names[index]} wants operations that there are not: the board does not follow the protocol")
        words = loads.popleft()
        self._put(index, words, final=not loads and self._cpus[index].runner.ended)

    def _put(self, index, words, final=False):
        attached = self.doors[self._names[index]].handler is not None
        self._items.append([Item.LOAD << 28 | index << 24 | final << 21 | attached << 20 | len(words), *words])

    # -- the board -----------------------------------------------------------------------------------
    def _go(self, limit):
        """Gives the board what there is for it and lets time go on. Returns why it stands still again."""
        items, self._items = self._items, []
        words = []
        for item in items:
            if len(words) + len(item) > FRAME_WORDS - _FIXED:
                self._status(self.line.go([0, *words]))
                words = []
            words += item
        begin = time.monotonic()
        reason, self._turns = self._status(self.line.go([limit, *words]))
        took = time.monotonic() - begin
        if took > _LONG_S:
            self._stretch = max(_FEW, self._stretch // 2)
        elif reason == Reason.LIMIT and took < _SHORT_S:
            self._stretch = min(_MOST, 2 * self._stretch)
        return reason

    def _status(self, words):
        """Takes in an answer: (Reason, turns)."""
        try:
            reason, high, low, *rest = words
            found = deque(turns(rest))
            if any(turn.cab >= len(self.topology.cabs) for turn in found):
                raise ValueError("a CAB that there is not")
            self._edges = high << 32 | low
            return Reason(reason), found
        except ValueError as error:
            raise CableError(f"{self.line.path}: the board's answer makes no sense ({error}); build its top with this version of Nectar") from error

    @property
    def time_ps(self):
        """Simulated time in picoseconds."""
        return max(self._reached_ps, (RESET_EDGES + self._edges - 1) * self.profile.cab_period_ps if self._edges else 0)

    def close(self):
        """Ends all software and gives the line back. May be called twice."""
        self._closed = True
        for cpu in self._cpus:
            if cpu is not None:
                cpu.runner.close()
        self._cpus = [None] * len(self._cpus)
        self.line.close()
