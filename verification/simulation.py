"""One cocotb simulation: Verilog text, compiled by Verilator, run under cocotb in a process of its own.

The compiled model is kept by its content (``models``). A simulation runs in a directory of its own, which is locked
while it is in use.
"""

import contextlib
import fcntl
import importlib.metadata
import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..sim.build import BuildError
from ..sim.host import cores
from . import seeds
from .machine import processor_seconds
from .models import IN_PIECES, LARGE, ModelError, Recipe, compiled
from .repeat import WAVES

__all__ = ["Outcome", "recipe", "simulate"]


class Outcome(NamedTuple):
    """What a simulation gave.

    ``results``: name of each cocotb test that ran → True, or a text that says how it failed. ``log``: what cocotb
    printed, the random seed included; when nothing ran, what the build or the simulator said instead. ``waves``: Path
    of the waveform, or None.
    ``build_seconds``: seconds of processor time that compiling took.
    """

    results: dict
    log: str
    waves: Path | None = None
    build_seconds: float = 0


def _threads(text):
    """Flags for the threads in which a model is evaluated: with two, each core holds half of the code of a large one.

    A HUB of 64 ports takes 201 us for a cycle with -O1, 110 us with -O2, 53 us with -O2 and two threads."""
    return ["--threads", "2"] if len(text) > LARGE and cores() > 1 else []


@contextlib.contextmanager
def _locked(directory):
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.parent / f"{directory.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _with_libraries(directory):
    """Within, a program that is started finds the shared libraries in ``directory``: where they are is not written into
    a model, since another checkout may use it, too."""
    name = "LD_LIBRARY_PATH"
    before = os.environ.get(name)
    os.environ[name] = os.pathsep.join([str(directory), *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _ports(text, top):
    """Names of the ports of the module ``top`` in the Verilog ``text``; ModelError if there is no such module."""
    header = re.search(rf"^module \\?{re.escape(top)} ?\((.*?)\);", text, re.M | re.S)
    if header is None:
        raise ModelError(f"there is no module {top} in this Verilog")
    return [item.split()[-1].lstrip("\\") for item in header[1].split(",") if item.strip()]


def recipe(text, top, *, flags=(), ports_only=False, optimisation=None, waves=False):
    """How a model for cocotb is made of the Verilog ``text``, but for what cocotb itself adds; parameters as in
    ``simulate``."""
    # Public signals cost a factor of 3 to 4 in speed, and half of the time to compile a small component.
    public = (
        {"configuration": "".join(f'public_flat_rw -module "{top}" -var "{name}"\n' for name in _ports(text, top))}
        if ports_only
        else {}
    )
    flags = [*([] if ports_only else ["--public-flat-rw"]), "--vpi", *flags]
    optimisation = optimisation or ("-O2" if len(text) > LARGE else "-O1" if len(text) > IN_PIECES else "-O0")
    return Recipe(top, flags=flags, optimisation=optimisation, waves=waves, **public)


#: cocotb has pytest rewrite assertions. Without its plugins, a simulation starts in 0.9 of the processor time.
_PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _with_cocotb(model):
    """``model`` (Recipe) with cocotb's main program; and where its libraries are."""
    from cocotb_tools import config

    main = Path(config.share_dir) / "lib" / "verilator" / "verilator.cpp"
    libraries = Path(config.libs_dir)
    link, versions = [f"-L{libraries}", "-lcocotbvpi_verilator"], [importlib.metadata.version("cocotb")]
    return replace(model, sources=[main], link=link, versions=versions), libraries


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
        results[case.get("name")] = (
            True if bad is None else f"failed: {bad.get('error_msg') or bad.get('message') or bad.text}"
        )
    waves = directory / "dump.vcd"
    return Outcome(results, log, waves if waves.exists() else None)


def simulate(
    text,
    modules,
    *,
    top,
    directory,
    flags=(),
    ports_only=False,
    optimisation=None,
    environment=None,
    seed=None,
    once=None,
    tests=None,
):
    """Runs the cocotb tests of ``modules`` on the Verilog ``text``; returns an Outcome.

    Parameters
    ----------
    text : str
        Verilog source; its module ``top`` is simulated. Time has a resolution of 1 ps.
    modules : str or list of str
        Python modules with cocotb tests.
    directory : Path
        Where it runs; belongs to this simulation; made if need be.
    flags : list of str
        More flags for Verilator.
    ports_only : bool
        cocotb sees only the ports of the module ``top``, not what is inside; several times faster.
    optimisation : str, optional
        Flag of the C++ compiler. By default -O0 for a text of up to IN_PIECES characters: of ten benches of components,
        it halves the time of compiling and lets simulations, which mostly run Python, take a tenth longer. -O1 for a
        larger one, -O2 for one of more than LARGE.
    environment : dict of str → str
        Environment variables for the simulation.
    seed : int or str, optional
        Seed of Python's ``random`` in the simulation; by default that of the test run (``seeds``).
    once : str, optional
        Name of a test run: within the same run the same simulation is not repeated, its outcome is read again.
    tests : iterable of str, optional
        Names of the only cocotb tests to run. Each draws the same random numbers as beside all others.
    """
    from cocotb_tools.runner import get_runner

    begun = processor_seconds()
    seed = seeds.seed() if seed is None else seed
    waves = bool(os.environ.get(WAVES))
    directory = Path(directory).resolve()
    try:
        flags = [*_threads(text), *flags]
        plain = recipe(text, top, flags=flags, ports_only=ports_only, optimisation=optimisation, waves=waves)
        whole, libraries = _with_cocotb(plain)
        model = compiled(text, whole)
    except (ModelError, BuildError) as error:
        return Outcome({}, str(error))
    took = processor_seconds() - begun
    only = None if tests is None else r"\.(" + "|".join(sorted(tests)) + ")$"
    with _locked(directory):
        directory.mkdir(parents=True, exist_ok=True)
        done = directory / "once"
        label = repr((once, str(model), modules, environment, seed, only))
        if once is not None and _read(done) == label:
            return _outcome(directory)
        for name in ("once", "results.xml", "simulation.log", "dump.vcd"):
            (directory / name).unlink(missing_ok=True)
        message = ""
        try:
            with _with_libraries(libraries):
                get_runner("verilator").test(
                    hdl_toplevel=top,
                    hdl_toplevel_lang="verilog",
                    test_module=modules,
                    build_dir=model.parent,
                    test_dir=directory,
                    results_xml=str(directory / "results.xml"),
                    log_file=directory / "simulation.log",
                    seed=seed,
                    extra_env={**_PLAIN, **(environment or {})},
                    waves=waves,
                    test_filter=only,
                )
        except (SystemExit, RuntimeError) as error:
            message = str(error)
        if once is not None:
            done.write_text(label)
        return _outcome(directory, message)._replace(build_seconds=took)
