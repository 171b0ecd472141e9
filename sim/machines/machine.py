"""What a machine brings, so that engine and commands name none. docs/machines.md explains it."""

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["BOARDS", "Board", "Compared", "Counted", "Link", "Machine", "Recorded"]

#: What boards can be: made from their Verilog, or written in C++.
BOARDS = ("rtl", "fast")


@dataclass(frozen=True)
class Board:
    """A board as the engine wants it: its name, its number in addresses, the period and the first edge of its clock."""

    name: str
    id: int
    period_ps: int
    phase_ps: int = 0


@dataclass(frozen=True)
class Link:
    """A link between two ports as the engine wants it.

    ``a``, ``b``: its ends, (board's name, number of the port). ``names``: what reports call these. ``symbol_ps``: the
    time of what the link carries at once. ``delay_ps``: how much later it arrives.
    """

    a: tuple[str, int]
    b: tuple[str, int]
    names: tuple[str, str]
    symbol_ps: int
    delay_ps: int


@dataclass(frozen=True)
class Counted:
    """A board whose gates are counted: what it is ``called``, the ``kind`` and the ``parameters`` of its Verilog
    (``hdl.product``), and how many of it there are for each computer: ``share``."""

    called: str
    kind: str
    parameters: dict
    share: float


@dataclass(frozen=True)
class Compared:
    """What a comparison of machines measures (docs/compare.md).

    ``spread``: name of a small topology in which computers are 1, 2 and 3 switches (links) apart. ``byte_ps``: what a
    link takes for a byte of a message, in the first profile. ``boards``: those that make up the machine.
    """

    spread: str
    byte_ps: float
    boards: tuple[Counted, ...]


@dataclass(frozen=True)
class Recorded:
    """How what is recorded of a machine is told and shown (docs/recording.md).

    Members
    -------
    computer, link, pair : str
        What a computer is called, and one direction of a link, and both.
    port : callable(number, outward) → str
        What a board calls an input (``outward`` False) or an output (True), as links call their ends.
    causes : enumeration
        Its members are the bits of the events CAUSES and PENDING.
    circuit : callable(id, input, probe) → (str, str), or None
        Who asks for a circuit, and whom it is to lead to, by the probe with which that input of the board with that ID
        asks; None if a machine has no such events. Then messages hold circuits, and are followed by them.
    drawing : callable(Recording) → str
        The topology as SVG: a ``path.fiber`` for each pair of links, with the ends in its title, and a ``g`` with a
        ``rect`` for each board, with the board's name first in its title.
    """

    computer: str
    link: str
    pair: str
    port: Callable = field(repr=False)
    causes: type = field(repr=False)
    circuit: Callable | None = field(repr=False)
    drawing: Callable = field(repr=False)


@dataclass(frozen=True)
class Machine:
    """A machine.

    Members
    -------
    name : str
        What users type.
    profiles : dict
        Name → profile: an object with ``name``, ``cpu_period_ps``, ``switch_period_ps``, ``symbol_ps`` (picoseconds)
        and ``cpu_hz``. The first is taken without a name.
    held_off : bool
        Whether a link's receiver can hold off the sender: only then links have latches, counters and faults
        (docs/engine.md, "A fiber"); else they are pipelines ("Links of lines").
    topology : callable(text) → topology
        The topology that a name or a file means. Raises TopologyError. A topology has ``machine`` (this one's name),
        ``name``, ``boards`` (names, in the order of the engine), ``computers`` and ``switches`` (name → board with an
        ``id``), ``check()`` and ``error(message)``.
    sized : callable(int) → str
        The name of a topology with at least so many computers, as far as there is one; else of the largest.
    boards : callable(topology, profile) → list of Board
        In the order of ``topology.boards``.
    links : callable(topology, profile) → list of Link
    kinds : callable(topology, profile, nodes, boards, rtl) → dict
        Board's name → name of its kind; the parameters are those of ``sim.engine.Engine``. Raises ValueError.
    library : callable(topology, profile, kinds, waves) → library
        The library (``sim.core.load``) that has these kinds, with ``waves`` such that waveforms can be recorded. Raises
        BuildError.
    memory : callable(topology) → int
        Bytes of the host's memory that the boards take.
    is_fast : callable(kind) → bool
        Whether a kind has no waveforms.
    compared : Compared
    recorded : Recorded
    """

    name: str
    profiles: dict = field(repr=False)
    held_off: bool
    topology: Callable = field(repr=False)
    sized: Callable = field(repr=False)
    boards: Callable = field(repr=False)
    links: Callable = field(repr=False)
    kinds: Callable = field(repr=False)
    library: Callable = field(repr=False)
    memory: Callable = field(repr=False)
    is_fast: Callable = field(repr=False)
    compared: Compared = field(repr=False)
    recorded: Recorded = field(repr=False)

    @property
    def profile(self):
        """The profile that is taken without a name."""
        return next(iter(self.profiles.values()))
