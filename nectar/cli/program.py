"""A user's program: loading its file, running its ``main``, saying where in it something went wrong."""

import contextlib
import inspect
import os
import sys
import traceback
import types

from ..sim.machines import MACHINES
from .errors import UsageError, place
from .machines import machine_named

__all__ = ["Program", "ProgramFile"]

#: The program's ``__name__``: its own file name could be that of a module that others import.
_MODULE = "nectar_program"
_WRONG_MAIN = "'main' must be 'async def main(system, arguments)'"


class ProgramFile:
    """The program in the file ``path``, its ``source`` (bytes), compiled to ``code``.

    Raises UsageError when there is no such program.

    ``topology`` is what it wants to run on, or None, ``trace`` whether it has asked for a TRACE, ``nodes`` names of
    CABs that have a node, or True for all."""

    topology = None
    trace = False
    nodes = ()
    #: callable(picoseconds of simulated time, seconds of the run) → what the changing line says; None: the usual.
    far = None

    def __init__(self, path):
        self.path = path
        self.source = _read(path)
        try:
            self.code = compile(self.source, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise UsageError(f"{path}:{error.lineno or 1}: syntax error: {error.msg}") from error
        except ValueError as error:
            raise UsageError(f"{path}: not a Python program: {error}") from error

    def shape(self, wanted=None, machine=None):
        """The topology of a Machine that ``wanted`` names, or is; by default the program's, whose file lies beside it.

        ``machine``: None for the first that there is. Raises UsageError, TopologyError.
        """
        machine = machine or machine_named(MACHINES[0])

        if wanted is None:
            wanted = self.topology
            if isinstance(wanted, str) and wanted.endswith((".toml", ".py")):
                wanted = os.path.join(os.path.dirname(self.path), wanted)
        if wanted is None:
            raise UsageError(f"{self.path} has no TOPOLOGY; add one, or give --topology")
        topology = machine.topology(wanted) if isinstance(wanted, str) else wanted
        if getattr(topology, "machine", None) != machine.name:
            raise UsageError(f"{self.path}: TOPOLOGY must be a name or a nectar.sim.topology.Topology, not {wanted!r}")
        return topology.check()

    def failure(self, error):
        """What ``error``, raised in the program, is called: ``file:line: ValueError: message``."""
        from ..software.errors import described

        return f"{place(error, self.path)}: {described(error)}"

    def explain(self, error):
        """The line that tells of ``error``, which ended ``main``."""
        from ..software.errors import ProgramError

        if not isinstance(error, ProgramError):
            return self.failure(error)
        frames = traceback.extract_tb(error.__traceback__)
        if frames[-1].filename == self.path:
            return str(error)  # its own words to its user
        # Of what a task did the line is told that did it; of a wait that never ends there is no such line.
        culprit = error.__cause__ or (None if frames[-1].name == "run" else error)
        where = culprit and place(culprit, self.path)
        return f"{error} ({where})" if where and where.startswith(f"{self.path}:") else str(error)

    def line(self, frame):
        """``file:line in function`` where the program stands, seen from the innermost stack ``frame``; or None."""
        while frame is not None:
            if frame.f_code.co_filename == self.path:
                return f"{self.path}:{frame.f_lineno} in {frame.f_code.co_name}"
            frame = frame.f_back
        return None


class Program(ProgramFile):
    """A program with ``async def main(system, arguments)`` (see docs/software.md), loaded: its top level has been run.

    Raises UsageError when it cannot be loaded."""

    def __init__(self, path):
        super().__init__(path)
        module = types.ModuleType(_MODULE)
        module.__file__ = os.path.abspath(path)
        sys.modules[_MODULE] = module
        sys.path.insert(0, os.path.dirname(module.__file__))  # as python does: a program may have modules beside it
        try:
            exec(self.code, vars(module))
        except SystemExit as error:
            raise UsageError(
                f"{path}: {error.code if isinstance(error.code, str) else 'it ended itself while it was loaded'}"
            ) from error
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name == "mpi4py":
                hint = "it is written for mpi4py; 'nectar mpirun' runs such programs"
            else:
                hint = "while it was loaded"
            raise UsageError(f"{self.failure(error)} ({hint})") from error
        self._main = getattr(module, "main", None)
        if not callable(self._main):
            raise UsageError(f"{path}: it has no 'async def main(system, arguments)' to run")
        candidates = self._main, inspect.unwrap(self._main), type(self._main).__call__
        if not any(map(inspect.iscoroutinefunction, candidates)):
            raise UsageError(f"{path}: {_WRONG_MAIN}")
        self.topology = getattr(module, "TOPOLOGY", None)
        self.trace = bool(getattr(module, "TRACE", False))
        self.nodes = getattr(module, "NODES", ())

    def run(self, system, arguments):
        """Runs ``main`` to its end."""
        with _called(self.path):
            self._run_main(system, arguments)

    def _run_main(self, system, arguments):
        wrong = UsageError(f"{self.path}: {_WRONG_MAIN}")
        try:
            coroutine = self._main(system, arguments)
        except TypeError as error:
            if error.__traceback__.tb_next is not None:
                raise
            raise wrong from error
        if not isinstance(coroutine, types.CoroutineType):
            raise wrong
        try:
            coroutine.send(None)
        except StopIteration:
            return
        line = coroutine.cr_frame.f_lineno
        coroutine.close()
        raise UsageError(
            f"{self.path}:{line}: main awaits what only a task may await; start a task with system.spawn "
            "and wait for it with 'await system.run()'"
        )


@contextlib.contextmanager
def _called(path):
    """Within, the program is called by the name of its file, as what it says of its own options has it."""
    before = sys.argv
    sys.argv = [path, *before[1:]]
    try:
        yield
    finally:
        sys.argv = before


def _read(path):
    if os.path.isdir(path):
        raise UsageError(f"{path}: it is a directory, not a program; give the name of a Python file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such program file") from error
    except OSError as error:
        raise UsageError(f"{path}: the program cannot be read: {error.strerror}") from error
