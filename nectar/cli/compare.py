"""Runs a program on several machines, looks whether its answers are the same, and tells how the machines differ:
messages, speed-up, where the time goes, gates (docs/compare.md).

Options may stand before or behind PROGRAM. What stands behind PROGRAM and is no option of 'nectar compare' is handed to
the program, unless it resembles one; behind '--' everything is. Exit code 1: the answers differ.
"""

import contextlib
from datetime import UTC, datetime

from .. import __version__
from ..live import telling
from . import run
from .errors import DONE, FAILED, UsageError
from .machines import machine_named, system_of
from .results import Result, add_json_option, check_apart, check_target, save, save_json

HELP = "run one program on several machines, and compare them"

#: Options that take a value, and the others.
_VALUES, _FLAGS = {"--machines", "-n", "--html", "--json"}, {"--quick"}


class _Differ(UsageError):
    """The answers differ."""

    status = FAILED


def configure(parser):
    """Options of ``nectar compare``."""
    parser.usage = "nectar compare [options] PROGRAM.py [options] [arguments of the program]"
    parser.add_argument("program", metavar="PROGRAM.py", help="as for 'nectar run', or one written for mpi4py")
    parser.add_argument(
        "--machines", metavar="A,B", required=True, help="names of two machines or more, as in nectar,ipsc2"
    )
    parser.add_argument("-n", metavar="N", dest="count", default="4", help="computers or ranks at most (default: 4)")
    parser.add_argument("--html", metavar="FILE", help="also write a page with figures")
    parser.add_argument("--quick", action="store_true", help="only three sizes of messages")
    add_json_option(parser)


def parse(parser, arguments):
    """Tells our options from what is the program's, as ``nectar run`` does."""
    return run.parse(parser, arguments, _VALUES, _FLAGS)


def execute(options):
    """Runs the program, then the messages; prints, and writes the page."""
    from ..compare.messages import QUICK, SIZES, messages
    from ..compare.runs import is_ranked
    from ..compare.told import lines, page, results

    machines = _machines(options.machines)
    check_target("--json", options.json)
    check_target("--html", options.html)
    check_apart([("--json", options.json), ("--html", options.html)], [("the program", options.program)])
    if options.html:
        _need_figures()
    shapes = _shapes(machines, _count(options.count), is_ranked(options.program))
    runs = _runs(options, machines, shapes)
    found = {}
    for machine in machines:
        with telling(f"measuring messages on {machine.name}"):
            found[machine.name] = messages(machine.name, QUICK if options.quick else SIZES)
    for line in lines(machines, runs, found):
        print(line, flush=True)
    if options.html:
        text = page(options.program, machines, runs, found, __version__, datetime.now(UTC))
        with _writing(f"--html {options.html}"):
            save(options.html, text.encode())
    save_json(options.json, [Result(*each) for each in results(machines, runs, found)])
    return DONE


@contextlib.contextmanager
def _writing(what):
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what} cannot be written: {error.strerror}") from error


def _machines(text):
    """The Machines that are named."""
    names = text.split(",")
    machines = []
    for name in names:
        try:
            machine = machine_named(name)
            system_of(machine)
        except UsageError as error:
            raise UsageError(f"--machines {text}: {str(error).removeprefix('--machine: ')}") from None
        machines.append(machine)
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(f"--machines {text}: name two machines or more, each once")
    return machines


def _count(text):
    if not (text.isascii() and text.isdigit() and int(text) >= 2):
        raise UsageError(f"-n {text}: give a number of computers, 2 or more")
    return int(text)


def _need_figures():
    from ..verification.benchmarks.outcome import NotInstalled
    from ..verification.reproduce.page import need_matplotlib

    try:
        need_matplotlib()
    except NotInstalled as error:
        raise UsageError(f"--html: {error}") from error


def _shapes(machines, most, ranked):
    """{number of computers: {machine: (its topology's name, ranks or None)}}: powers of two, and the number asked
    for."""
    counts = [count for count in (1 << n for n in range(0 if ranked else 1, most.bit_length())) if count < most]
    shapes = {}
    for count in [*counts, most]:
        for machine in machines:
            name = machine.sized(count)
            there = len(machine.topology(name).computers)
            if there < count or there > count and not ranked:
                raise UsageError(
                    f"-n {most}: the machine {machine.name} has no topology of {count} computers, the nearest is {name}"
                )
            shapes.setdefault(count, {})[machine.name] = name, count if ranked else None
    return shapes


def _runs(options, machines, shapes):
    """{number of computers: {machine: Ran}}. Raises UsageError, and _Differ."""
    from ..compare.runs import check, difference, ran

    for named in shapes.values():
        for name, (shape, ranks) in named.items():  # what a machine refuses is told before another one has run
            check(name, options.program, options.arguments, shape, ranks)
    runs = {}
    for count, named in shapes.items():
        runs[count] = {}
        for name, (shape, ranks) in named.items():
            with telling(f"running {options.program} on {name}, {shape}"):
                runs[count][name] = ran(name, options.program, options.arguments, shape, ranks)
        first, *others = machines
        for other in others:
            pair = difference(runs[count][first.name], runs[count][other.name])
            if pair:
                raise _Differ(
                    f"{options.program} on {count} computers: the answers differ: {first.name} gives {pair[0]}, "
                    f"{other.name} {pair[1]}"
                )
    return runs
