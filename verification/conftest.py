"""Tells the seed of the run at its head."""

import pytest

from nectar.verification import seeds


def pytest_configure(config):
    """A seed that is none ends the run before it begins."""
    try:
        seeds.seed()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header():
    """The line that repeats the run."""
    return f"everything random follows NECTAR_SEED={seeds.seed()}"
