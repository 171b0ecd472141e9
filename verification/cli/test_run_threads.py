"""``nectar run --threads``: what cannot be is told in one line before anything starts."""

import pytest

from nectar.cli import main

PROGRAM = 'TOPOLOGY = "hub:2"\n\n\nasync def main(system, arguments):\n    print(system.machine.engine.threads)\n'


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs the program; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nectar.sim.host.cores", lambda: 3)
    (tmp_path / "program.py").write_text(PROGRAM)
    return lambda *options: (main(["run", *options, "program.py"]), *capsys.readouterr())


@pytest.mark.parametrize("text", ["4", "0", "-1", "1.5", "two", "", "²"])
def test_another_number_of_threads_than_there_can_be_is_refused(run, text):
    line = f"nectar: --threads {text}: give a whole number from 1 to 3, the number of processor cores\n"
    assert run(f"--threads={text}") == (2, "", line)


def test_the_model_has_no_threads(run):
    line = "nectar: --threads cannot be used with --backend model: it has one thread\n"
    assert run("--threads", "2", "--backend", "model") == (2, "", line)


def test_the_engine_uses_as_many_threads_as_it_is_told(run, monkeypatch):
    monkeypatch.setattr("nectar.sim.engine.cores", lambda: 3)
    ended, out, _ = run("--threads", "3")
    assert (ended, out) == (0, "3\n")
