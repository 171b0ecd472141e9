"""``examples/node_files.py``: what it prints, what it leaves in the folder, and a node that a program did not name."""

from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "node_files.py"


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_what_the_cab_has_logged_is_in_the_nodes_folder(nectar, simulator, boards):
    done = nectar("run", "--boards", boards, PROGRAM, "logs")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.rpartition(" at ")[0] for line in lines] == ["call 0", "call 1", "call 2"]
    assert (nectar.folder / "logs" / "log.txt").read_text() == done.stdout


def test_a_program_without_nodes_is_told_so(nectar):
    (nectar.folder / "p.py").write_text(
        "TOPOLOGY = 'hub:1'\nasync def main(system, arguments):\n    system.node('CAB1')\n"
    )
    done = nectar("run", "--boards", "fast", "p.py")
    assert (
        done.returncode == 2
        and "CAB1 has no node; name it in the program's NODES" in done.stderr
        and "Traceback" not in done.stderr
    )
