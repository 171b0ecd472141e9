"""Intel's iPSC/2 as the engine wants it: nodes at the corners of a cube, each a board with its router.

docs/ipsc2.md and docs/ipsc2-node.md specify the boards. Source: Nugent, "The iPSC/2 Direct-Connect Communications
Technology" (1988); Close, "The iPSC/2 Node Architecture" (1988).
"""

import functools
from dataclasses import dataclass
from types import MappingProxyType

from ...cache import directory
from ...hdl.ipsc2.formats import CHANNELS, DIMENSIONS, EXTERNAL, MOST_WIRE, PERIOD_PS, WORD_BITS, WORD_PAIRS
from ...hdl.ipsc2.node.registers import MEMORY_BYTES, Irq
from .. import build, core
from ..drawing import cube_as_svg
from ..wiring import End, Fiber, TopologyError
from .machine import BOARDS, Board, Compared, Counted, Link, Machine, Recorded

__all__ = ["MACHINE", "Cube", "CubeProfile", "NodeBoard"]

#: Bytes of the host's memory that a board takes besides; measured.
_BOARD = 100_000
_FORM = "hypercube:D (2**D nodes, D = {} to {})".format(*DIMENSIONS)


@dataclass(frozen=True)
class CubeProfile:
    """Speeds of the nodes and of the links between them.

    ``cpu_period_ps``: of the 80386 and of the board's clock. ``symbol_ps``: the period of the strobe, in which a link
    carries two bits; a board has 7 of them in 8 cycles. ``delay_ps``: of a link.
    """

    name: str
    cpu_period_ps: int = 62_500
    symbol_ps: int = PERIOD_PS
    delay_ps: int = PERIOD_PS

    @property
    def switch_period_ps(self):
        """A router has the clock of its node."""
        return self.cpu_period_ps

    @property
    def cpu_hz(self):
        """Cycles per second of a CPU."""
        return 1e12 / self.cpu_period_ps


@dataclass(frozen=True)
class NodeBoard:
    """A node: its name and its address in the cube."""

    name: str
    id: int


#: What only topologies of Nectar have.
_OF_NECTAR = {"hubs": "HUBs", "cabs": "CABs"}


class Cube:
    """A hypercube of nodes.

    Parameters
    ----------
    dimensions : int
        1 to 7.

    Members
    -------
    name, origin : str
        What reports call it.
    boards : list of str
        ``NODE0`` and so on; the number is the node's address.
    computers, switches : dict
        Name → NodeBoard; there are no boards that switch only.
    fibers : list of Fiber
        The links: channel k of a node leads to channel k of the node whose address differs in bit k.

    Raises TopologyError.
    """

    machine = "ipsc2"

    def __init__(self, dimensions):
        low, high = DIMENSIONS
        self.name = f"hypercube:{dimensions}"
        self.origin = f"topology {self.name}"
        if not low <= dimensions <= high:
            raise self.error(f"a cube has {low} to {high} dimensions; write {_FORM}")
        self.dimensions = dimensions
        self.computers = {f"NODE{n}": NodeBoard(f"NODE{n}", n) for n in range(1 << dimensions)}
        self.switches = {}
        self.fibers = [
            Fiber(End(f"NODE{n}", k), End(f"NODE{n ^ 1 << k}", k), PERIOD_PS, PERIOD_PS)
            for n in range(1 << dimensions)
            for k in range(dimensions)
            if not n >> k & 1
        ]

    def __getattr__(self, name):
        if name in _OF_NECTAR:
            raise AttributeError(f"{self.name} is a topology of the iPSC/2: it has no {_OF_NECTAR[name]}")
        raise AttributeError(f"a topology of the iPSC/2 has no {name!r}")

    @property
    def boards(self):
        """See the class."""
        return list(self.computers)

    def counted(self):
        """How many boards there are, for messages."""
        return f"{len(self.computers)} nodes"

    def error(self, message):
        """A TopologyError that names the cube."""
        return TopologyError(f"{self.origin}: {message}")

    def check(self):
        """A cube is whole; returns it."""
        return self


