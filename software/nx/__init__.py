"""NX/2, the library of the Intel iPSC/2, on Nectarine: programs for hypercubes run on Nectar (docs/nx.md)."""

from . import calls
from .application import ALL, NX
from .calls import *  # noqa: F403 - the calls, as a C program has them
from .process import Process

__all__ = ["ALL", "NX", "Process", *calls.__all__]
