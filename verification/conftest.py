"""Tells the seed of the run at its head; Ctrl-C works in all processes that tests start."""

import signal

import pytest

from nectar.verification import seeds

# A regression that was started in the background ignores Ctrl-C, and so would every process that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """A seed that is none ends the run before it begins."""
    try:
        seeds.seed()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header():
    """The line that repeats the run."""
    return f"everything random follows NECTAR_SEED={seeds.seed()}"
