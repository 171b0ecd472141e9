"""Runs a program on a simulated Nectar; docs/software.md tells how to write one.

Options may stand before or behind PROGRAM. What stands behind PROGRAM and is no option of 'nectar run' is handed to the
program, in its order, unless it resembles one; behind '--' everything is.
"""

import contextlib
import os
import shlex
import sys

from ..live import telling
from .arguments import Arguments, meant
from .awaits import Awaits
from .board import boards_of
from .board_kinds import VALUES as KIND_VALUES
from .board_kinds import board_kinds, check_kinds
from .errors import DONE, FAILED, Interrupted, Unfinished, UsageError, refused
from .machines import VALUES as MACHINE_VALUES
from .machines import machine_named, profile_named, system_of
from .pcap import VALUES as PCAP_VALUES
from .pcap import check_packets, fibers_of
from .program import Program
from .record import VALUES as RECORD_VALUES
from .record import Record
from .results import Result, check_apart, check_target, save_json
from .sizes import size_text
from .units import picoseconds, seconds, time_text
from .watch import Stalled, Watch
from .wave_record import VALUES as WAVE_VALUES
from .wave_record import missed_window, wave_news, wave_views
from .wave_record import waves as wave_options

HELP = "run a program on a simulated Nectar"

ROUTES = ("given", "discovered")
#: Options that take a value, as argparse wants them.
VALUES = {
    **MACHINE_VALUES,
    "--topology": {
        "metavar": "T",
        "help": "what is wired to what: hub:N, chain:NxK, mesh:RxCxK, torus:RxCxK, tree:LxBxK, hypercube:DxK (K CABs "
        "on a HUB, 1 if left out), random:SEED, figure7, or a .toml or .py file (docs/engine.md); by default what "
        "the program says",
    },
    "--profile": {
        "metavar": "P",
        "default": "prototype",
        "help": "clocks and fiber speed: prototype or modern (default: prototype)",
    },
    **WAVE_VALUES,
    **RECORD_VALUES,
    **PCAP_VALUES,
    "--max-time": {
        "metavar": "TIME",
        "default": "100s",
        "help": "simulated time after which the program is ended (default: 100s)",
    },
    "--stall-time": {
        "metavar": "TIME",
        "default": "20s",
        "help": "time on this machine for which simulated time may stand still until "
        "the program is ended; 0s: for ever (default: 20s)",
    },
    "--threads": {
        "metavar": "N",
        "help": "threads that simulate boards, at most one for each processor core (default: one for each where this "
        "pays); the result is the same",
    },
    "--on": {
        "metavar": "LINES",
        "help": "run it on a board with the top 'cluster': its serial line, as /dev/ttyUSB0, or its number among those "
        "found; or on boards with the top 'cab': lines with commas between them, for the CABs of the topology in "
        "their order, or CAB2=LINE for each (docs/cable.md)",
    },
    **KIND_VALUES,
    "--baud": {"metavar": "N", "help": "rate of these lines, as the boards' tops were built for (default: 1000000)"},
    "--faults": {
        "metavar": "F",
        "action": "append",
        "default": [],
        "help": "what is to go wrong, as CAB1-HUB1.P0:errors=1e-5, or a .toml file; may be repeated (docs/faults.md)",
    },
    "--seed": {"metavar": "N", "default": "1", "help": "whole number from which faults are drawn (default: 1)"},
    "--routes": {
        "metavar": "R",
        "default": "given",
        "help": "given: every CAB knows the network (default); discovered: each finds out by asking the HUBs",
    },
    "--json": {"metavar": "FILE", "help": "also write the results to FILE"},
}
#: Options that take none.
FLAGS = {
    "--no-sleep": {"help": "simulate boards that have nothing to do as well: the same result, only slower"},
}


def configure(parser):
    """Options of ``nectar run``."""
    parser.usage = "nectar run [options] PROGRAM.py [options] [arguments of the program]"
    parser.add_argument("program", metavar="PROGRAM.py", help="the program; docs/software.md tells how to write one")
    add_options(parser, VALUES)


def add_options(parser, values, flags=FLAGS):
    """Adds options that take a value, by name, and those that take none."""
    for name, how in values.items():
        parser.add_argument(name, **how)
    for name, how in flags.items():
        parser.add_argument(name, action="store_true", **how)


def parse(parser, arguments, values=VALUES, flags=FLAGS):
    """Tells our options from what is the program's. ``values``: those that take a value, ``flags``: the others."""
    own, program, rest = [], [], []
    known = [*values, *flags, "--debug"]
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if word == "--":
            rest += words
        elif name in values:
            value = None if equals else next(words, None)
            own.append(word if value is None else f"{word}={value}")
        elif word in flags or word == "--debug" or not program and word in ("-h", "--help"):
            own.append(word)
        elif (option := meant(word, known)) is not None:
            where = "if it is the program's own, write it behind '--'"
            parser.error(
                f"there is no option {name}; the nearest is {option}; "
                f"{where if program else 'options of the program stand behind its name'}"
            )
        elif program:
            rest.append(word)
        elif word.startswith("-") and word != "-":
            parser.error(f"there is no option {word}, and options of the program stand behind its name")
        else:
            program.append(word)
    if not program and rest:
        program, rest = rest[:1], rest[1:]
    options = parser.parse_args([*own, *(["--", *program] if program else [])])
    options.arguments = Arguments(rest)
    return options


