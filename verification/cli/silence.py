"""What long work tells of itself, and when, is a matter of the machine's speed: tests of everything else leave it
out."""

import re

__all__ = ["without_progress"]

_PROGRESS = re.compile(r"^nectar: .* \d+ s\n", re.M)


def without_progress(errors):
    """The text of a program's standard error without the lines that tell how far it is."""
    return _PROGRESS.sub("", errors)
