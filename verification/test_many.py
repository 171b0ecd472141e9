"""Many independent jobs (``nectar.many``) on this machine: results as they come, errors, processes that end."""

import io
import math
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from nectar.many import SpreadError, spread
from nectar.progress import Progress


@pytest.mark.parametrize("workers", [0, 2])
def test_each_job_ends_with_its_result_or_its_error(workers):
    told = io.StringIO()
    ends = list(spread(math.sqrt, [4, -1, 9], workers=workers, progress=Progress(told), what="roots"))
    found = {ended.number: ended for ended in ends}
    assert sorted(found) == [0, 1, 2] and (found[0].value(), found[2].value()) == (2, 3)
    with pytest.raises(ValueError, match="math domain error"):
        found[1].value()
    assert bool(workers) == bool(re.search(r"^nectar: roots: \d+ s$", told.getvalue(), re.M))


def test_no_job_is_no_work():
    assert not list(spread(math.sqrt, [], scheduler="nowhere", prepare=os.abort))


def test_a_job_that_ends_its_process_is_told_and_the_others_go_on():
    ends = {
        ended.number: ended.error for ended in spread(os._exit, [3, 4], workers=1, progress=Progress(io.StringIO()))
    }
    assert all(isinstance(error, SpreadError) and "was ended" in str(error) for error in ends.values())
    assert len(ends) == 2


def test_who_stops_early_ends_the_processes_with_what_they_have_started(tmp_path):
    """A worker's process, and a program that it runs."""
    note = tmp_path / "pid"
    ends = spread(os.system, [f"echo $$ >{note}; exec sleep 100", "true"], workers=2, progress=Progress(io.StringIO()))
    assert next(ends).number == 1
    while not (note.exists() and note.read_text().endswith("\n")):
        time.sleep(0.02)
    begun = time.monotonic()
    ends.close()
    while _runs(int(note.read_text())):
        assert time.monotonic() < begun + 30
        time.sleep(0.02)


def test_ctrl_c_while_a_process_starts_does_not_reach_it():
    """It waits, since it is blocked, until the process has left the session of the terminal."""
    code = """if True:
        import multiprocessing, os, signal
        from nectar.many import _begin
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)
        held, leash = multiprocessing.Pipe()
        _begin(leash)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print("the next one reaches it")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("the next one reaches it\n", "")


def _runs(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_preparation_raises_ends_all():
    def prepare():
        raise SpreadError("not here")

    with pytest.raises(SpreadError, match="not here"):
        next(spread(math.sqrt, [1], prepare=prepare))


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SpreadError, match=r"a scheduler needs Dask, .* the extra 'cluster': .* pip install"):
        next(spread(math.sqrt, [1], scheduler="tcp://127.0.0.1:9"))


def test_ctrl_c_is_blocked_only_while_a_worker_starts():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    list(spread(math.sqrt, [1], workers=1, progress=Progress(io.StringIO())))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == blocked


def test_progress_tells_what_is_left():
    told = io.StringIO()
    progress = Progress(told)
    ends = progress.each("runs", 3, iter("abc"))
    assert next(ends) == "a"
    progress.show()
    assert re.fullmatch(r"nectar: runs \(1 of 3, about \d+ s left\), \d+ s\n", told.getvalue())
    assert list(ends) == ["b", "c"] and re.search(r"^nectar: runs: \d+ s\n\Z", told.getvalue(), re.M)
