"""What is wired to what: HUBs, CABs, and the pairs of fibers between their ports.

Plain Python; no simulator and no HDL. ``docs/engine.md`` describes the files and the built-in shapes. Source: "The
Design of Nectar" (1989), section 3.1: ports to HUBs and to CABs are alike, so any shape can be wired.

    Topology("pair").hub("HUB1").cab("CAB1").cab("CAB2").fiber("CAB1", "HUB1.P0").fiber("CAB2", "HUB1.P1")
"""

import re
from dataclasses import dataclass

__all__ = ["Topology", "TopologyError", "HubBoard", "CabBoard", "Fiber", "End", "PS_PER_METRE", "DEFAULT_LENGTH_M"]

#: Light in glass: picoseconds for each metre of fiber.
PS_PER_METRE = 5_000
#: Length of a fiber that says nothing of its own.
DEFAULT_LENGTH_M = 20
#: Most ports of a HUB: a port's number is a byte of which the highest bit means something else.
MAX_PORTS = 128
#: HUB ID 255 stands for any HUB in a command.
MAX_HUB_ID = 254
#: CAB ID 255 stands for several CABs in a multicast.
MAX_CAB_ID = 254
#: Longest delay that a fiber may have, longest time of a symbol, latest first edge of a clock: more is a slip of the
#: pen.
MAX_DELAY_PS = 10**12

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_END = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\.P([0-9]+))?\Z")


class TopologyError(ValueError):
    """A topology that cannot be built; the message is one line that names the entry and says what to do."""


@dataclass(frozen=True)
class HubBoard:
    """A HUB: its name, the HUB ID in commands for it, its number of ports, the time of its clock's first edge."""

    name: str
    id: int
    ports: int
    phase_ps: int = 0


@dataclass(frozen=True)
class CabBoard:
    """A CAB: its name, the number by which packets address it, the time of its clock's first edge."""

    name: str
    id: int
    phase_ps: int = 0


@dataclass(frozen=True)
class End:
    """An end of a fiber: a board's name and its port (None for a CAB, which has only one)."""

    board: str
    port: int | None

    def __str__(self):
        return self.board if self.port is None else f"{self.board}.P{self.port}"


@dataclass(frozen=True)
class Fiber:
    """A pair of fibers, one for each direction: its ends, its delay, its symbol time (None: the profile's)."""

    a: End
    b: End
    delay_ps: int
    symbol_ps: int | None

    def __str__(self):
        return f"{self.a} - {self.b}"


