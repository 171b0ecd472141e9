"""Runs the program ``nectar`` as a user does: another process, looked at from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nectar.cli import main
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of, kinds_of, library_of
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load
from nectar.verification.cli.silence import without_progress

NECTAR = Path(sys.executable).parent / "nectar"


class Command:
    """Runs ``nectar`` in ``folder``; ``environment`` is what its processes get."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "PYTHONWARNINGS": "error"}

    def start(self, *arguments, **more):
        """The running process, in a process group of its own; output and errors are pipes. For use in a ``with``."""
        return subprocess.Popen(
            [NECTAR, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
        )

    def __call__(self, *arguments, timeout=1800):
        """Runs to the end; returncode, stdout, stderr without what long work tells of itself."""
        with self.start(*arguments) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, without_progress(err))

    def refused(self, *arguments, status=2, **more):
        """Runs what must fail: the one line on the standard error, without its ``nectar: ``."""
        done = self(*arguments, **more)
        assert done.returncode == status, done
        line, end, rest = done.stderr.partition("\n")
        assert line.startswith("nectar: ") and end and not rest, f"not one line of error: {done.stderr!r}"
        return line.removeprefix("nectar: ")

    def program(self, text, name="program.py"):
        """Writes a program into the folder; its name."""
        (self.folder / name).write_text(text)
        return name


class Here(Command):
    """Does what the command does within this process, which takes a third of a second less: for messages, exit codes
    and files. With another ``environment`` it is a process all the same, as it is by ``start``."""

    def __init__(self, folder, monkeypatch, capsys):
        super().__init__(folder)
        monkeypatch.chdir(folder)
        self.capsys = capsys
        self._usual = dict(self.environment)

    def __call__(self, *arguments, **more):
        if self.environment != self._usual:
            return super().__call__(*arguments, **more)
        self.capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, out, without_progress(err))


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The command within this process, in an empty folder."""
    return Here(tmp_path, monkeypatch, capsys)


@pytest.fixture
def nectar(tmp_path):
    """The command, in an empty folder."""
    return Command(tmp_path)


@pytest.fixture(scope="session")
def simulator():
    """Sees to it that the simulators are built, of RTL boards with waveforms and of fast ones: commands find them."""
    topology = load("hub:2")
    library_of(topology, PROTOTYPE, kinds_of(topology, PROTOTYPE, boards="fast"))
    return build.library(boards_of(), waves=True)
