"""The program ``nectar`` around its subcommands: help, version, wrong use, output that cannot be written."""

import json
import os
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

import nectar as package
from nectar.cli import SUBCOMMANDS, commands, main, results


def test_version_is_that_of_the_package(nectar):
    done = nectar("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nectar {package.__version__}\n", "")


def test_help_lists_exactly_the_subcommands_that_exist(nectar):
    done = nectar("--help")
    listed = re.findall(r"^  (\w+) ", done.stdout.split("subcommands:")[1], re.M)
    assert done.returncode == 0 and listed == list(SUBCOMMANDS)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_help(nectar, name):
    done = nectar(name, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: nectar {name}") and not done.stderr


def test_a_missing_subcommand_is_told(nectar):
    assert f"a subcommand is missing: {', '.join(SUBCOMMANDS)}" in nectar.refused()


def test_an_unknown_subcommand_is_told_with_those_there_are(nectar):
    assert nectar.refused("fly") == f"there is no subcommand 'fly'; there are {', '.join(SUBCOMMANDS)}"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--fast", "map"), "unrecognized arguments: --fast; 'nectar --help'"),
        (("map", "--jso", "f"), "unrecognized arguments: --jso f; 'nectar map --help'"),
        (("map", "hub"), "unrecognized arguments: hub"),
        (("commands", "--json"), "argument --json: expected one argument"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(nectar, arguments, words):
    assert words in nectar.refused(*arguments)


def test_a_command_that_is_interrupted_tells_of_no_coroutine(monkeypatch, capsys):
    """One that it had made, and not begun to await."""

    async def call():
        pass

    def execute(options):
        made = call()
        raise KeyboardInterrupt(f"with {made.__name__}")

    monkeypatch.setattr(commands, "execute", execute)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert main(["commands"]) == 130
    assert capsys.readouterr().err == "nectar: with call\n" and not told


def test_help_starts_quickly_since_it_loads_nothing_that_it_does_not_need():
    code = (
        "import sys, nectar.cli; nectar.cli.main(['run', '--help']); heavy = {'amaranth', 'cocotb', "
        "'nectar.sim.engine', "
        "'nectar.software.system', 'nectar.verification.benchmarks'} & sys.modules.keys(); sys.exit(', '.join(heavy) "
        "or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_device_is_told(nectar):
    with open("/dev/full", "w") as full, nectar.start("commands", stdout=full) as process:
        _, err = process.communicate()
    assert (process.returncode, err) == (2, "nectar: writing failed: No space left on device\n")


@pytest.mark.parametrize("subcommand", ["map", "commands"])
def test_a_reader_that_goes_away_ends_a_command_quietly(nectar, subcommand):
    """docs/tutorial/first-program.md, "When something goes wrong"."""
    with nectar.start(subcommand) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 141)


@pytest.mark.parametrize(
    "path, reason",
    [
        ("", "it is a directory"),
        ("nowhere/x.json", "there is no directory"),
        ("../../../../../proc/x.json", "cannot be written"),
    ],
)
@pytest.mark.parametrize("name", ["commands", "map"])
def test_a_json_file_that_cannot_be_written_is_told(nectar, name, path, reason):
    assert reason in nectar.refused(name, "--json", nectar.folder / path)


@pytest.mark.parametrize("exists", [True, False])
def test_missing_write_permission_is_told_before_anything_runs(tmp_path, monkeypatch, exists):
    target = tmp_path / "out"
    if exists:
        target.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(results.UsageError, match="--json .*out cannot be written: permission denied"):
        results.check_target("--json", target)


def test_a_read_only_file_system_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    with pytest.raises(results.UsageError, match="--json .*out cannot be written: the file system is read-only"):
        results.check_target("--json", tmp_path / "out")


def test_a_json_file_is_written_whole_or_not_at_all(nectar):
    (nectar.folder / "map.json").write_text("old")
    done = nectar("map", "--json", "map.json")
    assert done.returncode == 0
    content = json.loads((nectar.folder / "map.json").read_text())
    assert content.keys() == {"version", "results"} and content["version"] == package.__version__
    assert os.listdir(nectar.folder) == ["map.json"]


def test_json_may_go_to_a_pipe(nectar):
    done = nectar("map", "--json", "/dev/stderr")
    assert json.loads(done.stderr)["results"]


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    (tmp_path / "old.json").write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(results.UsageError, match="old.json cannot be written: No space left"):
        results.save_json(tmp_path / "old.json", [])
    assert os.listdir(tmp_path) == ["old.json"] and (tmp_path / "old.json").read_text() == "old"
