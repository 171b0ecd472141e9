"""Property-based tests with the seed of the test run."""

import hypothesis

from . import seeds

__all__ = ["properties"]


def properties(test=None, **settings):
    """A property-based test that draws the same cases in every run with the same seed; ``settings`` as for
    hypothesis."""
    if test is None:
        return lambda test: properties(test, **settings)
    return hypothesis.seed(seeds.seed())(hypothesis.settings(database=None, deadline=None, **settings)(test))
