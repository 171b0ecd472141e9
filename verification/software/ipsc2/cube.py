"""Systems of nodes of a simulated cube, for tests of the software of the iPSC/2."""

import asyncio
from contextlib import contextmanager

from nectar.sim.machines import machine
from nectar.software.backends.engine.machine import EngineMachine
from nectar.software.ipsc2.system import CubeSystem
from nectar.software.mpi.python import Program
from nectar.software.mpi.world import World
from nectar.software.nectarine import Application
from nectar.software.nx import NX
from nectar.verification.software.mpi.programs import calling

__all__ = ["cube", "nx_on", "ranks_on", "tasks_on"]


@contextmanager
def cube(dimensions):
    """A CubeSystem on the RTL of a cube."""
    topology = machine("ipsc2").topology(f"hypercube:{dimensions}")
    system = CubeSystem.of(EngineMachine(topology), topology)
    try:
        yield system
    finally:
        system.close()


def nx_on(system, programs, max_time_ps=10**12):
    """Runs ``programs``, dict of (node, pid) → (function, arguments). Returns what they return, by the same."""
    nx = NX(system)
    for (node, pid), (function, *args) in programs.items():
        nx.load(function, *args, node=node, pid=pid)
    asyncio.run(nx.run(max_time_ps))
    return nx.results


def tasks_on(system, tasks, max_time_ps=10**12):
    """Runs ``tasks``, dict of name → (node, function, arguments). Returns their Records by name."""
    application = Application(system)
    records = {
        name: application.spawn(name, function, *args, on=f"NODE{node}")
        for name, (node, function, *args) in tasks.items()
    }
    asyncio.run(application.run(max_time_ps))
    return records


def ranks_on(system, function, size, max_time_ps=10**13):
    """Runs ``function(MPI, MPI.COMM_WORLD)`` on so many ranks. Returns what they return."""
    with calling(function, size) as (text, results):
        asyncio.run(
            World(system, Program("program.py", compile(text, "program.py", "exec"), []), size).run(max_time_ps)
        )
    return results
