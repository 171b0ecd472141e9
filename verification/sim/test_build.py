"""Building the simulator: what is kept, what makes it be built again, and what is told when it cannot be built.

The compiler is a script that writes down what it is asked for; everything else is real. The Verilog comes from the
cache of the real simulator.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nectar.cache import BuildError, Cache
from nectar.sim import build, numbers
from nectar.sim.machines.nectar import boards_of

COMPILER = """#!/bin/sh
case "$*" in *--version*) echo "imitation $IMITATION"; exit 0;; esac
echo "$*" >> "$LOG"
sleep "${DELAY:-0}"
case "$*" in *"$BROKEN"*) echo "In file included"; echo "core.cpp:7:1: error: no such thing"; exit 1;; esac
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo made > "$2"; shift; done
"""


SIZES = (2, 3)
#: What is compiled of the engine itself.
CORE = ["core_unit0.cpp"]


@pytest.fixture(scope="module")
def verilog(tmp_path_factory):
    """A directory with the Verilog of CABs and small HUBs, as a cache holds it."""
    directory = tmp_path_factory.mktemp("verilog")
    real = build.library(boards_of()).parent
    parts = build.Build(boards_of((*SIZES, 4)), directory, None)
    for name in parts.verilog_name("cab"), f".{parts.verilog_name('cab')}.sha256":
        shutil.copy(real / name, directory)
    shutil.copytree(real / "yosys", directory / "yosys")
    for size in (*SIZES, 4):
        parts._verilog(directory, f"hub{size}")
    return directory


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    """A compiler that only writes down what it is asked for."""
    path = tmp_path_factory.mktemp("bin") / "compiler"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


def settle(monkeypatch, folder, compiler):
    """The environment of builds in ``folder``, which has the cache, and the log of the compiler."""
    for name, value in {
        "CXX": str(compiler),
        "LOG": str(folder / "log"),
        "BROKEN": "none",
        "IMITATION": "1",
        "NECTAR_CACHE_DIR": str(folder / "cache"),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def place(tmp_path, monkeypatch, verilog, compiler):
    """A cache with the Verilog of the boards in it, and nothing compiled."""
    shutil.copytree(verilog, tmp_path / "cache")
    settle(monkeypatch, tmp_path, compiler)
    return tmp_path


@pytest.fixture(scope="module")
def once_built(tmp_path_factory, verilog, compiler):
    """A folder in which two processes at once have built everything; what they told, and what they ended with."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(verilog, folder / "cache")
    with pytest.MonkeyPatch.context() as monkeypatch:
        settle(monkeypatch, folder, compiler)
        processes = [start(DELAY="0.05") for _ in range(2)]
        told = [process.communicate(timeout=120) for process in processes]
    return folder, told, [process.returncode for process in processes]


@pytest.fixture
def built(tmp_path, monkeypatch, once_built, compiler):
    """A copy of such a folder: ``library()`` has been called here."""
    shutil.copytree(once_built[0], tmp_path, dirs_exist_ok=True)
    settle(monkeypatch, tmp_path, compiler)
    return tmp_path


def lose(place, *parts):
    """Deletes the library and the objects of the parts."""
    for name in "engine-*.so", *(f"objects-{part}-*" for part in parts):
        (found,) = place.glob(f"cache/{name}")
        shutil.rmtree(found) if found.is_dir() else found.unlink()


def library(sizes=SIZES):
    """Builds a library with small HUBs."""
    return build.library(boards_of(sizes))


def compiled(place):
    """Names of the source files compiled so far, and ``link`` for each time something was linked."""
    log = place / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return sorted(next((Path(word).name for word in line.split() if word.endswith(".cpp")), "link") for line in lines)


def test_what_was_built_is_found_again(place, capfd):
    first = library()
    once = compiled(place)
    assert {*CORE, "runtime__Slow.cpp", "cab_unit0.cpp", "hub2_unit0.cpp", "link"} <= set(once)
    assert len(once) == len(set(once))
    told = capfd.readouterr().err
    assert told.startswith("nectar: building the simulator") and re.search(
        r"^nectar: \[\d/10\] compiling hub2: \d+ s$", told, re.M
    ), told
    assert re.search(r"^nectar: \[10/10\] linking: \d+ s\n\Z", told, re.M), (
        "the last of the steps that were counted at the beginning"
    )
    assert library() == first and first.read_text() == "made\n"
    assert compiled(place) == once
    assert not capfd.readouterr().err
    assert not list(place.glob("cache/tmp-*"))


def test_a_changed_core_is_all_that_is_compiled_again(built, monkeypatch):
    copy = built / "sim"
    shutil.copytree(build._HERE, copy)
    (copy / "engine.cpp").write_text((copy / "engine.cpp").read_text() + "// changed\n")
    (built / "log").unlink()
    monkeypatch.setattr(build, "_HERE", copy)
    library()
    assert compiled(built) == [*CORE, "kinds.cpp", "link"]


