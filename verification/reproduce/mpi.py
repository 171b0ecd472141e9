"""Figures of MPI: messages between two CABs, and a broadcast by the HUBs' multicast."""

from functools import cache

from ...sim.profile import PROTOTYPE
from ...sim.topology import load
from ...software.backends.engine.machine import EngineMachine
from ...software.mpi.python import Program
from ...software.mpi.world import World
from ...software.system import System
from .facts import Found

__all__ = ["broadcast", "copies", "empty", "found", "rate"]

#: Messages there and back, bytes of a long one, and of a broadcast to the other ranks.
TURNS, LARGE, SMALL, RANKS = 8, 1 << 16, 1024, 16
#: What the ranks of the program that runs have found, by name: programs store it.
found = {}

_MESSAGES = f"""
from mpi4py import MPI
from {__name__} import found

comm, empty = MPI.COMM_WORLD, bytearray()
copies = comm.communicator.process.task.copies
times = []
for _ in range({TURNS}):
    begin = MPI.Wtime()
    if comm.rank == 0:
        comm.Send(empty, 1)
    comm.Recv(empty, 1 - comm.rank)
    if comm.rank == 1:
        comm.Send(empty, 0)
    times.append((MPI.Wtime() - begin) * 1e6 / 2)
found["empty"] = min(times[1:])
data, rates = MPI.Alloc_mem({LARGE}, MPI.Info.Create({{"nectar_memory": "cab"}})), []
for _ in range(2):
    comm.Barrier()
    before = copies.cpu_out + copies.cpu_in
    if comm.rank == 0:
        comm.communicator.process.on.sleep(500)
        begin = MPI.Wtime()
        comm.Send(data, 1)
        found["rate"] = 8 * {LARGE} / (MPI.Wtime() - begin) / 1e6
    else:
        comm.Recv(data, 0)
    copied = comm.reduce(copies.cpu_out + copies.cpu_in - before)
    found["copies"] = copied if comm.rank == 0 else found.get("copies")
"""
_BROADCAST = f"""
from mpi4py import MPI
from {__name__} import found

comm, data = MPI.COMM_WORLD, bytearray({SMALL})


def by_messages():
    if comm.rank:
        comm.Recv(data, 0)
    else:
        MPI.Request.Waitall([comm.Isend(data, to) for to in range(1, comm.size)])


for name, send in ("multicast", lambda: comm.Bcast(data)), ("messages", by_messages):
    for _ in range(2):  # first contact is made the first time
        comm.Barrier()
        begin = comm.bcast(MPI.Wtime() + 0.002)
        comm.communicator.process.on.sleep((begin - MPI.Wtime()) * 1e6)
        send()
        ends = comm.gather(MPI.Wtime())
    if comm.rank == 0:
        found[name] = max(ends) - begin
"""


@cache
def _run(source, ranks):
    """Runs a program; what its ranks have found."""
    topology = load(f"hub:{ranks}")
    system = System.of(EngineMachine(topology, PROTOTYPE), topology, PROTOTYPE)
    found.clear()
    try:
        run = World(system, Program("figures.py", compile(source, "figures.py", "exec"), []), ranks).run()
        try:
            run.send(None)
        except StopIteration:
            return dict(found)
        raise RuntimeError("the engine has suspended")
    finally:
        system.close()


def empty():
    """An empty message."""
    return Found(
        round(_run(_MESSAGES, 2)["empty"], 1),
        f"Send and Recv of 0 bytes, the shortest of {TURNS - 1} turns there and back",
    )


def rate():
    """A long message between Buffers."""
    return Found(
        round(_run(_MESSAGES, 2)["rate"], 1), "from Send to its return, between two Buffers, Recv called before"
    )


def copies():
    """What CPUs copy of it."""
    return Found(_run(_MESSAGES, 2)["copies"], "as Nectarine counts them at both ends")


def broadcast():
    """A broadcast, by the time of as many messages."""
    times = _run(_BROADCAST, RANKS)
    multicast, messages = times["multicast"], times["messages"]
    return Found(
        round(multicast / messages, 2),
        f"Bcast until the last rank has it, {multicast * 1e6:.0f} us; {RANKS - 1} messages by Isend, "
        f"{messages * 1e6:.0f} us",
    )
