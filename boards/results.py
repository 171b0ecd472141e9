"""Builds every top in each profile on every board, and writes the page of what came of it. As a program: ``make
boards``.

    python -m nectar.boards.results [--only BOARD,...] [--tops TOP,...] [--profiles P,...] [--scheduler ADDRESS] [PAGE]

Rows that are not built in this run stay as they are in the page, with the date on which they were.
"""

import argparse
import datetime
import re
import sys
from pathlib import Path

from ..hdl.hub.profile import HUB_PROFILES
from ..many import SpreadError, spread
from ..progress import Progress
from .build import Missed, Refused, build, design
from .catalogue import BOARDS
from .flows import FLOWS, VENDORS
from .tools import ToolError, versions
from .tops import TOPS

__all__ = ["page", "row", "rows"]

_HEAD = ("board", "top", "of it", "COMB", "FF", "RAM", "clock asked, MHz", "met", "seed", "built")
_NOT_BUILT = "not built"
# Seconds that place and route may take: what ends at all has ended long before on all of these boards.
_LIMIT_S = 1800


def row(board, top, profile, progress, seed=1):
    """Builds; the row's columns behind board and top."""
    today = datetime.date.today().isoformat()
    what = {"profile": profile}
    try:
        found = design(board, top, parameters={} if profile == "-" else what)
        what |= {name: value for name, value in found.parameters.items() if name in ("ports", "cabs")}
        try:
            built = build(found, seed=seed, limit_s=_LIMIT_S, progress=progress)
        except Missed as error:
            built = error.built
    except (Refused, ToolError) as error:
        return [
            ", ".join(f"{name} {value}" for name, value in what.items()),
            *["-"] * 6,
            f"{today}: {str(error).splitlines()[0]}",
        ]
    asked, met = min(built.mhz.values(), key=lambda pair: pair[1] / pair[0])
    verdict = "" if met >= asked else " missed"
    return [
        ", ".join(f"{name} {value}" for name, value in what.items()),
        *(str(built.cells[kind]) for kind in ("COMB", "FF", "RAM")),
        f"{asked:g}",
        f"{met:g}{verdict}",
        str(built.seed),
        today,
    ]


def rows(text):
    """Rows of a page: (board, top, profile) → columns behind board and top."""
    found = {}
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip("|").split("|")]
        profile = re.search(r"profile ([\w-]+)", line)
        if line.startswith("|") and len(columns) == len(_HEAD) and profile:
            found[columns[0], columns[1], profile[1]] = columns[2:]
    return found


def page(found):
    """The page with these rows; what is missing is marked."""
    tools = sorted({package for flow in FLOWS.values() for package in flow.packages} | {"amaranth", "amaranth-boards"})
    lines = [
        "# What fits on which board",
        "",
        "Written by `make boards` ([boards.md](boards.md)); the date of each row is when it was built. The clock is "
        "the one that came nearest to its limit.",
        "Boards with a vendor's tools are not here. RAM are the FPGA's blocks.",
        "",
        f"Tools: {', '.join(f'{name} {version}' for name, version in versions(tools).items())}.",
        "",
        f"| {' | '.join(_HEAD)} |",
        f"|{'---|' * len(_HEAD)}",
    ]
    for key in _all():
        columns = found.get(key, [f"profile {key[2]}", *["-"] * 6, _NOT_BUILT])
        lines.append(f"| {' | '.join([key[0], key[1], *columns])} |")
    return "\n".join(lines) + "\n"


def _all():
    """(board, top, profile) of every row; the profile of a top that has none is "-"."""
    profiles = sorted(HUB_PROFILES)
    for name, board in BOARDS.items():
        if board.family not in VENDORS:
            for top, kind in TOPS.items():
                yield from ((name, top, profile) for profile in (profiles if "profile" in kind.defaults else ["-"]))


def _built(key):
    """The row of a key, built here or on a worker."""
    print(*key, file=sys.stderr)
    return row(*key, Progress())


def main():
    """The program; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m nectar.boards.results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("page", nargs="?", default="docs/boards-results.md")
    parser.add_argument("--only", help="boards, with commas between")
    parser.add_argument("--tops", help="tops, with commas between")
    parser.add_argument("--profiles", help="profiles, with commas between")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="build on a Dask cluster, as tcp://host:8786")
    options = parser.parse_args()
    path = Path(options.page)
    given = options.only, options.tops, options.profiles
    keys = [
        key
        for key in _all()
        if all(not chosen or name in chosen.split(",") for name, chosen in zip(key, given, strict=True))
    ]
    try:
        # Here one after the other: place and route takes the memory of a machine.
        for ended in spread(_built, keys, scheduler=options.scheduler, workers=0, what="builds"):
            found = rows(path.read_text() if path.exists() else "")
            path.write_text(page(found | {keys[ended.number]: ended.value()}))
    except SpreadError as error:
        parser.error(f"{error}; rows that were built are in {path}")
    return 0


if __name__ == "__main__":
    from nectar.boards.results import main  # workers import what this module sends them

    sys.exit(main())
