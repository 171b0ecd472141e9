"""Ranks on nodes: the same calls as on CABs, made by the CAB for its node. docs/mpi.md, "Ranks on nodes"."""

import re

import pytest

from nectar.software.errors import UnfinishedRun
from nectar.software.mpi.world import RankEnded
from nectar.verification.software.helpers import pattern
from nectar.verification.software.mpi.programs import LIMIT, ranks, run
from nectar.verification.software.nodes import BOTH

NODES = ["CAB1.node", "CAB2.node"]
PLACES = [NODES, ["CAB1", "CAB2.node"], ["CAB1.node", "CAB1.node"]]
ON_NODES = {"nodes": BOTH, "places": NODES, "settle_ps": 10**12}
SIZE, COUNT = 65536, 16


@pytest.mark.parametrize("places", PLACES, ids=" and ".join)
def test_messages_and_objects_come_whole_wherever_the_ranks_are(places):
    """Short ones, long ones, ones in parts; blocking and not; by pieces over VME."""

    def program(MPI, comm):
        other = 1 - comm.rank
        for length in (0, 1, 101, 20_000, 140_000):
            room = bytearray(length)
            request = comm.Irecv(room, other)
            comm.Send(pattern(length, comm.rank), other)
            request.Wait()
            assert room == pattern(length, other)
        request = comm.issend({"from": comm.rank}, other, 5)
        got = comm.recv(source=other, tag=5)
        request.wait()
        return got, MPI.Get_processor_name()

    got = ranks(program, **ON_NODES | {"places": places})
    assert got == [({"from": 1}, places[0]), ({"from": 0}, places[1])]


def test_collective_calls_give_what_they_give_on_cabs():
    def program(MPI, comm):
        data = bytearray(pattern(3000) if comm.rank == 0 else 3000)
        comm.Bcast(data)
        total = bytearray(8)
        comm.Allreduce([(comm.rank + 5).to_bytes(8, "little"), MPI.INT64_T], [total, MPI.INT64_T])
        begun = bytearray(2 * 200)
        comm.Iallgather(bytes([comm.rank]) * 200, begun).Wait()
        comm.Ibarrier().Wait()
        objects = comm.alltoall([(comm.rank, to) for to in range(2)]), comm.scan(comm.rank + 1), comm.gather(comm.rank)
        return bytes(data), int.from_bytes(total, "little"), bytes(begun), objects

    first, second = ranks(program, **ON_NODES)
    assert first[:3] == second[:3] == (pattern(3000), 11, bytes(200) + bytes([1]) * 200)
    assert first[3] == ([(0, 0), (1, 0)], 1, [0, 1]) and second[3] == ([(0, 1), (1, 1)], 3, None)


def test_a_buffer_in_cab_memory_is_sent_without_a_copy():
    """Section 6.2.3: messages are built and consumed in CAB memory."""

    def program(MPI, comm):
        placed = MPI.Alloc_mem(5000, MPI.Info.Create({"nectar_memory": "cab"}))
        if comm.rank == 0:
            placed.write(pattern(5000))
            comm.Send(placed, 1)
        else:
            comm.Recv(placed, 0)
        copies = comm.communicator.process.task.copies
        return placed.read(), copies.cpu_out, copies.cpu_in, copies.node_out, copies.node_in

    for data, *copied in ranks(program, **ON_NODES):
        assert data == pattern(5000) and copied == [0, 0, 0, 0]


def throughput(MPI, comm):
    """Mbit/s of messages of 64 kbyte, two of which are under way."""
    rooms = [bytearray(SIZE), bytearray(SIZE)]
    comm.Barrier()
    begin = MPI.Wtime()
    requests = [comm.Isend(room, 1) if comm.rank == 0 else comm.Irecv(room, 0) for room in rooms]
    for count in range(COUNT):
        requests[count % 2].Wait()
        if count < COUNT - 2:
            room = rooms[count % 2]
            requests[count % 2] = comm.Isend(room, 1) if comm.rank == 0 else comm.Irecv(room, 0)
    comm.Barrier()
    return COUNT * SIZE * 8 / (MPI.Wtime() - begin) / 1e6


@pytest.mark.nightly
def test_nodes_send_each_other_28_mbit_per_second():
    """S1's throughput from node to node, by MPI."""
    assert min(ranks(throughput, **ON_NODES)) >= 28


@pytest.mark.nightly
def test_nodes_send_each_other_28_mbit_per_second_on_the_rtl():
    assert min(ranks(throughput, boards="rtl", **ON_NODES)) >= 28


def test_a_deadlock_names_the_calls_of_ranks_on_nodes():
    with pytest.raises(UnfinishedRun, match=re.escape("rank 0 on CAB1.node waits in Recv from rank 1, tag 7 (pro")):
        run(
            "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: MPI.COMM_WORLD.Recv(bytearray(1), 1, 7)\n",
            leaks=True,
            **ON_NODES,
        )


def test_a_rank_on_a_node_that_fails_ends_all_others():
    with pytest.raises(RankEnded, match=re.escape("rank 1 has ended by ZeroDivisionError")):
        run(
            "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: 1 / 0\nMPI.COMM_WORLD.recv(source=1)\n",
            limit=LIMIT,
            leaks=True,
            **ON_NODES,
        )
