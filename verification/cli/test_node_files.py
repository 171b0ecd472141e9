"""``examples/node_files.py``: what it prints, what it leaves in the folder, and a node that a program did not name."""

from pathlib import Path

import pytest

from nectar.sim.machines.nectar import kinds_of, library_of
from nectar.sim.profile import PROTOTYPE
from nectar.sim.topology import load

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "node_files.py"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture(scope="module")
def simulator_with_nodes():
    """Sees to it that the simulators with VME are built, so that the command has nothing to say of it."""
    topology = load("hub:2")
    for boards in "rtl", "fast":
        library_of(topology, PROTOTYPE, kinds_of(topology, PROTOTYPE, list(topology.cabs), boards))


@pytest.mark.parametrize("boards", ["rtl", "fast"])
def test_what_the_cab_has_logged_is_in_the_nodes_folder(nectar, simulator_with_nodes, boards):
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
