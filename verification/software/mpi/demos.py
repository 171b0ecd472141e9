"""mpi4py's own demos, run by ``nectar mpirun``; ``python -m nectar.verification.software.mpi.demos`` writes the table
of docs/mpi.md.

They come from mpi4py's source distribution, as its tests (``suite``).
"""

import re
import subprocess
import sys
from pathlib import Path

from nectar.verification.software.mpi.suite import sources

__all__ = ["DEMOS", "PAGE", "rows", "run", "written"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mpi.md"
_BEGIN, _END = "<!-- demos -->\n", "<!-- end of demos -->\n"
#: Path in ``demo`` -> ranks, and what the standard input has.
DEMOS = {
    "helloworld.py": (3, ""),
    "compute-pi/cpi-cco.py": (3, "20\n0\n"),
    **{f"mpi-ref-v1/ex-{number}.py": (4, "") for number in ("2.29", "2.32", "2.34", "2.35")},
    **{f"mpi-ref-v1/ex-3.{number:02}.py": (4, "") for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13)},
    **{f"mpi-ref-v1/ex-2.{number}.py": (2, "") for number in ("01", "08")},
    "reductions/test_reductions.py": (3, ""),
    "sequential/test_seq.py": (3, ""),
    **{f"init-fini/test_{number}.py": (2, "") for number in range(7)},
    "nxtval/nxtval-threads.py": (2, ""),
    "nxtval/nxtval-onesided.py": (2, ""),
    "compute-pi/cpi-rma.py": (2, ""),
}


def run(name, options=("--boards", "fast", "--max-time", "1000s")):
    """What becomes of a demo: "runs", or the last line of what it says."""
    ranks, words = DEMOS[name]
    nectar = Path(sys.executable).with_name("nectar")
    path = sources().parent / "demo" / name
    command = [nectar, "mpirun", "-n", str(ranks), *options, path]
    done = subprocess.run(command, input=words, capture_output=True, text=True, check=False, cwd=path.parent)
    if done.returncode == 0:
        return "runs"
    said = re.findall(r"^(?:\w+\.)*(\w+Error|\w*Exception): (.*)$", done.stderr, re.M)
    last = ": ".join(said[-1]) if said else done.stderr.strip().splitlines()[-1]
    return re.sub(r"^nectar: rank \d+ has ended by (.*): all others were ended$", r"\1", last).rstrip(": ")


def rows():
    """The rows of the table, measured."""
    return [f"| {name} | {DEMOS[name][0]} | {run(name)} |" for name in DEMOS]


def written(page, lines):
    """The text of a page with these rows."""
    before, rest = page.split(_BEGIN)
    table = "\n".join(["| demo | ranks | result |", "|---|---|---|", *lines])
    return f"{before}{_BEGIN}\n{table}\n\n{_END}{rest.split(_END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), rows()))
