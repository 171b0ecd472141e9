"""Units of tests, what they took, and that the longest come first; the line that repeats a failure."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from nectar.verification.schedule import BUILD, ROOT, TOOK, Durations, unit

BENCH = """
import pytest

class Bench:
    def __init__(self, name):
        pass

bench = Bench(__name__)

@pytest.mark.parametrize("configuration, claim", [("a", "one"), ("b", "one"), ("b", "two")])
def test_it(configuration, claim):
    assert (configuration, claim) != ("b", "two")
"""


@pytest.mark.parametrize(
    "nodeid, name",
    [
        (
            "verification/hub/test_hub.py::test_hub[16 ports modern-random_traffic_at_full_speed]",
            "verification/hub/test_hub.py[16 ports modern]",
        ),
        ("verification/link/test_bits.py::test_bits[1 of 5-it_holds]", "verification/link/test_bits.py[1 of 5]"),
        ("verification/test_documents.py::test_links_lead_somewhere[hub.md]", "verification/test_documents.py[hub.md]"),
        ("verification/test_house.py::test_no_file_is_too_long", "verification/test_house.py"),
        ("verification/software/test_faults.py::test_it[engine-a_b]", "verification/software/test_faults.py"),
    ],
)
def test_a_unit_is_a_file_or_a_configuration_or_a_page(nodeid, name):
    assert unit(nodeid) == name


def _report(nodeid, when, **properties):
    return SimpleNamespace(nodeid=nodeid, when=when, user_properties=list(properties.items()))


def test_what_a_unit_took_is_kept_with_its_builds_apart(tmp_path):
    """In a run that builds nothing, what building took before stays known."""
    path = tmp_path / "durations.json"
    first = Durations(path)
    first.add(_report("test_x.py::test_a", "call", **{TOOK: 100}))
    first.add(_report("test_x.py::test_a", "teardown", **{TOOK: 5, BUILD: 3}))
    first.add(_report("test_x.py::test_b", "teardown", **{TOOK: 1, BUILD: 0}))
    first.write()
    second = Durations(path)
    assert (second.seconds("test_x.py"), second.seconds("test_x.py", build=False)) == (6, 3)
    second.add(_report("test_x.py::test_a", "teardown", **{TOOK: 4, BUILD: 0}))
    second.write()
    assert Durations(path).seconds("test_x.py") == 7
    assert Durations(path).seconds("unknown", tests=10) == 10 * Durations(path).seconds("unknown")


def test_durations_that_cannot_be_read_are_forgotten(tmp_path):
    (tmp_path / "durations.json").write_text("{")
    assert Durations(tmp_path / "durations.json").seconds("test_x.py", tests=1) < 1


def _pytest(folder, *words, root=None, **environment):
    """pytest called in ``folder`` with the regression's own conftest.py, its root there or in ``root``."""
    (folder / "conftest.py").write_text((ROOT / "verification" / "conftest.py").read_text())
    (Path(root or folder) / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=folder,
        text=True,
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_failure_is_repeated_by_the_line_that_it_prints(tmp_path, workers):
    """In a folder below the root, too."""
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "test_it.py").write_text(BENCH)
    done = _pytest(folder, "-n", workers, root=tmp_path, NECTAR_SEED="4711")
    assert "1 failed, 2 passed" in done.stdout
    (line,) = re.findall(r"^NECTAR_SEED=4711 .*$", done.stdout, re.M)
    again = subprocess.run(line, shell=True, cwd=folder, text=True, capture_output=True, check=False)
    assert "1 failed" in again.stdout and "passed" not in again.stdout.splitlines()[-1]


def test_only_the_units_that_are_named_are_run(tmp_path):
    (tmp_path / "test_it.py").write_text(BENCH)
    (tmp_path / "units").write_text("test_other.py\ntest_it.py")
    assert "1 failed, 2 passed" in _pytest(tmp_path, "-n", "0", "--units", "units").stdout
    (tmp_path / "units").write_text("test_other.py")
    assert "3 deselected" in _pytest(tmp_path, "-n", "0", "--units", "units").stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_report_has_the_properties_of_a_test(tmp_path, workers):
    """With the project's own settings, in one process, too."""
    (tmp_path / "conftest.py").write_text((ROOT / "verification" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text("def test_it(record_property):\n    record_property('depth', '16')\n")
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-n", workers, "--junitxml=report.xml", "test_it.py"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    report = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert {(found.get("name"), found.get("value")) for found in report.iter("property")} > {("depth", "16")}
