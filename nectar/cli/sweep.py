"""Runs a program many times, with every combination of the values that are given, and makes a table of what it reports.

A NAME is an option of 'nectar run' (topology, profile, boards, rtl, threads, faults, seed, routes, max-time,
stall-time) or else one of the program: --set size=64,1024 hands it '--size 64', then '--size 1024'. Arguments behind
'--' are the program's in every run. The same command goes on where a sweep was interrupted. docs/sweep.md tells more.
"""

import contextlib
import os

from .errors import DONE, FAILED, Interrupted, UsageError

HELP = "run a program with many combinations of values, into one table"


def configure(parser):
    """Options of ``nectar sweep``."""
    parser.usage = (
        "nectar sweep PROGRAM.py --set NAME=A,B,C [--set ...] -o FOLDER [options] [-- arguments of the program]\n"
        "       nectar sweep --table FOLDER"
    )
    parser.add_argument("program", metavar="PROGRAM.py", nargs="?", help="the program, as for 'nectar run'")
    parser.add_argument(
        "--set",
        metavar="NAME=A,B,C",
        dest="sets",
        action="append",
        default=[],
        help="a name and its values; may be repeated",
    )
    parser.add_argument(
        "--repeat",
        metavar="N",
        default="1",
        help="runs of each combination; each has the next seed (default: 1)",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where the results are kept")
    parser.add_argument("--workers", metavar="N", help="runs at a time on this machine (default: one for each core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on a Dask cluster, as tcp://host:8786")
    parser.add_argument("--retry", action="store_true", help="run again what has failed, besides what is missing")
    parser.add_argument("--check", action="store_true", help="check all values, build the simulator, and run nothing")
    parser.add_argument("--table", metavar="FOLDER", help="only make tables and plots of what is in FOLDER")


def parse(parser, arguments):
    """What stands behind ``--`` is the program's."""
    from ..sweep.grid import OPTIONS

    at = arguments.index("--") if "--" in arguments else len(arguments)
    for word in arguments[:at]:
        name, _, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in OPTIONS:
            raise UsageError(f"--{name} is an option of the runs: write --set {name}={value or 'VALUE'}")
    options = parser.parse_args(arguments[:at])
    options.arguments = tuple(arguments[at + 1 :])
    return options


def execute(options):
    """Runs what is missing in the folder; then its tables."""
    from ..sweep.folder import Folder

    if options.table is not None:
        if options.program or options.sets or options.output:
            raise UsageError("--table FOLDER stands alone: the folder knows what was swept")
        return _table(Folder(options.table, "--table"))
    sweep = _sweep(options)
    if options.check:
        print(_told(sweep, *_checked(sweep)))
        return DONE
    if options.output is None:
        raise UsageError("name the folder for the results, as in -o results")
    return _run(options, sweep, Folder(options.output))


def _sweep(options):
    """The Sweep that the command line describes."""
    from ..sweep.grid import Sweep, values_of

    if options.program is None:
        raise UsageError("name the program to run, as in 'nectar sweep PROGRAM.py --set size=64,1024 -o results'")
    values = values_of(options.sets)
    return Sweep(options.program, values, _count("--repeat", options.repeat), options.arguments)


def _count(option, text):
    if not (text.isascii() and text.isdigit() and int(text)):
        raise UsageError(f"{option} {text}: give a number, 1 or more")
    return int(text)


def _checked(sweep, build=True):
    """Checks the sweep; returns the digests of its program and of nectar."""
    from ..sweep.check import check, program_digest, version_digest

    check(sweep, build)
    return program_digest(sweep), version_digest()


def _told(sweep, program, version):
    """What ``--check`` prints: two machines may compare it."""
    return f"{_counted(sweep.runs())}; program {program}, nectar {version}"


def _run(options, sweep, folder):
    """Runs what is missing, and keeps each run as it ends."""
    from ..many import SpreadError, spread
    from ..sweep.run import Job, Ready, run

    workers = None if options.workers is None else _count("--workers", options.workers)
    here = os.getcwd()
    with folder.made():
        digests = _checked(sweep, build=options.scheduler is None)
        runs = sweep.runs()
        with folder.writing(sweep, *digests):
            known = {row["number"] for row in folder.rows if row["error"] is None or not options.retry}
            left = [each for each in runs if each.number not in known]
            if known:
                print(f"{len(known)} of {len(runs)} runs are in {folder.path} already", flush=True)
            ready = None
            if options.scheduler is not None:
                ready = Ready(_words(options), here, _told(sweep, *digests))
            jobs = [Job(tuple(sweep.words(each.values, each.seed)), here) for each in left]
            try:
                ends = spread(run, jobs, scheduler=options.scheduler, workers=workers, prepare=ready)
                with contextlib.closing(ends):
                    for ended in ends:
                        folder.add(_row(left[ended.number], ended))
            except SpreadError as error:
                raise UsageError(f"{error}{_kept(folder, runs)}") from error
            except KeyboardInterrupt as error:
                raise Interrupted.of(error).more(_kept(folder, runs)) from error
    return _table(folder)


def _words(options):
    """The command line that checks the same sweep."""
    sets = [f"--set={word}" for word in options.sets]
    return ("--check", f"--repeat={options.repeat}", *sets, options.program, "--", *options.arguments)


def _row(run, ended):
    """The row of a run that has ended."""
    found = ended.result or {
        "results": [],
        "simulated_ns": None,
        "host_s": None,
        "error": " ".join(str(ended.error).split()),
    }
    return {"number": run.number, "values": run.values, "repeat": run.repeat, "seed": run.seed, **found}


def _kept(folder, runs):
    """What is said of the runs that are on the disk: the last may have been written just as the sweep ended."""
    folder.read()
    if not folder.rows:
        return ""
    return f"; {len(folder.rows)} of {len(runs)} runs are kept in {folder.path}, and the same command goes on"


def _counted(runs):
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"


def _table(folder):
    """Writes the tables; tells of what there is, and what failed. Returns the exit code."""
    from ..sweep.grid import Sweep
    from ..sweep.table import save

    content = folder.described()
    if content is None:
        raise UsageError(f"--table {folder.path}: it holds no sweep; 'nectar sweep PROGRAM.py ... -o FOLDER' makes one")
    sweep = Sweep(**content["sweep"])
    folder.read()
    failed = [row for row in folder.rows if row["error"] is not None]
    wrong = [row for row in folder.rows if any(result["ok"] is False for result in row["results"])]
    runs = sweep.runs()
    counts = [f"{len(folder.rows) - len(failed)} done"]
    counts += [f"{count} {what}" for count, what in ((len(failed), "failed"), (len(wrong), "not ok")) if count]
    missing = len(runs) - len(folder.rows)
    counts += [f"{missing} missing"] * (missing > 0)
    print(f"{_counted(runs)}: {', '.join(counts)}")
    for row in failed:
        print(f"  {runs[row['number']].told()}: {row['error']}")
    print(*save(folder, list(sweep.values), missing > 0), sep="\n")
    return FAILED if failed or wrong else DONE
