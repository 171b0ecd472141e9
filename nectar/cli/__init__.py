"""The command-line program ``nectar``: one module of this package for each subcommand.

A subcommand's module has ``HELP`` (one line), ``configure(parser)``, ``execute(options)``, which returns the exit
code, and, if argparse alone will not do, ``parse(parser, arguments)``. What it needs beyond the standard library it
imports when it runs, so that ``nectar --help`` is quick. Exit codes: 0 done, 1 a check that must hold did not, 2 wrong
use or bad input, 130 interrupted by Ctrl-C, 129 ended by SIGHUP, 143 by SIGTERM, 141 (quietly) nobody reads the output
any more, as behind ``| head``.
"""

import argparse
import contextlib
import importlib
import os
import select
import signal
import sys
import traceback
import warnings

from .. import __version__
from .errors import DONE, UNREAD, WRONG, Interrupted, Unfinished, Unread, UsageError, chain, explain

__all__ = ["SUBCOMMANDS", "main", "parse"]

SUBCOMMANDS = (
    "run",
    "mpirun",
    "net",
    "sweep",
    "compare",
    "events",
    "simulate",
    "waves",
    "reproduce",
    "bench",
    "commands",
    "map",
    "topology",
    "dissector",
    "verilog",
    "build",
    "doctor",
)


class _Parser(argparse.ArgumentParser):
    """An argument parser that knows no abbreviations and complains by UsageError."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message):
        raise UsageError(f"{message}; '{self.prog} --help' tells what there is")


def _module(name):
    return importlib.import_module(f".{name}", __name__)


def _top(arguments):
    """Parses what stands before the subcommand; whether it asks for tracebacks."""
    lines = "\n".join(f"  {name:10}{_module(name).HELP}" for name in SUBCOMMANDS)
    parser = _Parser(
        prog="nectar",
        usage="nectar [--version] [--debug] SUBCOMMAND ...",
        epilog=f"subcommands:\n{lines}\n\n'nectar SUBCOMMAND --help' tells more.",
        description="Nectar: CAB boards and HUB switches in RTL, "
        "joined by simulated fibers and driven by software in Python.",
    )
    parser.add_argument("--version", action="version", version=f"nectar {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser.parse_args(arguments).debug


def parse(arguments):
    """Options of the command line ``arguments``; ``options.module`` is the subcommand's module. Raises UsageError."""
    at = next((index for index, word in enumerate(arguments) if not word.startswith("-")), len(arguments))
    debug = _top(arguments[:at]) if at or not arguments else False
    known = ", ".join(SUBCOMMANDS)
    if at == len(arguments):
        raise UsageError(f"a subcommand is missing: {known}; 'nectar --help' tells more")
    name = arguments[at]
    if name not in SUBCOMMANDS:
        raise UsageError(f"there is no subcommand {name!r}; there are {known}")
    module = _module(name)
    parser = _Parser(prog=f"nectar {name}", description=module.__doc__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    module.configure(parser)
    options = getattr(module, "parse", argparse.ArgumentParser.parse_args)(parser, arguments[at + 1 :])
    options.debug |= debug
    options.module = module
    return options


def _on_signal(number, frame):
    raise Interrupted(f"ended by {signal.Signals(number).name}", 128 + number)


def _catch_signals():
    """Has the signals that end programs clean up as Ctrl-C does. What is ignored, as by nohup, stays so."""
    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _on_signal)


def _complain(message, lines=()):
    """One line of error; ``lines`` of a list may stand below it."""
    with contextlib.suppress(OSError):  # the terminal has gone
        print(f"nectar: {' '.join(message.split())}", *lines, sep="\n", file=sys.stderr)


def _unread():
    """Whether the standard output is a pipe whose reader has gone."""
    output = select.poll()
    with contextlib.suppress(OSError):  # it is no file, as in a test
        output.register(sys.stdout, 0)
    return any(events & select.POLLERR for _, events in output.poll(0))


def _silence_output():
    """Keeps Python from trying again, at its end, to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _forget_what_was_begun():
    """Keeps Amaranth from telling of modules that were made and not used, and Python of coroutines, since the command
    has ended in the middle."""
    warnings.filterwarnings("ignore", "coroutine '.*' was never awaited", RuntimeWarning)
    if hdl := sys.modules.get("amaranth.hdl"):
        warnings.simplefilter("ignore", hdl.UnusedElaboratable)


def _execute(arguments):
    options = None
    try:
        options = parse(arguments)
        return options.module.execute(options)
    except (Exception, KeyboardInterrupt) as error:
        # A program may have pipes of its own: theirs are errors.
        unread = BrokenPipeError if _unread() else Unread
        if any(isinstance(each, unread) for each in chain(error)):
            raise BrokenPipeError from error
        _forget_what_was_begun()
        if options is not None and options.debug:
            traceback.print_exception(error)
        if isinstance(error, KeyboardInterrupt):
            error = Interrupted.of(error)
            _complain(str(error))
            return error.status
        if isinstance(error, Unfinished):
            first, *lines = str(error).splitlines()
            _complain(first, lines)
        else:
            _complain(explain(error))
        return getattr(error, "status", WRONG)


def main(arguments=None):
    """Entry point: does what the command line (or ``arguments``) says and returns the exit code."""
    _catch_signals()
    if sys.stdout is None:
        _complain("the standard output is closed; send it to /dev/null if nobody is to read it")
        return WRONG
    try:
        try:
            status = _execute(list(sys.argv[1:] if arguments is None else arguments))
        except SystemExit as end:  # argparse, after --help or --version
            status = end.code or DONE
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _silence_output()
        return UNREAD
    except OSError as error:
        _silence_output()
        _complain(f"cannot write to the standard output: {error.strerror}")
        return WRONG
