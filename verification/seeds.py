"""The one seed of a test run, from which everything random in it is drawn.

It is the same in every run, so that a result can be had again exactly, unless the environment variable ``NECTAR_SEED``
gives another, as ``make nightly`` does.
"""

import os
import random

__all__ = ["DEFAULT", "draw", "rng", "seed"]

#: The seed of a run that asks for none.
DEFAULT = 1989


def seed():
    """The seed, an int. Raises ValueError if NECTAR_SEED is not one."""
    text = os.environ.get("NECTAR_SEED") or str(DEFAULT)
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"NECTAR_SEED={text}: not a seed; give a whole number from 0 on")
    return int(text)


def rng(*key):
    """A generator of random numbers of its own for ``key`` (strings and numbers): the same for the same key and
    seed."""
    return random.Random(f"{seed()} {key}")


def draw():
    """A seed that nobody has chosen."""
    return random.SystemRandom().randrange(1 << 24)
