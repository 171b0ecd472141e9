"""Nectar as the engine wants it: HUBs and CABs, fibers between their ports, and which kind each board is: RTL that
Verilator has translated, or a fast board (docs/engine.md)."""

import functools

from ...cache import directory
from ...hdl.cab.addresses import Irq
from .. import build, core
from ..drawing import as_svg
from ..profile import PROFILES
from ..topology import load
from ..wiring import MAX_PORTS, Topology
from .machine import BOARDS, Board, Compared, Counted, Link, Machine, Recorded

__all__ = ["MACHINE", "boards_of", "is_fast", "kinds_of", "library_of"]

#: Bytes of memory that a CAB takes, and a HUB for each of its ports and of its pairs of ports; measured.
_CAB, _PORT, _PAIR = 1_900_000, 9_000, 40
_FAST = "fast"
#: CABs of a topology of a given size: on one HUB, and on each HUB of a mesh.
_ON_A_HUB, _ON_A_MESH = 15, 12
#: Ports of the HUB whose gates are counted.
_COUNTED_PORTS = 16
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


def boards_of(hub_sizes=(16,), hub_profile="prototype", vme_period_ps=None, cabs=True):
    """The kinds of RTL boards, as ``build.library`` takes them: HUBs of these numbers of ports, and CABs.

    ``hub_profile`` names the HUBs' profile. ``vme_period_ps``: the clock of CABs with VME, if there are any: a kind of
    their own beside those without. ``cabs``: whether there are CABs without VME."""
    return {
        **({"cab": ("cab",)} if cabs else {}),
        **({"vmecab": ("vmecab", str(vme_period_ps))} if vme_period_ps else {}),
        **{f"hub{n}": ("hub", str(n), hub_profile) for n in sorted(set(hub_sizes))},
    }


def library_of(topology, profile, kinds, waves=False):
    """The library (``core.load``) that has ``kinds``, as ``kinds_of`` gives them, and records ``waves`` of those that
    are RTL; builds it if need be.

    What this process has loaded from the same cache is taken again, without another look at the sources. Raises
    BuildError."""
    fast = any(is_fast(kind) for kind in kinds.values())
    sizes = frozenset(hub.ports for hub in topology.hubs.values() if not is_fast(kinds[hub.name]))
    cabs = not fast or "cab" in kinds.values()
    sizes = sizes if fast else sizes or frozenset({16})
    return _library(directory(), sizes, profile.hub_profile, _vme_period(profile, kinds), cabs, fast, waves)


@functools.cache
def _library(_, sizes, hub_profile, vme_period_ps, cabs, fast, waves):
    """The library with these boards; the first argument tells caches apart."""
    fast = _ALL_FAST if fast else ()
    return core.load(build.library(boards_of(sizes, hub_profile, vme_period_ps, cabs), fast=fast, waves=waves))


def _vme_period(profile, kinds):
    """Clock of the RTL CABs with VME; None if there are none."""
    return profile.cab_period_ps if "vmecab" in kinds.values() else None


def _boards(topology, profile):
    hubs = (Board(hub.name, hub.id, profile.hub_period_ps, hub.phase_ps) for hub in topology.hubs.values())
    cabs = (Board(cab.name, cab.id, profile.cab_period_ps, cab.phase_ps) for cab in topology.cabs.values())
    return [*hubs, *cabs]


def _links(topology, profile):
    return [
        Link(
            *((end.board, end.port or 0) for end in (fiber.a, fiber.b)),
            (str(fiber.a), str(fiber.b)),
            fiber.symbol_ps or profile.symbol_ps,
            fiber.delay_ps,
        )
        for fiber in topology.fibers
    ]


def _memory(topology):
    ports = [hub.ports for hub in topology.hubs.values()]
    return _CAB * len(topology.cabs) + sum(_PORT * count + _PAIR * count**2 for count in ports)


def _sized(computers):
    """One HUB, or a mesh of HUBs with as many CABs on each, or HUBs that are wired at random."""
    if computers <= _ON_A_HUB:
        return f"hub:{computers}"
    least = -(-computers // _ON_A_MESH)
    for hubs in range(least, 2 * least + 1):
        if not computers % hubs:
            rows = max(rows for rows in range(1, int(hubs**0.5) + 1) if not hubs % rows)
            return f"mesh:{rows}x{hubs // rows}x{computers // hubs}"
    return f"random:1x{least}x{computers}"


def _drawing(recording):
    """The topology that a recording is of, as SVG."""
    topology = Topology(recording.topology)
    for name, hub in recording.hubs.items():
        topology.hub(name, id=hub["id"], ports=hub["ports"])
    for name, cab in recording.cabs.items():
        topology.cab(name, id=cab["id"])
    for fiber in recording.fibers[::2]:  # both directions stand side by side
        topology.fiber(fiber.sender, fiber.receiver)
    return as_svg(topology)


MACHINE = Machine(
    name="nectar",
    profiles=PROFILES,
    held_off=True,
    topology=load,
    sized=_sized,
    boards=_boards,
    links=_links,
    kinds=kinds_of,
    library=library_of,
    memory=_memory,
    is_fast=is_fast,
    compared=Compared(
        spread="chain:3x2",
        byte_ps=PROFILES["prototype"].symbol_ps,
        boards=(
            Counted("CAB", "cab", {"data_bytes": 65536, "program_bytes": 65536, "domains": 4, "pages": 256}, 1),
            Counted("HUB of 16 ports", "hub", {"ports": _COUNTED_PORTS}, 1 / _COUNTED_PORTS),
        ),
    ),
    recorded=Recorded(
        computer="CAB",
        link="fiber",
        pair="pair of fibers",
        port=lambda number, outward: f"P{number}",
        causes=Irq,
        circuit=None,
        drawing=_drawing,
    ),
)
