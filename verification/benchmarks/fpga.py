"""Size and speed of a board on an FPGA (an ECP5-85F, or another of ``devices``): synthesis with yosys, place and route
with nextpnr.

Both come from PyPI (the extra ``fpga``). What they find for the same Verilog with the same versions is kept in the
cache directory of ``nectar.cache``. As a program::

    python -m nectar.verification.benchmarks.fpga hub --ports 16 --profile prototype --seeds 1
    python -m nectar.verification.benchmarks.fpga some.v --modules

measures a board or the first module of a Verilog file, and shows the critical path; ``--modules`` what each module
costs; ``--levels`` the levels of logic in front of registers."""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from ...boards import tools as fpga_tools
from ...boards.flows import FEW_LEVELS
from ...boards.tools import MissingTool, ToolError, critical_path, kept, run, yosys
from ...cache import digest
from ...hdl.product import BOARDS, product
from ...hdl.tidy import ports
from ...many import SpreadError, spread
from ...progress import Progress
from .devices import DEVICES
from .harness import HARNESS, harness
from .levels import levels
from .outcome import NotInstalled

__all__ = [
    "Area",
    "Measured",
    "OPTIONS",
    "Placed",
    "cells_of_modules",
    "levels_of",
    "measure",
    "synthesis",
    "versions",
]

#: Ways to synthesise for an ECP5, as yosys' options; another FPGA has only the default. "few-levels" is how ``nectar
#: build`` does it.
OPTIONS = {"default": "", "nowidelut": "-nowidelut", "few-levels": "-nowidelut"}
#: Goal that nextpnr works towards; more than can be reached, so that it does its best.
_GOAL_MHZ = 200


def versions(tools=DEVICES["ecp5"].packages):
    """Versions of the tools, by name. Raises NotInstalled."""
    try:
        return fpga_tools.versions(tools)
    except MissingTool as error:
        raise NotInstalled(str(error)) from None


@dataclass(frozen=True)
class Area:
    """What a design takes of the FPGA: LUTs as nextpnr counts them (on an iCE40 logic cells), flip-flops, block RAMs,
    LUT RAMs."""

    comb: int
    ff: int
    ram: int
    lutram: int


@dataclass(frozen=True)
class Placed:
    """One run of place and route: ``seed``, ``mhz``, and the critical ``path``: (ns so far, signal) each."""

    seed: int
    mhz: float
    path: tuple


@dataclass(frozen=True)
class Measured:
    """A design on the FPGA: ``area``, the same without the harness, and ``runs``, one for each seed."""

    area: Area
    runs: tuple

    @property
    def mhz(self):
        """Median of all seeds."""
        return statistics.median(run.mhz for run in self.runs)

    @property
    def path(self):
        """Critical path of the median run."""
        return min(self.runs, key=lambda run: abs(run.mhz - self.mhz)).path


def synthesis(device, way, top):
    """Commands of yosys that synthesise ``top`` for a ``device`` in a ``way``, names of ``DEVICES`` and ``OPTIONS``."""
    before = f"{FEW_LEVELS}\n" if way == "few-levels" else ""
    return f"{before}{DEVICES[device].synthesis} {OPTIONS[way]} -top {top}"


class _Netlist:
    """``text``, the harness included, synthesised in a ``way``, a name of ``OPTIONS``, for a ``device``, a name of
    ``DEVICES``."""

    def __init__(self, text, top, way, device, progress):
        self._device = DEVICES[device]
        script = f"read_verilog design.v\n{synthesis(device, way, top)}; write_json netlist.json"
        self.name = digest(text, script, repr(sorted(versions(self._device.packages).items())))
        self._progress = progress
        named = ", ".join(dict.fromkeys(filter(None, (OPTIONS[way], "" if way == "nowidelut" else way))))
        self._options = named if device == "ecp5" else self._device.title

        def make(directory):
            (directory / "design.v").write_text(text)
            yosys(script, directory)
            return directory / "netlist.json"

        self.path = kept(self.name, ".json", make, progress, f"synthesis ({self._options})")

    def _nextpnr(self, extra, label, step):
        device = self._device
        arguments = [
            *device.arguments,
            "--json",
            "netlist.json",
            "--report",
            "report.json",
            "--freq",
            str(_GOAL_MHZ),
            "--timing-allow-fail",
            "-q",
            *extra,
        ]

        def make(directory):
            shutil.copy(self.path, directory / "netlist.json")
            if device.constraints:
                name, text = device.constraints
                (directory / name).write_text(text)
            run(device.placer, arguments, directory)
            return directory / "report.json"

        path = kept(digest(self.name, repr(arguments)), f"-{label}.json", make, self._progress, step)
        return json.loads(path.read_text())

    def placed(self, seed, out_of_context):
        """Place and route with ``seed``; returns a Placed and the Area."""
        extra = ["--seed", str(seed), *["--out-of-context"] * out_of_context]
        report = self._nextpnr(extra, "placed", f"place and route ({self._options}, seed {seed})")
        (clock,) = report["fmax"]
        placed = Placed(seed, report["fmax"][clock]["achieved"], tuple(critical_path(report, clock)))
        return placed, self._area(report)

    def _area(self, report):
        device, used = self._device, {kind: count["used"] for kind, count in report["utilization"].items()}
        return Area(
            sum(used[kind] for kind in device.comb),
            self._flip_flops() if device.packs else used[device.ff],
            used[device.ram],
            used[device.lutram] if device.lutram else 0,
        )

    def _flip_flops(self):
        """Flip-flops of the netlist, where nextpnr reports logic cells only."""
        modules = json.loads(self.path.read_text())["modules"].values()
        (top,) = (module for module in modules if int(module["attributes"].get("top", "0"), 2))
        return sum(cell["type"].startswith(self._device.ff) for cell in top["cells"].values())


