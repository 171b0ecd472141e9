"""A compiler's launcher that keeps what every model needs alike: Verilator's own objects, a third of the time that a small model takes.

Verilator's makefiles put the variable OBJCACHE before the compiler, as in ``python objects.py FOLDER c++ -c -o verilated.o …``. An object of the same
source, compiled by the same command, is taken from FOLDER. Runs by itself, without the rest of the package.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(folder, *command):
    """Does ``command``, or copies what it gave the last time; returns its exit code."""
    target = command[command.index("-o") + 1] if "-o" in command else ""
    if not Path(target).name.startswith("verilated"):
        return subprocess.run(command, check=False).returncode
    source = os.stat(command[-1])
    key = hashlib.sha256(repr((command, source.st_size, source.st_mtime_ns)).encode()).hexdigest()[:24]
    kept = Path(folder) / f"{key}.o"
    if not kept.exists():
        status = subprocess.run(command, check=False).returncode
        if status:
            return status
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=folder)
        os.close(handle)
        shutil.copyfile(target, made)
        os.replace(made, kept)
    else:
        shutil.copyfile(kept, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
