"""Ranks as processes (docs/mpi.md): what each has for itself, and how they end."""

import sys

import pytest

from nectar.software.errors import ProgramError, UnfinishedRun
from nectar.software.mpi import MPI
from nectar.software.mpi.python import Program, RankPython
from nectar.software.mpi.world import RankEnded
from nectar.verification.software.mpi.programs import ranks, run

GLOBALS = """
import sys
from mpi4py import MPI
import __main__
comm = MPI.COMM_WORLD
number = comm.rank
comm.Barrier()
assert __main__.number == number == comm.rank and sys.modules["__main__"] is __main__
assert __name__ == "__main__" and sys.argv == [__file__, "-q", "x"]
sys.argv.append(str(number))
comm.Barrier()
assert sys.argv[3:] == [str(number)]
"""
BESIDE = """
import sys
from mpi4py import MPI
import counter
import decimal, random
comm = MPI.COMM_WORLD
for _ in range(3):
    counter.count += 1 + comm.rank
    state = random.getstate()
    first = random.random()
    comm.Barrier()
    second = random.random()
    random.setstate(state)
    assert (first, second) == (random.random(), random.random())
from counter import count
assert count == 3 * (1 + comm.rank) and sys.modules["counter"] is counter
assert comm.gather(id(decimal)) in (None, [id(decimal)] * 2)
"""
STREAMS = """
import contextlib, io, warnings
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comm.Barrier()
        print("inside")
        comm.Barrier()
    assert out.getvalue() == "inside\\n"
else:
    comm.Barrier()
    print("outside")
    comm.Barrier()
"""


def test_each_rank_has_globals_and_arguments_of_its_own():
    """As a process has them."""
    run(GLOBALS, 3, arguments=["-q", "x"])


def test_modules_beside_the_program_and_random_are_a_rank_s_own(tmp_path):
    """Other modules are loaded once for all."""
    (tmp_path / "counter.py").write_text("count = 0\n")
    run(BESIDE, path=tmp_path / "program.py")
    assert "counter" not in sys.modules


def test_what_a_rank_makes_of_its_output_concerns_no_other(capsys):
    """redirect_stdout, filters of warnings."""
    run(STREAMS)
    assert capsys.readouterr().out == "outside\n"


def test_objects_of_classes_of_the_program_are_sent():
    """pickle finds them in ``__main__``."""
    run(
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "class Thing:\n"
        "    def __init__(self): self.value = comm.rank\n"
        "got = comm.sendrecv(Thing(), 1 - comm.rank)\n"
        "assert type(got) is Thing and got.value == 1 - comm.rank\n"
        "assert [type(each) for each in comm.allgather(Thing())] == [Thing, Thing]\n"
    )


def test_an_exception_of_a_rank_ends_all_with_its_traceback(capsys):
    """The traceback shows the program's lines only."""
    with pytest.raises(RankEnded, match="^rank 1 has ended by ZeroDivisionError: .*: all others were ended$") as caught:
        run(
            "from mpi4py import MPI\n"
            "try:\n"
            "    if MPI.COMM_WORLD.rank: 1 // 0\n"
            "    MPI.COMM_WORLD.Barrier()\n"
            "except ArithmeticError: raise\n"
            "except BaseException: print('never seen')\n"
        )
    assert caught.value.status == 1
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[:2] == [
        "Traceback (most recent call last):",
        '  File "program.py", line 3, in <module>',
    ]
    assert "nectar" not in err


@pytest.mark.parametrize(
    "line, status, text",
    [
        ("sys.exit(7)", 7, "rank 1 has ended with exit code 7: all others were ended"),
        ("sys.exit('why')", 1, "rank 1 has ended with exit code 1: all others were ended"),
        ("comm.Abort(9)", 9, "rank 1 has called Abort with error code 9"),
        ("comm.Abort()", 1, "rank 1 has called Abort with error code 0"),
    ],
)
def test_a_rank_may_end_all_others_with_an_exit_code(line, status, text, capsys):
    """A program that catches every Exception does not notice."""
    with pytest.raises(RankEnded) as caught:
        run(
            "import sys\n"
            "from mpi4py import MPI\n"
            "comm = MPI.COMM_WORLD\n"
            "try:\n"
            f"    if comm.rank: {line}\n"
            "    comm.recv()\n"
            "except Exception: print('never seen')\n"
        )
    assert (caught.value.status, str(caught.value)) == (status, text)
    assert capsys.readouterr().out == ""


