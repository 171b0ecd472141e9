"""Communicators (docs/mpi.md): messages of one do not meet those of another; how ranks agree on new ones."""

import re

import pytest

from nectar.software.mpi.world import RankEnded
from nectar.verification.software.mpi.programs import ranks


def test_messages_of_one_communicator_do_not_meet_those_of_another():
    """Same ranks, same tags."""

    def program(MPI, comm):
        other = comm.Dup()
        to = 1 - comm.rank
        requests = [comm.isend("world", to, 3), other.isend("other", to, 3)]
        assert other.recv(source=to, tag=3) == "other" and not other.iprobe()
        assert comm.recv() == "world"
        MPI.Request.waitall(requests)
        other.Free()
        assert other == MPI.COMM_NULL
        with pytest.raises(MPI.Exception) as caught:
            other.Get_rank()
        return caught.value.Get_error_class() == MPI.ERR_COMM

    assert ranks(program) == [True, True]


def test_ranks_are_ordered_by_key_and_rank():
    """Split; a rank may stay out."""

    def program(MPI, comm):
        color = MPI.UNDEFINED if comm.rank == 4 else comm.rank % 2
        part = comm.Split(color, key=-comm.rank)
        if not part:
            return None
        return part.rank, part.size, part.allgather(comm.rank), part.group.Translate_ranks()

    assert ranks(program, 6) == [
        (1, 2, [2, 0], [2, 0]),
        (2, 3, [5, 3, 1], [5, 3, 1]),
        (0, 2, [2, 0], [2, 0]),
        (1, 3, [5, 3, 1], [5, 3, 1]),
        None,
        (0, 3, [5, 3, 1], [5, 3, 1]),
    ]


def test_only_the_processes_of_a_group_make_a_communicator_of_it():
    """Create_group: the others do something else meanwhile."""

    def program(MPI, comm):
        group = comm.group.Incl([2, 0])
        if comm.rank == 1:
            return None
        part = comm.Create_group(group, tag=5)
        again = MPI.Intracomm.Create_from_group(group, "again")
        assert part.Compare(again) == MPI.CONGRUENT
        return part.rank, part.bcast(comm.rank), again.allreduce(1)

    assert ranks(program, 3) == [(1, 2, 2), None, (0, 2, 2)]


def test_numbers_of_freed_communicators_are_used_again():
    """There are 2048 at once, and some at a time more than are looked at together."""

    def program(MPI, comm):
        for _ in range(3):
            many = [comm.Dup() for _ in range(70)]
            assert many[-1].allreduce(1) == 2
            for each in many:
                each.Free()

    ranks(program)


