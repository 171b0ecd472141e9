"""Builds a top for an FPGA board: constraints, synthesis, place and route, bitstream; docs/boards.md tells how to wire
and use it.

What has been built once is kept, so that the same command is done at once. For boards whose tools are not open it
writes the vendor's project, and says what to run. Exit code 1: a clock is not met, and there is no bitstream."""

import os
import sys
import tempfile
from pathlib import Path

from ..live import telling
from .errors import DONE, FAILED, UsageError
from .results import Result, add_json_option, check_target, save, save_json

HELP = "build a bitstream for an FPGA board"

#: Options that are parameters of tops: name → (metavar, whether it is a number, help).
_PARAMETERS = {
    "ports": ("N", True, "ports of the HUB"),
    "cabs": ("N", True, "CABs of a cluster"),
    "profile": ("P", False, "registers on the way through the HUB"),
    "phy": ("PHY", False, "fibers on the pins: serial or parallel"),
    "hub_id": ("N", True, "ID of the HUB, 0 to 254, different in each HUB of a network"),
    "data_bytes": ("N", True, "data memory of each CAB"),
    "baud": ("N", True, "bits in a second on the cable to the computer"),
}


def configure(parser):
    """Options of ``nectar build``."""
    parser.add_argument("board", metavar="BOARD", nargs="?", help="what to build for; --list tells which there are")
    parser.add_argument("top", metavar="TOP", nargs="?", help="what to build: hub, cab, cluster, selftest")
    parser.add_argument("--list", action="store_true", help="tell boards and tops, and build nothing")
    for name, (metavar, _, text) in _PARAMETERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=text)
    parser.add_argument(
        "--freq", metavar="MHZ", help="clock of HUB and CABs in MHz (default: one that the board meets)"
    )
    parser.add_argument(
        "--mbaud", metavar="N", help="bits on a serial fiber, in Mbit/s; the same at both ends (default: by the board)"
    )
    parser.add_argument("--seed", metavar="S", default="1", help="where place and route starts from (default: 1)")
    parser.add_argument(
        "--minutes", metavar="N", default="60", help="give up if place and route takes longer (default: 60)"
    )
    parser.add_argument("--program", action="store_true", help="then load it into the board")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the files (default: build/BOARD-TOP)")
    add_json_option(parser)


def _number(option, text, kind=int, least=0):
    try:
        value = kind(text)
    except ValueError:
        raise UsageError(f"{option} {text}: not a {'whole ' * (kind is int)}number") from None
    if not least <= value < 1e9:
        raise UsageError(f"{option} {text}: must be {least} to 999999999")
    return value


def _parameters(options, board, top):
    """Parameters of the top that were given."""
    from ..boards.tops import TOPS

    found = {}
    for name, (_, number, _) in _PARAMETERS.items():
        given, option = getattr(options, name), f"--{name.replace('_', '-')}"
        if given is None:
            continue
        if top in TOPS and name not in TOPS[top].defaults:
            raise UsageError(f"{option}: the top {top} has no {name.replace('_', ' ')} to choose")
        found[name] = _number(option, given) if number else given
    return found


def _check_folder(path):
    """Raises UsageError if no files can be written into the folder ``path``, which need not be there yet."""
    folder = Path(path)
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        reason = f"{folder} is not a directory"
    else:
        try:
            with tempfile.TemporaryDirectory(dir=folder):
                return
        except OSError as error:
            reason = f"{folder}: {error.strerror}"
    raise UsageError(f"-o {path} cannot be written: {reason}")


def _list():
    from ..boards.catalogue import BOARDS
    from ..boards.flows import VENDORS
    from ..boards.tops import TOPS

    for name, board in BOARDS.items():
        print(
            f"{name:12}{board.title}{f' (a project for {VENDORS[board.family][0]})' if board.family in VENDORS else ''}"
        )
    print()
    for name, top in TOPS.items():
        print(f"{name:12}{top.purpose}; {', '.join(f'{key} {value}' for key, value in top.defaults.items())}")


