"""Topologies by name or from a file: ``hub:4``, ``mesh:2x2x3``, ``figure7``, ``machine.toml``, ``machine.py``."""

import tomllib
from pathlib import Path

from .shapes import BUILT_IN
from .wiring import Topology, TopologyError

__all__ = ["Topology", "TopologyError", "load", "BUILT_IN"]


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