def execute(options, load=Program, made=None):
    """Runs the program to its end; what it reported decides the exit code. ``load``: makes a ProgramFile with ``run``
    of the path of a program. ``made``: the class of machines; by default EngineMachine."""
    with Awaits() as awaits:
        return _execute(options, load, made, awaits)


def check(options, load=Program):
    """Raises the UsageError of whatever can be told before a machine is made; nothing is built or run. ``load``: as
    for ``execute``."""
    _asked(options, load, None)


def _asked(options, load, made):
    """What ``options`` ask for, checked: the program, the faults, the stall time in seconds, the record, and a function
    that makes the system."""
    if options.routes not in ROUTES:
        raise UsageError(f"--routes {options.routes}: routes are {' or '.join(ROUTES)}")
    max_time = picoseconds(options.max_time, "--max-time")
    stall = seconds(options.stall_time, "--stall-time")
    check_target("--json", options.json)
    faults = _faults(options)
    waves = wave_options(options)
    kinds = board_kinds(options)
    record = Record(options)
    _check_apart(options, record)
    threads = _threads(options)
    program = load(options.program)
    boards = boards_of(options)
    topology, profile = _shape(options, program) if boards is None else (None, None)
    for name in waves["wave_boards"] or ():
        if name not in (there := topology.boards):
            raise UsageError(f"--wave-boards: {topology.name} has no board {name!r}; it has {', '.join(there)}")
    if boards is None:
        record.pcap.check(fibers_of(topology))
        check_kinds(kinds, waves, topology, profile, _nodes(program, topology))

    def make():
        if boards is None:
            return _system(options, program, topology, profile, waves | kinds | threads, record, max_time, made)
        return boards.system(program, limit_ps=max_time, seed=int(options.seed), routes=options.routes)

    return program, faults, stall, record, make


def _execute(options, load, made, awaits):
    from ..software.errors import ProgramError

    program, faults, stall, record, make = _asked(options, load, made)
    system = make()
    awaits.on_found = system.abort
    try:
        _place(faults, system)
        _run(options, program, system, stall)
        record.whole = True
        simulated = system.time_ns
        struck = _told(system)
    except (UsageError, Interrupted) as error:
        _told(system)
        try:
            _close(options, system, record)
        except UsageError as late:
            raise error.more(f"; {late}") from error
        raise error.more(record.kept()) from error
    finally:
        _close(options, system, record)
    awaits.check()
    try:
        system.check()
    except ProgramError as error:
        raise UsageError(program.explain(error)) from error
    if not options.arguments.seen and options.arguments:
        unseen = shlex.join(options.arguments)
        print(f"nectar: {options.program} has not looked at its arguments: {unseen}", file=sys.stderr)
    found = [
        Result(f"faults.{number}", hits, more={"fault": text, "symbols": symbols})
        for number, (text, hits, symbols) in enumerate(struck, 1)
    ]
    save_json(options.json, [Result("run.simulated_time", simulated, "ns"), *map(Result.of, system.results), *found])
    return FAILED if any(result["ok"] is False for result in system.results) else DONE


def _close(options, system, record):
    """Frees the boards; that finishes the waveforms, which may take a while, and the recording. May be called twice."""

    def far():
        written = system.machine.waves_written
        return f"writing {options.waves}{'' if written is None else f', {written:.0%}'}"

    with contextlib.nullcontext() if options.waves is None else telling(far):
        record.close(system)


def _faults(options):
    """(text, Faults that it stands for) of each ``--faults``."""
    from ..software.errors import FaultError
    from ..software.faults import load

    if not options.seed.isascii() or not options.seed.isdigit():
        raise UsageError(f"--seed {options.seed}: not a seed; give a whole number from 0 on")
    try:
        return [(text, load(text)) for text in options.faults]
    except FaultError as error:
        raise UsageError(f"--faults {error}") from error


def _place(faults, system):
    """Sets the faults of the command line."""
    from ..software.errors import FaultError

    for text, several in faults:
        try:
            for fault in several:
                system.faults.add(fault)
        except FaultError as error:
            raise UsageError(f"--faults {text}: {error}") from error


def _told(system):
    """Prints what the faults have done; returns it."""
    struck = system.faults.report()
    for text, hits, symbols in struck:
        print(f"fault {text}: {hits} hit{'s' * (hits != 1)}, {symbols} symbol{'s' * (symbols != 1)}")
    return struck


