"""How a checkout is installed: which Python it wants, what it says meanwhile, and a wheel of it in an empty
environment."""

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INSTALL = ROOT / "nectar" / "install.py"
#: Nothing may be newer than this, since whoever has an older Python is to be told, not shown a syntax error.
OLDEST = (3, 4)


def start(code, *arguments, **environment):
    """Runs install.py after some Python ``code``, as a program of its own."""
    text = (
        f"import runpy, sys\n{code}\nsys.argv = ['install.py', *{list(arguments)!r}]\n"
        f"runpy.run_path({str(INSTALL)!r}, run_name='__main__')\n"
    )
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 4, 0), (2, 7, 18)])
def test_an_old_python_is_told_before_anything_is_installed(tmp_path, version):
    done = start(f"sys.version_info = {version}", str(tmp_path / "venv"))
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert done.stderr == (
        f"nectar: Python 3.11 or newer is needed, and {sys.executable} is Python {version[0]}.{version[1]}; "
        "install one, and name it: make PYTHON=python3.12 ...\n"
    )


def test_an_old_python_can_read_what_tells_it():
    """No f-string, no annotation, nothing else that a Python of 2014 would stumble over."""
    ast.parse(INSTALL.read_text(), feature_version=OLDEST)
    assert not any(isinstance(node, ast.JoinedStr) for node in ast.walk(ast.parse(INSTALL.read_text())))


def test_a_python_without_venv_is_told(tmp_path):
    """Debian has it in a package of its own."""
    done = start("sys.modules['ensurepip'] = None", str(tmp_path / "venv"))
    assert (
        done.returncode == 2
        and done.stderr.endswith("Debian and Ubuntu have it in the package python3-venv\n")
        and not list(tmp_path.iterdir())
    )


PIP = """#!/bin/sh
echo "Collecting one==1"
sleep 3
[ "$FAIL" ] || exit 0
echo "ERROR: no network"
exit 1
"""


@pytest.mark.parametrize("found", [True, False], ids=["found", "not found"])
def test_the_wheel_of_pip_that_comes_with_python_makes_the_environment_or_venv_does(tmp_path, found):
    """What is run is kept instead of being run; the wheel is a program."""
    code = """
import glob, subprocess, types
def keep(command, **options):
    print(command[1:])
    return types.SimpleNamespace(stdout=[], wait=lambda: 0)
subprocess.check_call = subprocess.Popen = keep
""" + ("" if found else "glob.glob = lambda pattern: []")
    done = start(code, str(tmp_path))
    assert done.returncode == 0, done.stderr
    venv, first, second = map(ast.literal_eval, done.stdout.splitlines())
    assert venv == ["-m", "venv", *["--without-pip"] * found, "--clear", str(tmp_path)]
    assert second[:3] == ["-m", "pip", "install"]
    if not found:
        assert first[:3] == ["-m", "pip", "install"]
        return
    said = subprocess.run([sys.executable, first[0], "--version"], capture_output=True, text=True, check=True)
    assert first[1] == "install" and said.stdout.startswith("pip ")


@pytest.mark.parametrize("fail", ["", "1"])
def test_what_pip_does_is_told_while_it_runs_and_its_failure_in_a_line(tmp_path, fail):
    """Also where no terminal is. Pip is imitated."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(PIP)
    (tmp_path / "bin" / "python").chmod(0o755)
    done = start("", str(tmp_path), "report", FAIL=fail)
    first, *more = done.stderr.splitlines()
    assert first == f"nectar: installing the Python packages for report into {tmp_path}"
    assert more[0] == f"nectar: installing the Python packages for report into {tmp_path}, 2 s: Collecting one==1"
    assert done.returncode == (2 if fail else 0)
    assert more[1:] == (["nectar: pip could not install the Python packages: ERROR: no network"] if fail else [])


def test_a_package_index_that_does_not_answer_is_told(tmp_path):
    done = start("", str(tmp_path / "environment"), PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "nectar: pip could not install the Python packages: the package index does not answer, or lacks a version of "
    )


def test_make_demo_waits_for_no_package_of_the_tests():
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "install.py .venv\n" in done.stdout and "install.py .venv test" not in done.stdout


PROGRAM = """TOPOLOGY = "hub:2"


async def send(cab):
    await cab.datagram.send((2, 1), b"from a wheel")


async def receive(cab):
    message = await cab.mailbox(1).receive()
    return await message.read()


async def main(system, arguments):
    system.spawn("CAB1", send)
    task = system.spawn("CAB2", receive)
    await system.run()
    print(task.result.decode())
"""


@pytest.mark.nightly
def test_a_wheel_of_the_checkout_works_in_an_empty_environment(tmp_path):
    """``nectar verilog`` and ``nectar run``. Its packages come from wherever pip finds them."""

    def run(*command):
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    tree = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    (tmp_path / "source").mkdir()
    subprocess.run(["tar", "-x", "-C", tmp_path / "source"], input=tree, check=True)
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        tmp_path,
        tmp_path / "source",
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("nectar_backplane-")
    assert {"nectar/sim/engine.cpp", "nectar/sim/board.h"} <= set(zipfile.ZipFile(wheel).namelist())
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    run(
        tmp_path / "empty" / "bin" / "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        ROOT / "constraints.txt",
        wheel,
    )
    nectar = tmp_path / "empty" / "bin" / "nectar"
    (tmp_path / "program.py").write_text(PROGRAM)
    assert "hub.v: hub, ports 4" in run(nectar, "verilog", "hub", "--ports", 4, "-o", "hub.v")
    assert run(nectar, "run", "program.py") == "from a wheel\n"
