"""``nectar doctor``: on a machine that has all, and on machines that lack something."""

import json
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from nectar.cache import Cache
from nectar.cli import doctor, main


def rows(output):
    """{name: (state, the line, the advice below it)} of the table; its last line."""
    lines = output.splitlines()
    found = {}
    for line, following in zip(lines, lines[1:]):
        if not line.startswith(" "):
            state, name, *_ = line.split()
            found[name] = state, line, following.strip() if following.startswith(" ") else ""
    return found, lines[-1]


@pytest.fixture
def look(capsys, tmp_path, monkeypatch):
    """Has the doctor look at this machine with an empty cache: exit code, rows, last line."""
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path / "cache"))

    def look(*arguments):
        status = main(["doctor", *arguments])
        return status, *rows(capsys.readouterr().out)

    return look


def test_where_the_tests_run_nothing_is_wrong(look, tmp_path):
    status, found, last = look("--json", str(tmp_path / "d.json"))
    assert status == 0 and last == "everything that is needed is there"
    assert {state for state, _, _ in found.values()} <= {"ok", "without"}
    assert [found[name][0] for name in ("python", "packages", "compiler", "cache", "disk")] == ["ok"] * 5
    assert all(advice for state, _, advice in found.values() if state == "without")
    results = json.loads((tmp_path / "d.json").read_text())["results"]
    assert [result["id"] for result in results] == [f"doctor.{name}" for name in found]
    assert {result["ok"] for result in results} <= {True, None}


def test_without_compiler_and_make(look, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    status, found, last = look()
    assert status == 1 and last.startswith("1 of ") and last.endswith(" need something done: compiler")
    assert (
        "install g++ or clang++" in found["compiler"][2]
        and found["make"][0] == "without"
        and "need it" in found["make"][2]
    )
    assert found["gtkwave"][0] == "without" and "gtkwave or surfer" in found["gtkwave"][2]


def test_a_compiler_without_its_library(look, monkeypatch, tmp_path):
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "old 1.0" && exit\n'
        'echo "try.cpp:1:10: fatal error: vector: No such file" >&2\nexit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    status, found, _ = look()
    assert status == 1 and found["compiler"][0] == "WRONG" and "old 1.0" in found["compiler"][1]
    assert "cannot make a shared library (try.cpp:1:10: fatal error: vector: No such file)" in found["compiler"][2]


def test_a_cache_that_cannot_be_written(look, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NECTAR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    status, found, _ = look()
    assert status == 1 and "set NECTAR_CACHE_DIR to another directory" in found["cache"][2]


def test_a_damaged_cache(look, tmp_path):
    cache = Cache(tmp_path / "cache")
    for name in "engine-1.so", "engine-2.so":
        (tmp_path / "made").write_text("made")
        cache.keep(tmp_path / "made", name)
    (cache.path / "engine-2.so").write_text("")
    status, found, _ = look()
    assert status == 1 and found["cache"][2].startswith("damaged are engine-2.so; they are built again")


def test_a_file_of_the_cache_that_another_process_deletes_meanwhile(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")
    for name in "left", "gone":
        (cache.path / name).write_text(name)
    is_file = Path.is_file

    def looked_at(path):
        found = is_file(path)
        if path.name == "gone":
            path.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", looked_at)
    assert cache.survey() == (4, [])


def test_a_full_disk(look, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: namedtuple("usage", "free")(10**6))
    status, found, _ = look()
    assert status == 1 and "1.0 Mbyte free" in found["disk"][1] and "NECTAR_CACHE_DIR" in found["disk"][2]


@pytest.mark.parametrize(
    "name, words",
    [("a b", "with blanks,"), ("\u00e9", "with letters that are not ASCII,"), ("\u00e9 b", "with blanks and letters")],
)
def test_a_path_that_programs_stumble_over(look, monkeypatch, tmp_path, name, words):
    """Ours do not (verification/test_models.py builds in one)."""
    monkeypatch.setattr(doctor, "ROOT", tmp_path / name)
    status, found, _ = look()
    assert status == 0 and found["path"][0] == "ok" and words in found["path"][1]


def test_a_package_that_is_missing(look, monkeypatch):
    def version(name):
        if name in ("pylibfst", "pyosys", "matplotlib"):
            raise doctor.importlib.metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    status, found, _ = look()
    assert status == 1 and "install pylibfst: " in found["packages"][2] and "[fpga]" in found["fpga"][2]
    state, line, advice = found["report"]
    assert state == "without" and line.endswith("not there") and "the plots of 'nectar sweep'; it comes with" in advice
    assert found["trace"][0] == "ok" and "perfetto 1.0" in found["trace"][1] and found["cluster"][0] == "ok"
