"""What the tests of NX/2 share: systems with nodes, and the running of programs on them."""

from contextlib import contextmanager

from nectar.software.nx import NX
from nectar.verification.software.helpers import SETTLE, drive, nothing_leaks, simulated

__all__ = ["LIMIT", "USER_MASK", "hypercube", "run"]

#: Simulated time that no test needs: two seconds, in picoseconds.
LIMIT = 2 * 10**12

#: The sign bit of a type selector: the other bits are a mask of types.
USER_MASK = 1 << 31


@contextmanager
def hypercube(nodes=2, leaks=False, settle_ps=SETTLE, places=None, **options):
    """An NX of so many nodes on a system as of ``helpers.simulated``; ``go()`` runs it. Nothing may be left after
    ``settle_ps``, unless it ``leaks``. ``places``: names of the CABs and workstations that are its nodes."""
    options.setdefault("topology", f"hub:{nodes}")
    behind = [place.removesuffix(".node") for place in places or () if place.endswith(".node")]
    with simulated(**options, nodes=behind) as system, nothing_leaks(system, not leaks, settle_ps):
        nx = NX(system, places)
        nx.go = lambda limit=LIMIT: drive(nx.run(limit))
        yield nx


def run(*programs, **options):
    """Runs each function with its arguments, a tuple, as process 0 of node 0, 1, 2, …; returns what they return."""
    with hypercube(len(programs), **options) as nx:
        for node, (function, *args) in enumerate(programs):
            nx.load(function, *args, node=node)
        nx.go()
        return [nx.results[node, 0] for node in range(len(programs))]
