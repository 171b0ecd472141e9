"""Writes a board as one Verilog file, for an FPGA or another simulator; docs/verilog.md tells how to use it.

The file is plain Verilog-2005, with readable names and a comment that tells its parameters and pins. The top module is
called as the board: 'hub', 'cab', 'router' or 'node'.
"""

import hashlib
from pathlib import Path

from ..live import telling
from .errors import DONE, UsageError
from .results import Result, add_json_option, check_apart, check_target, is_stream, save, save_json

HELP = "write a board as a Verilog file"
#: What a hub may do without.
PARTS = ("monitor", "locks")


def configure(parser):
    """Options of ``nectar verilog``."""
    parser.add_argument("board", metavar="BOARD", help="hub, cab, router or node")
    parser.add_argument("--ports", metavar="N", help="ports of a hub, 2 to 128 (default: 16)")
    parser.add_argument("--profile", metavar="P", help="registers on the way through a hub (default: prototype)")
    for part in PARTS:
        parser.add_argument(
            f"--no-{part}", dest=part, action="store_false", default=None, help=f"leave the {part} of a hub out"
        )
    parser.add_argument(
        "--queue", metavar="N", help="symbols in each input queue of a hub, 256 to 4096 (default: 1152)"
    )
    parser.add_argument(
        "--data-bytes", metavar="N", help="data memory of a cab: a power of two from 4096 to 1048576 (default)"
    )
    parser.add_argument(
        "--program-bytes", metavar="N", help="program RAM of a cab: a power of two from 4096 to 524288 (default)"
    )
    parser.add_argument(
        "--domains", metavar="N", help="protection domains of a cab: a power of two from 2 to 32 (default)"
    )
    parser.add_argument(
        "--pages",
        metavar="N",
        help="pages in a cab's protection table: 16384 (default), or a power of two from 16 to 2048",
    )
    parser.add_argument(
        "--vme", action="store_true", default=None, help="a cab with its VME interface and the synchronous host port"
    )
    parser.add_argument(
        "--period-ps",
        metavar="N",
        help="with --vme: period of the clock, 10000 to 75000 (default: 62500), which VME's times go by",
    )
    parser.add_argument(
        "--dimensions", metavar="N", help="dimensions of the cube of a router or a node, 1 to 7 (default)"
    )
    parser.add_argument(
        "--memory-bytes", metavar="N", help="memory of a node: a power of two from 4096 to 8388608 (default: 1048576)"
    )
    parser.add_argument("-o", "--output", metavar="FILE.v", required=True, help="the file to write")
    add_json_option(parser)


def _number(option, text):
    try:
        return int(text, 10)
    except ValueError:
        raise UsageError(f"{option} {text}: not a whole number") from None


def execute(options):
    """Makes the text, and then the file."""
    from ..hdl.product import BOARDS, component, product, told
    from ..hdl.tidy import ports

    if options.board not in BOARDS:
        raise UsageError(f"there is no board {options.board!r}; there are {', '.join(BOARDS)}")
    parameters = {}
    sizes = "ports", "queue", "data_bytes", "program_bytes", "domains", "pages", "period_ps"
    sizes += "dimensions", "memory_bytes"
    for name in ("profile", "vme", *PARTS, *sizes):
        given, option = getattr(options, name), f"--{'no-' * (name in PARTS)}{name.replace('_', '-')}"
        if given is None:
            continue
        if name not in BOARDS[options.board][2]:
            what = "leave out" if name in PARTS else "choose"
            raise UsageError(f"{option}: a {options.board} has no {name.replace('_', ' ')} to {what}")
        parameters[name] = _number(option, given) if name in sizes else given
    if "period_ps" in parameters and "vme" not in parameters:
        raise UsageError("--period-ps: only VME goes by it; give --vme, too")
    check_target("-o", options.output)
    check_target("--json", options.json)
    check_apart([("-o", options.output), ("--json", options.json)])
    try:
        board = component(options.board, **parameters)
    except ValueError as error:
        raise UsageError(str(error)) from error
    name = None if is_stream(options.output) else Path(options.output).name
    with telling(f"making the Verilog of a {options.board}"):
        text = product(options.board, board=board, file=name, **parameters)
    data = text.encode()
    try:
        save(options.output, data)
    except OSError as error:
        raise UsageError(f"-o {options.output} cannot be written: {error.strerror}") from error
    parameters = {**BOARDS[options.board][2], **parameters}
    lines, modules = text.count("\n"), text.count("\nmodule ")
    if not is_stream(options.output):
        print(
            f"{options.output}: {options.board}, "
            f"{', '.join(f'{name} {told(value)}' for name, value in parameters.items())}; "
            f"{lines} lines, {modules} modules"
        )
    pins = [{"name": name, "direction": direction, "width": width} for name, direction, width in ports(text)]
    save_json(
        options.json,
        [
            Result(
                f"verilog.{options.board}",
                len(data),
                "byte",
                more={
                    "file": options.output,
                    "parameters": parameters,
                    "lines": lines,
                    "modules": modules,
                    "pins": pins,
                    "sha256": hashlib.sha256(data).hexdigest(),
                },
            )
        ],
    )
    return DONE
