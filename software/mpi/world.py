"""An MPI program on a system: its ranks, each a task of Nectarine.

Specification: docs/mpi.md.
"""

import sys
import traceback

from ..errors import ProgramError, described
from ..nectarine import Application
from .callbook import CallBook
from .caller import told_by
from .constants import UNDEFINED
from .exception import Exception
from .exchange import Exchange
from .process import Process, nobody, running

__all__ = ["RankEnded", "World"]


class RankEnded(ProgramError):
    """A rank has ended all others. ``status``: the exit code of the run. ``told``: whether its user knows why."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class _Aborted(BaseException):
    """Ends the program of a rank that has called ``Abort``; no ``except Exception`` stops it."""


class World:
    """The ranks of a program.

    Parameters
    ----------
    system : System
    program : Program
    size : int
        Number of ranks.
    places : list of str or None
        Names of the CABs and nodes that the ranks run on, taken in turns; None: all CABs.

    Members
    -------
    application : Application
        Of Nectarine. Its tasks are named ``rank 0``, ``rank 1`` and so on.
    records : list of Record
        Of the tasks, by rank.
    calls : CallBook
        Of the collective calls of all ranks.
    over : bool
        Whether a rank has ended all others.
    """

    def __init__(self, system, program, size, places=None):
        places = list(places or [cab.name for cab in system.cabs])
        self.system = system
        self.program = program
        self.size = size
        self.application = Application(system)
        self.calls = CallBook()
        self.over = False
        self._ended = None
        self._keepers = {}  # CAB's ID -> list of Keeper
        self.records = [
            self.application.spawn(f"rank {number}", self._rank, number, on=places[number % len(places)])
            for number in range(size)
        ]
        self._numbers = {record.number: number for number, record in enumerate(self.records)}

    @property
    def apart(self):
        """Whether each rank has a CAB of its own."""
        return len({record.place[0] for record in self.records}) == self.size

    def number_of(self, place):
        """The rank of the task at (CAB ID, number)."""
        return self._numbers[place[1]]

    def keepers(self, cab):
        """Those of the ranks on a CAB."""
        return self._keepers.setdefault(cab.id, [])

    async def run(self, max_time_ps=None):
        """Runs until all ranks have ended.

        Raises RankEnded if one has ended all others: by an exception, whose traceback has been written to its standard
        error, by an exit status or by ``Abort``. Else ProgramError as ``Application.run`` does."""
        told_by(lambda: process.number if (process := running()) else UNDEFINED)
        self.program.begin()
        try:
            await self.application.run(max_time_ps)
        except ProgramError:
            if self._ended is not None:
                raise self._ended from None
            raise
        finally:
            self.program.end()
            nobody()
            told_by(lambda: UNDEFINED)

    async def _rank(self, task, number):
        await (await Process.of(self, number, task)).run()

    # -- ends ----------------------------------------------------------------------------------------
    def _end(self, message, status):
        """All ranks end. Returns what tells why: of the first that has ended."""
        if not self.over:
            self.over = True
            self._ended = RankEnded(message, status)
        return self._ended

    def exited(self, process, code):
        """A rank has ended by that exit status, which is not 0."""
        if isinstance(code, int):
            raise self._end(
                f"rank {process.number} has ended with exit code {code}: all others were ended", code & 0xFF or 1
            )
        print(code, file=sys.stderr)
        raise self._end(f"rank {process.number} has ended with exit code 1: all others were ended", 1)

    def failed(self, process, error):
        """A rank has ended by an exception."""
        if not self.over:
            _print(error)
        raise self._end(f"rank {process.number} has ended by {described(error)}: all others were ended", 1)

    def aborted(self, process, code):
        """A rank has called ``Abort``: it does not return."""
        self._end(f"rank {process.number} has called Abort with error code {code}", code & 0xFF or 1)
        raise _Aborted

    async def barrier(self, process):
        """Returns when all ranks have called it."""
        exchange = Exchange(process.comm_world, "Finalize")
        step = 1
        while step < self.size:
            sending = await exchange.isend(b"", (process.number + step) % self.size)
            await exchange.receive((process.number - step) % self.size)
            await sending.wait()
            step <<= 1


def _print(error):
    """Writes the traceback of a program's exception: its own lines, not those of this package."""
    ours = f"{__package__.partition('.software')[0]}."
    shown = traceback.TracebackException.from_exception(error)
    frames = traceback.walk_tb(error.__traceback__)
    kept = [frame.f_globals.get("__name__", "").startswith(ours) for frame, _ in frames]
    if all(kept) and isinstance(error, Exception):  # of the Finalize at the end of the program
        shown.stack = None
    elif not all(kept):
        shown.stack = traceback.StackSummary.from_list(
            [line for line, ours_it_is in zip(shown.stack, kept, strict=True) if not ours_it_is]
        )
    sys.stderr.write("".join(shown.format()))
