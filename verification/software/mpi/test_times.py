"""What messages of MPI take in simulated time, on the RTL. docs/mpi.md has these figures."""

from nectar.verification.software.mpi.programs import ranks, sleep

TURNS = 4
SIZE = 65536


def there_and_back(MPI, comm, send, receive):
    """Half of the shortest time of a message and its answer, in microseconds."""
    times, to = [], 1 - comm.rank
    for _ in range(TURNS):
        begin = MPI.Wtime()
        if comm.rank == 0:
            send(to)
        receive(to)
        if comm.rank == 1:
            send(to)
        times.append((MPI.Wtime() - begin) * 1e6 / 2)
    return min(times)


def rate(MPI, comm, buffer):
    """Mbit/s of a message of which the receive is called before."""
    rates = []
    for _ in range(2):
        comm.Barrier()
        if comm.rank == 1:
            comm.Recv(buffer, 0)
            continue
        sleep(comm, 5e-4)
        begin = MPI.Wtime()
        comm.Ssend(buffer, 1)
        rates.append(SIZE * 8 / (MPI.Wtime() - begin) / 1e6)
    return max(rates, default=None)


def test_short_messages_take_less_than_40_us_and_long_ones_have_90_mbit_per_second():
    """Empty ones less than 30 us, whether the receive blocks or not; without any copy by the CPU of what lies in data
    memory."""

    def program(MPI, comm):
        empty, room = bytearray(), bytearray(100)
        times = [
            there_and_back(MPI, comm, lambda to: comm.Send(empty, to), lambda to: comm.Recv(empty, to)),
            there_and_back(MPI, comm, lambda to: comm.Send(empty, to), lambda to: comm.Irecv(empty, to).Wait()),
            there_and_back(MPI, comm, lambda to: comm.send(None, to), lambda to: comm.recv(source=to)),
            there_and_back(MPI, comm, lambda to: comm.Send(room, to), lambda to: comm.Recv(room, to)),
        ]
        placed = MPI.Alloc_mem(SIZE, MPI.Info.Create({"nectar_memory": "cab"}))
        return times, rate(MPI, comm, placed), rate(MPI, comm, bytearray(SIZE))

    times, ours, theirs = ranks(program, boards="rtl")[0]
    assert max(times[:3]) < 30 and times[3] < 40
    assert ours > 90 and theirs > 60
