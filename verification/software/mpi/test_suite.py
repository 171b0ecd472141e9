"""mpi4py's own tests (docs/mpi.md): behaviour of MPI that nobody here wrote."""

import pytest

from nectar.verification.software.mpi.suite import FILES, QUICK, run

CASES = [
    pytest.param(name, ranks, marks=[pytest.mark.nightly] * (ranks > 2 or name not in QUICK), id=f"{name}-{ranks}")
    for name in FILES
    for ranks in (2, 3, 4, 5)
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_the_tests_of_mpi4py_pass(name, ranks):
    """Each file by itself, as under a real MPI."""
    outcome = run(name, ranks)
    assert outcome.count and not outcome.failed and outcome.status == 0, outcome.text
