"""``examples/stream.py``: what it prints, and what it does when something is wrong."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "stream.py"


@pytest.fixture
def nectar(here):
    """Within this process."""
    return here


@pytest.fixture
def rate(nectar, simulator):
    """Runs the example on fast boards; the rate that it reports and prints."""

    def run(*options):
        done = nectar("run", PROGRAM, "--boards", "fast", "--json", "out.json", *options)
        assert (done.returncode, done.stderr) == (0, "")
        results = {
            result["id"]: result["value"] for result in json.loads((nectar.folder / "out.json").read_text())["results"]
        }
        assert re.search(r"([\d.]+) Mbit/s$", done.stdout, re.M)[1] == f"{results['stream.rate']:.1f}"
        return results["stream.rate"], done.stdout

    return run


def test_a_quick_reader_has_the_fiber_and_a_slow_one_its_own_pace(rate):
    quick, text = rate("--kbytes", "150")
    assert quick > 90 and text.startswith("150000 bytes from CAB3 to CAB1 in ")
    slow, _ = rate("--kbytes", "150", "--pause", "500")
    assert slow < 8 * 1004 / 500 * 1.35, "but for what the window lets it send ahead"


def test_any_two_cabs_will_do(rate):
    _, text = rate("--kbytes", "5", "--from", "CAB1", "--to", "CAB5")
    assert text.startswith("5000 bytes from CAB1 to CAB5 in ")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--kbytes", "0"], "--kbytes must be 1 at least"),
        (["--pause", "-1"], "--pause 0 at least"),
        (["--to", "CAB3"], "must be two CABs"),
        (["--to", "CAB99"], "there is no CAB 'CAB99'"),
    ],
)
def test_wrong_options_are_refused(nectar, simulator, options, words):
    done = nectar("run", PROGRAM, "--boards", "fast", *options)
    assert done.returncode != 0 and words in done.stderr
