"""Runs a program written for mpi4py on a simulated Nectar, each rank on a CAB or its node.

docs/mpi.md tells what there is of MPI.

Options stand before PROGRAM; all that stands behind it is the program's.
"""

import ast
import re
import sys

from . import run
from .errors import FAILED, UsageError
from .machines import machine_named
from .program import ProgramFile

HELP = "run a program written for mpi4py on a simulated Nectar"

#: What a program that takes arguments names.
_TAKES_ARGUMENTS = re.compile(rb"\b(argv|argparse|optparse|getopt|click|docopt|fire|typer)\b")
_VALUES = {
    "-n": {
        "metavar": "N",
        "dest": "ranks",
        "help": "number of ranks; by default as many as --topology has CABs. If there are more ranks than CABs, "
        "they share these in turns",
    },
    "-np": {"metavar": "N", "dest": "ranks", "help": "the same"},
    **run.VALUES,
}
_FLAGS = {
    "--on-nodes": {"help": "run each rank on the node behind a CAB instead of the CAB itself"},
    **run.FLAGS,
}
_VALUES["--topology"] = _VALUES["--topology"] | {
    "help": "what is wired to what, as for 'nectar run'; by default a CAB for each rank: on one HUB up to 15, then on "
    "a mesh of HUBs; on the iPSC/2 a cube with a node for each"
}


class RankError(UsageError):
    """A rank has ended all others. ``status``: the exit code."""

    def __init__(self, message, status=FAILED):
        super().__init__(message)
        self.status = status

    def more(self, text):
        """The same with ``text`` behind its message."""
        return RankError(f"{self}{text}", self.status)


class RankedProgram(ProgramFile):
    """A program that every rank runs. ``ranks``: how many; None: one for each CAB. ``nodes``: whether they run on
    nodes. ``machine``: name of the machine."""

    def __init__(self, path, ranks, nodes, machine):
        super().__init__(path)
        if b"mpi4py" not in self.source and any(map(_is_main, ast.parse(self.source).body)):
            raise UsageError(f"{path}: it has an 'async def main(system, arguments)'; 'nectar run' runs such programs")
        self.ranks = ranks
        self.nodes = nodes or ()
        if ranks is not None:
            self.topology = machine_named(machine).sized(ranks)

    def shape(self, wanted=None, machine=None):
        """As in ProgramFile; a UsageError, too, if there are more ranks than any built-in shape has CABs."""
        from ..sim.wiring import TopologyError

        try:
            return super().shape(wanted, machine)
        except TopologyError as error:
            if wanted is not None:
                raise
            raise UsageError(
                f"-n {self.ranks}: no built-in shape has so many CABs ({error}); give --topology, whose CABs the ranks "
                "share in turns"
            ) from error

    def run(self, system, arguments):
        """Runs it to the end of all ranks."""
        from ..software.mpi.python import Program
        from ..software.mpi.world import RankEnded, World

        arguments = list(arguments)
        ours = [word for word in arguments if word.partition("=")[0] in {*_VALUES, *_FLAGS}]
        if ours and not _TAKES_ARGUMENTS.search(self.source):
            where = f"stands behind {self.path} and is an argument of the program"
            print(f"nectar: {ours[0]} {where}; options of 'nectar mpirun' stand before it", file=sys.stderr)
        program = Program(self.path, self.code, arguments)
        places = [system.node(cab.name).name for cab in system.cabs] if self.nodes else None
        world = World(system, program, self.ranks or len(system.cabs), places)
        try:
            world.run().send(None)
        except StopIteration:
            pass
        except RankEnded as error:
            raise RankError(str(error), error.status) from error


def _is_main(statement):
    """Whether a statement defines what ``nectar run`` runs."""
    return isinstance(statement, ast.AsyncFunctionDef) and statement.name == "main" and len(statement.args.args) == 2


def configure(parser):
    """Options of ``nectar mpirun``."""
    parser.usage = "nectar mpirun [-n N] [options] PROGRAM.py [arguments of the program]"
    parser.add_argument("program", metavar="PROGRAM.py", help="the program, as mpi4py runs it under a real MPI")
    run.add_options(parser, _VALUES, _FLAGS)


def parse(parser, arguments):
    """Tells our options from what is the program's."""
    words = iter(arguments)
    own = []
    for word in words:
        own.append(word)
        if word == "--" or not word.startswith("-"):
            own += ["--"] * (word != "--")
            own += words
        elif word in _VALUES:
            own += [value for value in [next(words, None)] if value is not None]
    options = run.parse(parser, own, _VALUES, _FLAGS)
    options.ranks = _ranks(options)
    if options.on_nodes and options.on is not None:
        raise UsageError("--on-nodes: there are no nodes behind the CABs of a board; leave --on or --on-nodes out")
    return options


def _ranks(options):
    """The number of ranks; None: one for each CAB."""
    if options.ranks is None:
        if options.topology is None and options.on is None:
            raise UsageError("say by -n how many ranks there are, as in 'nectar mpirun -n 4 PROGRAM.py'")
        return None
    if not (options.ranks.isascii() and options.ranks.isdigit() and int(options.ranks)):
        raise UsageError(f"-n {options.ranks}: give a number of ranks, 1 or more")
    return int(options.ranks)


def check(options):
    """Raises the UsageError of whatever can be told before a machine is made; nothing is built or run."""
    run.check(options, _load(options))


def execute(options):
    """Runs the program to its end. The exit code is 0, or that of the rank that has ended all others."""
    return run.execute(options, _load(options))


def _load(options):
    """What makes a RankedProgram of the path of a program."""
    return lambda path: RankedProgram(path, options.ranks, options.on_nodes, options.machine)
