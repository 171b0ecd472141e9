"""What can be refused before anything runs: names and values of a sweep. The program itself says whether it takes its
arguments. The simulator is built on the way."""

import argparse
import contextlib
import functools
import importlib
import io
import os
import sys
from pathlib import Path

import nectar

from ..cache import digest
from ..cli import run
from ..cli.errors import UsageError
from ..cli.program import Program
from .unbuilt import UnbuiltMachine

__all__ = ["check", "program_digest", "version_digest"]

#: Packages that a result depends on.
_PACKAGES = ("cli", "hdl", "sim", "software")


class _Enough(BaseException):
    """The program has taken its arguments."""


@contextlib.contextmanager
def _parsers_that_stop(path):
    """Parsers of arguments raise _Enough when they have taken them, and UsageError when they refuse them."""
    kind = argparse.ArgumentParser
    parse, error = kind.parse_args, kind.error

    def parsed(*words, **names):
        parse(*words, **names)
        raise _Enough

    def refuse(parser, message):
        raise UsageError(f"{path}: {message}")

    kind.parse_args, kind.error = parsed, refuse
    try:
        yield
    finally:
        kind.parse_args, kind.error = parse, error


class _Probe(Program):
    """The program, which is run only until it has taken its arguments, or until simulated time would begin."""

    def run(self, system, arguments):
        """Raises UsageError if the program refuses its arguments, or does not look at them."""

        def begin(*words, **names):
            raise _Enough

        system.run = begin
        with _parsers_that_stop(self.path):
            try:
                super().run(system, arguments)
            except _Enough:
                pass
            except UsageError:
                raise
            except Exception:
                return  # it fails in a run, too, and there it is a row
        if not arguments.seen and arguments:  # to ask for their number is to look
            raise UsageError(f"{self.path} does not look at its arguments: {' '.join(arguments)}")


def check(sweep, build=True):
    """Raises the error of the first value that cannot be. ``build``: on the boards that are asked for, so that the
    simulators are built; else nothing is built."""
    parser = argparse.ArgumentParser(prog="nectar run")
    run.configure(parser)
    load = functools.cache(_Probe)
    combinations = list(sweep.checks())
    with_machine = functools.partial(run.execute, made=None if build else UnbuiltMachine)
    for execute in (run.check, with_machine):  # what needs no machine is refused before one is built
        for values in combinations:
            options = run.parse(parser, sweep.words(values))
            if not build:
                options.threads = None  # the machines that run it may have more cores than this one
            first = combinations[0]
            changed = [f"{name}={value}" for name, value in values.items() if value != first[name]]
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    execute(options, load)
            except UsageError as error:
                raise (UsageError(f"--set {' '.join(changed)}: {error}") if changed else error) from error


def program_digest(sweep):
    """Digest of the program that ``check`` has loaded, of the modules beside it, and of the files that it is given as
    topology or faults."""
    folder = Path(sweep.program).resolve().parent
    files = {Path(sweep.program).resolve()}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path and name.split(".")[0] != "nectar" and Path(path).resolve().is_relative_to(folder):
            if not Path(path).resolve().is_relative_to(Path(sys.prefix).resolve()):
                files.add(Path(path).resolve())
    files |= {Path(value).resolve() for values in sweep.values.values() for value in values if os.path.isfile(value)}
    return digest(*(part for path in sorted(files) for part in (path.name, path.read_bytes())))


def version_digest():
    """Digest of what simulates and of the software on it."""
    files = []
    for name in _PACKAGES:
        package = importlib.import_module(f"nectar.{name}")
        files += (path for kind in ("*.py", "*.cpp", "*.h") for path in Path(package.__path__[0]).rglob(kind))
    return digest(nectar.__version__, *(part for path in sorted(files) for part in (path.name, path.read_bytes())))
