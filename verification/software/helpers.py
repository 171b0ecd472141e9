"""What the tests of the software share: systems on the pure-Python model, and the running of them."""

from contextlib import contextmanager

from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.software.backends.engine import EngineMachine
from nectar.software.backends.model import ModelMachine
from nectar.software.system import System

__all__ = ["BACKENDS", "drive", "model", "run_task"]

#: Where scenarios run that are to run on the RTL too.
BACKENDS = ["model", "engine"]

#: Simulated time that no test needs: one second, in picoseconds.
LIMIT = 10**12


def drive(coroutine):
    """Runs a coroutine that never suspends; returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the model's run has suspended")


@contextmanager
def model(topology="hub:2", faults=(), memory_bytes=1 << 20, backend="model", **options):
    """A System on a ModelMachine (or on the engine), closed at the end. ``system.go()`` runs it within LIMIT.

    ``memory_bytes`` is what the software knows of; the engine's boards have 1 Mbyte. ``faults`` are for the model only.
    """
    shape = load(topology)
    if backend == "engine":
        machine = EngineMachine(shape, PROTOTYPE)
    else:
        machine = ModelMachine(shape, PROTOTYPE, memory_bytes=memory_bytes, faults=faults)
    system = System.of(machine, shape, memory_bytes=memory_bytes, **options)
    system.go = lambda limit=LIMIT: drive(system.run(limit))
    try:
        yield system
    finally:
        system.close()


def run_task(task, *args, **options):
    """Runs ``task(cab, *args)`` on CAB1 of a small system; returns its result."""
    with model(**options) as system:
        thread = system.spawn("CAB1", task, *args)
        system.go()
        return thread.result
