"""Topologies by name or from a file: ``hub:4``, ``mesh:2x2x3``, ``figure7``, ``machine.toml``, ``machine.py``."""

import re
import tomllib
from pathlib import Path

from .wiring import MAX_CAB_ID, MAX_HUB_ID, MAX_PORTS, Topology, TopologyError

__all__ = ["Topology", "TopologyError", "load", "BUILT_IN"]


def hub(count=16):
    """``count`` CABs on one HUB of 16 ports: CAB1 on P0, CAB2 on P1, and so on."""
    if not 1 <= count <= 16:
        more = f"; for more write a file with ports = {count}" if 16 < count <= MAX_PORTS else ""
        raise TopologyError(f"hub:{count}: a HUB of 16 ports takes 1 to 16 CABs{more}")
    topology = Topology(f"hub:{count}").hub("HUB1")
    for i in range(count):
        topology.cab(f"CAB{i + 1}").fiber(f"CAB{i + 1}", f"HUB1.P{i}")
    return topology


def _hubs_with_cabs(shape, what, hubs, cabs, links):
    """A Topology named ``shape`` of ``hubs`` HUBs of 16 ports with ``cabs`` CABs on each, numbered from HUB to HUB.

    The first CAB of each HUB is on P0, the others are on the ports behind the ``links`` that lead to other HUBs.
    ``what``: what messages call it.
    """
    most = 16 - links
    if not 1 <= hubs <= MAX_HUB_ID:
        raise TopologyError(f"{shape}: a {what} has 1 to {MAX_HUB_ID} HUBs")
    if not 1 <= cabs <= most:
        raise TopologyError(f"{shape}: a HUB of a {what} takes 1 to {most} CABs; for more write a file")
    if hubs * cabs > MAX_CAB_ID:
        raise TopologyError(f"{shape}: {hubs * cabs} CABs are more than the {MAX_CAB_ID} that a network may have")
    topology = Topology(shape)
    for i in range(1, hubs + 1):
        topology.hub(f"HUB{i}")
        for number in range(cabs):
            cab = f"CAB{(i - 1) * cabs + number + 1}"
            topology.cab(cab).fiber(cab, f"HUB{i}.P{links + number if number else 0}")
    return topology


def _times(*numbers):
    """``2x2x3``; a 1 at the end, one CAB on each HUB, is not written."""
    return "x".join(map(str, numbers[:-1] if numbers[-1] == 1 else numbers))


def chain(count=4, cabs=1):
    """``count`` HUBs in a row, ``cabs`` CABs on P0, P3, P4 and so on of each; P1 leads to P2 of the next."""
    topology = _hubs_with_cabs(f"chain:{_times(count, cabs)}", "chain", count, cabs, 2)
    for i in range(1, count):
        topology.fiber(f"HUB{i}.P1", f"HUB{i + 1}.P2")
    return topology


def mesh(rows=2, columns=2, cabs=1):
    """``rows`` x ``columns`` HUBs, ``cabs`` CABs on P0, P5, P6 and so on of each.

    P1 leads to P2 of the HUB to the right, P3 to P4 of the one below.
    """
    topology = _hubs_with_cabs(f"mesh:{_times(rows, columns, cabs)}", "mesh", rows * columns, cabs, 4)
    for row in range(rows):
        for column in range(columns):
            number = row * columns + column + 1
            if column + 1 < columns:
                topology.fiber(f"HUB{number}.P1", f"HUB{number + 1}.P2")
            if row + 1 < rows:
                topology.fiber(f"HUB{number}.P3", f"HUB{number + columns}.P4")
    return topology


def figure7():
    """The four HUBs and five CABs of Figure 7 in "The Design of Nectar" (1989).

    The paper's examples name all outputs; the inputs of CAB2 and of the fibers from HUB1 to HUB4 and from HUB4 to HUB3
    are ours."""
    topology = Topology("figure7")
    for i in range(1, 5):
        topology.hub(f"HUB{i}")
    for i in range(1, 6):
        topology.cab(f"CAB{i}")
    for a, b in (
        ("CAB1", "HUB1.P8"),
        ("CAB2", "HUB1.P2"),
        ("CAB3", "HUB2.P4"),
        ("CAB4", "HUB4.P5"),
        ("CAB5", "HUB3.P4"),
        ("HUB2.P8", "HUB1.P3"),
        ("HUB1.P6", "HUB4.P7"),
        ("HUB4.P3", "HUB3.P1"),
    ):
        topology.fiber(a, b)
    return topology


