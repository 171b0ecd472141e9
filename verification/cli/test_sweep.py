"""``nectar sweep`` (docs/sweep.md): its rows and tables, what it keeps and takes up again, what it refuses; on this
machine and on a Dask cluster."""

import contextlib
import csv
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from nectar.cli.errors import UsageError
from nectar.sweep.grid import Sweep, values_of
from nectar.sweep.run import Job, Ready, run

SEND = """
import argparse
TOPOLOGY = "hub:2"

async def send(cab, size):
    await cab.datagram.send(("CAB2", 1), bytes(size))

async def receive(cab, size):
    (await cab.mailbox(1).receive()).free()
    return await cab.now_us()

async def main(system, arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=8)
    size = parser.parse_args(arguments).size
    system.spawn("CAB1", send, size)
    received = system.spawn("CAB2", receive, size)
    await system.run()
    system.report("latency", received.result, "us")
    system.report("size", size, "bytes")
"""
#: Notes each run in the file ``ran``. Size 3 fails while there is a file ``broken``; sizes from 10 on wait for ``go``.
NOTES = """
import argparse, os, signal, time
TOPOLOGY = "hub:1"

async def main(system, arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int)
    size = parser.parse_args(arguments).size
    with open("ran", "a") as file:
        print(size, file=file)
    if size == 3 and os.path.exists("broken"):
        raise ValueError("three is too many")
    if size == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    while size > 10 and not os.path.exists("go"):
        time.sleep(0.05)
    system.report("double", 2 * size, ok=size != 5)
"""
FAST = ("--set", "boards=fast")
#: What is built is told; here it is there already.
pytestmark = pytest.mark.usefixtures("simulator")


def _table(folder):
    with open(folder / "results" / "table.csv") as file:
        return list(csv.DictReader(file))


def _ran(folder):
    """The sizes that have run since this was last asked."""
    text = (folder / "ran").read_text().split() if (folder / "ran").exists() else []
    (folder / "ran").unlink(missing_ok=True)
    return sorted(map(int, text))


def _slow(folder):
    """How many runs have begun to wait."""
    text = (folder / "ran").read_text() if (folder / "ran").exists() else ""
    return sum(int(size) > 10 for size in text.split())


