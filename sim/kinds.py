"""Which kind each board of a topology is: RTL that Verilator has translated, or a fast board (docs/engine.md)."""

import functools

from ..cache import directory
from . import build, core
from .wiring import MAX_PORTS

__all__ = ["BOARDS", "check_waves", "is_fast", "kinds_of", "library_of"]

#: What boards can be.
BOARDS = ("rtl", "fast")
_FAST = "fast"
#: All kinds of fast boards: a library that has one has all of them, so that there is one for all topologies.
_ALL_FAST = ("fastcab", "fastvmecab", *(f"fasthub{ports}" for ports in range(2, MAX_PORTS + 1)))


def kinds_of(topology, profile, nodes=(), boards="rtl", rtl=()):
    """{name of a board: name of its kind}, as ``hub16``, ``cab``, ``vmecab``, ``fasthub16``.

    ``nodes``: CABs that have a node. ``boards``: one of BOARDS. ``rtl``: boards that are RTL though the others are
    fast. Raises ValueError."""
    kinds = {name: f"hub{hub.ports}" for name, hub in topology.hubs.items()}
    kinds |= {name: "vmecab" if name in nodes else "cab" for name in topology.cabs}
    rtl = set(rtl)
    if boards not in BOARDS:
        raise ValueError(f"boards are {' or '.join(BOARDS)}, not {boards!r}")
    for name in sorted(rtl - kinds.keys()):
        raise ValueError(f"there is no board {name!r} to be RTL; there are {', '.join(kinds)}")
    if boards == "rtl":
        return kinds
    fast = kinds.keys() - rtl
    if fast & topology.hubs.keys() and profile.hub_profile != "prototype":
        raise ValueError(f"fast HUBs have the profile prototype, not {profile.hub_profile}; name the HUBs as RTL")
    return {name: _FAST + kind if name in fast else kind for name, kind in kinds.items()}


def is_fast(kind):
    """Whether a kind is one of fast boards."""
    return kind.startswith(_FAST)


def check_waves(kinds, recorded):
    """Raises ValueError if one of the boards to be ``recorded`` is fast."""
    for name in sorted(recorded):
        if is_fast(kinds[name]):
            raise ValueError(f"{name} is a fast board, which has no waveforms; record RTL boards only")


def library_of(topology, profile, kinds):
    """The library (``core.load``) that has ``kinds``, as ``kinds_of`` gives them; builds it if need be.

    What this process has loaded from the same cache is taken again, without another look at the sources. Raises
    BuildError."""
    fast = any(is_fast(kind) for kind in kinds.values())
    sizes = frozenset(hub.ports for hub in topology.hubs.values() if not is_fast(kinds[hub.name]))
    cabs = not fast or "cab" in kinds.values()
    sizes = sizes if fast else sizes or frozenset({16})
    return _library(directory(), sizes, profile.hub_profile, _vme_period(profile, kinds), cabs, fast)


@functools.cache
def _library(_, sizes, hub_profile, vme_period_ps, cabs, fast):
    """The library with these boards; the first argument tells caches apart."""
    fast = _ALL_FAST if fast else ()
    return core.load(build.library(sizes, hub_profile, vme_period_ps, cabs=cabs, fast=fast))


def _vme_period(profile, kinds):
    """Clock of the RTL CABs with VME; None if there are none."""
    return profile.cab_period_ps if "vmecab" in kinds.values() else None