class Topology:
    """Boards and the fibers between them.

    Parameters
    ----------
    name : str
        What reports call it.
    origin : str
        Where it comes from (a file), for messages; its name if left out.

    Members
    -------
    hubs, cabs : dict
        Name → HubBoard, CabBoard, in the order of their declaration.
    fibers : list of Fiber

    boards : list of str
        Names of all boards, HUBs first.
    computers, switches : dict
        ``cabs`` and ``hubs``, by the names that topologies of all machines have.

    ``hub``, ``cab`` and ``fiber`` return the topology itself. Raises TopologyError.
    """

    machine = "nectar"

    def __init__(self, name, *, origin=None):
        self.name = name
        self.origin = origin or f"topology {name}"
        self.hubs = {}
        self.cabs = {}
        self.fibers = []
        self._wired = {}  # End → Fiber
        self._near = {}  # board's name → its (port, End at the other side), by port

    def error(self, message):
        """A TopologyError that names the topology's origin."""
        return TopologyError(f"{self.origin}: {message}")

    # -- building ------------------------------------------------------------------------------------
    def hub(self, name, *, id=None, ports=16, phase_ns=0):
        """Adds a HUB.

        ``id``: 0 to 254, by default the number at the end of its name or the lowest that is free. ``phase_ns``: time of
        its clock's first rising edge.
        """
        self._new_name(name)
        if not _whole(ports) or not 2 <= ports <= MAX_PORTS:
            raise self.error(f"{name}: a HUB has 2 to {MAX_PORTS} ports, not {ports!r}")
        self.hubs[name] = HubBoard(
            name, self._id("HUB", name, id, self.hubs, MAX_HUB_ID), ports, self._phase(name, phase_ns)
        )
        self._near[name] = []
        return self

    def cab(self, name, *, id=None, phase_ns=0):
        """Adds a CAB. ``id``: 0 to 254, as for a HUB; so is ``phase_ns``."""
        self._new_name(name)
        self.cabs[name] = CabBoard(name, self._id("CAB", name, id, self.cabs, MAX_CAB_ID), self._phase(name, phase_ns))
        self._near[name] = []
        return self

    def fiber(self, a, b, *, length_m=None, delay_ns=None, symbol_ns=None):
        """Joins two ports by a pair of fibers.

        ``a``, ``b``: ``"HUB1.P3"`` (ports count from 0) or ``"CAB1"``. ``length_m`` (20 by default) or ``delay_ns``
        gives the delay, ``symbol_ns`` the time of a symbol if it is not the profile's."""
        where = f"fiber {a} - {b}"
        ends = self._end(where, a), self._end(where, b)
        for end in ends:
            if end in self._wired:
                raise self.error(
                    f"{where}: {end} is already wired by fiber {self._wired[end]}; "
                    + ("a CAB has one port" if end.port is None else "use another port")
                )
        if ends[0] == ends[1]:
            raise self.error(f"{where}: both ends are the same port; name two")
        if length_m is not None and delay_ns is not None:
            raise self.error(f"{where}: give length_m or delay_ns, not both")
        if delay_ns is not None:
            delay = self._number(where, "delay_ns", delay_ns) * 1000
        else:
            delay = self._number(where, "length_m", DEFAULT_LENGTH_M if length_m is None else length_m) * PS_PER_METRE
        if delay > MAX_DELAY_PS:
            raise self.error(
                f"{where}: a delay of {delay / 1e12:g} s is more than the {MAX_DELAY_PS / 1e12:g} s that a fiber may "
                f"have"
            )
        symbol = None
        if symbol_ns is not None:
            symbol = round(self._number(where, "symbol_ns", symbol_ns) * 1000)
            if symbol < 1:
                raise self.error(f"{where}: symbol_ns must be more than 0")
            if symbol > MAX_DELAY_PS:
                raise self.error(
                    f"{where}: a symbol of {symbol / 1e12:g} s is longer than the {MAX_DELAY_PS / 1e12:g} s that it "
                    f"may take"
                )
        fiber = Fiber(*ends, round(delay), symbol)
        self.fibers.append(fiber)
        for here, there in (ends, ends[::-1]):
            self._wired[here] = fiber
            self._near[here.board].append((here.port, there))
            self._near[here.board].sort(key=lambda item: item[0] or 0)
        return self

    def _new_name(self, name):
        if not isinstance(name, str) or not _NAME.match(name):
            raise self.error(f"{name!r} is no name for a board; use letters, digits and _, a letter first")
        if name in self.hubs or name in self.cabs:
            raise self.error(f"there are two boards called {name}; rename one")

    def _id(self, kind, name, number, boards, highest):
        taken = {board.id: board.name for board in boards.values()}
        if number is None:
            digits = re.search(r"[0-9]+\Z", name)
            number = int(digits[0]) if digits else next(n for n in range(1, len(taken) + 2) if n not in taken)
        if not _whole(number) or not 0 <= number <= highest:
            raise self.error(f"{name}: the id of a {kind} is 0 to {highest}, not {number!r}; give another id")
        if number in taken:
            raise self.error(f"{name}: {taken[number]} has the id {number} already; give another id")
        return number

    def _phase(self, name, phase_ns):
        phase = self._number(name, "phase_ns", phase_ns) * 1000
        if phase > MAX_DELAY_PS:
            raise self.error(f"{name}: phase_ns may be at most {MAX_DELAY_PS // 1000}, not {phase_ns!r}")
        return round(phase)

    def _end(self, where, text):
        match = _END.match(text) if isinstance(text, str) else None
        if not match:
            raise self.error(f"{where}: {text!r} is no end of a fiber; write HUB1.P3 or CAB1")
        name, port = match[1], match[2]
        if name in self.cabs:
            if port is not None:
                raise self.error(f"{where}: {name} is a CAB and has one port; write {name}")
            return End(name, None)
        if name not in self.hubs:
            raise self.error(
                f"{where}: there is no board {name}; declare it first, or name one of "
                f"{', '.join([*self.hubs, *self.cabs]) or 'the boards that you declare'}"
            )
        ports = self.hubs[name].ports
        if port is None:
            raise self.error(f"{where}: {name} is a HUB; name its port, as in {name}.P0")
        if int(port) >= ports:
            raise self.error(f"{where}: {name} has no port P{int(port)}; its ports are P0 to P{ports - 1}")
        return End(name, int(port))

    def _number(self, where, what, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise self.error(f"{where}: {what} must be a number, 0 or more, not {value!r}")
        return min(value, 1e30)  # finite in picoseconds, too; what is too much is for the caller

    @property
    def boards(self):
        """See the class."""
        return [*self.hubs, *self.cabs]

    @property
    def computers(self):
        """See the class."""
        return self.cabs

    @property
    def switches(self):
        """See the class."""
        return self.hubs

    def counted(self):
        """How many boards there are, for messages."""
        return f"{len(self.hubs)} HUBs and {len(self.cabs)} CABs"

    # -- using ---------------------------------------------------------------------------------------
    def check(self):
        """Raises TopologyError unless there is a CAB and every CAB can reach every other. Returns the topology."""
        if not self.cabs:
            raise self.error("there is no CAB; declare at least one")
        for cab in self.cabs:
            if End(cab, None) not in self._wired:
                raise self.error(f"{cab} has no fiber; wire it to a HUB's port")
        first = next(iter(self.cabs))
        reached = set(self._distances(first))
        for cab in self.cabs:
            if cab not in reached:
                raise self.error(f"{cab} cannot be reached from {first}; wire their HUBs together")
        return self

    def neighbours(self, board):
        """(port, End at the other side) for each wired port of ``board``, by port number."""
        return list(self._near[board])

    def _distances(self, cab):
        """Boards from which ``cab`` can be reached, with the number of fibers on the way; CABs pass nothing on."""
        distance = {cab: 0}
        wave = [cab]
        while wave:
            wave_next = []
            for board in wave:
                if board in self.cabs and board != cab:
                    continue
                for _, there in self._near[board]:
                    if there.board not in distance:
                        distance[there.board] = distance[board] + 1
                        wave_next.append(there.board)
            wave = wave_next
        return distance


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool)