@pytest.fixture
def notes(here, monkeypatch):
    """Sweeps NOTES over sizes; no plots are drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    program = here.program(NOTES)

    def sweep(sizes, *more):
        return here("sweep", program, *FAST, "--set", f"size={sizes}", "-o", "results", "--workers", "1", *more)

    return sweep


# -- rows and tables ---------------------------------------------------------------------------------------
def test_a_row_of_each_run_has_what_nectar_run_reports(here, tmp_path):
    program = here.program(SEND)
    command = ["sweep", program, *FAST, "--set", "topology=hub:2,hub:3", "--set", "size=8,1024", "-o", "results"]
    done = here(*command, "--repeat", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "4 runs: 4 done",
        *(f"results/{name}" for name in ("table.csv", "table.json")),
        *(f"results/plots/{name}.svg" for name in ("latency", "result.size", "simulated_ns")),
    ]
    assert here("run", program, "--boards", "fast", "--json", "one.json", "--", "--size", "1024").returncode == 0
    one = {result["id"]: result["value"] for result in json.loads((tmp_path / "one.json").read_text())["results"]}
    rows = _table(tmp_path)
    assert [(row["topology"], row["size"], row["repeat"], row["seed"]) for row in rows] == [
        (topology, size, "1", "1") for topology in ("hub:2", "hub:3") for size in ("8", "1024")
    ]
    assert float(rows[1]["latency"]) == one["latency"] and float(rows[1]["simulated_ns"]) == one["run.simulated_time"]
    assert all(row["error"] == "" and float(row["host_s"]) > 0 for row in rows)
    table = json.loads((tmp_path / "results" / "table.json").read_text())
    assert table["columns"]["latency"] == "us" and table["rows"][1]["size"] == table["rows"][1]["result.size"] == 1024
    assert b"<svg" in (tmp_path / "results" / "plots" / "latency.svg").read_bytes()


def test_a_run_that_fails_is_a_row_and_runs_again_when_asked(notes, here, tmp_path):
    (tmp_path / "broken").touch()
    done = notes("2,3,4,5")
    assert done.returncode == 1 and _ran(tmp_path) == [2, 3, 4, 5]
    assert done.stdout.splitlines()[:3] == [
        "4 runs: 2 done, 2 failed, 1 not ok",
        "  boards=fast size=3 repeat 1: program.py:12: ValueError: three is too many",
        "  boards=fast size=4 repeat 1: ended by SIGKILL",
    ]
    assert [row["double"] for row in _table(tmp_path)] == ["4", "", "", "10"]
    (tmp_path / "broken").unlink()
    assert notes("2,3,4,5").stdout.startswith("4 of 4 runs are in results already\n") and not _ran(tmp_path)
    assert notes("2,3,4,5", "--retry").returncode == 1 and _ran(tmp_path) == [3, 4]
    assert [row["double"] for row in _table(tmp_path)] == ["4", "6", "", "10"]


def test_the_table_can_be_made_at_any_time(notes, here, tmp_path):
    assert notes("1,2").returncode == 0
    lines = (tmp_path / "results" / "runs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "results" / "runs.jsonl").write_text(lines[0] + lines[1][:20])
    told = here("sweep", "--table", "results").stdout
    assert told.startswith("2 runs: 1 done, 1 missing\n") and told.endswith("no plots yet: runs are missing\n")
    assert [row["size"] for row in _table(tmp_path)] == ["1"]
    _ran(tmp_path)
    assert notes("1,2").returncode == 0 and _ran(tmp_path) == [2], "the line that was cut off"
    assert (tmp_path / "results" / "runs.jsonl").read_text().count("\n") == 2 and len(_table(tmp_path)) == 2


def test_without_matplotlib_it_says_how_to_get_plots(notes):
    done = notes("1,2")
    assert done.returncode == 0 and "no plots: matplotlib is not installed; it comes with the extra" in done.stdout


# -- the runs ----------------------------------------------------------------------------------------------
def test_every_combination_runs_and_each_repeat_has_the_next_seed():
    sweep = Sweep("p.py", values_of(["size=1,2", "seed=7", 'faults="a,b",c']), repeat=2, arguments=("x",))
    runs = sweep.runs()
    assert len(runs) == 8 and [each.number for each in runs] == list(range(8))
    assert [each.seed for each in runs[:2]] == [7, 8] and runs[0].values == {"size": "1", "seed": "7", "faults": "a,b"}
    assert sweep.words(runs[0].values, 7) == [
        "--seed=7",
        "--faults=a,b",
        "--threads=1",
        "p.py",
        "--",
        "--size",
        "1",
        "x",
    ]
    assert len(sweep.checks()) == 3, "each value once"
    assert len(Sweep("p.py", values_of(["topology=a,b", "profile=c,d"])).checks()) == 4, "boards in all combinations"


def test_a_sweep_over_the_kinds_of_boards_finds_both_simulators_built_and_the_same_times(here, simulator, tmp_path):
    program = here.program(SEND)
    done = here("sweep", program, "--set", "boards=rtl,fast", "-o", "results")
    assert done.returncode == 0 and "no plots: no name was swept over several numbers" in done.stdout
    rtl, fast = (float(row["latency"]) for row in _table(tmp_path))
    assert rtl == fast


def test_a_run_that_waits_for_ever_tells_who_waits_for_what(here, tmp_path):
    program = here.program(SEND.replace('spawn("CAB1", send, size)', 'spawn("CAB1", receive, size)'))
    assert here("sweep", program, *FAST, "--set", "size=8", "-o", "results").returncode == 1
    (row,) = _table(tmp_path)
    assert re.fullmatch(
        r"nothing can happen any more at [\d.]+ us, where task .*CAB1.*; task .*CAB2.*", row["error"]
    ), row


def test_ctrl_c_keeps_what_has_ended_and_the_same_command_goes_on(nectar, tmp_path):
    program = nectar.program(NOTES)
    command = ["sweep", program, *FAST, "--set", "size=1,11", "-o", "results", "--workers", "2"]
    kept = tmp_path / "results" / "runs.jsonl"
    with nectar.start(*command) as process:
        while not (_slow(tmp_path) and kept.read_text()):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    said = "interrupted; 1 of 2 runs are kept in results, and the same command goes on"
    assert errors.splitlines()[-1] == f"nectar: {said}" and "Traceback" not in errors
    (tmp_path / "go").touch()
    _ran(tmp_path)
    assert nectar(*command).returncode == 0 and _ran(tmp_path) == [11]
    (tmp_path / "program.py").write_text(f"{NOTES}# another text")
    assert "it holds results of another version of the program" in nectar.refused(*command)


def test_ctrl_c_tells_of_a_run_that_is_being_written(here, tmp_path, monkeypatch):
    kept, sync = tmp_path / "results" / "runs.jsonl", os.fsync

    def interrupted(file):
        sync(file)
        if kept.exists() and kept.read_text():
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    done = here("sweep", here.program(NOTES), *FAST, "--set", "size=1,2", "-o", "results", "--workers", "1")
    assert done.returncode == 130
    assert "interrupted; 1 of 2 runs are kept in results, and the same command goes on" in done.stderr


# -- what is refused ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "words, said",
    [
        (["--set", "sise=4"], "program.py: unrecognized arguments: --sise 4"),
        (["--set", "size=4,x"], "--set size=x: program.py: argument --size: invalid int value: 'x'"),
        (["--set", "topology=hub:2,hub:0"], "hub:0: a HUB of 16 ports takes 1 to 16 CABs"),
        (["--set", "profile=modern,old"], "--set profile=old: --profile: there is no profile 'old'"),
        (
            ["--set", "boards=fast,slow"],
            "--set boards=slow: --boards slow: boards are rtl or",
        ),
        (
            ["--set", "threads=1,x"],
            "--set threads=x: --threads x: give a whole number from 1",
        ),
        (["--set", "waves=a"], "--set waves=a: --waves is for one run"),
        (["--set", "seed=x"], "--set seed=x: not a seed"),
        (["--set", "size"], "--set size: write a name and its values, as in --set size=64,1024"),
        (["--set", "size=1,,2"], "--set size=1,,2: a value is missing"),
        (["--set", "size="], "--set size=: a value is missing"),
        (["--set", 'size="1'], "a quote is open"),
        (["--set", "size=1,1"], "--set size=1,1: size has the value 1 twice"),
        (["--boards", "fast"], "--boards is an option of the runs: write --set boards=VALUE"),
        (["--seed=3"], "--seed is an option of the runs: write --set seed=3"),
        (["--repeat", "0"], "--repeat 0: give a number, 1 or more"),
        (["--workers", "x"], "--workers x: give a number, 1 or more"),
        (["--table", "results"], "--table FOLDER stands alone"),
        (["-o", "program.py"], "-o program.py: it cannot be used: File exists"),
        (["-o", "program.py/a"], "-o program.py/a: it cannot be used: Not a directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_run_is_refused_in_one_line_before_anything_runs(here, tmp_path, words, said):
    program = here.program(SEND)
    more = [] if any(name in word for word in words for name in ("boards", "profile")) else FAST
    assert said in here.refused("sweep", program, "-o", "results", *more, *words)
    assert not (tmp_path / "results").exists()


def test_a_program_or_a_folder_that_is_missing_is_told(here):
    assert here.refused("sweep", "--set", "a=1").startswith("name the program to run")
    assert here.refused("sweep", "p.py", "-o", "r") == "p.py: there is no such program file"
    assert here.refused("sweep", here.program(SEND)) == "name the folder for the results, as in -o results"
    assert "it holds no sweep" in here.refused("sweep", "--table", "r")


def test_a_program_that_looks_at_no_arguments_takes_none(here):
    program = here.program("TOPOLOGY = 'hub:1'\nasync def main(system, arguments):\n    await system.run()\n")
    assert here.refused("sweep", program, *FAST, "--set", "size=1", "-o", "r") == (
        "program.py does not look at its arguments: --size 1"
    )
    assert here("sweep", program, *FAST, "--check").stdout.startswith("1 run; program ")


def test_a_program_without_arguments_is_swept_over_networks(here, tmp_path):
    """It is stopped, while it is checked, when simulated time would begin."""
    program = here.program(re.sub(r"    parser = .*?\.size\n", "    size = 8\n", SEND, flags=re.S))
    assert here("sweep", program, *FAST, "--set", "topology=hub:2,hub:3", "-o", "results").returncode == 0
    assert [row["topology"] for row in _table(tmp_path) if float(row["latency"]) > 0] == ["hub:2", "hub:3"]


def test_a_folder_of_something_else_is_refused_and_left_as_it_is(notes, here, tmp_path):
    assert notes("1").returncode == 0
    folder, command = tmp_path / "results", ["sweep", "program.py", *FAST, "-o", "results", "--set"]
    before = (folder / "runs.jsonl").read_bytes()
    assert here.refused(*command, "size=2") == (
        "-o results: it holds another sweep, of program.py over boards=fast size=1; give another folder, or delete it"
    )
    with open(folder / "runs.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert here.refused(*command, "size=1") == "-o results: another sweep is writing there"
    described = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps(described | {"nectar": "older"}))
    assert "it holds results of another version of nectar" in here.refused(*command, "size=1")
    (folder / "sweep.json").write_text(json.dumps(described | {"format": 0}))
    assert "its sweep.json is of another version of nectar, or damaged" in here.refused(*command, "size=1")
    (folder / "sweep.json").write_text(json.dumps(described | {"sweep": {}}))
    assert "its sweep.json is of another version" in here.refused("sweep", "--table", "results")
    (folder / "sweep.json").unlink()
    assert "the directory is not empty and holds no sweep" in here.refused(*command, "size=1")
    assert (folder / "runs.jsonl").read_bytes() == before
    (folder / "sweep.json").write_text(json.dumps(described))
    (folder / "runs.jsonl").write_text("x\n")
    assert here.refused(*command, "size=1") == ("-o results: runs.jsonl:1 is not a result; mend or delete this line")


# -- a cluster ---------------------------------------------------------------------------------------------
def test_a_worker_says_why_it_cannot_run(tmp_path, here, monkeypatch):
    program = here.program(SEND)
    ready = Ready((program, *FAST, "--check"), str(tmp_path), "1 run; program x, nectar y")
    with pytest.raises(UsageError, match="its nectar, or its copy of the program, is another one than here"):
        ready()
    with pytest.raises(UsageError, match="there is no directory .*/b; workers need the files of the sweep"):
        Ready((), str(tmp_path / "b"), "")()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(UsageError, match="C\\+\\+ compiler"):
        Ready((program, "--check"), str(tmp_path), "")()
    assert "No such file" in run(Job(("x",), str(tmp_path / "b")))["error"]


def test_a_scheduler_that_is_not_there_is_told_and_leaves_no_folder(notes, tmp_path):
    done = notes("1", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2 and done.stderr == (
        "nectar: no Dask scheduler answers at tcp://127.0.0.1:9; 'dask scheduler' starts one and prints its address\n"
    )
    done = notes("1", "--scheduler", "nowhere://x")
    assert done.returncode == 2 and "no Dask scheduler answers at nowhere://x" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_scheduler_that_is_not_there_takes_no_results(notes, tmp_path):
    assert notes("1,2").returncode == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "results").iterdir()}
    assert notes("1,2,3", "--scheduler", "tcp://127.0.0.1:9").returncode == 2  # it holds another sweep
    (tmp_path / "results" / "runs.jsonl").write_bytes(first := before["runs.jsonl"].splitlines(True)[0])
    assert "1 of 2 runs are kept" in notes("1,2", "--scheduler", "tcp://127.0.0.1:9").stderr
    assert (tmp_path / "results" / "runs.jsonl").read_bytes() == first


@contextlib.contextmanager
def _started(*words):
    """A program of Dask's, ended at the end."""
    with subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            process.stderr.close()


