"""Cubes of many nodes, and nodes of many processes: NX, Nectarine and MPI on the RTL of the iPSC/2."""

import pytest

from nectar.software.ipsc2.layout import Kind
from nectar.verification.software.helpers import pattern
from nectar.verification.software.ipsc2.cube import cube, nx_on, ranks_on, tasks_on

#: Processes on one node.
MANY = 20


async def _to_all(process, processes, length):
    """Sends each process of each node some bytes, and receives theirs. Returns how many were as they should be."""
    me = process.mynode() * processes + process.mypid()
    everyone = [(node, pid) for node in range(process.numnodes()) for pid in range(processes)]
    sends = [
        await process.isend(me, pattern(length, me * len(everyone) + other), length, node, pid)
        for other, (node, pid) in enumerate(everyone)
    ]
    right = 0
    for other in range(len(everyone)):
        buffer = bytearray(length)
        await process.crecv(other, buffer, length)
        right += buffer == pattern(length, other * len(everyone) + me)
    for mid in sends:
        await process.msgwait(mid)
    return right


@pytest.mark.parametrize(
    "dimensions, processes, length",
    [
        (1, MANY // 2, 5),
        pytest.param(1, MANY, 60, marks=pytest.mark.nightly),
        pytest.param(1, MANY, 150, marks=pytest.mark.nightly),
        pytest.param(4, 1, 300, marks=pytest.mark.nightly),
        pytest.param(4, 3, 40, marks=pytest.mark.nightly),
    ],
)
def test_all_processes_of_all_nodes_send_to_all(dimensions, processes, length):
    """Each process of a node has a queue of its own; the short buffers are the node's."""
    places = [(node, pid) for node in range(2**dimensions) for pid in range(processes)]
    with cube(dimensions) as system:
        results = nx_on(system, {place: (_to_all, processes, length) for place in places}, 10**13)
        assert results == dict.fromkeys(places, len(places))
        assert all(node.memory.used == 0 for node in system.cabs)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("dimensions", [2, *(pytest.param(many, marks=pytest.mark.nightly) for many in (3, 4, 7))])
def test_a_ring_and_a_sum_over_all_nodes(dimensions):
    """D6: up to 128 nodes. Each gets its neighbour's number; then all have the sum."""

    async def program(process):
        nodes, me = process.numnodes(), process.mynode()
        mid = await process.irecv(7, buffer := bytearray(4), 4)
        await process.csend(7, me.to_bytes(4, "big"), 4, (me + 1) % nodes, 0)
        await process.msgwait(mid)
        total = [me]
        await process.gisum(total, 1, [0])
        return int.from_bytes(buffer, "big"), total[0]

    nodes = 2**dimensions
    with cube(dimensions) as system:
        results = nx_on(system, {(node, 0): (program,) for node in range(nodes)})
        assert results == {(node, 0): ((node - 1) % nodes, nodes * (nodes - 1) // 2) for node in range(nodes)}
        assert all(node.messages.sent[Kind.SHORT] for node in system.cabs)


@pytest.mark.nightly
def test_tasks_of_nectarine_share_out_work_on_sixteen_nodes():
    """A master, two workers on each other node."""
    parts = 90

    async def worker(task):
        while (part := await task.receive(source="master")).length:
            task.cab.compute(500 + 40 * part.type)
            await task.send("master", bytes(sorted(part.data)), part.type)

    async def master(task):
        workers = [f"worker {number}" for number in range(30)]
        given = iter(range(parts))
        for name, part in zip(workers, given, strict=False):
            await task.send(name, pattern(200, part), part)
        got = {}
        for _ in range(parts):
            answer = await task.receive()
            got[answer.type] = answer.data
            part = next(given, None)
            if part is not None:
                await task.send(answer.source, pattern(200, part), part)
        for name in workers:
            await task.send(name, b"")
        return got

    with cube(4) as system:
        tasks = {f"worker {number}": (1 + number // 2, worker) for number in range(30)}
        records = tasks_on(system, {"master": (0, master), **tasks})
        assert records["master"].result == {part: bytes(sorted(pattern(200, part))) for part in range(parts)}
        assert all(node.memory.used == 0 for node in system.cabs)


@pytest.mark.nightly
@pytest.mark.parametrize("size", [16, 40])
def test_ranks_of_mpi_on_sixteen_nodes_agree(size):
    """40 ranks: two or three on a node."""

    def program(MPI, comm):
        mine = [comm.rank * 1000 + other for other in range(size)]
        there = comm.alltoall(mine)
        assert there == [other * 1000 + comm.rank for other in range(size)]
        half = comm.Split(comm.rank % 2, comm.rank)
        return comm.allreduce(comm.rank), half.allreduce(comm.rank), comm.scan(1)

    evens, odds = (sum(range(first, size, 2)) for first in (0, 1))
    with cube(4) as system:
        results = ranks_on(system, program, size)
    assert results == [(size * (size - 1) // 2, odds if rank % 2 else evens, rank + 1) for rank in range(size)]