def _place(job):
    """Place and route, here or on a worker; the synthesis, too, where it is not kept."""
    text, top, options, device, seed, out_of_context = job
    return _Netlist(text, top, options, device, Progress()).placed(seed, out_of_context)


def measure(text, top, *, options=None, device="ecp5", seeds=(1, 2, 3), boundary=True, scheduler=None):
    """Measures the module ``top`` of the Verilog ``text``; returns Measured.

    Parameters
    ----------
    options : str, optional
        A name of ``OPTIONS``: by default ``nowidelut`` for an ECP5, and ``default`` for others, which have no other.
    device : str
        A name of ``DEVICES``.
    seeds : iterable of int
        Place and route starts from each.
    boundary : bool
        Put the design into a harness with a register at each pin, so that the paths from and to the pins are timed as
        well (the harness's LUTs are not counted); else only paths from register to register inside count.
    scheduler : str, optional
        Address of a Dask scheduler, on whose workers the seeds run at the same time. Here they run one after the other:
        place and route of one HUB takes the memory of a machine.

    Raises NotInstalled, ToolError, SpreadError; ValueError if the device has not these options, or no way without a
    harness.
    """
    chosen = DEVICES[device]
    if device != "ecp5" and (options not in (None, "default") or not boundary):
        raise ValueError(f"--options and --inside are for an ECP5, not for {device}")
    options = options or ("nowidelut" if device == "ecp5" else "default")
    versions(chosen.packages)
    cost = 0
    if boundary:
        around, cost = harness(ports(text), top)
        text, top = text + around, HARNESS
    jobs = [(text, top, options, device, seed, not boundary) for seed in seeds]
    ends = spread(_place, jobs, scheduler=scheduler, workers=0, what="place and route")
    found = [ended.value() for ended in sorted(ends, key=lambda ended: ended.number)]
    area = found[0][1]
    if boundary:
        around = cost.ffs if chosen.packs else cost.luts
        area = Area(area.comb - around, area.ff - cost.ffs, area.ram, area.lutram)
    return Measured(area, tuple(placed for placed, _ in found))


def cells_of_modules(text, top, options="nowidelut"):
    """What each module costs by itself, synthesised one by one: name → {kind of cell: count}, and how many instances
    there are.

    Needs no nextpnr. Raises NotInstalled, ToolError.
    """
    versions(["pyosys"])
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "design.v").write_text(text)
        yosys(
            f"read_verilog design.v\n{synthesis('ecp5', options, top)} -noflatten; tee -q -o stat.json stat -json",
            directory,
        )
        modules = json.loads(Path(directory, "stat.json").read_text())["modules"]
    modules = {name.removeprefix("\\"): module["num_cells_by_type"] for name, module in modules.items()}
    instances = {}

    def count(name):
        instances[name] = instances.get(name, 0) + 1
        for kind, number in modules[name].items():
            for _ in range(number if kind in modules else 0):
                count(kind)

    count(top)
    return {
        name: ({kind: number for kind, number in modules[name].items() if kind not in modules}, instances[name])
        for name in instances
    }


