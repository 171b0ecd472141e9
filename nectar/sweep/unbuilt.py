"""A machine without boards, for what is told before simulated time begins: nothing is built for it."""

from ..software.door import Door
from ..software.machine import Capability, node_name

__all__ = ["UnbuiltMachine"]


class _NoFault:
    """A fault on a fiber that nothing goes over."""

    def count(self):
        """(hits, symbols)."""
        return 0, 0

    def end(self, time_ps):
        """Ends it."""


class UnbuiltMachine:
    """A Machine (``software.machine``) that takes software, faults and plans as EngineMachine does, and cannot run.

    Parameters
    ----------
    topology, profile, nodes, recorder
        As for EngineMachine. Its further ones are taken, and mean nothing here.
    """

    capabilities = frozenset({Capability.FAULTS, Capability.EVENTS, Capability.NODES})
    time_ps = 0

    def __init__(self, topology, profile, *, nodes=(), recorder=None, **boards):
        names = {name: node_name(name) for name in topology.cabs if name in set(nodes)}
        self.recorder = recorder
        self.doors = {name: Door(profile.cpu_hz, recorder) for name in topology.cabs}
        self.nodes = {called: Door(profile.cpu_hz, recorder) for called in names.values()}
        self.fibers = [
            (str(a), str(b)) for fiber in topology.fibers for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a))
        ]
        self.hub_ports = {name: hub.ports for name, hub in topology.hubs.items()}
        self._mains = []
        if recorder is not None:
            recorder.begin(topology, profile, nodes=names, skew_ps=0)

    def start(self, name, main):
        """Keeps the main coroutine of a CAB or a node."""
        self._mains.append(main)

    def wake(self, name):
        """Nobody sleeps."""

    async def run(self, stop, until_ps=None, patient=True):
        """Raises RuntimeError."""
        raise RuntimeError("a machine without boards cannot run")

    def close(self):
        """Ends all software, finishes the recording. May be called twice."""
        for main in self._mains:
            main.close()
        if self._mains and self.recorder is not None:
            self.recorder.end(0)
        self._mains = []

    # -- faults --------------------------------------------------------------------------------------
    def plan(self, time_ps, action):
        """That time does not come."""

    def fault(self, ends, fault, key, begin_ps, end_ps):
        """A fault that never strikes."""
        return _NoFault()

    def check_enable(self, hub):
        """Whether the HUB can be told is found when there is one."""

    def enable(self, hub, port, on):
        """Called by plans only."""

    def reset(self, hub):
        """Called by plans only."""

    def stop(self, name):
        """Called by plans only."""

    def restart(self, name):
        """Called by plans only."""
