"""Deliberate faults under pytest: which of them a proof must find every day, and which every night."""

import pytest

__all__ = ["cases"]


def cases(faults, everyday=2):
    """Parameters of a test for each fault in ``faults``, named by it; all but the first ``everyday`` are nightly."""
    return [pytest.param(fault, id=fault, marks=() if n < everyday else pytest.mark.nightly) for n, fault in enumerate(faults)]