@pytest.mark.parametrize("name, included", [("processor.h", True), ("recorder.h", True), ("vme.h", False)])
def test_a_changed_header_compiles_fast_boards_again_that_include_it(place, monkeypatch, name, included):
    copy = place / "sim"
    shutil.copytree(build._HERE, copy)
    monkeypatch.setattr(build, "_HERE", copy)
    monkeypatch.setattr(build, "_FAST", copy / "fast")
    build.library({}, fast=["cab"])
    (place / "log").unlink()
    (copy / name).write_text((copy / name).read_text() + "// changed\n")
    build.library({}, fast=["cab"])
    assert ("fast_unit0.cpp" in compiled(place)) is included
    assert CORE[0] in compiled(place)


def test_a_changed_number_compiles_the_core_again_with_it(built, monkeypatch):
    before = library()
    (built / "log").unlink()
    monkeypatch.setattr(numbers, "RESET_EDGES", 5)
    seen = []
    original = build.run

    def run(command, what, environment=None):
        if what == f"compiling {CORE[0]}":
            folders = [Path(word.removeprefix("-I")) for word in command if word.startswith("-I")]
            seen.extend((folder / numbers.FILE).read_text() for folder in folders if (folder / numbers.FILE).exists())
        original(command, what, environment)

    monkeypatch.setattr(build, "run", run)
    assert library() != before
    assert compiled(built) == [*CORE, "kinds.cpp", "link"]
    assert seen == [numbers.header()] and "RESET_EDGES = 0x5;" in seen[0]


def test_waveforms_are_compiled_when_they_are_asked_for(built, capfd):
    """What records them is linked with what is there already, and does without them, too."""
    plain = library()
    (built / "log").unlink()
    capfd.readouterr()
    recorded = build.library(boards_of(SIZES), waves=True)
    assert recorded != plain
    assert "nectar: building the simulator (what waveforms need); it is kept in" in capfd.readouterr().err
    units = [f"{kind}_unit0__Trace.cpp" for kind in ("cab", "hub2", "hub3")]
    assert compiled(built) == sorted([*units, "waves_unit0.cpp", "kinds.cpp", "link"])
    assert library() == plain and build.library(boards_of(SIZES), waves=True) == recorded
    plain.unlink()
    assert library() == recorded
    assert not capfd.readouterr().err


def test_fast_boards_have_no_waveforms_to_compile(place):
    made = build.library({}, fast=["fastcab"])
    assert build.library({}, fast=["fastcab"], waves=True) == made


def test_another_shape_of_hub_is_all_that_is_compiled_more(built):
    (built / "log").unlink()
    library({*SIZES, 4})
    names = compiled(built)
    assert "hub4_unit0.cpp" in names and "kinds.cpp" in names
    assert not {"cab_unit0.cpp", "hub2_unit0.cpp", "runtime__Slow.cpp", *CORE} & set(names)


def test_what_is_built_is_told_before_it_begins(built, capfd):
    """The first program with another kind of board waits for that board alone, and knows it."""
    lose(built, "hub2", "kinds")
    library((3,))
    assert "nectar: building the simulator (what has changed); it is kept in" in capfd.readouterr().err
    for left in (built / "cache").glob("*verilog-hub2-*"):
        left.unlink()
    library()
    assert "nectar: building the simulator (the boards hub2); it is kept in" in capfd.readouterr().err


def _truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def _empty(path):
    os.truncate(path, 0)


