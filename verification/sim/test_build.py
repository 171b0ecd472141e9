"""Building the simulator: what is kept, what makes it be built again, and what is told when it cannot be built.

The compiler is a script that writes down what it is asked for; everything else is real. The Verilog comes from the cache
of the real simulator.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nectar.sim import build
from nectar.sim.cache import BuildError, Cache, Progress

COMPILER = """#!/bin/sh
case "$*" in *--version*) echo "imitation $IMITATION"; exit 0;; esac
echo "$*" >> "$LOG"
sleep "${DELAY:-0}"
case "$*" in *"$BROKEN"*) echo "In file included"; echo "core.cpp:7:1: error: no such thing"; exit 1;; esac
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo made > "$2"; shift; done
"""


SIZES = (2, 3)


@pytest.fixture(scope="module")
def verilog(tmp_path_factory):
    """A directory with the Verilog of CABs and small HUBs, as a cache holds it."""
    directory = tmp_path_factory.mktemp("verilog")
    real = build.library().parent
    parts = build._Build((*SIZES, 4), "prototype", directory, None)
    shutil.copy(real / parts.verilog_name("cab"), directory)
    for size in (*SIZES, 4):
        parts._verilog(directory, f"hub{size}")
    return directory


@pytest.fixture
def place(tmp_path, monkeypatch, verilog):
    """A cache with the Verilog of the boards in it, a compiler that only writes down what it is asked for."""
    cache = tmp_path / "cache"
    shutil.copytree(verilog, cache)
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    for name, value in {"CXX": str(compiler), "LOG": str(tmp_path / "log"), "BROKEN": "none", "IMITATION": "1",
                        "NECTAR_CACHE_DIR": str(cache)}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def library(sizes=SIZES):
    """Builds a library with small HUBs."""
    return build.library(sizes)


def compiled(place):
    """Names of the source files compiled so far, and ``link`` for each time something was linked."""
    log = place / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return sorted(next((Path(word).name for word in line.split() if word.endswith(".cpp")), "link") for line in lines)


def test_what_was_built_is_found_again(place, capfd):
    first = library()
    once = compiled(place)
    assert {"engine.cpp", "processor.cpp", "verilated.cpp", "Vcab.cpp", "Vhub2.cpp", "cab_adapter.cpp", "link"} <= set(once)
    assert len(once) == len(set(once))
    told = capfd.readouterr().err
    assert "nectar: building the simulator" in told and "nectar: compiling hub2: " in told and "nectar: linking: " in told
    assert library() == first and first.read_text() == "made\n"
    assert compiled(place) == once
    assert not capfd.readouterr().err
    assert not list(place.glob("cache/tmp-*"))


def test_a_changed_core_is_all_that_is_compiled_again(place, monkeypatch):
    library()
    copy = place / "sim"
    shutil.copytree(build._HERE, copy)
    (copy / "engine.cpp").write_text((copy / "engine.cpp").read_text() + "// changed\n")
    (place / "log").unlink()
    monkeypatch.setattr(build, "_HERE", copy)
    library()
    assert compiled(place) == sorted([*build._CORE, "kinds.cpp", "link"])


def test_another_shape_of_hub_is_all_that_is_compiled_more(place):
    library()
    (place / "log").unlink()
    library({*SIZES, 4})
    names = compiled(place)
    assert "Vhub4.cpp" in names and "kinds.cpp" in names
    assert not {"Vcab.cpp", "Vhub2.cpp", "verilated.cpp"} & set(names)


def test_boards_with_the_same_verilog_are_not_compiled_again(place, monkeypatch):
    """A comment in the HDL changes nothing: the Verilog decides."""
    library()
    shutil.copytree(build._HDL, place / "hdl")
    with open(place / "hdl" / "hub" / "hub.py", "a") as file:
        file.write("# a comment\n")
    (place / "log").unlink()
    asked = []
    original = build._run

    def run(command, what, environment=None):
        if "nectar.sim.export" in command:
            asked.append(command[3])
            kind = "cab" if command[3] == "cab" else f"hub{command[4]}"
            shutil.copy(next(place.glob(f"cache/verilog-{kind}-*.v")), command[-1])
        else:
            original(command, what, environment)

    monkeypatch.setattr(build, "_run", run)
    monkeypatch.setattr(build, "_HDL", place / "hdl")
    library()
    assert sorted(asked) == ["cab", "hub", "hub"]
    assert compiled(place) == ["link"]


def test_another_version_of_the_compiler_builds_everything_again(place, monkeypatch):
    first = library()
    once = compiled(place)
    monkeypatch.setenv("IMITATION", "2")
    assert library() != first
    assert compiled(place) == sorted(once * 2)


def test_without_compiler_nothing_can_be_built_but_what_was_built_can_be_used(place, monkeypatch):
    made = library()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(place))
    assert library() == made
    with pytest.raises(BuildError, match=r"no C\+\+ compiler was found; install g\+\+ or clang\+\+, or name one in .* CXX"):
        library({4})
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(BuildError, match="CXX names 'no-such-compiler -O2', which is not there"):
        library({4})


def test_a_compiler_that_fails_is_quoted_in_one_line(place, monkeypatch):
    monkeypatch.setenv("BROKEN", "engine.cpp")
    with pytest.raises(BuildError, match=r"compiling engine.cpp failed \(exit code 1\): core.cpp:7:1: error: no such thing") as caught:
        library()
    assert "\n" not in str(caught.value)
    assert not list(place.glob("cache/engine-*")) and not list(place.glob("cache/tmp-*"))
    monkeypatch.setenv("BROKEN", "none")
    assert library().exists()


def test_a_cache_that_cannot_be_written_is_told(place, monkeypatch):
    (place / "file").write_text("")
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(place / "file" / "cache"))
    with pytest.raises(BuildError, match="the cache directory .*file/cache cannot be written .*set NECTAR_CACHE_DIR to another directory") as caught:
        library()
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_told(place, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(BuildError, match=r"cannot be written \(No space left on device\); make room"):
        library()
    assert not list(place.glob("cache/tmp-*"))


@pytest.mark.parametrize("environment, expected", [
    ({"NECTAR_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
    ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/nectar"),
    ({"HOME": "/c"}, "/c/.cache/nectar"),
])
def test_the_cache_is_where_it_is_said_to_be(monkeypatch, environment, expected):
    for name in ("NECTAR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "mkdir", lambda *arguments, **options: None)
    assert str(Cache().path) == expected


BUILD = f"from nectar.sim import build; print(build.library({SIZES}))"


def start(**environment):
    return subprocess.Popen([sys.executable, "-c", BUILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def wait_for(found, seconds=60):
    """Waits until ``found()`` is true."""
    last = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < last
        time.sleep(0.02)


def test_two_processes_build_it_once(place):
    processes = [start(DELAY="0.05") for _ in range(2)]
    results = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert results[0][0] == results[1][0]
    names = compiled(place)
    assert len(names) == len(set(names))
    assert any("waiting for another process" in errors for _, errors in results)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_nothing_broken(place, how):
    process = start(DELAY="0.5")
    wait_for(lambda: compiled(place))
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode
    assert not list(place.glob("cache/engine-*"))
    made = library()
    assert made.read_text() == "made\n"
    assert not list(place.glob("cache/tmp-*"))
    for part in place.glob("cache/objects-*"):
        assert list(part.glob("*.o"))


def test_what_nobody_has_used_for_a_month_is_deleted(place):
    old = place / "cache" / "engine-of-old.so"
    old.write_text("")
    os.utime(old, (time.time() - 40 * 86400,) * 2)
    parts = place / "cache" / "objects-of-old"
    parts.mkdir()
    os.utime(parts, (time.time() - 40 * 86400,) * 2)
    library()
    assert not old.exists() and not parts.exists()


def test_progress_on_a_terminal_is_one_line_that_changes():
    class Terminal:
        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

        def flush(self):
            pass

        def isatty(self):
            return True

    terminal = Terminal()
    progress = Progress(terminal)
    progress.expect("compiling x", 2)
    with progress.step("compiling x"):
        progress.show()
    with progress.step("compiling x"):
        progress.show()
    progress.clear()
    assert "compiling x" in terminal.text and "\n" not in terminal.text and terminal.text.endswith("\r\033[K")
