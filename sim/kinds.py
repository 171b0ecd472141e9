"""Which kind each board of a topology is: RTL that Verilator has translated, or a fast board (docs/engine.md)."""

from . import build

__all__ = ["BOARDS", "check_waves", "is_fast", "kinds_of", "library_of"]

#: What boards can be.
BOARDS = ("rtl", "fast")
_FAST = "fast"


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
    """Path of the library that has ``kinds``, as ``kinds_of`` gives them; builds it if need be. Raises BuildError."""
    fast = {kind for kind in kinds.values() if is_fast(kind)}
    sizes = {hub.ports for hub in topology.hubs.values() if not is_fast(kinds[hub.name])}
    if not fast:
        return build.library(sizes or {16}, profile.hub_profile, _vme_period(profile, kinds))
    cabs = "cab" in kinds.values()
    return build.library(sizes, profile.hub_profile, _vme_period(profile, kinds), cabs=cabs, fast=fast)


def _vme_period(profile, kinds):
    """Clock of the RTL CABs with VME; None if there are none."""
    return profile.cab_period_ps if "vmecab" in kinds.values() else None
