"""From a board and a top to files that program the FPGA: what ``nectar build`` does.

Open tools, from PyPI: yosys, nextpnr, and the packers of the families. What they find is kept by the content of what
they were interface (``tools.kept``)."""

import contextlib
import difflib
import json
import re
import shutil
from dataclasses import dataclass, replace

from ..cache import digest
from ..hdl.verilog import with_kept_yosys, without_zeros
from ..progress import Progress
from .assembly import Assembly, fibers_of, pins_of
from .catalogue import BOARDS
from .clocks import MHZ, plan
from .flows import FLOWS, PACKERS, with_suffix
from .interface import BoardInterface
from .rdw_check import unchecked
from .tools import TimeUp, ToolError, critical_path, kept, needs, run, versions, yosys
from .tops import TOPS, make

__all__ = ["LIMIT_S", "Built", "Design", "Refused", "Missed", "build", "design"]

#: Seconds that place and route may take: what fits takes a quarter of that, and what hardly fits may never end.
LIMIT_S = 3600

#: What is missed by less than this share is placed and routed once more: seeds differ by as much.
_NEAR = 0.85

#: Name of the top module and of all files, and of the module of a HUB in it.
NAME = "top"
HUB = f"{NAME}.top.hub"


class Refused(Exception):
    """This cannot be built; the message is one line that says why."""


class Missed(Exception):
    """A clock that was asked for is not met; the message names the path. ``built`` has what was found, without
    files."""

    def __init__(self, message, built):
        super().__init__(message)
        self.built = built


@dataclass(frozen=True)
class Design:
    """A top for a board, ready to be built: files by name, clocks, ``pins`` [(member, signal, pin)], ``parameters``
    of the top."""

    board: str
    top: str
    parameters: dict
    clocks: object
    baud: int | None
    pins: list
    files: dict
    commands: list


@dataclass(frozen=True)
class Built:
    """What came of it.

    ``cells``: COMB, FF, RAM used; ``mhz``: clock → (asked, met); ``path``: of the clock that missed or came nearest,
    [(ns, signal)]; ``files``: name → bytes to program the board with; ``versions`` of the tools.
    """

    design: Design
    seed: int
    cells: dict
    mhz: dict
    path: tuple
    files: dict
    versions: dict


def _nearest(kind, name, known):
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = (
        f", the nearest name is {near[0]}"
        if len(near) == 1
        else f", the nearest names are {', '.join(near)}"
        if near
        else ""
    )
    return Refused(f"there is no {kind} {name!r}{hint}; there are {', '.join(known)}")


def design(board, top, *, parameters=None, mhz=None, mbaud=None):
    """The Design of the top called ``top`` for the board called ``board``.

    ``parameters`` of the top, where they are not those by default; ``mhz``: clock ``sync``; ``mbaud``: rate of the
    serial fibers. Raises Refused, MissingTool."""
    if board not in BOARDS:
        raise _nearest("board", board, BOARDS)
    if top not in TOPS:
        raise _nearest("top", top, TOPS)
    kind = BOARDS[board]
    platform = kind.make()
    parameters = {**kind.chosen.get(top, {}), **(parameters or {})}
    serial = {**TOPS[top].defaults, **parameters}.get("phy") == "serial"
    sync = round((kind.mhz.get(top, kind.mhz[None]) if mhz is None else mhz) * MHZ)
    baud = round((kind.mbaud if mbaud is None else mbaud) * MHZ) if serial else None
    try:
        clocks = plan(kind.family, int(platform.default_clk_frequency), sync, baud)
        interface = BoardInterface(
            clocks.sync_hz, clocks.line_hz or 0, clocks.samples, clocks.oversampling, clocks.one_clock, len(kind.leds)
        )
        component = make(top, interface, **parameters)
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from error
    fibers = fibers_of(component)
    each = [sum(width for *_, width in pins_of(component, name)) for name in fibers]
    if sum(each) > len(kind.pins):
        most = len(kind.pins) // each[0]
        raise Refused(
            f"{len(fibers)} fibers of {each[0]} pins are {sum(each)} pins, and {board} has {len(kind.pins)} on its "
            f"connectors: room for {most}"
        )
    assembly = Assembly(component, kind, clocks)
    with without_zeros(), with_kept_yosys():
        made = platform.prepare(assembly, NAME, emit_src=False, **FLOWS[kind.family].overrides)
    files = {name: text.encode() if isinstance(text, str) else text for name, text in made.files.items()}
    if f"{NAME}.il" in files:
        files[f"{NAME}.il"] = unchecked(files[f"{NAME}.il"].decode()).encode()
    commands = json.loads(files[f"build_{NAME}.json"])["commands"]
    return Design(board, top, {**TOPS[top].defaults, **parameters}, clocks, baud, assembly.pins, files, commands)


def _flow(found):
    """The Flow for this top."""
    flow = FLOWS[BOARDS[found.board].family]
    return replace(flow, **flow.crowded) if TOPS[found.top].crowded else flow


