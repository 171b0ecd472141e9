"""What every back end offers to the system above it: doors, a way to run, a clock.

The back ends live in ``software.backends``: ``engine`` (simulated RTL at speed), ``cocotb`` (the same RTL under
verification), ``model`` (pure Python).
"""

from typing import Protocol

__all__ = ["Machine", "STOPPED", "TIME", "QUIET"]

#: ``run`` ended because its predicate said so.
STOPPED = "stopped"
#: ``run`` ended because the simulated time given was used up.
TIME = "time"
#: ``run`` ended because nothing can ever happen again: every CPU waits, no symbol moves, no timer runs.
QUIET = "quiet"


class Machine(Protocol):
    """A system of boards whose CABs run software."""

    #: CAB name → Door.
    doors: dict

    def start(self, name, main):
        """Gives CAB ``name`` its main coroutine; it starts at the CAB's first clock edge."""

    def wake(self, name):
        """Ends a wait of CAB ``name``'s main coroutine, now or when it comes to wait, as an interrupt handler would that does nothing.

        For use between runs, when new work has been given to a CPU that sleeps.
        """

    async def run(self, stop, until_ps=None):
        """Runs until ``stop()`` is true, simulated time reaches ``until_ps``, or all is quiet.

        ``stop`` is looked at after every turn that software had. Returns STOPPED, TIME or QUIET. Exceptions of the
        software pass through. A back end that needs no event loop never suspends in here.
        """

    @property
    def time_ps(self):
        """Simulated time in picoseconds."""

    def close(self):
        """Ends all software, closes waveform files, frees the boards. May be called twice."""
