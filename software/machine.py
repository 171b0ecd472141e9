"""What every back end offers to the system above it: doors, a way to run, a clock; and what only some back ends can do.

``software.backends`` has the back ends. A caller that needs a Capability asks for it by ``require``, or looks into
``machine.capabilities``; no caller asks which back end it has.
"""

from enum import Enum
from typing import Protocol

from .errors import CapabilityError

__all__ = [
    "Capability",
    "Machine",
    "MachineWithFaults",
    "MachineWithMemory",
    "MachineWithNodes",
    "MachineWithEvents",
    "MachineWithWaves",
    "QUIET",
    "STOPPED",
    "TIME",
    "node_name",
    "require",
]

#: ``run`` ended because its predicate said so.
STOPPED = "stopped"
#: ``run`` ended because the simulated time given was used up.
TIME = "time"
#: ``run`` ended because nothing can ever happen again: every CPU waits, no symbol moves, no timer runs.
QUIET = "quiet"


def node_name(cab):
    """What the node of a CAB is called."""
    return f"{cab}.node"


class Capability(Enum):
    """What a machine may be able to do besides the calls of Machine. The value is the capability in words."""

    #: The members of MachineWithNodes.
    NODES = "nodes behind its CABs"
    #: The members of MachineWithMemory.
    MEMORY = "memory of nodes on the VME bus"
    #: The members of MachineWithFaults.
    FAULTS = "faults on demand"
    #: The members of MachineWithEvents.
    EVENTS = "recording of what happens"
    #: The members of MachineWithWaves.
    WAVES = "waveforms"


def require(machine, capability):
    """Raises CapabilityError unless ``machine`` (a Machine, or the class of one) states the Capability."""
    if capability not in machine.capabilities:
        name = (machine if isinstance(machine, type) else type(machine)).__name__
        raise CapabilityError(
            f"{name} has no {capability.value}: take another back end (docs/software.md, 'The back ends')"
        )


class Machine(Protocol):
    """A system of boards whose CABs run software: what every back end offers."""

    #: frozenset of Capability: what it can do besides; an attribute of the class.
    capabilities: frozenset
    #: CAB name → Door, for each CAB whose software runs here.
    doors: dict

    def start(self, name, main):
        """Gives CAB or node ``name`` its main coroutine; it starts at the CAB's first clock edge."""

    def wake(self, name):
        """Ends a wait of CAB or node ``name``'s main coroutine, now or when it comes to wait, as an interrupt handler
        would that does nothing.

        For use between runs, when new work has been given to a CPU that sleeps.
        """

    async def run(self, stop, until_ps=None, patient=True):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet.

        All is quiet when nothing can happen any more; if ``patient`` (bool) is false, also while all that can is what
        was planned for later.

        ``stop`` is looked at after every turn that software had. Returns STOPPED, TIME or QUIET. Exceptions of the
        software pass through. A back end that needs no event loop never suspends in here.
        """

    @property
    def time_ps(self):
        """Simulated time in picoseconds."""

    def close(self):
        """Ends all software, closes waveform files, frees the boards. May be called twice."""


class MachineWithNodes(Protocol):
    """NODES: behind CABs there are nodes, whose CPUs have VME for a bus (docs/nodes.md)."""

    #: ``node_name`` of each CAB that has a node → Door.
    nodes: dict

    def stop(self, name):
        """Ends the software of node ``name``: its main coroutine is closed. From a plan."""


class MachineWithMemory(Protocol):
    """MEMORY: the memory of a node is a slave on its VME bus, for the DMA of its CAB (docs/nodes.md)."""

    #: Bytes of it, for each node.
    node_memory_bytes: int


class MachineWithFaults(Protocol):
    """FAULTS: faults on demand (docs/faults.md)."""

    #: (sending end, receiving end) of each direction of each fiber: names as ``CAB1`` and ``HUB1.P3``.
    fibers: list
    #: HUB name → number of ports.
    hub_ports: dict

    def plan(self, time_ps, action):
        """Calls ``action()`` when simulated time is ``time_ps`` (at once if it has passed), in a run, while no software
        has a turn.

        A run is not quiet before.
        """

    def fault(self, ends, fault, key, begin_ps, end_ps):
        """Puts a Fault (``software.faults``) on the direction ``ends``, from ``begin_ps`` to ``end_ps`` (None: for
        ever).

        ``key`` is that of its random numbers. Returns an object with ``count()`` → (hits, symbols), and
        ``end(time_ps)``."""

    def check_enable(self, hub):
        """Raises FaultError if ``enable`` could not reach that HUB."""

    def enable(self, hub, port, on):
        """Has a HUB enable or disable a port. From a plan."""

    def reset(self, hub):
        """Resets a HUB. From a plan."""

    def stop(self, name):
        """Ends the software of CAB ``name``: its main coroutine is closed. From a plan."""

    def restart(self, name):
        """Resets the board of CAB ``name``, which has been stopped, and gives it a new Door; ``start`` may follow.
        From a plan."""


class MachineWithEvents(Protocol):
    """EVENTS: what happens is recorded (docs/recording.md); its class takes ``recorder``."""

    #: The Recorder (``sim.recorder``) that it was given, or None.
    recorder: object


class MachineWithWaves(Protocol):
    """WAVES: waveforms of the boards' signals; its class takes ``waves``, ``wave_boards``, ``wave_window``,
    ``wave_limit`` and ``wave_views``."""

    @property
    def waves_full_ps(self):
        """Simulated time in picoseconds at which ``wave_limit`` has ended the recording; None if it has not."""

    @property
    def waves_written(self):
        """While ``close`` makes an FST file, how much of it is made, from 0 to 1; else None. For any thread."""
