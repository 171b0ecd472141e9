"""What the tests of Nectarine share: applications on small systems."""

from contextlib import contextmanager

from nectar.software.nectarine import Application
from nectar.verification.software.helpers import drive, nothing_leaks, simulated

__all__ = ["LIMIT", "SETTLE", "application", "run_tasks"]

#: In which all comes to rest, in picoseconds: answers that were not acknowledged are kept for 500 ms.
SETTLE = 10**12
#: Simulated time that no test needs: two seconds, in picoseconds.
LIMIT = 2 * 10**12


@contextmanager
def application(topology="hub:2", leaks=False, placement=None, functions=None, **options):
    """An Application on a system as of ``helpers.simulated``; ``go()`` runs it. Nothing may be left, unless it
    ``leaks``."""
    with simulated(topology, **options) as system, nothing_leaks(system, not leaks, SETTLE):
        made = Application(system, placement, functions)
        made.go = lambda limit=LIMIT: drive(made.run(limit))
        yield made


def run_tasks(*tasks, **options):
    """Runs functions, each in a tuple with its arguments: the first as task ``a`` on CAB1, the next as ``b`` on CAB2.
    Returns their results."""
    options.setdefault("topology", f"hub:{max(2, len(tasks))}")
    with application(**options) as made:
        for index, (function, *args) in enumerate(tasks):
            made.spawn(chr(ord("a") + index), function, *args, on=f"CAB{index + 1}")
        made.go()
        return [record.result for record in made.tasks]
