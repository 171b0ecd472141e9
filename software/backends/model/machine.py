"""The pure-Python back end: CABs, HUBs and fibers as a behavioural model, event by event. No RTL, no compiler.

It is for tests of the software and for trying things out; its times are plausible, not those of the RTL.
"""

from collections import deque
from heapq import heapify, heappop, heappush

from ....hdl.cab.addresses import REGIONS
from ....hdl.host.numbers import RESET_EDGES
from ....hdl.link.symbol import COMMAND_LENGTH
from ....sim.tap import Tap
from ...door import Door, OperationKind
from ...machine import QUIET, STOPPED, TIME, Capability, node_name
from ..processor import FOREVER, Processor
from .cab import ModelCab
from .fiber import ModelFiber
from .hub import ModelHub
from .node import ModelNode

__all__ = ["ModelMachine"]

#: Symbols that a fiber takes at once, and that are told of before their time.
_LONGEST = 1 << 16


class _Cpu:
    """A processor on a model of a CAB."""

    __slots__ = ("board", "processor", "answers", "due")

    def __init__(self, board, processor):
        self.board = board
        self.processor = processor
        self.answers = deque()  # (edge, data, error), oldest first
        self.due = None  # edge at which it is to be called next

    def block(self, operation, kernel):
        """``Processor.direct``: a block of data memory is done at once, in the time that it takes word by word."""
        words = self.board.block(operation, kernel)
        if words:
            write = operation.kind == OperationKind.WRITE_BLOCK
            self.answers.append((self.processor.edges + self.board.answer(write, len(words)), words[-1], False))
        return words


