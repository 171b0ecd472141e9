"""Wrong programs of Nectarine, NX/2 and MPI: each ends as the tables of docs/nectarine.md, nx.md and mpi.md say."""

import os
import re
import sys
from pathlib import Path

import pytest

from nectar.cli import main

PAGES = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| ([^|]+?) \| ([0-2]) \| (?:`(.*)` )?\|$", re.M)
NECTARINE = """
from nectar.software.nectarine import Application
TOPOLOGY = "hub:2"

def one(task):
    {}


def two(task):
    {}
async def main(system, arguments):
    application = Application(system)
    application.spawn("one", one, on="CAB1")
    application.spawn("two", two, on="{on}")
    await application.run()
"""
NX = """
from nectar.software.nx import NX, crecv, csend, gisum, gsync, isend, msgwait
TOPOLOGY = "hub:2"

def one(process):
    {}


def two(process):
    {}
async def main(system, arguments):
    nx = NX(system)
    nx.load(one, node=0)
    nx.load(two, node=1)
    await nx.run()
"""
MPI = """
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    {}
else:
    {}
"""
SUM = "gisum([1] * {0}, {0}, [0] * {0})"
#: By layer: its program, and by row of its page what the first task does, and the second.
PROGRAMS = {
    "nectarine": (
        NECTARINE,
        {
            "tasks wait for each other": ("task.receive(source='two', type=7)", "task.receive(source='one')"),
            "a task raises an exception": ("raise ValueError('no')", "task.receive()"),
            "a message is longer than the buffer": ("task.receive(bytearray(3))", "task.send('one', b'1234')"),
            "there is no such task": ("task.send('nobody', b'')", "pass"),
            "there is no such CAB to start a task on": ("pass", "pass"),
            "a task ends without receiving a short message": ("task.send('two', b'a')", "task.cab.sleep(999)"),
            "a task ends without receiving a long message": ("task.send('two', bytes(300))", "task.cab.sleep(999)"),
            "waits again for what is over": ("h = task.isend('two'); h.wait(); h.wait()", "task.receive()"),
            "cancels what is over": ("h = task.isend('two'); h.wait(); h.cancel()", "task.receive()"),
            "waits for what it has cancelled": ("h = task.ireceive(); h.cancel(); h.wait()", "pass"),
            "frees a buffer twice": ("b = task.buffer(10); b.free(); b.free()", "pass"),
        },
    ),
    "nx": (
        NX,
        {
            "processes wait for each other": ("crecv(5, None, 0)", "crecv(6, None, 0)"),
            "a process raises an exception": ("raise ValueError('no')", "crecv(6, None, 0)"),
            "a message is longer than the buffer": ("crecv(5, bytearray(3), 3)", "csend(5, b'1234', 4, 0, 0)"),
            "there is no such node": ("csend(5, b'', 0, 2, 0)", "pass"),
            "there is no such process": ("csend(5, b'', 0, 1, 7)", "pass"),
            "a process ends without receiving a short message, or one that is kept": (
                "csend(5, b'', 0, 1, 0); csend(5, bytes(400), 400, 1, 0)",
                "process.cab.sleep(10000)",
            ),
            "a process ends without receiving a long message": (
                "csend(5, bytes(400), 400, 1, 0)",
                "process.cab.sleep(100)",
            ),
            "processes make different global operations": ("gsync()", SUM.format(1)),
            "a process makes no global operation where others do": ("gsync()", "pass"),
            "processes give different numbers of numbers": (SUM.format(1), SUM.format(2)),
            "a message id is waited for twice": (
                "m = isend(1, None, 0, 1, 0); msgwait(m); msgwait(m)",
                "crecv(1, None, 0)",
            ),
        },
    ),
    "mpi": (
        MPI,
        {
            "ranks wait for each other": ("comm.Recv(bytearray(1), 1, 7)", "comm.Recv(bytearray(1), 0, 8)"),
            "a rank raises an exception": ("raise ValueError('no')", "comm.Recv(bytearray(1), 0, 8)"),
            "a message is longer than the buffer": ("comm.Recv(bytearray(1), 1, 7)", "comm.Send(b'123', 0, 7)"),
            "there is no such rank": ("comm.Send(b'123', 2, 7)", "pass"),
            "nobody receives a short message": ("comm.Send(b'123', 1, 7)", "pass"),
            "nobody receives a message of more than 100 bytes": ("comm.Send(bytes(101), 1, 7)", "pass"),
            "nobody sends what a request wants": ("comm.Irecv(bytearray(1), 1)", "pass"),
            "ranks make different collective calls": ("comm.Barrier()", "comm.Bcast(bytearray(3))"),
            "ranks give different roots": ("comm.Bcast(bytearray(3), 0)", "comm.Bcast(bytearray(3), 1)"),
            "ranks give different numbers of elements": ("comm.Bcast(bytearray(3))", "comm.Bcast(bytearray(2))"),
            "ranks give different operations": ("comm.allreduce(1)", "comm.allreduce(1, op=MPI.MAX)"),
            "ranks give different types of numbers": (
                "comm.Allreduce([bytes(8), MPI.DOUBLE], [bytearray(8), MPI.DOUBLE])",
                "comm.Allreduce([bytes(8), MPI.LONG], [bytearray(8), MPI.LONG])",
            ),
            "a rank gives less than its part": (
                "comm.Gatherv(bytes(2), [bytearray(4), (2, 2), (0, 2), MPI.BYTE])",
                "comm.Gatherv(bytes(1), None)",
            ),
            "a rank makes no collective call where others do": ("comm.Barrier()", "pass"),
            "waits for or tests a request that is over": (
                "r = comm.Isend(b'', 1); r.Wait(); r.Wait(); assert r.Test()",
                "comm.Recv(bytearray(1))",
            ),
            "waits for a request that it has freed": (
                "r = comm.Irecv(bytearray(1)); r.Free(); r.Wait()",
                "comm.Send(b'', 0)",
            ),
            "cancels a request that is over": ("r = comm.Isend(b'', 1); r.Wait(); r.Cancel()", "comm.recv()"),
            "frees a request that is over": ("r = comm.Isend(b'', 1); r.Wait(); r.Free()", "comm.recv()"),
            "cancels a request twice": ("r = comm.Irecv(bytearray(1)); r.Cancel(); r.Cancel(); r.Wait()", "pass"),
            "starts a persistent request that is under way": (
                "r = comm.Recv_init(bytearray(1), 1); r.Start(); r.Start()",
                "pass",
            ),
        },
    ),
}


