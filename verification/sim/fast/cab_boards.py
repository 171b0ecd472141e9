"""Builds what judges the fast CAB: the program that steps it beside the RTL."""

from pathlib import Path

from nectar.cache import digest
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.profile import PROTOTYPE

__all__ = ["lockstep"]

_HERE = Path(__file__).resolve().parent
_SIM = Path(build.__file__).resolve().parent
_PROGRAM = [
    _HERE / "cab_lockstep.cpp",
    _HERE / "cab_traffic.cpp",
    _SIM / "node_memory.cpp",
    _SIM / "vme.cpp",
    _SIM / "processor.cpp",
    _SIM / "recorder.cpp",
]


class _Build(build.Build):
    """A build of the program, of the RTL CABs and of the fast boards."""

    def __init__(self):
        super().__init__(boards_of((), vme_period_ps=PROTOTYPE.cab_period_ps), None, None, ["fastcab"])
        self.ours = digest(self.ours, *build.texts([*sorted(_HERE.glob("*.h")), *_PROGRAM, Path(__file__)]))

    def _around(self, directory, sources):
        """What is linked besides: the fast CAB stands beside the RTL."""
        _, *kinds = super()._around(directory, sources)
        return ("lockstep", _PROGRAM), *kinds


def lockstep():
    """Path of the program ``cab_lockstep.cpp``; builds it if need be. Raises BuildError."""
    return _Build().make("cablockstep", "", [], [])
