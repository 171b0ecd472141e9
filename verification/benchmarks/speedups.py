"""Programs of ``examples/`` on 2 to 16 CABs beside the ideal: what ``nectar bench speedup`` measures.

Simulated time on the RTL: no machine's load disturbs it. The programs compare their answers with sequential ones, and
print tables (docs/programs.md)."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from .outcome import Outcome

__all__ = ["COUNTS", "PROGRAMS", "measure"]

#: Numbers of CABs.
COUNTS = (2, 4, 8, 16)
#: Name of the problem -> the program, and the options of a short run; without options it has the size of the page.
PROGRAMS = {
    "fft2d": ("fft/fft2d.py", ("--order", "32")),
    "annealing": ("annealing/annealing.py", ("--rounds", "4")),
}
#: The programs compute for seconds of the host before a message is sent; on a machine that is busy, for longer.
_OPTIONS = ("--topology", "hub:16", "--stall-time", "600s")
_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _ran(program, *options):
    """The results of a program by their ids. Raises RuntimeError with what it says, if it fails."""
    nectar = [sys.executable, "-c", "from nectar.cli import main; raise SystemExit(main())"]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [*nectar, "run", *_OPTIONS, "--json", results, _EXAMPLES / program, *options]
        done = subprocess.run(
            [*command, "--cabs", ",".join(map(str, COUNTS))], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")
        return {result["id"]: result["value"] for result in json.loads(results.read_text())["results"]}


def measure(scale):
    """One Outcome for each program: its speed-up on the most CABs. Below a ``scale`` of 1 the problems are small."""
    outcomes = []
    for name, (program, short) in PROGRAMS.items():
        found = _ran(program, *(short if scale < 1 else ()))
        lines = [
            f"{name} on {count:2} CABs: speed-up {found[f'{name}.speedup.{count}']:.2f}, ideal {count}; "
            f"communication {found[f'{name}.communication.{count}']:.1f} % of the time"
            for count in COUNTS
        ]
        measured = {
            f"{what} {count}": found[f"{name}.{what}.{count}"]
            for count in COUNTS
            for what in ("speedup", "communication")
        }
        value = found[f"{name}.speedup.{COUNTS[-1]}"]
        outcomes.append(Outcome(value, "", None, "\n".join(lines), measured=measured, part=name))
    return outcomes
