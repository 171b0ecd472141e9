"""Simulates a board, with a pseudo-terminal in place of its USB serial; 'nectar run PROGRAM.py --on' that line uses it (docs/cable.md).

The board is the RTL of its top. It runs until Ctrl-C.
"""

import contextlib
import os

from .errors import DONE, UsageError

HELP = "simulate a board that programs run on by 'nectar run --on'"

TOPS = ("cluster",)


def configure(parser):
    """Options of ``nectar simulate``."""
    parser.add_argument("top", metavar="TOP", help="what is in its FPGA: cluster, a HUB with CABs")
    parser.add_argument("--cabs", metavar="N", default="4", help="CABs, 1 to 16 (default: 4)")
    parser.add_argument("--profile", metavar="P", default="modern", help="profile of the HUB: prototype or modern (default: modern)")
    parser.add_argument("--data-bytes", metavar="N", default="32768", help="data memory of each CAB, a power of two (default: 32768)")
    parser.add_argument("--link", metavar="FILE", help="also give the line this name, by a symbolic link, while the board runs")


def execute(options):
    """Builds the board and lets it run."""
    from ..hdl.hub.profile import HUB_PROFILES
    from ..sim.simulated import Shape, SimulatedBoard
    if options.top not in TOPS:
        raise UsageError(f"there is no top {options.top!r} to simulate; there is {', '.join(TOPS)}")
    if options.profile not in HUB_PROFILES:
        raise UsageError(f"--profile: a HUB has no profile {options.profile!r}; there are {', '.join(HUB_PROFILES)}")
    cabs = _number("--cabs", options.cabs, range(1, 17))
    data_bytes = _number("--data-bytes", options.data_bytes, [1 << n for n in range(12, 21)])
    link = options.link
    if link is not None and (not link or os.path.lexists(link) or not os.path.isdir(os.path.dirname(link) or ".")):
        raise UsageError(f"--link {link}: give a name that is not there yet, in a directory that is")
    with SimulatedBoard(Shape(cabs=cabs, profile=options.profile, data_bytes=data_bytes)) as board, contextlib.ExitStack() as stack:
        if link is not None:
            os.symlink(board.path, link)
            stack.callback(os.unlink, link)
        print(f"a board with {cabs} CAB{'s' * (cabs != 1)} is at {link or board.path}; Ctrl-C ends it", flush=True)
        status = board.process.wait()
        raise UsageError(f"the simulated board has ended with exit code {status}")
    return DONE


def _number(name, text, allowed):
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        what = f"{allowed[0]} to {allowed[-1]}" if isinstance(allowed, range) else f"a power of two from {allowed[0]} to {allowed[-1]}"
        raise UsageError(f"{name} {text}: give {what}")
    return int(text)
