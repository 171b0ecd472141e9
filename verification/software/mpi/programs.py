"""What the tests of MPI on the machine share: the running of a function, or of the text of a program, on all ranks."""

import sys
from contextlib import contextmanager

from nectar.software.mpi.python import Program
from nectar.software.mpi.world import World
from nectar.verification.software.helpers import SETTLE, drive, nothing_leaks, simulated

__all__ = ["LIMIT", "call", "calling", "ranks", "run", "sleep", "world"]

#: Simulated time that no test needs: two seconds, in picoseconds.
LIMIT = 2 * 10**12

_CALL = f"""
from mpi4py import MPI
from {__name__} import call
call(MPI)
"""
_called = []  # function and results of what runs


def sleep(comm, seconds):
    """The rank does nothing for that simulated time."""
    comm.communicator.process.on.sleep(seconds * 1e6)


def call(MPI):
    """What each rank does: calls the function of the test."""
    function, results = _called[-1]
    results[MPI.COMM_WORLD.rank] = function(MPI, MPI.COMM_WORLD)


@contextmanager
def world(source, size=2, arguments=(), path="program.py", leaks=False, settle_ps=SETTLE, places=None, **options):
    """A World of so many ranks that run the program ``source``; ``go()`` runs it. Options as of ``helpers.simulated``.

    ``places``: of the ranks, as of World."""
    options.setdefault("topology", f"hub:{size}")
    with simulated(**options) as system, nothing_leaks(system, not leaks, settle_ps):
        made = World(system, Program(str(path), compile(source, str(path), "exec"), list(arguments)), size, places)
        made.go = lambda limit=LIMIT: drive(made.run(limit))
        yield made


@contextmanager
def calling(function, size):
    """The text of a program that calls ``function(MPI, MPI.COMM_WORLD)``, and the list for what the ranks return."""
    results = [None] * size
    _called.append((function, results))
    try:
        yield _CALL, results
    finally:
        _called.pop()


def ranks(function, size=2, limit=LIMIT, **options):
    """Runs ``function(MPI, MPI.COMM_WORLD)`` on each rank; returns the list of what they return."""
    with calling(function, size) as (text, results), world(text, size, **options) as made:
        made.go(limit)
    return results


def run(source, size=2, limit=LIMIT, **options):
    """Runs the text of a program on all ranks."""
    before = dict(sys.modules)
    with world(source, size, **options) as made:
        made.go(limit)
    assert {name: sys.modules[name] for name in before} == before
