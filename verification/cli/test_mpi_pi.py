"""``examples/mpi_pi.py``: what it prints, with any number of ranks and of intervals."""

import math
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "mpi_pi.py"


@pytest.mark.parametrize("ranks, intervals", [(1, None), (3, 10), (5, 4)])
def test_rank_0_tells_what_all_have_computed(nectar, ranks, intervals):
    """The midpoint rule with 4 intervals is off by 0.5 %."""
    arguments = [] if intervals is None else [intervals]
    done = nectar("mpirun", "-n", ranks, "--boards", "fast", PROGRAM, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    said = re.fullmatch(r"(\d) ranks: pi is ([\d.]+), off by \S+; \d+ us\n", done.stdout)
    assert int(said[1]) == ranks and float(said[2]) == pytest.approx(math.pi, rel=1 / (intervals or 1000))