def rows(layer):
    """(what, exit code, text or "") of each row of the page's table of wrong programs."""
    text = (PAGES / f"{layer}.md").read_text().partition("**Wrong programs**")[2].partition("\n\nC")[0]
    return ROW.findall(text.partition("\n## ")[0])


def children():
    """Processes that this one has started and that are there still."""
    return {pid for thread in Path("/proc/self/task").iterdir() for pid in (thread / "children").read_text().split()}


@pytest.mark.parametrize("layer", PROGRAMS)
def test_the_table_has_the_programs_that_are_run_here(layer):
    assert [what for what, *_ in rows(layer)] == list(PROGRAMS[layer][1])


@pytest.mark.parametrize("layer, what, status, said", [(layer, *row) for layer in PROGRAMS for row in rows(layer)])
def test_a_wrong_program_ends_as_the_page_says(layer, what, status, said, tmp_path, monkeypatch, capfd):
    """Its exit code, its last line, and no process of it is left."""
    program, tasks = PROGRAMS[layer]
    on = "CAB9" if "such CAB" in what else "CAB2"
    (tmp_path / "program.py").write_text(program.format(*tasks[what], on=on))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = children() if os.path.exists("/proc/self/task") else None
    command = ["mpirun", "-n", "2"] if layer == "mpi" else ["run"]
    ended = main([*command, "--boards", "fast", "--stall-time", "0s", "program.py"])
    told = re.sub(r"\s+", " ", capfd.readouterr().err.rpartition("nectar: ")[2]).strip()
    pattern = ".+".join(map(re.escape, said.split("…")))
    assert ended == int(status) and re.fullmatch(pattern, told), told
    assert before is None or children() <= before