class ModelMachine:
    """A Machine (``software.machine``) in plain Python.

    Parameters
    ----------
    topology : nectar.sim.topology.Topology
        Boards and fibers.
    profile : nectar.sim.profile.Profile
        Clocks and the fibers' symbol time.
    memory_bytes : int
        Data memory of each CAB.
    nodes : iterable of str
        Names of the CABs that have a node.
    recorder : Recorder or None
        What takes the events (docs/recording.md), those of fibers and software; it stays open when the machine is
        closed.

    Members
    -------
    doors, nodes, fibers, hub_ports, recorder
    hubs : dict of str → ModelHub
    """

    capabilities = frozenset({Capability.EVENTS, Capability.FAULTS, Capability.NODES, Capability.HUBS})

    def __init__(self, topology, profile, memory_bytes=REGIONS["data"].size, nodes=(), recorder=None):
        self.time_ps = 0
        self.recorder = recorder
        self.doors = {name: Door(profile.cpu_hz, recorder) for name in topology.cabs}
        self.hubs = {name: ModelHub(self, board, profile.hub_period_ps) for name, board in topology.hubs.items()}
        self.hub_ports = {name: hub.ports for name, hub in self.hubs.items()}
        self._profile = profile
        self._cabs = {}
        self._cpus = {}
        self._fibers = {}  # (sending end, receiving end) → ModelFiber
        self._events = []  # (time, whether a CPU's edge, order, action, argument)
        self._order = 0
        self._plans = 0  # of the events, those that were planned
        self._turned = False
        self._closed = False
        for name, board in topology.cabs.items():
            first = board.phase_ps + RESET_EDGES * profile.cab_period_ps
            self._cabs[name] = ModelCab(self, board, profile.cab_period_ps, first, profile.symbol_ps, memory_bytes)
        for pair in topology.fibers:
            symbol = pair.symbol_ps or profile.symbol_ps
            for a, b in ((pair.a, pair.b), (pair.b, pair.a)):
                source, target = self._board(a), self._board(b)
                fiber = self._fibers[str(a), str(b)] = ModelFiber(
                    self, f"{a}->{b}", target, b.port, symbol, pair.delay_ps
                )
                if a.port is None:
                    source.fiber = fiber
                else:
                    source.fibers[a.port] = fiber
        self.fibers = list(self._fibers)
        self.nodes = {}
        for name in topology.cabs:
            if name in set(nodes):
                board = self._cabs[name]
                board.node = self._cabs[node_name(name)] = ModelNode(node_name(name), board)
                self.nodes[node_name(name)] = Door(profile.cpu_hz, recorder)
        if recorder is not None:
            behind = {name: node_name(name) for name in topology.cabs if name in set(nodes)}
            slowest = max(fiber.symbol_ps for fiber in self._fibers.values())
            recorder.begin(topology, profile, nodes=behind, skew_ps=_LONGEST * slowest)
            for number, fiber in enumerate(self._fibers.values()):
                fiber.tap = Tap(recorder, number)

    def _board(self, end):
        return self._cabs[end.board] if end.port is None else self.hubs[end.board]

    # -- what boards call ----------------------------------------------------------------------------
    def at(self, time_ps, action, argument):
        """``action(argument)`` at ``time_ps``."""
        self._order += 1
        heappush(self._events, (time_ps, False, self._order, action, argument))

    def interrupt(self, board):
        """A board's interrupt line may have gone up."""
        cpu = self._cpus.get(board.name)
        if (
            cpu is not None
            and cpu.board is board
            and not cpu.answers
            and cpu.processor.request is None
            and not cpu.processor.sleeps(board.irq)
        ):
            self._schedule(cpu, (self.time_ps - board.first_ps) // board.period_ps + 1)

    # -- Machine -------------------------------------------------------------------------------------
    def start(self, name, main):
        """Gives CAB or node ``name`` its main coroutine; it starts at the CAB's first clock edge after reset."""
        if name in self._cpus:
            raise RuntimeError(f"{name} has its software already")
        cpu = self._cpus[name] = _Cpu(
            self._cabs[name], Processor(self.nodes[name] if name in self.nodes else self.doors[name], main)
        )
        cpu.processor.direct = cpu.block
        recorder = self.recorder
        if recorder is not None:
            place = recorder.places.index(name)
            cpu.processor.note = lambda operation: recorder.note(self.time_ps, place, operation)
        self._schedule(cpu, 0)

    def wake(self, name):
        """Ends a wait of CAB or node ``name``'s main coroutine."""
        cpu = self._cpus[name]
        cpu.processor.wake()
        self.interrupt(cpu.board)

    async def run(self, stop, until_ps=None, patient=True):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet
        (``software.machine``)."""
        if self._closed:
            raise RuntimeError("this machine is closed; make a new one")
        events = self._events
        while events and (patient or len(events) > self._plans):
            if until_ps is not None and events[0][0] >= until_ps:
                self.time_ps = until_ps
                return TIME
            self.time_ps, _, _, action, argument = heappop(events)
            action(argument)
            if self._turned:
                self._turned = False
                if stop():
                    return STOPPED
        return QUIET

    def close(self):
        """Ends all software, finishes the recording. May be called twice."""
        if not self._closed and self.recorder is not None:
            self.recorder.end(self.time_ps)
        self._closed = True
        self._events.clear()
        for cpu in self._cpus.values():
            cpu.processor.close()

    # -- faults (software.machine) -------------------------------------------------------------------
    def plan(self, time_ps, action):
        """Calls ``action()`` at ``time_ps``, in a run."""
        self._plans += 1
        self.at(max(time_ps, self.time_ps), self._act, action)

    def _act(self, action):
        self._plans -= 1
        action()
        self._turned = True

    def fault(self, ends, fault, key, begin_ps, end_ps):
        """Puts a fault on a direction of a fiber."""
        return self._fibers[ends].fault(fault, key, begin_ps, end_ps)

    def forget(self, target, port, after_ps):
        """Drops what is on its way to a port of the board ``target`` and arrives after ``after_ps``; returns how
        many symbols."""
        gone = [
            event
            for event in self._events
            if event[3] in (target.arrive, target.signalled) and event[4][0] == port and event[0] > after_ps
        ]
        kept = [event for event in self._events if event not in gone]
        heapify(kept)
        self._events[:] = kept
        return sum(
            argument[1].length if action == target.arrive else 1 if argument[1] == "ready" else COMMAND_LENGTH
            for _, _, _, action, argument in gone
        )

    def check_enable(self, hub):
        """Every HUB can be told."""

    def enable(self, hub, port, on):
        """Has a HUB enable or disable a port."""
        self.hubs[hub].enable(port, on)

    def reset(self, hub):
        """Resets a HUB."""
        self.hubs[hub].reset()

    def stop(self, name):
        """Ends the software of a CAB or of a node."""
        cpu = self._cpus.pop(name, None)
        if cpu is not None:
            cpu.due = None
            cpu.processor.close()

    def restart(self, name):
        """Resets the board of a CAB and gives it a new Door."""
        self.doors[name] = Door(self._profile.cpu_hz, self.recorder)
        old = self._cabs[name]
        edges = -(-(self.time_ps - old.first_ps) // old.period_ps) + RESET_EDGES + 1
        new = self._cabs[name] = ModelCab(
            self, old, old.period_ps, old.first_ps + edges * old.period_ps, old.symbol_ps, 0
        )
        new.memory, new.fiber, old.fiber = old.memory, old.fiber, None
        if old.node is not None:
            new.node, old.node.board = old.node, new
        for fiber in self._fibers.values():
            if fiber.target is old:
                fiber.target = new
        moved = {old.arrive: new.arrive, old.signalled: new.signalled}
        self._events[:] = [
            (time, cpu, order, moved.get(action, action) if not cpu else action, argument)
            for time, cpu, order, action, argument in self._events
        ]

    # -- CPUs ----------------------------------------------------------------------------------------
    def _schedule(self, cpu, edge):
        """Makes ``edge`` the one at which a CPU is called next, unless an earlier one is."""
        if cpu.due is None or edge < cpu.due:
            cpu.due = edge
            board = cpu.board
            self._order += 1
            heappush(
                self._events, (board.first_ps + edge * board.period_ps, True, self._order, self._edge, (cpu, edge))
            )

    def _edge(self, call):
        cpu, edge = call
        if cpu.due != edge:
            return
        cpu.due = None
        processor, board = cpu.processor, cpu.board
        processor.skip(edge - processor.edges)
        done, data, error = False, 0, False
        if cpu.answers and cpu.answers[0][0] == edge:
            done, (_, data, error) = True, cpu.answers.popleft()
        if processor.request is not None:
            cpu.answers.append((edge + board.answer(processor.request.write), *board.access(processor.request)))
        turns = processor.turns
        request = processor.edge(done, data, error, True, board.irq)
        self._turned = processor.turns != turns
        if request is not None:
            self._schedule(cpu, edge + 1)
        elif cpu.answers:
            self._schedule(cpu, cpu.answers[0][0])
        else:
            sleeps = processor.sleeps(board.irq)
            if sleeps < FOREVER:
                self._schedule(cpu, processor.edges + sleeps)