def test_a_deadlock_tells_each_rank_s_call_and_line():
    """In the calls' own words."""
    with pytest.raises(UnfinishedRun) as caught:
        run(
            "from mpi4py import MPI\n"
            "comm = MPI.COMM_WORLD\n"
            "if comm.rank == 3:\n"
            "    comm.Recv(bytearray(1), source=1, tag=7)\n"
            "elif comm.rank == 2:\n"
            "    comm.Ssend(b'', 0)\n"
            "else:\n"
            "    comm.Barrier()\n",
            4,
        )
    assert str(caught.value).splitlines()[1:] == [
        "  rank 0 on CAB1, rank 1 on CAB2 wait in Barrier of MPI_COMM_WORLD (program.py:8)",
        "  rank 2 on CAB3 waits in Ssend to rank 0, tag 0 (program.py:6)",
        "  rank 3 on CAB4 waits in Recv from rank 1, tag 7 (program.py:4)",
    ]


def test_finalize_waits_for_what_was_sent_and_for_all_ranks():
    """A message that nobody has waited for arrives, though its sender has ended."""

    def program(MPI, comm):
        if comm.rank == 0:
            comm.isend(bytes(300_000), 1)
            comm.Bsend if False else None
            MPI.Finalize()
            assert MPI.Is_finalized()
            with pytest.raises(MPI.Exception):
                MPI.Finalize()
            return None
        comm.communicator.process.cab.sleep(50_000)
        return len(comm.recv(source=0))

    assert ranks(program)[1] == 300_000


def test_a_program_may_begin_mpi_itself():
    """``mpi4py.rc`` is a rank's own."""
    run(
        "import mpi4py\n"
        "mpi4py.rc(initialize=False, finalize=False)\n"
        "from mpi4py import MPI\n"
        "assert not MPI.Is_initialized()\n"
        "assert MPI.Init_thread() == MPI.Query_thread() == MPI.THREAD_FUNNELED\n"
        "assert MPI.Is_initialized() and not MPI.Is_finalized()\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )


def test_the_package_names_a_folder_and_has_no_other_modules():
    """mpi4py's tests show the folder with ``-v``."""
    run(
        "import importlib.util\n"
        "import mpi4py\n"
        "assert mpi4py.__path__[0].endswith('mpi4py')\n"
        "assert importlib.util.find_spec('mpi4py.comm') is None\n"
    )


def test_wtime_is_simulated_time():
    """In seconds, on all ranks the same."""

    def program(MPI, comm):
        comm.Barrier()
        begin = MPI.Wtime()
        comm.communicator.process.cab.sleep(2_000)
        return begin, MPI.Wtime() - begin

    (one, took), (other, _) = ranks(program)
    assert took == pytest.approx(2e-3, rel=0.02) and abs(one - other) < 100e-6


def test_outside_of_a_rank_a_call_is_an_error():
    """One that says where it may be made."""
    with pytest.raises(ProgramError, match="made by a rank of a program that 'nectar mpirun' runs"):
        MPI.COMM_WORLD.Get_rank()


def test_what_is_not_there_says_so():
    """NotImplementedError, with the name."""

    def program(MPI, comm):
        for name in ("Win", "File", "Session", "Open_port"):
            with pytest.raises(NotImplementedError, match=f"^MPI.{name} is not there"):
                getattr(MPI, name)
        with pytest.raises(AttributeError):
            MPI.No_such_name
        with pytest.raises(NotImplementedError, match="Intracomm.Spawn"):
            comm.Spawn("x")

    ranks(program, 1)


def test_more_ranks_than_cabs_share_them_in_turns():
    """Messages between ranks of one CAB, too."""

    def program(MPI, comm):
        request = comm.isend(comm.rank, (comm.rank + 1) % comm.size)
        got = comm.recv(source=(comm.rank - 1) % comm.size)
        request.wait()
        total = comm.allreduce(comm.rank)
        return MPI.Get_processor_name(), got, total, comm.bcast(got, 2)

    assert ranks(program, 5, topology="hub:2") == [(f"CAB{rank % 2 + 1}", (rank - 1) % 5, 10, 1) for rank in range(5)]


def test_a_rank_that_is_closed_after_the_end_changes_nothing():
    """What is left of a run that could not end may be closed at any time, by the garbage collector, too."""
    before = sys.modules["__main__"], sys.argv
    program = Program("program.py", compile("", "program.py", "exec"), ["x"])
    program.begin()
    rank = RankPython(program, {})
    program.go_on(rank)
    assert sys.argv == ["program.py", "x"] and sys.modules["__main__"] is not before[0]
    program.end()
    rank.enter()
    assert (sys.modules["__main__"], sys.argv) == before