def _synthesis(found, progress):
    """Yosys: the kept netlist, and the number of each kind of cell."""
    flow = _flow(found)
    mapped = f"{flow.synthesis} -top {NAME}"
    if flow.apart:
        mapped = (
            f"setattr -mod -set keep_hierarchy 1 {HUB}\n{mapped}\nsetattr -mod -unset keep_hierarchy {HUB}; "
            "flatten; opt_clean -purge"
        )
    script = f"read_rtlil {NAME}.il\n{mapped}; write_json {NAME}.json; tee -q -o stat.json stat -json"

    def make_netlist(directory):
        (directory / f"{NAME}.il").write_bytes(found.files[f"{NAME}.il"])
        yosys(script, directory)
        result = directory / "netlist"
        result.mkdir()
        for name in (f"{NAME}.json", "stat.json"):
            (directory / name).rename(result / name)
        return result

    name = digest(found.files[f"{NAME}.il"], script, repr(sorted(versions(["pyosys"]).items())))
    path = kept(name, "-netlist", make_netlist, progress, "synthesis")
    stat = json.loads((path / "stat.json").read_text())["modules"]
    counts = next(module for key, module in stat.items() if key.removeprefix("\\") == NAME)["num_cells_by_type"]
    return name, path, counts


def estimate(family, counts):
    """COMB, FF, RAM that a netlist with so many of each kind of cell takes at least."""
    return {
        kind: sum(counts.get(cell, 0) * weight for cell, weight in weights.items())
        for kind, weights in FLOWS[family].weights.items()
    }


def _fits(found, counts):
    """Raises Refused if the netlist is too large for the board."""
    board = BOARDS[found.board]
    needed = estimate(board.family, counts)
    over = [f"{needed[kind]} {kind} of {board.size[kind]}" for kind in needed if needed[kind] > board.size[kind]]
    if over:
        raise Refused(
            f"{found.top} is too large for {found.board}: it takes {' and '.join(over)}, at least; "
            "fewer ports or smaller memories may fit"
        )
    return needed


def _taken(text, share):
    """What is taken of the FPGA's cells, according to nextpnr's ``text``, by more than a ``share``."""
    return [
        f"{used} {cell} of {there}"
        for cell, used, there in re.findall(r"Info:\s+(\w+):\s*(\d+)/\s*(\d+)\s", text)
        if int(used) > share * int(there)
    ]


def _endless(found, text, error):
    """What to say when nextpnr does not come to an end."""
    taken = _taken(text, 0.7)
    takes = f"; it takes {' and '.join(taken)}" if taken else ""
    return Refused(
        f"{found.top} on {found.board}: {error}{takes}; fewer ports or smaller memories may fit, or another --seed"
    )


def _unplaced(found, text):
    """What to say when nextpnr gives up with ``text``."""
    lines = [line.partition("ERROR:")[2].strip() for line in text.splitlines() if "ERROR:" in line]
    over = _taken(text, 1)
    over += [
        f"{used} {cell}" for used, cell in re.findall(r"Failed to expand region .* of (\d+) (\w+)", text) if not over
    ]
    if over:
        return Refused(
            f"{found.top} is too large for {found.board}: it takes {' and '.join(over)}; fewer ports or smaller "
            f"memories may fit"
        )
    return Refused(f"{found.top} cannot be placed on {found.board}: {(lines or text.splitlines()[-1:])[0]}")


def _placement(found, netlist, path, seed, limit_s, progress):
    """Nextpnr: its report, and the kept directory with what is to be packed."""
    flow = _flow(found)
    constraints = {name: data for name, data in found.files.items() if name.endswith((".lpf", ".pcf", ".cst"))}
    placing = next((command for command in found.commands if "nextpnr" in command[0]), [])
    arguments = [
        *flow.arguments(placing),
        "--seed",
        str(seed),
        "--freq",
        f"{found.clocks.sync_hz / MHZ:g}",
        "--report",
        "report.json",
        "--timing-allow-fail",
        "-q",
        "-l",
        "log",
    ]

    def make_placed(directory):
        shutil.copy(path / f"{NAME}.json", directory / f"{NAME}.json")
        for name, data in constraints.items():
            (directory / name).write_bytes(data)
        try:
            run(flow.placer, arguments, directory, limit_s)
        except ToolError as error:
            log = directory / "log"
            text = log.read_text() if log.exists() else ""
            raise (
                _endless(found, text, error) if isinstance(error, TimeUp) else _unplaced(found, text + str(error))
            ) from error
        result = directory / "placed"
        result.mkdir()
        for name in ("report.json", "log", flow.routed):
            (directory / name).rename(result / name)
        return result

    key = digest(
        netlist, repr(arguments), repr(sorted(constraints.items())), repr(sorted(versions(flow.packages).items()))
    )
    placed = kept(key, "-placed", make_placed, progress, f"place and route (seed {seed})")
    return json.loads((placed / "report.json").read_text()), placed


