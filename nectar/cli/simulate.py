"""Simulates boards, with pseudo-terminals in place of their USB serial; 'nectar run PROGRAM.py --on' these lines uses
them (docs/cable.md).

A board is the RTL of its top. They run until Ctrl-C.
"""

import contextlib
import os

from .errors import DONE, UsageError

HELP = "simulate boards that programs run on by 'nectar run --on'"

WHAT = ("cluster", "desk")


def configure(parser):
    """Options of ``nectar simulate``."""
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="cluster: a board with a HUB and CABs; desk: a board with a HUB, and boards with a CAB each on its fibers",
    )
    parser.add_argument("--cabs", metavar="N", help="CABs, 1 to 16 (default: 4; desk: 2)")
    parser.add_argument(
        "--profile", metavar="P", default="modern", help="profile of the HUB: prototype or modern (default: modern)"
    )
    parser.add_argument(
        "--data-bytes", metavar="N", default="32768", help="data memory of each CAB, a power of two (default: 32768)"
    )
    parser.add_argument(
        "--link",
        metavar="FILE",
        help="also give the line this name, by a symbolic link, while the board runs; the lines of a desk "
        "FILE1, FILE2, ...",
    )


def execute(options):
    """Builds the boards and lets them run."""
    from ..boards.simulated import DeskShape, Shape, SimulatedBoard
    from ..hdl.hub.profile import HUB_PROFILES

    if options.what not in WHAT:
        raise UsageError(f"there is no {options.what!r} to simulate; there are {' and '.join(WHAT)}")
    if options.profile not in HUB_PROFILES:
        raise UsageError(f"--profile: a HUB has no profile {options.profile!r}; there are {', '.join(HUB_PROFILES)}")
    desk = options.what == "desk"
    cabs = 2 if desk else 4
    if options.cabs is not None:
        cabs = _number("--cabs", options.cabs, range(1, 17))
    data_bytes = _number("--data-bytes", options.data_bytes, [1 << n for n in range(12, 21)])
    shape = (DeskShape if desk else Shape)(cabs=cabs, profile=options.profile, data_bytes=data_bytes)
    links = []
    if options.link is not None:
        links = [f"{options.link}{n + 1}" for n in range(cabs)] if desk else [options.link]
        for link in links:
            if os.path.islink(link) and not os.path.exists(link):  # a killed one has left it
                os.unlink(link)
            if not options.link or os.path.lexists(link) or not os.path.isdir(os.path.dirname(link) or "."):
                raise UsageError(
                    f"--link {link if options.link else ''}: give a name that is not there yet, in a directory that is"
                )
    with SimulatedBoard(shape) as board, contextlib.ExitStack() as stack:
        for link, path in zip(links, board.paths):
            os.symlink(path, link)
            stack.callback(os.unlink, link)
        lines = links or board.paths
        count = f"{cabs} CAB{'s' * (cabs != 1)}"
        print(
            f"a HUB and {count} are at {','.join(lines)}; Ctrl-C ends them"
            if desk
            else f"a board with {count} is at {lines[0]}; Ctrl-C ends it",
            flush=True,
        )
        status = board.process.wait()
        raise UsageError(f"the simulated board has ended with exit code {status}")
    return DONE


def _number(name, text, allowed):
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        what = (
            f"{allowed[0]} to {allowed[-1]}"
            if isinstance(allowed, range)
            else f"a power of two from {allowed[0]} to {allowed[-1]}"
        )
        raise UsageError(f"{name} {text}: give {what}")
    return int(text)
