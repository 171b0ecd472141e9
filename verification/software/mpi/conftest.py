"""Fixtures of the tests of MPI."""

import subprocess

import pytest

from nectar.verification.software.mpi.suite import sources


@pytest.fixture(scope="session")
def source_distribution():
    """mpi4py's source distribution is there; without a network it cannot be downloaded."""
    try:
        sources()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"mpi4py's source distribution could not be downloaded (pip's exit code: {error.returncode})")
