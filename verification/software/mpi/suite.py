"""mpi4py's own tests, run by ``nectar mpirun``; ``python -m nectar.verification.software.mpi.suite -n 2`` shows the
table of docs/mpi.md.

They come from mpi4py's source distribution (3-clause BSD), whose version and hash stand in ``mpi4py.txt``. pip brings
it to ``build/mpi4py`` when it is needed first.
"""

import argparse
import fcntl
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["EXCLUDED", "FILES", "Outcome", "QUICK", "run", "sources"]

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent.parent

#: Files that are run each time.
QUICK = (
    "p2p_obj_matched",
    "cco_obj",
    "comm",
    "comm_topo",
    "group",
    "status",
    "request",
    "op",
    "msgzero",
)
#: All files.
FILES = (
    *QUICK,
    "p2p_obj",
    "p2p_buf",
    "p2p_buf_matched",
    "cco_buf",
    "cco_vec",
    "cco_nb_buf",
    "comm_inter",
    "cco_obj_inter",
    "cco_buf_inter",
    "cco_vec_inter",
)
#: (file, part of the name) → why it is left out.
EXCLUDED = {
    ("p2p_obj", "testCommLock"): "looks into a table of mpi4py's own locks of threads",
}


@dataclass(frozen=True)
class Outcome:
    """Of a file: tests that were run, names of those that did not pass on all ranks, what was printed, exit code."""

    count: int
    failed: frozenset
    text: str
    status: int

    @property
    def passed(self):
        """Number of tests that have passed on all ranks."""
        return self.count - len(self.failed)


def sources():
    """The folder of mpi4py's tests: of its source distribution, which pip downloads once.

    Raises CalledProcessError.
    """
    folder = _ROOT / "build" / "mpi4py"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = list(folder.glob("mpi4py-*/test"))
        if not found:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            # pip asks the package for its name and version: with the setuptools that are here, in a sixth of the time.
            subprocess.run(
                [*pip, "--no-build-isolation", "--no-binary", "mpi4py", "-r", _HERE / "mpi4py.txt", "-d", folder],
                check=True,
            )
            with (
                tarfile.open(next(folder.glob("mpi4py-*.tar.gz"))) as archive,
                tempfile.TemporaryDirectory(dir=folder) as unpacked,
            ):
                # Python before 3.11.4 has no filters; pip has compared the file's hash.
                archive.extractall(unpacked, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
                (top,) = Path(unpacked).iterdir()
                top.rename(folder / top.name)
            found = list(folder.glob("mpi4py-*/test"))
    return found[0]


def run(name, ranks=2, options=("--boards", "fast")):
    """Runs ``test_{name}.py`` with so many ranks. Returns the Outcome."""
    left_out = [word for (file, test) in EXCLUDED if file == name for word in ("-x", test)]
    done = subprocess.run(
        [
            Path(sys.executable).with_name("nectar"),
            "mpirun",
            "-n",
            str(ranks),
            "--stall-time",  # NumPy is loaded by a rank: on a machine that is busy that takes a while
            "600s",
            *options,
            sources() / f"test_{name}.py",
            "-q",
        ]
        + left_out,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    counts = re.findall(r"^Ran (\d+) tests? in", done.stdout, re.M)
    failed = re.findall(r"^(?:ERROR|FAIL): \w+ \((\S+?)\)", done.stdout, re.M)
    count = int(counts[0]) if len(counts) == ranks else 0
    return Outcome(count, frozenset(failed), done.stdout, done.returncode)


def main(arguments=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="ranks", type=int, default=2, help="number of ranks (default: 2)")
    parser.add_argument("--boards", default="fast", help="boards of 'nectar mpirun': fast (default) or rtl")
    parser.add_argument("files", nargs="*", default=FILES, metavar="FILE", help="as p2p_obj; by default all")
    options = parser.parse_args(arguments)
    print("| file | tests | pass |\n|---|---|---|")
    total = passed = 0
    for name in options.files:
        outcome = run(name, options.ranks, ("--boards", options.boards))
        total, passed = total + outcome.count, passed + outcome.passed
        print(f"| {name} | {outcome.count} | {outcome.passed} |", flush=True)
        for each in sorted(outcome.failed):
            print(f"  {each} does not pass", file=sys.stderr)
    print(f"| all | {total} | {passed} |")
    return int(passed < total)


if __name__ == "__main__":
    sys.exit(main())