#: Built-in shapes: name → (maker, form of what may follow the colon).
BUILT_IN = {
    "hub": (hub, re.compile(r"([0-9]+)\Z"), "hub:N, N CABs on one HUB"),
    "chain": (
        chain,
        re.compile(r"([0-9]+)(?:x([0-9]+))?\Z"),
        "chain:N or chain:NxK, N HUBs in a row with K CABs on each",
    ),
    "mesh": (
        mesh,
        re.compile(r"([0-9]+)x([0-9]+)(?:x([0-9]+))?\Z"),
        "mesh:RxC or mesh:RxCxK, R rows of C HUBs with K CABs on each",
    ),
    "figure7": (figure7, None, "figure7, the four HUBs of the paper's examples"),
}


def load(text):
    """The topology that ``text`` names: a built-in one, a ``.toml`` file or a ``.py`` file. A Topology is taken as it
    is.

    Raises TopologyError, also for a topology in which a CAB cannot reach another.
    """
    if isinstance(text, Topology):
        return text.check()
    name, colon, rest = text.partition(":")
    if name in BUILT_IN:
        maker, form, what = BUILT_IN[name]
        match = form.match(rest) if form and colon else None
        if colon and not match:
            raise TopologyError(f"topology {text!r} is not understood; write {what}")
        return maker(*(int(n) for n in match.groups() if n is not None) if match else ()).check()
    path = Path(text)
    if path.suffix == ".toml":
        return _from_toml(path).check()
    if path.suffix == ".py":
        return _from_python(path).check()
    raise TopologyError(
        f"there is no topology {text!r}; name a .toml or .py file, or one of "
        + "; ".join(what for _, _, what in BUILT_IN.values())
    )


def _read(path):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _from_toml(path):
    text = _read(path)
    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise TopologyError(f"{path}: no valid TOML: {error}") from None
    except RecursionError:
        raise TopologyError(f"{path}: no topology: its brackets are nested too deeply") from None
    topology = Topology(path.stem, origin=str(path))

    def entries(where, entry, allowed):
        """Keyword arguments of ``entry`` once its keys are known to be ``allowed``."""
        if not isinstance(entry, dict):
            raise topology.error(f"{where} must be a table, not {entry!r}")
        for key in entry:
            if key not in allowed:
                raise topology.error(f"{where}: there is no key {key!r}; known are {', '.join(allowed)}")
        return entry

    entries("the file", table, ("name", "hubs", "cabs", "fibers"))
    if not isinstance(table.get("name", ""), str):
        raise topology.error("name must be a string")
    topology.name = table.get("name", path.stem)
    for name, entry in entries("hubs", table.get("hubs", {}), _Any()).items():
        topology.hub(name, **entries(f"hubs.{name}", entry, ("id", "ports", "phase_ns")))
    for name, entry in entries("cabs", table.get("cabs", {}), _Any()).items():
        topology.cab(name, **entries(f"cabs.{name}", entry, ("id", "phase_ns")))
    fibers = table.get("fibers", [])
    if not isinstance(fibers, list):
        raise topology.error("fibers must be an array of tables; write [[fibers]]")
    for number, entry in enumerate(fibers, 1):
        where = f"fibers entry {number}"
        options = dict(entries(where, entry, ("between", "length_m", "delay_ns", "symbol_ns")))
        between = options.pop("between", None)
        if not isinstance(between, list) or len(between) != 2:
            raise topology.error(f'{where}: give its two ends, as in between = ["CAB1", "HUB1.P3"]')
        topology.fiber(*between, **options)
    return topology


class _Any:
    """Holds every key."""

    def __contains__(self, key):
        return True


def _from_python(path):
    namespace = {"__name__": path.stem, "__file__": str(path)}
    source = _read(path)
    try:
        exec(compile(source, str(path), "exec"), namespace)
        topology = namespace.get("topology")
        if callable(topology):
            topology = topology()
    except TopologyError:
        raise
    except (Exception, SystemExit) as error:
        raise TopologyError(f"{path}: {type(error).__name__}: {error}") from error
    if not isinstance(topology, Topology):
        raise TopologyError(
            f"{path}: defines no topology; set topology = Topology(...), or write a function topology() that returns "
            f"one"
        )
    return topology
