"""``examples/nx_matrix.py``: what it prints and reports, and what it does when something is wrong."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "nx_matrix.py"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.mark.parametrize("nodes, times", [(1, 1.0), (3, 2.6), (4, 3.2)])
def test_the_more_nodes_the_faster(nectar, nodes, times):
    """The program itself compares the product with one that it computes without the nodes."""
    done = nectar("run", PROGRAM, "--boards", "fast", "--nodes", str(nodes), "--json", "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    said = re.fullmatch(r"(\d) nodes: ([\d.]+) ms, ([\d.]+) times as fast as one node computes\n", done.stdout)
    assert int(said[1]) == nodes and times <= float(said[3]) <= nodes
    results = json.loads((nectar.folder / "out.json").read_text())["results"]
    (took,) = [result["value"] for result in results if result["id"] == "nx_matrix.time"]
    assert f"{took / 1000:.2f}" == said[2]


def test_matrices_that_do_not_divide_evenly(nectar):
    """More nodes than rows, too."""
    for order in ("1", "3", "10"):
        assert nectar("run", PROGRAM, "--boards", "fast", "--order", order).returncode == 0


@pytest.mark.parametrize(
    "options, said",
    [
        (["--order", "0"], "--order must be 1 at least"),
        (["--nodes", "5"], "the system has 4 CABs: it cannot give 5 nodes"),
    ],
)
def test_wrong_options_are_one_line(nectar, options, said):
    done = nectar("run", PROGRAM, "--boards", "fast", *options)
    assert done.returncode != 0 and re.fullmatch(rf"nectar: {said}.*\n", done.stderr)