def _change(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _hide(path):
    """What cannot be read, whoever tries."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [_truncate, _empty, _change, _hide])
def test_a_damaged_library_is_noticed_and_linked_again(built, capfd, harm):
    """Loaded, it would end the process with a bus error, or worse."""
    made = library()
    (built / "log").unlink()
    harm(made)
    capfd.readouterr()
    assert library() == made and made.read_text() == "made\n"
    assert compiled(built) == ["link"]
    assert "nectar: what was kept is damaged; building the simulator (what has changed)" in capfd.readouterr().err
    assert library() == made and not capfd.readouterr().err


@pytest.mark.parametrize(
    "part, files, harm",
    [
        ("hub2", "hub2_", _truncate),
        *(("core", "core_", harm) for harm in (_truncate, _empty, _change, _hide, Path.unlink)),
    ],
)
def test_a_damaged_object_is_compiled_again_with_those_of_its_part(built, part, files, harm):
    """The library is deleted as well: that alone would not cure what goes into the next one."""
    made = library()
    once = compiled(built)
    (built / "log").unlink()
    made.unlink()
    (folder,) = built.glob(f"cache/objects-{part}-*")
    harm(sorted(folder.glob("*.o"))[0])
    assert library().read_text() == "made\n"
    again = compiled(built)
    assert again == [name for name in once if name.startswith(files) or name == "link"]


def test_damaged_verilog_is_made_again(built):
    made = library()
    (verilog,) = built.glob("cache/verilog-hub2-*")
    text = verilog.read_text()
    made.unlink()
    _truncate(verilog)
    assert library() == made and verilog.read_text() == text


def test_boards_with_the_same_verilog_are_not_compiled_again(built, monkeypatch):
    """A comment in the HDL changes nothing: the Verilog decides."""
    shutil.copytree(build._HDL, built / "hdl")
    with open(built / "hdl" / "hub" / "hub.py", "a") as file:
        file.write("# a comment\n")
    (built / "log").unlink()
    asked = []
    original = build.run

    def run(command, what, environment=None):
        if "nectar.sim.export" in command:
            asked.append(command[3])
            kind = "cab" if command[3] == "cab" else f"hub{command[4]}"
            shutil.copy(next(built.glob(f"cache/verilog-{kind}-*.v")), command[-1])
        else:
            original(command, what, environment)

    monkeypatch.setattr(build, "run", run)
    monkeypatch.setattr(build, "_HDL", built / "hdl")
    library()
    assert sorted(asked) == ["cab", "hub", "hub"]
    assert compiled(built) == ["link"]


def test_another_version_of_the_compiler_builds_everything_again(built, monkeypatch):
    first = library((2,))
    (built / "log").unlink()
    monkeypatch.setenv("IMITATION", "2")
    assert library((2,)) != first
    assert {*CORE, "runtime__Slow.cpp", "cab_unit0.cpp", "hub2_unit0.cpp", "kinds.cpp", "link"} <= set(compiled(built))


def test_without_compiler_nothing_can_be_built_but_what_was_built_can_be_used(built, monkeypatch):
    made = library()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(built))
    assert library() == made
    with pytest.raises(
        BuildError, match=r"no C\+\+ compiler was found; install g\+\+ or clang\+\+, or name one in .* CXX"
    ):
        library({4})
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(BuildError, match="CXX names 'no-such-compiler -O2', which is not there"):
        library({4})


def test_a_compiler_that_fails_is_quoted_in_one_line(built, monkeypatch):
    lose(built, "core")
    monkeypatch.setenv("BROKEN", CORE[0])
    with pytest.raises(
        BuildError, match=r"compiling core_unit0.cpp failed \(exit code 1\): core.cpp:7:1: error: no such thing"
    ) as caught:
        library()
    assert "\n" not in str(caught.value)
    assert not list(built.glob("cache/engine-*")) and not list(built.glob("cache/tmp-*"))
    monkeypatch.setenv("BROKEN", "none")
    assert library().exists()


def test_a_cache_that_cannot_be_written_is_told(place, monkeypatch):
    (place / "file").write_text("")
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(place / "file" / "cache"))
    with pytest.raises(
        BuildError,
        match="the cache directory .*file/cache cannot be written .*set NECTAR_CACHE_DIR to another directory",
    ) as caught:
        library()
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_told(built, monkeypatch):
    lose(built)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(BuildError, match=r"cannot be written \(No space left on device\); make room"):
        library()
    assert not list(built.glob("cache/tmp-*"))


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({"NECTAR_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/nectar"),
        ({"HOME": "/c"}, "/c/.cache/nectar"),
    ],
)
def test_the_cache_is_where_it_is_said_to_be(monkeypatch, environment, expected):
    for name in ("NECTAR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "mkdir", lambda *arguments, **options: None)
    assert str(Cache().path) == expected


BUILD = f"""from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
print(build.library(boards_of({SIZES})))"""


def start(**environment):
    return subprocess.Popen(
        [sys.executable, "-c", BUILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def wait_for(found, seconds=60):
    """Waits until ``found()`` is true."""
    last = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < last
        time.sleep(0.02)


def test_two_processes_build_it_once(once_built):
    folder, told, ends = once_built
    assert ends == [0, 0]
    assert told[0][0] == told[1][0]
    names = compiled(folder)
    assert len(names) == len(set(names))
    assert any("waiting for another process" in errors for _, errors in told)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_nothing_broken(built, how):
    lose(built, "core", "hub2")
    (built / "log").unlink()
    process = start(DELAY="0.5")
    wait_for(lambda: compiled(built))
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode
    assert not list(built.glob("cache/engine-*"))
    made = library()
    assert made.read_text() == "made\n"
    assert not list(built.glob("cache/tmp-*"))
    for part in built.glob("cache/objects-*"):
        assert list(part.glob("*.o"))


def test_what_nobody_has_used_for_a_month_is_deleted(built):
    lose(built)
    old = built / "cache" / "engine-of-old.so"
    old.write_text("")
    os.utime(old, (time.time() - 40 * 86400,) * 2)
    parts = built / "cache" / "objects-of-old"
    parts.mkdir()
    os.utime(parts, (time.time() - 40 * 86400,) * 2)
    library()
    assert not old.exists() and not parts.exists()
