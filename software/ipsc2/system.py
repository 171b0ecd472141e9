"""A cube of nodes with their software on a machine: what programs for the iPSC/2 run on. docs/machines.md."""

from ..computers import Computers
from ..errors import ProgramError
from ..faultlist import FaultList
from .node import Node

__all__ = ["CubeSystem"]


class CubeSystem(Computers):
    """All nodes of a cube.

    Parameters
    ----------
    machine, limit_ps
        See Computers.
    numbers : dict of str → int
        Number of each node in the cube.
    seed : int
        What faults on demand are drawn from.
    """

    word = "node"

    def __init__(self, machine, numbers, *, limit_ps=None, seed=1):
        super().__init__(machine, limit_ps)
        self.faults = FaultList(machine, self._stop, None, seed)
        for name, number in numbers.items():
            node = self._cabs[name] = Node(name, number, len(numbers), machine.doors[name])
            node.kernel.on_end = self._on_end
            node.kernel.on_fail = self._on_fail
            machine.start(name, node.kernel.main())

    def _missing(self, name):
        told = super()._missing(name)
        if str(name).startswith("CAB"):
            return f"{told}: the iPSC/2 has no CABs, nor their datagrams, byte streams and request-response"
        return told

    @classmethod
    def of(cls, machine, topology, profile=None, *, routes="given", **options):
        """The system of a cube (``nectar.sim.machines.ipsc2``) on a machine made for it; ``options`` as above."""
        if routes != "given":
            raise ProgramError(f"routes are given on the iPSC/2, not {routes!r}: the probe of a message is its way")
        system = cls(machine, {node.name: node.id for node in topology.computers.values()}, **options)
        system.topology, system.profile = topology, profile
        return system
