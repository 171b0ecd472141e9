"""Simulated boards: their gates with a pseudo-terminal for each serial line, built and run as a process of their own.

``docs/cable.md`` tells how they are used.
"""

import contextlib
import os
import select
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..cache import BuildError, digest
from ..sim import adapter, build

__all__ = ["DeskShape", "Shape", "SimulatedBoard", "program"]

#: Seconds that the process may take to name its pseudo-terminals.
_PATIENCE = 20
_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class _Boards:
    """What all simulated boards have; the profile by its name."""

    cabs: int = 2
    profile: str = "prototype"
    hub_id: int = 1
    data_bytes: int = 32768
    bit_cycles: int = 4


@dataclass(frozen=True)
class Shape(_Boards):
    """What is in the cluster; as in ``nectar.hdl.host.cluster.Cluster``."""

    ports: int | None = None
    period_ps: int = 62_500

    kind = "cluster"
    lines = 1


@dataclass(frozen=True)
class DeskShape(_Boards):
    """What is on the desk; as in ``nectar.boards.bench_setup.BenchSetup``."""

    clock_hz: int = 16_000_000

    kind = "desk"

    @property
    def lines(self):
        """Serial lines: each CAB has one."""
        return self.cabs


class _Build(build.Build):
    """Builds simulated boards."""

    _beside = (_HERE / "simulated.cpp", _HERE / "simulated.py")
    _export = f"{__package__}.export"
    # Nothing of it is recorded.
    _verilator_flags = [flag for flag in build.VERILATOR_FLAGS if "trace" not in flag]
    _runtime = build.RUNTIME

    def __init__(self, shape, cache, progress):
        parameters = (f"{name}={value}" for name, value in vars(shape).items() if value is not None)
        super().__init__({shape.kind: (shape.kind, *parameters)}, cache, progress)
        if shape.kind == "desk":
            self.hdl = digest(self.hdl, *build.texts(sorted(_HERE.glob("*.py"))))

    def _around(self, directory, sources):
        return ()

    def _compile(self, source, target, includes, part):
        # Half of the time that it takes elsewhere; the serial line is slower than the gates anyway.
        quick = part in self.boards and not build.runs_once(source)
        super()._compile(source, target, [*includes, "-O1"] if quick else includes, part)

    def _verilate(self, directory, kind, verilog):
        made = directory / f"cpp-{kind}"
        made.mkdir()
        self._verilator("board", adapter.nameless(verilog.read_text()), made)
        shutil.copy(_HERE / "simulated.cpp", made)
        return made


def program(shape=Shape(), *, cache=None, progress=None):
    """Path of the program that is the boards of a Shape or a DeskShape; builds it if need be. Raises BuildError."""
    return _Build(shape, cache, progress).make(shape.kind, "", [], [])


class SimulatedBoard:
    """A running simulated board, or several on a desk.

    Parameters
    ----------
    shape : Shape or DeskShape
    lights : file or None
        Where a line is written when a light goes on that tells of a lost symbol; None: the standard error.
    cache, progress
        As in ``sim.build``.

    Members
    -------
    paths : list of str
        The serial lines.
    path : str
        The first of them, which is the only one of a cluster.
    process : subprocess.Popen

    A context manager. Raises BuildError.
    """

    def __init__(self, shape=Shape(), *, lights=None, cache=None, progress=None):
        made = program(shape, cache=cache, progress=progress)
        self.process = subprocess.Popen(
            [made, str(shape.bit_cycles), str(shape.lines)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=lights,
        )
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        self.paths = [os.fsdecode(name) for name in self.process.stdout.readline().split()] if ready else []
        if len(self.paths) != shape.lines:
            self.close()
            raise BuildError("the simulated board has not started: it has no pseudo-terminal")
        self.path = self.paths[0]

    def close(self):
        """Ends the process. May be called twice."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
