"""What every back end offers to the system above it: doors, a way to run, a clock.

The back ends live in ``software.backends``: ``engine`` (simulated RTL at speed), ``cocotb`` (the same RTL under
verification), ``model`` (pure Python).
"""

from typing import Protocol

__all__ = ["Machine", "STOPPED", "TIME", "QUIET", "node_name"]

#: ``run`` ended because its predicate said so.
STOPPED = "stopped"
#: ``run`` ended because the simulated time given was used up.
TIME = "time"
#: ``run`` ended because nothing can ever happen again: every CPU waits, no symbol moves, no timer runs.
QUIET = "quiet"


def node_name(cab):
    """What the node of a CAB is called."""
    return f"{cab}.node"


class Machine(Protocol):
    """A system of boards whose CABs run software, and of the nodes behind them, whose CPUs have VME for a bus
    (docs/nodes.md)."""

    #: CAB name → Door, for each CAB whose software runs here.
    doors: dict
    #: Name of a node → Door. A machine without this has no nodes.
    nodes: dict

    def start(self, name, main):
        """Gives CAB or node ``name`` its main coroutine; it starts at the CAB's first clock edge."""

    def wake(self, name):
        """Ends a wait of CAB or node ``name``'s main coroutine, now or when it comes to wait, as an interrupt handler
        would that does nothing.

        For use between runs, when new work has been given to a CPU that sleeps.
        """

    async def run(self, stop, until_ps=None):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet.

        ``stop`` is looked at after every turn that software had. Returns STOPPED, TIME or QUIET. Exceptions of the
        software pass through. A back end that needs no event loop never suspends in here.
        """

    # -- faults on demand (docs/faults.md); a machine without ``plan`` has none
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
        """Ends the software of CAB or node ``name``: its main coroutine is closed. From a plan."""

    def restart(self, name):
        """Resets the board of CAB ``name``, which has been stopped, and gives it a new Door; ``start`` may follow.
        From a plan."""

    @property
    def time_ps(self):
        """Simulated time in picoseconds."""

    def close(self):
        """Ends all software, closes waveform files, frees the boards. May be called twice."""
