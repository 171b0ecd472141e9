"""mpi4py's demos do what docs/mpi.md tells."""

import pytest

from nectar.verification.software.mpi.demos import PAGE, rows, written


@pytest.mark.usefixtures("source_distribution")
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_the_page_tells_which_demos_run():
    text = PAGE.read_text()
    assert written(text, rows()) == text, "run python -m nectar.verification.software.mpi.demos"
