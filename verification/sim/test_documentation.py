"""The examples of docs/engine.md work as they stand."""

import re
from pathlib import Path

import pytest

from nectar.sim.topology import load

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "engine.md").read_text()


@pytest.mark.parametrize("language, suffix, boards", [("toml", ".toml", 4), ("python", ".py", 3)])
def test_the_topologies_of_the_documentation_can_be_loaded(tmp_path, language, suffix, boards):
    examples = re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)
    assert len(examples) == 1
    path = tmp_path / f"example{suffix}"
    path.write_text(examples[0])
    topology = load(str(path))
    assert len(topology.hubs) + len(topology.cabs) == boards


def test_the_table_names_every_built_in_topology():
    from nectar.sim.topology import BUILT_IN

    table = re.findall(r"^\| (`.*?`) \|.*CABs", TEXT, re.M)
    named = [re.findall(r"`([a-z0-9]+)", row)[0] for row in table]
    assert named == list(BUILT_IN)
