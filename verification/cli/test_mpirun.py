"""``nectar mpirun``: its options, its exit codes, what it prints."""

import json

import pytest

HELLO = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
print(comm.gather((comm.rank, MPI.Get_processor_name(), sys.argv[1:])) or "", end="")
"""
HANGS = """
from mpi4py import MPI
MPI.COMM_WORLD.Recv(bytearray(1), tag=7)
"""
FAILS = """
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    raise KeyError("why")
MPI.COMM_WORLD.Barrier()
"""


@pytest.fixture
def mpirun(nectar):
    """Runs the text of a program on fast boards."""

    def run(source, *options, arguments=()):
        (nectar.folder / "program.py").write_text(source)
        return nectar("mpirun", "--boards", "fast", *options, "program.py", *arguments)

    return run


def test_each_rank_runs_the_program_on_a_cab_of_its_own(mpirun):
    """What stands behind the program is the program's, even if it looks like an option of ours."""
    done = mpirun(HELLO, "-n", "3", arguments=["-q", "--seed", "5", "--", "x"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == str([(rank, f"CAB{rank + 1}", ["-q", "--seed", "5", "--", "x"]) for rank in range(3)])


def test_an_option_behind_a_program_without_arguments_is_told(mpirun, nectar):
    done = mpirun("print(1)\n", "-n", "1", arguments=["--report", "r.html"])
    assert (done.returncode, done.stdout) == (0, "1\n") and not (nectar.folder / "r.html").exists()
    assert done.stderr == (
        "nectar: --report stands behind program.py and is an argument of the program; options of 'nectar mpirun' stand "
        "before it\n"
    )


def test_without_a_number_of_ranks_each_cab_of_the_topology_has_one(mpirun, nectar):
    """And without both it says what to give."""
    done = mpirun(HELLO, "--topology", "hub:2", "--json", "out.json")
    assert done.returncode == 0 and "CAB2" in done.stdout and "CAB3" not in done.stdout
    assert "run.simulated_time" in json.dumps(json.loads((nectar.folder / "out.json").read_text()))
    done = mpirun(HELLO)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nectar: say by -n how many ranks there are, as in 'nectar mpirun -n 4 PROGRAM.py'\n"


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_a_number_of_ranks_is_1_or_more(mpirun, number):
    """Else an error of one line."""
    done = mpirun(HELLO, f"-n={number}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"nectar: -n {number}: give a number of ranks, 1 or more\n"


def test_more_ranks_than_any_shape_has_cabs_are_told_by_their_option(mpirun):
    done = mpirun(HELLO, "-n", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nectar: -n 99999: no built-in shape has so many CABs (mesh:")
    assert done.stderr.endswith("; give --topology, whose CABs the ranks share in turns\n")


def test_a_program_for_nectar_run_is_sent_there(mpirun):
    done = mpirun("TOPOLOGY = 'hub:2'\n\n\nasync def main(system, arguments):\n    print('here')\n", "-n", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nectar: program.py: it has an 'async def main(system, arguments)'; 'nectar run' runs such programs\n"
    )


def test_many_ranks_stand_on_a_mesh(mpirun):
    """More than 15."""
    done = mpirun(HELLO, "-np", "17")
    assert (done.returncode, done.stderr) == (0, "") and "(16, 'CAB17', [])" in done.stdout


def test_a_deadlock_tells_who_waits_for_what(mpirun):
    """Exit code 1."""
    done = mpirun(HANGS, "-n", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0].startswith("nectar: nothing can happen any more at ")
    assert done.stderr.endswith("rank 0 on CAB1, rank 1 on CAB2 wait in Recv from any rank, tag 7 (program.py:3)\n")


def test_an_exception_shows_its_traceback_and_gives_exit_code_1(mpirun):
    """Of the program's lines."""
    done = mpirun(FAILS, "-n", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'Traceback (most recent call last):\n  File "program.py", line 4, in <module>\n    raise KeyError("why")\n'
        "KeyError: 'why'\nnectar: rank 1 has ended by KeyError: 'why': all others were ended\n"
    )


def test_an_exit_code_is_that_of_the_rank_that_ends_all_others(mpirun):
    """By Abort or sys.exit."""
    done = mpirun("from mpi4py import MPI\nMPI.COMM_WORLD.rank or MPI.COMM_WORLD.Abort(5)\n", "-n", "2")
    assert (done.returncode, done.stderr) == (5, "nectar: rank 0 has called Abort with error code 5\n")


def test_errors_of_the_fibers_are_not_seen_by_the_program(mpirun):
    """Messages are sent again."""
    source = HELLO.replace("print", "comm.Barrier(); assert comm.allreduce(list(range(100))); print")
    done = mpirun(source, "-n", "3", "--faults", "CAB1-HUB1.P0:errors=1e-4", "--seed", "3")
    assert done.returncode == 0 and "CAB3" in done.stdout