def _write(folder, files, stale=()):
    """Writes files (name → bytes) into the folder, and takes away what is no longer true."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        for name, data in files.items():
            save(folder / name, data)
    except OSError as error:
        raise UsageError(f"-o {folder} cannot be written: {error.strerror}") from error


def _pins(found):
    """What is where, a line each; bytes."""
    return "".join(f"{member:10}{signal:10}{pin}\n" for member, signal, pin in found.pins).encode()


def _name(found):
    return f"build.{found.board}.{found.top}.{found.parameters.get('profile', 'modern')}"


def _told(built):
    """Prints the summary of a Built; its Results."""
    found = built.design
    from ..boards.catalogue import BOARDS

    size = BOARDS[found.board].size
    cells = ", ".join(f"{built.cells[kind]} of {size[kind]} {kind}" for kind in ("COMB", "FF", "RAM"))
    print(
        f"{found.board} {found.top}: {', '.join(f'{name} {value}' for name, value in found.parameters.items())}; seed "
        f"{built.seed}"
    )
    print(f"  {cells}")
    results = []
    for clock, (asked, met) in sorted(built.mhz.items()):
        print(f"  {clock}: {asked:g} MHz asked, {met:g} MHz met")
        results.append(Result(f"{_name(found)}.{clock}", met, "MHz", asked, met >= asked))
    more = {
        "parameters": found.parameters,
        "seed": built.seed,
        "versions": built.versions,
        "pins": found.pins,
        "baud": found.baud,
    }
    results += [
        Result(f"{_name(found)}.{kind}", built.cells[kind], None, size[kind], built.cells[kind] <= size[kind], more)
        for kind in built.cells
    ]
    return results


def _vendor(options, found, folder):
    """Writes the project for the vendor's program."""
    from ..boards.catalogue import BOARDS
    from ..boards.flows import VENDORS

    program, command, product = VENDORS[BOARDS[found.board].family]
    files = {name: data for name, data in found.files.items() if not name.endswith((".debug.v", ".bat", ".json"))}
    _write(folder, {**files, "pins.txt": _pins(found)})
    print(
        f"{folder}: a project for {program}, {len(files)} files; run '{command}' there, which makes {product} and "
        f"checks the timing"
    )
    save_json(
        options.json,
        [
            Result(
                _name(found),
                None,
                more={
                    "command": command,
                    "product": product,
                    "files": sorted(files),
                    "pins": found.pins,
                    "parameters": found.parameters,
                },
            )
        ],
    )
    if options.program:
        raise UsageError(f"--program: there is no {product} yet; run '{command}' in {folder} first")
    return DONE


def execute(options):
    """Builds, writes the files, and programs."""
    from ..boards.build import Missed, Refused, build, design
    from ..boards.catalogue import BOARDS
    from ..boards.flows import FLOWS, VENDORS
    from ..boards.program import program
    from ..boards.tools import MissingTool, ToolError

    if options.list:
        _list()
        return DONE
    if options.board is None or options.top is None:
        raise UsageError("give a board and a top; 'nectar build --list' tells which there are")
    folder = options.output or f"build/{options.board}-{options.top}"
    seed = _number("--seed", options.seed)
    mhz, mbaud = (
        None if given is None else _number(option, given, float, 0.001)
        for option, given in (("--freq", options.freq), ("--mbaud", options.mbaud))
    )
    minutes = _number("--minutes", options.minutes, float, 0.001)
    parameters = _parameters(options, options.board, options.top)
    _check_folder(folder)
    check_target("--json", options.json)
    try:
        with telling(f"making the netlist of {options.top}"):
            found = design(options.board, options.top, parameters=parameters, mhz=mhz, mbaud=mbaud)
        family = BOARDS[found.board].family
        if family in VENDORS:
            return _vendor(options, found, folder)
        built = build(found, seed=seed, limit_s=60 * minutes)
        constraints = {
            name: data for name, data in found.files.items() if name.endswith((".lpf", ".pcf", ".cst", ".cfg"))
        }
        results = _told(built)
        _write(folder, {**built.files, **constraints, "pins.txt": _pins(found)})
        print(f"  {folder}: {', '.join(built.files)}, pins.txt")
        save_json(options.json, results)
        if options.program:
            program(found.board, folder)
            print(f"  {found.board} is programmed")
        return DONE
    except Missed as error:
        save_json(options.json, _told(error.built))
        if Path(folder).is_dir():
            _write(folder, {}, stale=FLOWS[family].products)
        print(f"nectar: {error}", file=sys.stderr)
        return FAILED
    except ToolError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise UsageError(next((line for line in lines if "ERROR" in line), lines[-1])) from error
    except (Refused, MissingTool) as error:
        raise UsageError(str(error)) from error
