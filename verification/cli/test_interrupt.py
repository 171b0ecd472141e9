"""Ctrl-C, at any time: exit code 130, one line, no file half written, no process left."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from nectar.verification.cli.caches import verilog_of
from nectar.verification.cli.silence import without_progress

LOOP = """
TOPOLOGY = "hub:2"


async def job(cab):
    while True:
        await cab.sleep(10)


async def main(system, arguments):
    print("running", flush=True)
    system.spawn("CAB1", job)
    await system.run()
"""
BUSY = LOOP.replace("await cab.sleep(10)", "pass")
BLOCKED = LOOP.replace("await cab.sleep(10)", "__import__('time').sleep(100)")


def _session(number):
    """Processes of the session ``number`` that still run, by their command names."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            if int(fields[3]) == number and fields[0] != "Z":
                found[int(entry.name)] = name
    return found


def _catches(process, number):
    """Whether a process has a handler for a signal."""
    mask = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{process}/status").read_text(), re.M)[1]
    return bool(int(mask, 16) >> number - 1 & 1)


def _wait(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


#: What ends a program, the exit code that tells so, and how its line begins.
SIGNALS = [
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 143, "ended by SIGTERM"),
    (signal.SIGHUP, 129, "ended by SIGHUP"),
]
#: A program is ended by each of them every day (``test_while_a_program_runs``).
each_signal = pytest.mark.parametrize(
    "number, status, words", [SIGNALS[0], *(pytest.param(*case, marks=pytest.mark.nightly) for case in SIGNALS[1:])]
)


def _end(process, number, status=130):
    """Sends the signal to the program alone; its line of error."""
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    _wait(lambda: not _session(process.pid), 30)
    return without_progress(err)


@pytest.mark.parametrize("boards", ["rtl", "fast"])
@pytest.mark.parametrize("text", [LOOP, BUSY, BLOCKED], ids=["simulating", "computing", "blocked"])
def test_while_a_program_runs(nectar, simulator, boards, text):
    with nectar.start("run", nectar.program(text), "--boards", boards, "--json", "out.json") as process:
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)
        err = _end(process, signal.SIGINT)
    assert err.startswith("nectar: interrupted at ") and err.endswith(" of simulated time\n") and err.count("\n") == 1
    assert os.listdir(nectar.folder) == ["program.py"]


@each_signal
def test_waveforms_up_to_the_interruption_are_whole(nectar, simulator, number, status, words):
    with nectar.start("run", nectar.program(LOOP), "--waves", "w.vcd") as process:
        process.stdout.readline()
        time.sleep(0.5)
        line = _end(process, number, status)
    assert re.fullmatch(
        rf"nectar: {words} at \S+ [mu]?s of simulated time; what happened up to then is in w.vcd\n", line
    ), line
    assert sorted(os.listdir(nectar.folder)) == ["program.py", "w.gtkw", "w.names", "w.vcd"]
    assert (nectar.folder / "w.vcd").read_text().count("$enddefinitions") == 1


def test_a_signal_that_is_ignored_stays_so(nectar, simulator):
    """As under nohup."""
    with nectar.start(
        "run", nectar.program(LOOP), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        _end(process, signal.SIGTERM, 143)


def _temporaries(folder):
    return [name for name in os.listdir(folder) if name.startswith(".w.fst.")]


def test_what_a_killed_run_has_left_is_deleted_by_the_next(nectar, simulator):
    """Waveforms in the making: those of a run that still goes on stay."""
    with (
        nectar.start("run", nectar.program(LOOP), "--waves", "w.fst") as killed,
        nectar.start("run", "program.py", "--waves", "w.fst") as other,
    ):
        for process in killed, other:
            process.stdout.readline()
        both = _temporaries(nectar.folder)
        killed.kill()
        killed.wait()
        assert len(both) == 2 and _temporaries(nectar.folder) == both
        with nectar.start("run", "program.py", "--waves", "w.fst") as following:
            following.stdout.readline()
            now = _temporaries(nectar.folder)
            assert len(now) == 2 and len(set(now) & set(both)) == 1
            _end(following, signal.SIGINT)
        _end(other, signal.SIGINT)
    assert sorted(os.listdir(nectar.folder)) == ["program.py", "w.fst", "w.gtkw", "w.names"]


@each_signal
def test_while_the_simulator_is_built(nectar, simulator, number, status, words):
    """A compiler that never ends stands in for one that takes its time; it has a child, as compilers have.

    The Verilog is there already.
    """
    cache = nectar.folder / "cache"
    verilog_of(simulator, cache)
    compiler = nectar.folder / "c++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo slow && exit\ntouch compiling\nsleep 1000\n')
    compiler.chmod(0o755)
    nectar.environment |= {"CXX": str(compiler), "NECTAR_CACHE_DIR": str(cache)}
    with nectar.start("run", nectar.program(LOOP), "--waves", "w.vcd") as process:
        _wait(lambda: (nectar.folder / "compiling").exists())
        err = _end(process, number, status)
    assert err.splitlines()[-1] == f"nectar: {words}"
    assert sorted(os.listdir(nectar.folder)) == ["c++", "cache", "compiling", "program.py"]
    assert not [name for name in os.listdir(cache) if name.startswith("tmp-")]


def test_while_a_benchmark_runs(nectar, simulator):
    with nectar.start("bench", "silent") as process:
        _wait(lambda: _catches(process.pid, signal.SIGTERM))  # the program has begun
        time.sleep(1)
        assert _end(process, signal.SIGINT) == "nectar: interrupted\n"


@pytest.mark.parametrize("pause", [1, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_progress_on_a_terminal_is_one_line_and_cleared_at_the_end(nectar, simulator, pause):
    """A pseudo-terminal takes the errors. How far the simulation is by then, milliseconds or minutes, is the machine's
    affair."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        with nectar.start(
            "run", nectar.program(LOOP.replace("10", str(pause))), "--max-time", "1000000s", stderr=theirs
        ) as process:
            os.close(theirs)
            seen = b""
            while b" simulated, " not in seen:
                seen += terminal.read(4096)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        try:
            while more := terminal.read(4096):
                seen += more
        except OSError:  # what Linux calls the end of a pseudo-terminal
            pass
    shown, _, rest = seen.rpartition(b"\r\x1b[Knectar: interrupted")
    assert (
        rest.startswith(b" at ")
        and shown.startswith(b"\r\x1b[K")
        and re.search(
            rb"\x1b\[Knectar: \d+\.\d{3} (us|ms|s) simulated, \d+\.\d{3} (us|ms|s) a second, 0 messages", shown
        )
    )


@pytest.mark.nightly
def test_elsewhere_progress_is_a_line_after_two_seconds_and_seldom_more(nectar, simulator):
    with nectar.start("run", nectar.program(LOOP)) as process:
        line = process.stderr.readline()
        far = r"nectar: \d+\.\d{3} (us|ms|s) simulated, \d+\.\d{3} (us|ms|s) a second, 0 messages received, "
        assert re.fullmatch(far + r"(\d+% of --max-time, )?[23] s\n", line), line
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert re.fullmatch(r"nectar: interrupted at .*\n", process.stderr.read())
