"""Builds what judges the fast CAB: the program that steps it beside the RTL, and an engine that has it for a CAB."""

from pathlib import Path

from nectar.cache import digest
from nectar.sim import build
from nectar.sim.machines.nectar import boards_of
from nectar.sim.profile import PROTOTYPE

__all__ = ["engine", "lockstep"]

_HERE = Path(__file__).resolve().parent
_SIM = Path(build.__file__).resolve().parent
_FAST = _SIM / "fast"
_SOURCES = sorted(_FAST.glob("cab*.cpp"))
_PROGRAM = [
    _HERE / "cab_lockstep.cpp",
    _HERE / "cab_traffic.cpp",
    _SIM / "node_memory.cpp",
    _SIM / "vme.cpp",
    _SIM / "recorder.cpp",
]

#: The table of kinds of an engine whose CABs are fast.
_TABLE = """#include "board.h"
#include "fast/kinds.h"
namespace nectar {{
{others}
static Kind called(Kind kind, const char* name) {{
    kind.name = name;
    return kind;
}}
static const Kind CAB = called(FAST_CAB, "cab"), VMECAB = called(FAST_VMECAB, "vmecab");
const Kind* const KINDS[] = {{&CAB, &VMECAB, {table}nullptr}};
}}
"""


class _Build(build.Build):
    """A build with the sources of the fast CAB."""

    def __init__(self, hub_sizes, program=(), nodes=False):
        super().__init__(boards_of(hub_sizes, vme_period_ps=PROTOTYPE.cab_period_ps if nodes else None), None, None)
        self._program = list(program)
        files = [*sorted(_FAST.glob("*")), *sorted(_HERE.glob("*.h")), *self._program, Path(__file__)]
        self.ours = digest(self.ours, *build.texts(file for file in files if file.is_file()))

    def _around(self, directory, sources):
        """What is linked besides: the fast CAB is the engine's, or stands beside the RTL in the program."""
        core, kinds, *_ = super()._around(directory, sources)
        if self._program:
            return ("lockstep", self._program), kinds, ("fastcab", _SOURCES)
        hubs = list(self.boards)
        others = "".join(f"extern const Kind KIND_{name};\n" for name in hubs)
        table = "".join(f"&KIND_{name}, " for name in hubs)
        (directory / "kinds.cpp").write_text(_TABLE.format(others=others, table=table))
        return core, kinds, ("fastcab", _SOURCES)


def lockstep():
    """Path of the program ``cab_lockstep.cpp``; builds it if need be. Raises BuildError."""
    return _Build((), _PROGRAM, nodes=True).make("cablockstep", "", [], [])


def engine(hub_sizes):
    """Path of the engine's library whose CABs, with and without VME, are fast. Raises BuildError."""
    made = _Build(hub_sizes)
    del made.boards["cab"]
    return made.make("fastcab", ".so", [*build._CORE, *build._RTL], ["-shared"])
