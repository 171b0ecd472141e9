"""Messages from rank to rank (docs/mpi.md): what mpi4py's own tests leave open, on this machine."""

from array import array

import pytest

from nectar.verification.software.helpers import BOARDS, pattern
from nectar.verification.software.mpi.programs import ranks, sleep

#: Around the short messages of Nectarine, a packet, the longest message of the transports.
SIZES = [0, 1, 99, 100, 101, 1004, 65536, 65537]
#: Around the longest message that goes in one piece, and beyond the data memory that the CABs have in that test.
LARGE = [131072, 300_001]


@pytest.mark.parametrize("boards", BOARDS)
def test_a_message_has_any_length_from_zero_bytes_on(boards):
    """Buffers and objects."""

    def program(MPI, comm):
        for size in SIZES:
            if comm.rank == 0:
                comm.Send(pattern(size), 1, tag=7)
                comm.send(pattern(size), 1)
            else:
                status, room = MPI.Status(), bytearray(SIZES[-1])
                comm.Recv(room, 0, 7, status)
                assert status.Get_count() == size and bytes(room[:size]) == pattern(size)
                assert comm.recv(source=0) == pattern(size)

    ranks(program, boards=boards)


def test_a_message_may_be_longer_than_the_data_memory_of_a_cab():
    """It goes in parts; probes tell its length."""

    def program(MPI, comm):
        for size in LARGE:
            if comm.rank == 0:
                sent = [comm.Isend(pattern(size), 1, tag) for tag in range(2)]
                MPI.Request.Waitall(sent)
            else:
                status, room = MPI.Status(), bytearray(size)
                comm.Probe(0, 1, status)
                assert status.count == size
                for tag in (1, 0):
                    comm.Recv(room, 0, tag, status)
                    assert status.count == size and room == pattern(size)

    ranks(program, memory_bytes=1 << 18)


def test_a_receive_takes_the_message_of_its_tag_from_behind_many_others():
    """More than Nectarine has slots for: none of them stops the others."""

    def program(MPI, comm):
        if comm.rank == 0:
            for number in range(60):
                comm.Send(bytes([number]), 1, tag=1)
            comm.Send(b"last", 1, tag=2)
            return None
        room, got = bytearray(4), []
        comm.Recv(room, 0, tag=2)
        for _ in range(60):
            comm.Recv(room, 0, tag=1)
            got.append(room[0])
        return bytes(room), got

    assert ranks(program)[1] == (b"\x3bast", list(range(60)))


@pytest.mark.parametrize("size, count", [(10, 40), (4_000, 40), (10_000, 15)])
def test_ranks_that_send_to_each_other_before_they_receive_do_not_wait_for_ever(size, count):
    """Isend never waits for the receiver: what has no room in data memory stays in Python's until there is some."""

    def program(MPI, comm):
        other = 1 - comm.rank
        sent = [comm.Isend(pattern(size, number), other) for number in range(count)]
        rooms = [bytearray(size) for _ in range(count)]
        for room in rooms:
            comm.Recv(room, other)
        MPI.Request.Waitall(sent)
        assert all(room == pattern(size, number) for number, room in enumerate(rooms))

    ranks(program, memory_bytes=1 << 18)


def test_a_send_returns_before_it_is_received():
    """Its bytes are in data memory."""

    def program(MPI, comm):
        begin = MPI.Wtime()
        if comm.rank == 0:
            comm.Send(bytes(60_000), 1)
            return MPI.Wtime() - begin
        sleep(comm, 0.1)
        comm.Recv(bytearray(60_000), 0)
        return None

    assert ranks(program)[0] < 0.05


@pytest.mark.parametrize("size", [0, 100, 101, 200_000])
def test_a_synchronous_send_returns_when_a_receive_has_taken_the_message(size):
    """Short, long, in parts."""

    def program(MPI, comm):
        begin = MPI.Wtime()
        if comm.rank == 0:
            comm.Ssend(bytes(size), 1)
            request = comm.Issend(bytes(size), 1)
            assert not request.Test()
            request.Wait()
        else:
            sleep(comm, 0.1)
            comm.Recv(bytearray(size), 0)
            comm.Recv(bytearray(size), 0)
        return MPI.Wtime() - begin

    assert min(ranks(program)) > 0.1


@pytest.mark.parametrize("size", [4, 5000, 200_000])
def test_a_message_longer_than_the_buffer_is_an_error_and_lost(size):
    """ERR_TRUNCATE; the buffer stays as it is; the next message is received."""

    def program(MPI, comm):
        if comm.rank == 0:
            comm.Send(bytes(size), 1)
            comm.Send(b"abc", 1)
            return None
        room = bytearray(b"xyz")
        with pytest.raises(MPI.Exception) as caught:
            comm.Recv(room, 0)
        assert caught.value.Get_error_class() == MPI.ERR_TRUNCATE and room == b"xyz"
        comm.Recv(room, 0)
        return str(caught.value), bytes(room)

    text, room = ranks(program)[1]
    assert room == b"abc"
    assert text == (
        f"MPI_ERR_TRUNCATE: Recv from rank 0, any tag: the message has {size} bytes, the buffer 3; the message is lost"
    )