def _load(text):
    """The cube that ``text`` names. A Cube is taken as it is."""
    if isinstance(text, Cube):
        return text
    name, _, dimensions = str(text).partition(":")
    if name != "hypercube" or not (dimensions.isascii() and dimensions.isdigit() and len(dimensions) <= 3):
        raise TopologyError(f"the machine ipsc2 has no topology {text!r}; write {_FORM}")
    return Cube(int(dimensions))


def _sized(computers):
    low, high = DIMENSIONS
    return f"hypercube:{min(high, max(low, (computers - 1).bit_length()))}"


def _boards(topology, profile):
    return [Board(node.name, node.id, profile.cpu_period_ps) for node in topology.computers.values()]


def _links(topology, profile):
    if not 0 <= profile.delay_ps <= MOST_WIRE * profile.symbol_ps:
        raise topology.error(f"a link delays by at most {MOST_WIRE} periods of its strobe")
    return [
        Link(
            *((end.board, end.port) for end in (link.a, link.b)),
            (f"{link.a.board}.C{link.a.port}", f"{link.b.board}.C{link.b.port}"),
            profile.symbol_ps,
            profile.delay_ps,
        )
        for link in topology.fibers
    ]


def _kinds(topology, profile, nodes=(), boards="rtl", rtl=()):
    if boards != BOARDS[0]:
        raise ValueError(f"boards of the machine ipsc2 are {BOARDS[0]}, not {boards!r}")
    if nodes:
        raise ValueError("boards of the machine ipsc2 have no nodes behind them: they are the nodes")
    for name in rtl:
        if name not in topology.computers:
            raise ValueError(f"there is no board {name!r} to be RTL; there are {', '.join(topology.computers)}")
    return dict.fromkeys(topology.computers, f"node{topology.dimensions}")


def _library_of(topology, profile, kinds, waves=False):
    return _library(directory(), topology.dimensions, waves)


@functools.cache
def _library(_, dimensions, waves):
    """The library with this board; the first argument tells caches apart."""
    boards = {f"node{dimensions}": ("node", str(dimensions), str(MEMORY_BYTES))}
    return core.load(build.library(boards, waves=waves))


def _memory(topology):
    return len(topology.computers) * (MEMORY_BYTES + _BOARD)


def _port(number, outward):
    if number == CHANNELS:
        return "sink" if outward else "source"
    return f"C{number}"


def _circuit(here, arrived, probe):
    """See Recorded: ``arrived`` is the channel that the probe has come by, CHANNELS for the node source."""
    whole = (1 << EXTERNAL) - 1
    if arrived >= EXTERNAL:
        source, destination = here, here ^ probe & whole
    else:
        destination = here ^ probe & whole & -2 << arrived
        source = destination ^ probe & whole
    device = " (device)" if probe >> EXTERNAL & 1 else ""
    return f"NODE{source}{' (device)' if arrived == EXTERNAL else ''}", f"NODE{destination}{device}"


def _drawing(recording):
    links = [
        (*(end.partition(".")[0] for end in (link.sender, link.receiver)), f"{link.sender} - {link.receiver}")
        for link in recording.fibers[::2]  # both directions stand side by side
    ]
    return cube_as_svg(recording.topology, {name: node["id"] for name, node in recording.cabs.items()}, links)


MACHINE = Machine(
    name="ipsc2",
    profiles=MappingProxyType({"prototype": CubeProfile("prototype")}),
    held_off=False,
    topology=_load,
    sized=_sized,
    boards=_boards,
    links=_links,
    kinds=_kinds,
    library=_library_of,
    memory=_memory,
    is_fast=lambda kind: False,
    compared=Compared(
        spread="hypercube:3",
        byte_ps=PERIOD_PS * WORD_PAIRS * 8 / WORD_BITS,
        boards=(
            Counted("node with its router", "node", {"dimensions": 7, "memory_bytes": 65536}, 1),
            Counted("of it, the router", "router", {"dimensions": 7}, 0),
        ),
    ),
    recorded=Recorded(
        computer="node", link="link", pair="link", port=_port, causes=Irq, circuit=_circuit, drawing=_drawing
    ),
)
