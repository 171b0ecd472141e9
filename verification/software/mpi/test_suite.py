"""mpi4py's own tests (docs/mpi.md): behaviour of MPI that nobody here wrote."""

import pytest

from nectar.verification.software.mpi.suite import FILES, QUICK, run

#: Files that are run with ranks on nodes.
ON_NODES = ("p2p_obj_matched", "msgzero", "cco_obj", "p2p_obj", "p2p_buf_matched", "p2p_buf")
#: A file that is run every day on the iPSC/2.
MATCHED = "p2p_obj_matched"
EVERYDAY = set(QUICK) - {MATCHED}
CASES = [
    pytest.param(name, ranks, marks=[pytest.mark.nightly] * (ranks > 2 or name not in EVERYDAY), id=f"{name}-{ranks}")
    for name in FILES
    for ranks in (2, 3, 4, 5)
]


@pytest.mark.usefixtures("source_distribution")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_the_tests_of_mpi4py_pass(name, ranks):
    """Each file by itself, as under a real MPI."""
    outcome = run(name, ranks)
    assert outcome.count and not outcome.failed and outcome.status == 0, outcome.text


@pytest.mark.usefixtures("source_distribution")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.nightly) for name in ON_NODES])
def test_they_pass_with_ranks_on_nodes(name):
    outcome = run(name, 2, ("--boards", "fast", "--on-nodes"))
    assert outcome.count and not outcome.failed and outcome.status == 0, outcome.text


@pytest.mark.usefixtures("source_distribution")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        pytest.param(name, ranks, marks=[pytest.mark.nightly] * ((name, ranks) != (MATCHED, 2)))
        for name in FILES
        for ranks in ((2, 3, 5) if name in QUICK else (2,))
    ],
)
def test_they_pass_on_the_ipsc2(name, ranks):
    """On nodes and routers in RTL."""
    outcome = run(name, ranks, ("--machine", "ipsc2"))
    assert outcome.count and not outcome.failed and outcome.status == 0, outcome.text
