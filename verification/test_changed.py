"""What a change touches: by imports, by what a bench elaborates, and the whole when in doubt."""

import os
import signal
import subprocess
import sys
import time

import pytest

from nectar.verification import changed as module
from nectar.verification.changed import changed, choose, touched
from nectar.verification.imports import ROOT, closure, dependencies


def test_a_component_touches_its_bench_first_and_whatever_is_built_of_it():
    found, reason = touched(["hdl/hub/control/arbiter.py"])
    assert reason is None
    bench, controller, hub = (
        found[f"verification/hub/{name}.py"] for name in ("control/test_arbiter", "control/test_controller", "test_hub")
    )
    assert bench == 1 and bench < controller < hub
    assert "verification/formal/test_proofs.py[arbiter]" in found and "verification/system/test_send_file.py" in found
    assert "verification/cab/test_slots.py" not in found and "verification/link/test_symbol.py" not in found, (
        "though the harness could build an engine"
    )


@pytest.mark.parametrize(
    "name, tests",
    [
        ("software/kernel/allocator.py", ["software/test_allocator.py"]),
        ("sim/engine.cpp", ["sim/test_build.py"]),
        ("examples/send_file.py", ["cli/test_send_file.py"]),
        ("examples/fft/transform.py", ["programs/test_fft.py"]),
        ("nectar/cli/units.py", ["cli/test_units.py", "cli/test_run.py"]),
    ],
)
def test_files_of_all_kinds_touch_the_tests_of_what_uses_them(name, tests):
    found, reason = touched([name])
    assert reason is None and {f"verification/{test}" for test in tests} <= found.keys()


def test_a_page_touches_itself():
    assert touched(["docs/hub.md", "CHANGELOG.md"]) == ({"verification/test_documents.py[hub.md]": 0}, None)


@pytest.mark.parametrize(
    "name, said",
    [
        ("constraints.txt", "every test stands on constraints.txt"),
        ("verification/bench.py", "every test stands on"),
        ("somewhere/else.txt", "nothing is known about somewhere/else.txt"),
        ("hdl/hub/once.py", "hdl/hub/once.py is gone"),
    ],
)
def test_in_doubt_it_is_everything(name, said):
    found, reason = touched(["hdl/hub/control/arbiter.py", name])
    assert not found and said in reason


def test_modules_that_are_named_in_strings_count():
    """As where a program is started by its name."""
    assert ROOT / "verification" / "software" / "soak.py" not in dependencies(
        ROOT / "verification" / "cab" / "test_slots.py"
    )
    assert ROOT / "sim" / "build.py" in closure(ROOT / "verification" / "sim" / "test_build.py")
    assert ROOT / "verification" / "models.py" in dependencies(ROOT / "verification" / "test_models.py")


def test_proofs_are_touched_by_what_their_module_stands_on():
    proofs = "verification/formal/test_proofs.py"
    found, _ = touched(["hdl/cab/slots.py"])
    assert f"{proofs}[slots]" in found and proofs not in found and f"{proofs}[arbiter]" not in found
    found, _ = touched(["hdl/hub/reply_bus.py"])
    assert f"{proofs}[reply_bus]" in found and f"{proofs}[reply_sender]" not in found
    assert proofs in touched(["verification/formal/prove.py"])[0]
    units = {f"{proofs}[slots-slots]": 1, f"{proofs}[slots-a slot that is not wanted is lost]": 1, f"{proofs}[a-b]": 1}
    assert choose({f"{proofs}[slots]": 1}, units, lambda name, tests: 1, 9) == (sorted(units)[1:], [])


def test_the_nearest_are_chosen_and_the_rest_is_told():
    units = {"a.py[1]": 5, "a.py[2]": 5, "b.py": 1, "c.py": 1, "verification/test_house.py": 16, "other.py": 3}
    seconds = {"a.py[1]": 60, "a.py[2]": 30, "b.py": 5, "c.py": 10, "verification/test_house.py": 3, "other.py": 1}
    found = {"a.py": 1, "b.py": 3, "c.py": 2}
    assert choose(found, units, lambda name, tests: seconds[name], 50) == (
        ["a.py[2]", "verification/test_house.py"],
        ["a.py[1]", "c.py", "b.py"],
    )
    run, left = choose(found, units, lambda name, tests: seconds[name], 1000)
    assert run == ["a.py[2]", "a.py[1]", "c.py", "b.py", "verification/test_house.py"] and not left
    assert choose(found, units, lambda name, tests: seconds[name], 1)[0][0] == "a.py[2]", (
        "the nearest is run whatever it takes"
    )


def test_a_commit_that_there_is_not_is_told_in_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "nectar.verification.changed", "--base", "no-such-commit"],
        text=True,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode and done.stderr.startswith("check: git diff failed: ") and len(done.stderr.splitlines()) == 1


def test_what_a_user_has_written_here_is_left_out_with_a_word(monkeypatch, tmp_path):
    """A program and its waveforms in the root of the checkout; but a new page and a new module count."""

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *words], cwd=tmp_path, check=True)

    monkeypatch.setattr(module, "ROOT", tmp_path)
    git("init", "-q")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hub.md").write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    for name in ("hello.py", "hello.fst", "mine/notes.md", "docs/cab.md", "CONTRIBUTING.md", "hdl/new.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert changed("HEAD") == (
        ["CONTRIBUTING.md", "docs/cab.md", "hdl/new.py"],
        ["hello.fst", "hello.py", "mine/notes.md"],
    )


def test_an_interrupt_is_one_line_and_waits_for_the_tests(tmp_path):
    """Ctrl-C reaches all processes of the terminal."""
    program = (
        "import sys\nfrom nectar.verification import changed\n"
        "changed.changed = lambda base: (['pyproject.toml'], [])\n"
        f"changed.sys.executable = {str(tmp_path / 'python')!r}\n"
        "sys.argv = ['changed']\nchanged.program()\n"
    )
    (tmp_path / "python").write_text(
        f"#!/bin/sh\ntrap 'sleep 1; touch {tmp_path}/ended; exit 2' INT\nwhile :; do sleep 0.1; done\n"
    )
    (tmp_path / "python").chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert "the whole regression" in process.stdout.readline()
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "check: interrupted\n") and (tmp_path / "ended").exists()