def _packed(found, placed, progress):
    """The files that program the board, by name."""
    flow = FLOWS[BOARDS[found.board].family]
    packers = [(PACKERS[command[0]], *command[1:]) for command in found.commands if command[0] in PACKERS]

    def make_packed(directory):
        shutil.copy(placed / flow.routed, directory / flow.routed)
        for tool, *arguments in packers:
            run(tool, arguments, directory)
        result = directory / "packed"
        result.mkdir()
        for name in flow.products:
            (directory / name).rename(result / name)
        return result

    packed = kept(
        digest(placed.name, repr(packers), repr(sorted(versions(flow.packages).items()))),
        "-packed",
        make_packed,
        progress,
        "bitstream",
    )
    files = {name: (packed / name).read_bytes() for name in flow.products}
    if BOARDS[found.board].dfu:
        files[flow.products[0]] = with_suffix(files[flow.products[0]], *BOARDS[found.board].dfu)
    return files


def _asked(found, clock, constraint):
    """What the clock has to meet in MHz; nextpnr does not know a Gowin PLL's rates."""
    if BOARDS[found.board].family == "gowin" and "line" in clock:
        constraint = max(constraint, found.clocks.line_hz / MHZ)
    return round(constraint, 2)


def _short(clock):
    """The name of a clock without what nextpnr and the hierarchy add."""
    return re.sub(r"^(\$glbnet\$)?(\w+\.)*(clock_)?|_clk$", "", clock)


def _crossings(report):
    """(from, to): clocks between which nextpnr has a path that it does not check, though they have the same edges:
    one is the other behind a gate."""
    for path in report["critical_paths"]:
        source, target = (path[end].removeprefix("posedge ") for end in ("from", "to"))
        if (
            source != target
            and {source, target} <= set(report["fmax"])
            and sorted((_short(source), _short(target)))[0] == "boards"
            and "line" not in (_short(source), _short(target))
        ):
            yield source, target


def _met(found, report):
    """Clock → (asked, met) in MHz, and clock → its slowest path."""
    mhz, ways = {}, {}
    for clock, figures in report["fmax"].items():
        mhz[_short(clock)] = _asked(found, clock, figures["constraint"]), round(figures["achieved"], 2)
        ways[_short(clock)] = tuple(critical_path(report, clock))
    for source, target in _crossings(report):
        way = tuple(critical_path(report, source, target))
        name = f"{_short(source)} to {_short(target)}"
        mhz[name], ways[name] = (round(found.clocks.sync_hz / MHZ, 2), round(1000 / way[-1][0], 2)), way
    return mhz, ways


def _share(mhz, clock):
    """What a clock meets of what it was asked for."""
    asked, met = mhz[clock]
    return met / asked


def _worst(mhz):
    """The clock that comes nearest to its limit, or misses it most."""
    return min(mhz, key=lambda clock: _share(mhz, clock))


def _routed(found, netlist, path, seed, limit_s, progress):
    """Place and route, once more with the next seed if a clock is missed by little; of the better: the seed, report,
    kept directory, and what ``_met`` tells."""

    def tried(seed):
        report, placed = _placement(found, netlist, path, seed, limit_s, progress)
        return seed, report, placed, *_met(found, report)

    def share(outcome):
        mhz = outcome[3]
        return _share(mhz, _worst(mhz))

    best = tried(seed)
    if _flow(found).again and _NEAR <= share(best) < 1:
        with contextlib.suppress(Refused):
            best = max(best, tried(seed + 1), key=share)
    return best


def build(found, *, seed=1, limit_s=LIMIT_S, progress=None):
    """Builds the Design ``found``; returns Built. ``seed``: where place and route starts; the next one counts if it
    comes nearer to a clock that this one misses by little. ``limit_s``: seconds that place and route may take.

    Raises MissingTool, Refused if the board is too small or the time is over, Missed if a clock is too fast, ToolError.
    """
    board = BOARDS[found.board]
    flow = FLOWS[board.family]
    progress = progress or Progress()
    needs(*flow.packages)
    netlist, path, counts = _synthesis(found, progress)
    needed = _fits(found, counts)
    seed, report, placed, mhz, ways = _routed(found, netlist, path, seed, limit_s, progress)
    used = {kind: count["used"] for kind, count in report["utilization"].items()}
    cells = {kind: sum(used.get(cell, 0) for cell in names) or needed[kind] for kind, names in flow.used.items()}
    worst = _worst(mhz)
    way = ways[worst]
    missed = [clock for clock, (asked, met) in mhz.items() if met < asked]
    built = Built(
        found, seed, cells, mhz, way, {} if missed else _packed(found, placed, progress), versions(flow.packages)
    )
    if missed:
        asked, met = mhz[worst]
        steps = list(dict.fromkeys(signal for _, signal in way))
        raise Missed(
            f"{found.top} on {found.board}: clock {worst} was asked for {asked:g} MHz and meets {met:g}; its slowest "
            f"path, {way[-1][0]:g} ns, "
            f"goes from {steps[0]} by {len(steps) - 2} signals to {steps[-1]}; give --freq {int(met * 0.97)} or less, "
            f"or another --seed",
            built,
        )
    return built