def levels_of(text, top, *, options="nowidelut", boundary=True):
    """The levels of logic of the module ``top`` of the Verilog ``text``, as ``levels`` gives them; the other parameters
    as for ``measure``. Needs no nextpnr. Raises NotInstalled, ToolError."""
    versions(["pyosys"])
    if boundary:
        text, top = text + harness(ports(text), top)[0], HARNESS
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "design.v").write_text(text)
        yosys(f"read_verilog design.v\n{synthesis('ecp5', options, top)}; write_json netlist.json", directory)
        return levels(json.loads(Path(directory, "netlist.json").read_text()), top)


def _arguments():
    parser = argparse.ArgumentParser(
        prog="python -m nectar.verification.benchmarks.fpga",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "design", help="hub, cab, router, node, or a Verilog file, of which the first module is measured"
    )
    parser.add_argument("--ports", type=int, help="of a hub")
    parser.add_argument("--profile", help="of a hub")
    for name in ("data-bytes", "program-bytes", "domains", "pages", "period-ps"):
        parser.add_argument(f"--{name}", type=int, help="of a cab")
    parser.add_argument("--vme", action="store_true", default=None, help="a cab with VME")
    parser.add_argument("--dimensions", type=int, help="of the cube of a router or a node")
    parser.add_argument("--memory-bytes", type=int, help="of a node")
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of place and route")
    parser.add_argument("--options", choices=OPTIONS, help="way of synthesis for an ECP5 (default: nowidelut)")
    parser.add_argument("--device", choices=DEVICES, default="ecp5", help="the FPGA (default: ecp5)")
    parser.add_argument("--inside", action="store_true", help="time only paths from register to register inside")
    parser.add_argument("--modules", action="store_true", help="show what each module costs; no place and route")
    parser.add_argument(
        "--levels", type=int, metavar="N", help="show the N signals behind most levels of logic; no place and route"
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run the seeds on a Dask cluster, as tcp://host:8786")
    return parser.parse_args()


def _show(options):
    """Measures what the options name, and prints what comes of it. Raises NotInstalled, ToolError, SpreadError,
    OSError, ValueError."""
    if options.design in BOARDS:
        names = "ports", "profile", "data_bytes", "program_bytes", "domains", "pages", "vme", "period_ps"
        names += "dimensions", "memory_bytes"
        chosen = {name: getattr(options, name) for name in names}
        top, text = (
            options.design,
            product(options.design, **{name: value for name, value in chosen.items() if value is not None}),
        )
    else:
        text = Path(options.design).read_text()
        if "\nmodule " not in text:
            raise ValueError(f"{options.design} has no Verilog module")
        top = text.split("\nmodule ", 1)[1].split()[0]
    if options.device != "ecp5" and (options.modules or options.levels is not None):
        raise ValueError(f"--modules and --levels are for an ECP5, not for {options.device}")
    way = options.options or "nowidelut"
    if options.modules:
        for name, (cells, count) in cells_of_modules(text, top, way).items():
            each = {
                kind: cells.get(kind, 0)
                for kind in ("LUT4", "PFUMX", "CCU2C", "TRELLIS_FF", "TRELLIS_DPR16X4", "DP16KD")
            }
            print(f"{name:40}{count:4} x {'  '.join(f'{kind} {number:5}' for kind, number in each.items())}")
        return
    if options.levels is not None:
        deepest, counts = levels_of(text, top, options=way, boundary=not options.inside)
        for deep in deepest[: options.levels]:
            print(f"{deep.levels:3}  {deep.signal}  from {deep.path[0]}")
        print(", ".join(f"{count} behind {depth}" for depth, count in sorted(counts.items(), reverse=True)))
        return
    found = measure(
        text,
        top,
        options=options.options,
        device=options.device,
        seeds=range(1, options.seeds + 1),
        boundary=not options.inside,
        scheduler=options.scheduler,
    )
    if options.json:
        print(json.dumps({"mhz": found.mhz, **asdict(found)}, indent=1))
        return
    for ns, signal in found.path:
        print(f"{ns:8.2f} ns  {signal}")
    print(f"COMB {found.area.comb}  FF {found.area.ff}  RAM {found.area.ram}  LUT RAM {found.area.lutram}")
    print(f"{found.mhz:.1f} MHz, median of {', '.join(f'{placed.mhz:.1f}' for placed in found.runs)}")


def main():
    """The program: exit code 2 and one line if it cannot measure."""
    try:
        _show(_arguments())
    except (NotInstalled, ToolError, SpreadError, OSError, ValueError) as error:
        print(f"fpga: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    from nectar.verification.benchmarks.fpga import main  # workers import what this module sends them

    main()