def _said(process, word):
    """What stands behind ``word`` in the first line of its log that has it."""
    for line in process.stderr:
        if word in line:
            return line.partition(word)[2].strip()
    raise AssertionError(f"it has ended: {process.poll()}")


@contextlib.contextmanager
def _cluster(count):
    """A Dask scheduler and workers on this machine: the process of the scheduler, its address, those of the workers."""
    with contextlib.ExitStack() as stack:
        words = "distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard".split()
        scheduler = stack.enter_context(_started(*words))
        address = _said(scheduler, "Scheduler at:")
        words = f"distributed.cli.dask_worker --no-nanny --nthreads 1 --no-dashboard {address}".split()
        workers = [stack.enter_context(_started(*words)) for _ in range(count)]
        for worker in workers:
            _said(worker, "Registered to:")
        yield scheduler, address, workers


def test_a_cluster_gives_the_same_rows(notes, here, tmp_path):
    with _cluster(1) as (_, address, _):
        assert notes("1,2", "--scheduler", address).returncode == 0
    far = _without_times(tmp_path / "results")
    (tmp_path / "results").rename(tmp_path / "far")
    assert notes("1,2").returncode == 0 and _without_times(tmp_path / "results") == far


@pytest.mark.nightly
def test_a_cluster_without_a_worker_is_told(nectar):
    program = nectar.program(NOTES)
    with _cluster(0) as (_, address, _):
        refused = nectar.refused("sweep", program, *FAST, "--set", "size=1", "-o", "r", "--scheduler", address)
        assert refused == f"{address} has no worker; 'dask worker {address}' starts one"