@pytest.mark.parametrize(
    "ours, theirs, told",
    [
        (lambda MPI, comm: comm.Barrier(), lambda MPI, comm: comm.bcast(1), ("Barrier", "bcast(root=0)")),
        (lambda MPI, comm: comm.Barrier(), lambda MPI, comm: comm.Ibarrier(), ("Barrier", "Ibarrier")),
        (
            lambda MPI, comm: comm.Ibcast(bytearray(4)).Wait(),
            lambda MPI, comm: comm.Ibcast(bytearray(4), 1).Wait(),
            ("Ibcast(4 MPI_UNSIGNED_CHAR, root=0)", "Ibcast(4 MPI_UNSIGNED_CHAR, root=1)"),
        ),
        (
            lambda MPI, comm: comm.Allgather([bytes(8), MPI.INT], [bytearray(24), MPI.INT]),
            lambda MPI, comm: comm.Allgather([bytes(8), 1, MPI.INT], [bytearray(24), MPI.INT]),
            ("Allgather(2 MPI_INT)", "Allgather(1 MPI_INT)"),
        ),
        (
            lambda MPI, comm: comm.Scan(bytes(4), bytearray(4), MPI.BOR),
            lambda MPI, comm: comm.Scan(bytes(4), bytearray(4), MPI.BXOR),
            ("Scan(4 MPI_UNSIGNED_CHAR, op=MPI_BOR)", "Scan(4 MPI_UNSIGNED_CHAR, op=MPI_BXOR)"),
        ),
        (
            lambda MPI, comm: comm.reduce(1, max, 1),
            lambda MPI, comm: comm.reduce(1, MPI.MAX, 1),
            ("reduce(op=max, root=1)", "reduce(op=MPI_MAX, root=1)"),
        ),
        (
            lambda MPI, comm: comm.Reduce_scatter(bytes(8), bytearray(4 * (comm.rank < 2)), [4, 4, 0], MPI.BOR),
            lambda MPI, comm: comm.Reduce_scatter(bytes(8), bytearray(4), [4, 0, 4], MPI.BOR),
            (
                "Reduce_scatter(8 MPI_UNSIGNED_CHAR, op=MPI_BOR, recvcounts=[4, 4, 0])",
                "Reduce_scatter(8 MPI_UNSIGNED_CHAR, op=MPI_BOR, recvcounts=[4, 0, 4])",
            ),
        ),
    ],
)
def test_collective_calls_that_differ_are_told(ours, theirs, told):
    """Rank 2 makes another call than ranks 0 and 1, or gives something else: both calls and their lines are named, and
    it takes no message."""

    def program(MPI, comm):
        if comm.rank < 2:
            ours(MPI, comm)
        else:
            with pytest.raises(MPI.Exception) as caught:
                theirs(MPI, comm)
            assert caught.value.Get_error_class() == MPI.ERR_OTHER
            raise caught.value

    with pytest.raises(RankEnded) as caught:
        ranks(program, 3)
    text = "collective call 0 of MPI_COMM_WORLD: rank 2 calls {}, FILE, where rank 0 calls {}, FILE".format(
        *reversed(told)
    )
    assert re.search(re.escape(text).replace("FILE", r"[^,]+:\d+"), str(caught.value))


def test_a_call_with_a_tag_may_overtake_collective_calls():
    """Its messages have the number of a collective call; their code keeps them apart."""

    def program(MPI, comm):
        request = comm.Ibarrier()
        group = comm.Create_group(comm.Get_group(), tag=0)
        assert group.allreduce(1) == comm.size
        request.Wait()

    ranks(program, 3)


def test_attributes_go_to_duplicates_as_their_keys_say():
    """And their functions are called."""

    def program(MPI, comm):
        deleted = []
        copies = MPI.Comm.Create_keyval(lambda comm, key, value: value + 1, lambda *args: deleted.append(args[2]))
        stays = MPI.Comm.Create_keyval()
        first = comm.Dup()
        first.Set_attr(copies, 1)
        first.Set_attr(stays, "x")
        second = first.Dup()
        assert (first.Get_attr(copies), second.Get_attr(copies)) == (1, 2)
        assert (first.Get_attr(stays), second.Get_attr(stays)) == ("x", None)
        second.Free()
        first.Set_attr(copies, 9)
        first.Free()
        assert comm.Get_attr(MPI.UNIVERSE_SIZE) == 2 and comm.Get_attr(MPI.TAG_UB) == 262143
        with pytest.raises(MPI.Exception):
            comm.Get_attr(12345)
        return deleted

    assert ranks(program) == [[2, 1, 9]] * 2


def test_large_multicasts_go_in_pieces_and_those_of_several_calls_do_not_mix():
    """Non-blocking broadcasts of several roots at once, waited for in the other order."""

    def program(MPI, comm):
        sizes = [200_000, 10, 70_000]
        rooms = [
            bytearray([1 + root]) * size if comm.rank == root else bytearray(size) for root, size in enumerate(sizes)
        ]
        requests = [comm.Ibcast(room, root) for root, room in enumerate(rooms)]
        for request in reversed(requests):
            request.Wait()
        assert all(room == bytearray([1 + root]) * sizes[root] for root, room in enumerate(rooms))

    ranks(program, 3)


def test_a_null_communicator_is_an_error():
    """ERR_COMM; the predefined ones cannot be freed."""

    def program(MPI, comm):
        for call in (MPI.COMM_NULL.Get_size, lambda: MPI.COMM_NULL.send(1, 0), comm.Free, MPI.COMM_SELF.Free):
            with pytest.raises(MPI.Exception) as caught:
                call()
            assert caught.value.Get_error_class() == MPI.ERR_COMM

    ranks(program, 1)
