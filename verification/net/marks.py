"""Marks of tests."""

import pytest

from nectar.verification.net.places import why_not

__all__ = ["privileged"]

#: Tests that make network namespaces.
privileged = pytest.mark.skipif(why_not() is not None, reason=f"no network namespaces here: {why_not()}")
