"""The command that runs one test again, alone and with the same seed."""

import os
import shlex
import sys
from pathlib import Path

from . import seeds
from .imports import ROOT

__all__ = ["WAVES", "command"]

#: Environment variable that has simulations record waveforms, which takes a model of its own.
WAVES = "WAVES"


def command(nodeid, root=ROOT, **environment):
    """The command for the test that pytest calls ``nodeid``, whose root is the Path ``root``, to be typed where this
    process runs; ``environment`` are variables to be set besides the seed."""
    python = os.path.relpath(sys.executable) if sys.prefix != sys.base_prefix else sys.executable
    # A test's name begins at pytest's root, wherever pytest was called.
    file, colons, name = nodeid.partition("::")
    test = os.path.relpath(Path(root) / file) + colons + name
    variables = {**environment, "NECTAR_SEED": seeds.seed()}
    set_first = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in variables.items())
    return f"{set_first} {shlex.quote(python)} -m pytest -n 0 {shlex.quote(test)}"