def _check_apart(options, record):
    """Raises UsageError if a file that is to be written is also read, or written twice."""
    written = {
        "--waves": options.waves,
        "--record": options.record,
        "--report": options.report,
        "--trace": options.trace,
        "--pcap": record.pcap.file,
        "--json": options.json,
    }
    beside = wave_views(options.waves)
    for option, path in written.items():
        file = os.path.realpath(path or "")
        if path and any(file == place or file.startswith(place + os.sep) for place in beside):
            raise UsageError(f"{option} {path}: --waves {options.waves} writes it besides; give another name")
    read = [("--faults", name) for name in options.faults if name.endswith(".toml")]
    check_apart(written.items(), [*read, ("the program", options.program), ("--topology", options.topology)])


def _shape(options, program):
    """Topology and profile."""
    machine = machine_named(options.machine)
    if options.pcap is not None:
        check_packets(machine, "--pcap: ")
    topology = program.shape(options.topology, machine)
    system_of(machine)
    return topology, profile_named(machine, options.profile)


def _nodes(program, topology):
    """Names of the CABs that have a node."""
    wanted = program.nodes
    if wanted is True:
        return list(topology.computers)
    if not isinstance(wanted, (list, tuple)) or not all(isinstance(name, str) for name in wanted):
        raise UsageError(f"{program.path}: NODES must be a list of names of CABs, or True for all, not {wanted!r}")
    for name in wanted:
        if name not in topology.computers:
            raise UsageError(
                f"{program.path}: NODES names {name!r}, but {topology.name} has {', '.join(topology.computers)}"
            )
    return wanted


def _threads(options):
    """What ``--threads`` gives to the machine: nothing without it."""
    from ..sim.host import cores

    if options.threads is None:
        return {}
    text, most = options.threads, cores()
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise UsageError(f"--threads {text}: give a whole number from 1 to {most}, the number of processor cores")
    return {"threads": int(text)}


def _system(options, program, topology, profile, simulated, record, max_time, made):
    """The system that the program runs on, on a machine of the class ``made``; None: an EngineMachine."""
    from ..sim.recorder import RecordingError

    if made is None:
        from ..software.backends.engine.machine import EngineMachine as made
    given = {
        "nodes": _nodes(program, topology),
        "recorder": record.recorder(program),
        "sleep": not options.no_sleep,
        **simulated,
    }
    try:
        machine = made(topology, profile, **given)
    except RecordingError as error:
        at_fault = f"--record-limit {options.record_limit}:" if options.record is None else "--record"
        raise refused(error, at_fault) from error
    except OSError as error:
        if options.waves is None:
            raise
        raise UsageError(f"--waves {options.waves} cannot be written: {error.strerror or error}") from error
    try:
        system = system_of(machine_named(options.machine))
        return system.of(machine, topology, profile, limit_ps=max_time, seed=int(options.seed), routes=options.routes)
    except BaseException:
        machine.close()
        raise


def _run(options, program, system, stall):
    """Runs ``main``, and says where the program stood if it does not come to its end."""
    from ..sim.recorder import RecordingError
    from ..software.errors import CableError, UnfinishedRun

    def stuck(frame):
        where = program.line(frame)
        return (
            f"{system.running() or 'main'} computes without giving control back: for {stall:g} s simulated time has "
            f"stood still "
            f"at {_time(system)}{f' ({where})' if where else ''}"
        )

    try:
        far = program.far or _far(system, picoseconds(options.max_time, "--max-time"))
        with Watch(lambda: system.machine.time_ps, stall, stuck, wave_news(options, system), far):
            program.run(system, options.arguments)
        if line := missed_window(options, system.machine.time_ps):
            print(f"nectar: {line}", file=sys.stderr)
    except Stalled as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt as error:
        raise Interrupted.of(error).more(f" at {_time(system)} of simulated time") from error
    except (UsageError, BrokenPipeError):
        raise
    except RecordingError as error:
        raise refused(error) from error
    except CableError as error:
        raise UsageError(str(error)) from error
    except UnfinishedRun as error:
        raise Unfinished(str(error)) from error
    except SystemExit as error:
        if error.code not in (None, 0):
            raise UsageError(
                f"{program.path}: {error.code}"
                if isinstance(error.code, str)
                else f"{program.path} ended with exit code {error.code}"
            ) from error
    except Exception as error:
        raise UsageError(program.explain(error)) from error


def _far(system, max_ps):
    """What tells how far the program is: simulated time, its speed, messages and bytes of streams that have come, and
    how much of --max-time is used up."""

    def far(simulated_ps, seconds):
        messages, streamed = system.received
        used = 100 * simulated_ps // max_ps if max_ps else 0
        return (
            f"{time_text(simulated_ps)} simulated, {time_text(int(simulated_ps / seconds))} a second, "
            f"{messages} message{'s' * (messages != 1)} received"
            f"{f', {size_text(streamed)} of streams' if streamed else ''}"
            f"{f', {used}% of --max-time' if used else ''}, {seconds:.0f} s"
        )

    return far


def _time(system):
    return time_text(system.machine.time_ps)