def test_loops_of_test_and_iprobe_let_time_pass():
    """Else what they wait for would never come."""

    def program(MPI, comm):
        other = 1 - comm.rank
        while not comm.Iprobe(other, 3) if comm.rank else False:
            pass
        if comm.rank:
            comm.recv(source=other, tag=3)
        else:
            comm.isend("x", other, 3).wait()
        request = comm.irecv(source=other)
        comm.send(comm.rank, other)
        while not (over := request.test())[0]:
            pass
        return over[1]

    assert ranks(program) == [1, 0]


def test_buffers_in_data_memory_are_not_copied_by_the_cpu():
    """As in docs/mpi.md: the DMA takes them from one CAB's memory into the other's."""
    size = 65536

    def program(MPI, comm):
        placed = MPI.Alloc_mem(size, MPI.Info.Create({"nectar_memory": "cab"}))
        task = comm.communicator.process.task
        before = task.copies.cpu_in, task.copies.cpu_out
        if comm.rank == 0:
            placed.write(pattern(size))
            comm.Send(placed, 1)
            comm.Send([placed, 1000, MPI.INT], 1)
        else:
            comm.Recv(placed, 0)
            assert placed.read() == pattern(size)
            status = MPI.Status()
            comm.Irecv([placed, MPI.INT], 0).Wait(status)
            assert status.Get_count(MPI.INT) == 1000
        MPI.Free_mem(placed)
        return task.copies.cpu_in - before[0], task.copies.cpu_out - before[1]

    assert ranks(program) == [(0, 0), (0, 0)]


def test_a_buffered_send_needs_room_in_the_attached_buffer():
    """ERR_BUFFER without one, or if it is too small."""

    def program(MPI, comm):
        def refused(call, *args):
            with pytest.raises(MPI.Exception) as caught:
                call(*args)
            return caught.value.Get_error_class() == MPI.ERR_BUFFER

        assert refused(comm.Bsend, b"x", 1) and refused(MPI.Detach_buffer)
        MPI.Attach_buffer(bytearray(100))
        assert refused(MPI.Attach_buffer, bytearray(100)) and refused(comm.Bsend, bytes(101), 1)
        comm.Bsend(bytes(20), comm.rank)
        comm.Recv(bytearray(20), comm.rank)
        assert MPI.Detach_buffer().nbytes == 100

    ranks(program)


def test_ranks_and_tags_that_there_are_not_are_errors():
    """With a message that says what there is."""

    def program(MPI, comm):
        texts = []
        for call in (
            lambda: comm.Send(b"", 2),
            lambda: comm.Recv(bytearray(), -7),
            lambda: comm.Send(b"", 1, tag=-3),
            lambda: comm.Send(b"", 1, tag=comm.Get_attr(MPI.TAG_UB) + 1),
            lambda: comm.Iprobe(0, -2),
        ):
            with pytest.raises(MPI.Exception) as caught:
                call()
            texts.append(str(caught.value))
        return texts

    assert ranks(program)[0] == [
        "MPI_ERR_RANK: MPI_COMM_WORLD has the ranks 0 to 1, not 2",
        "MPI_ERR_RANK: MPI_COMM_WORLD has the ranks 0 to 1, not -7",
        "MPI_ERR_TAG: a tag is 0 to 262143, not -3",
        "MPI_ERR_TAG: a tag is 0 to 262143, not 262144",
        "MPI_ERR_TAG: a tag is 0 to 262143, not -2",
    ]


def test_a_matched_message_is_received_by_nobody_else():
    """And a receive can be cancelled, a message that was sent cannot."""

    def program(MPI, comm):
        if comm.rank == 0:
            for number in range(3):
                comm.send(number, 1)
            return None
        message = comm.Mprobe(0)
        got = [comm.recv(source=0), message.recv()]
        request = comm.irecv(source=0, tag=5)
        request.Cancel()
        status = MPI.Status()
        request.Wait(status)
        assert status.cancelled
        return [*got, comm.recv(source=0)]

    assert ranks(program)[1] == [1, 0, 2]


def test_messages_of_random_sizes_and_modes_arrive_in_their_order():
    """From several ranks to several, all at once; every fiber loses symbols."""

    def program(MPI, comm):
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        sizes = [0, 3, 100, 101, 2000, 300, 99]
        requests = []
        for number, size in enumerate(sizes):
            for other in others:
                send = (comm.isend, comm.issend)[(number + comm.rank) % 2]
                requests.append(send((number, pattern(size, comm.rank)), other, tag=number % 2))
        for other in others:
            for tag in (1, 0):
                for number in range(tag, len(sizes), 2):
                    got = comm.recv(source=other, tag=tag)
                    assert got == (number, pattern(sizes[number], other))
        MPI.Request.waitall(requests)

    errors = [f"CAB{number}-HUB1.P{number - 1}:errors=1e-5" for number in (1, 2, 3)]
    ranks(program, 3, faults=errors, limit=10**13)


def test_arrays_are_taken_as_their_numbers():
    """The datatype follows from the array, or is given."""

    def program(MPI, comm):
        numbers = array("d", [1.5, 2.5, 3.5])
        if comm.rank == 0:
            comm.Send([numbers, (2, 1), MPI.DOUBLE], 1)
            return None
        room, status = array("d", [0.0] * 4), MPI.Status()
        comm.Recv(room, 0, status=status)
        return room.tolist(), status.Get_count(MPI.DOUBLE)

    assert ranks(program)[1] == ([2.5, 3.5, 0.0, 0.0], 2)
