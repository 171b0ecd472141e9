"""A simulated board: builds the cluster's gates with a pseudo-terminal for a serial line, and runs that as a process of its own.

``docs/cable.md`` tells how it is used.
"""

import contextlib
import os
import select
import shutil
import subprocess
from dataclasses import dataclass

from . import adapter, build
from .cache import BuildError

__all__ = ["Shape", "SimulatedBoard", "program"]

#: Seconds that the process may take to name its pseudo-terminal.
_PATIENCE = 20


@dataclass(frozen=True)
class Shape:
    """What is in the cluster; as in ``nectar.hdl.host.cluster.Cluster``, the profile by its name."""

    cabs: int = 2
    ports: int | None = None
    profile: str = "prototype"
    hub_id: int = 1
    data_bytes: int = 32768
    period_ps: int = 62_500
    bit_cycles: int = 4


class _Build(build._Build):
    """Builds the simulated board."""

    _beside = ("cluster.cpp", "cluster.py")
    # Nothing of it is recorded.
    _verilator_flags = [flag for flag in build._VERILATOR_FLAGS if "trace" not in flag]

    def __init__(self, shape, cache, progress):
        super().__init__((), "", cache, progress)
        self.boards = {"cluster": ("cluster", *(f"{name}={value}" for name, value in vars(shape).items() if value is not None))}

    def _around(self, directory, sources):
        return ()

    def _compile(self, source, target, includes, part):
        # Half of the time that it takes elsewhere; the serial line is slower than the gates anyway.
        super()._compile(source, target, [*includes, "-O1"] if part == "cluster" else includes, part)

    def _verilate(self, directory, kind, verilog, includes):
        made = directory / f"cpp-{kind}"
        made.mkdir()
        text = verilog.read_text()
        self._verilator("board", adapter.nameless(text), made)
        shutil.copy(build._HERE / "cluster.cpp", made)
        return list(made.glob("*.cpp")), [*includes, f"-I{made}"]


def program(shape=Shape(), *, cache=None, progress=None):
    """Path of the program that is the simulated board; builds it if need be. Raises BuildError."""
    return _Build(shape, cache, progress).make("cluster", "", [], [])


class SimulatedBoard:
    """A running simulated board.

    Parameters
    ----------
    shape : Shape
    cache, progress
        As in ``sim.build``.

    Members
    -------
    path : str
        Its serial line.
    process : subprocess.Popen

    A context manager. Raises BuildError.
    """

    def __init__(self, shape=Shape(), *, cache=None, progress=None):
        made = program(shape, cache=cache, progress=progress)
        self.process = subprocess.Popen([made, str(shape.bit_cycles)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        self.path = os.fsdecode(self.process.stdout.readline().strip()) if ready else ""
        if not self.path:
            self.close()
            raise BuildError("the simulated board has not started: it has no pseudo-terminal")

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