@pytest.mark.nightly
def test_a_worker_without_a_compiler_ends_the_sweep_before_it_begins(nectar, tmp_path, monkeypatch):
    program = nectar.program(SEND)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    with _cluster(1) as (_, address, _):
        said = nectar.refused("sweep", program, "--set", "size=1,2", "-o", "r", "--scheduler", address)
    assert re.match(r"worker tcp://127\.0\.0\.1:\d+: .*C\+\+ compiler", said)
    assert not (tmp_path / "r").exists()


@pytest.mark.nightly
def test_what_a_cluster_has_done_is_kept_though_a_worker_and_then_the_scheduler_end(nectar, tmp_path):
    program = nectar.program(NOTES)
    command = ["sweep", program, *FAST, "--set", "size=1,2,3,11,12,13", "-o"]
    (tmp_path / "broken").touch()
    with _cluster(2) as (scheduler, address, workers):
        with nectar.start(*command, "far", "--scheduler", address) as process:
            while _slow(tmp_path) < 2:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
            workers[0].kill()
            (tmp_path / "go").touch()
            out, errors = process.communicate(timeout=120)
        assert process.returncode == 1 and "6 runs: 5 done, 1 failed" in out, errors
        (tmp_path / "go").unlink()
        (tmp_path / "ran").unlink()
        with nectar.start(*command, "cut", "--scheduler", address) as process:
            while not _slow(tmp_path):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
            scheduler.kill()
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert errors.splitlines()[-1] == (
            f"nectar: the scheduler at {address} has gone; 3 of 6 runs are kept in cut, and the same command goes on"
        )
    (tmp_path / "go").touch()
    assert nectar(*command, "near").returncode == 1
    assert nectar(*command, "cut").returncode == 1
    far, near, cut = (_without_times(tmp_path / folder) for folder in ("far", "near", "cut"))
    assert far == near == cut and len(near) == 6


def _without_times(folder):
    """The rows of a folder but for the times of the machine."""
    rows = json.loads((folder / "table.json").read_text())["rows"]
    return [{name: value for name, value in row.items() if name != "host_s"} for row in rows]
