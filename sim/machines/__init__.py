"""The machines that can be simulated, by name. docs/machines.md tells what a machine brings."""

import importlib

from .machine import BOARDS, Board, Compared, Counted, Link, Machine, Recorded

__all__ = ["BOARDS", "MACHINES", "Board", "Compared", "Counted", "Link", "Machine", "Recorded", "machine", "machine_of"]

#: Names of all machines, the one that is taken without a name first; each is a module here.
MACHINES = ("nectar", "ipsc2")


def machine(name):
    """The Machine of that name; ValueError, with the names that there are, for any other."""
    if name not in MACHINES:
        raise ValueError(f"there is no machine {name!r}; there is {', '.join(MACHINES)}")
    return importlib.import_module(f".{name}", __name__).MACHINE


def machine_of(topology):
    """The Machine that a topology is one of."""
    return machine(topology.machine)
