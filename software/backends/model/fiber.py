"""Fibers of the pure-Python model, and what travels on them: pieces of traffic, packets made of them.

A *piece* is a run of symbols that follow each other without a gap: a command, or a stretch of a packet. What happens to
a piece happens to its first symbol, and to its last one so much later.
"""

from ....hdl.link.symbol import COMMAND_LENGTH, Control
from .faults import FiberFaults, frames

__all__ = ["Command", "Stretch", "Arrival", "ModelFiber"]


class Command:
    """A HUB command on its way."""

    __slots__ = ("opcode", "hub", "param")
    length = COMMAND_LENGTH
    start = end = False

    def __init__(self, opcode, hub, param):
        self.opcode = opcode
        self.hub = hub
        self.param = param

    def symbols(self):
        """Its symbols (a new list)."""
        return [Control.COMMAND, self.opcode, self.hub, self.param]


class Stretch:
    """Some symbols of a packet: its start, some of its bytes, its end."""

    __slots__ = ("data", "start", "end", "length")

    def __init__(self, data, start=False, end=False):
        self.data = data
        self.start = start
        self.end = end
        self.length = len(data) + start + end

    def symbols(self):
        """Its symbols (a new list)."""
        return [*[Control.START] * self.start, *self.data, *[Control.END] * self.end]


class Arrival:
    """A packet that arrives: its stretches, each with the times of its first and last symbol."""

    __slots__ = ("stretches", "ended", "cut", "lost", "check", "skip")

    def __init__(self):
        self.stretches = []
        self.ended = None  # time of its last symbol, once there is one
        self.cut = False  # ended by another start
        self.lost = False  # symbols of it found the queue full
        self.check = None  # what its checksum is, and the bytes that does not cover: known when it is opened
        self.skip = 0

    def bytes(self):
        return b"".join(stretch.data for stretch, _, _ in self.stretches)

    def count_by(self, time, symbol_ps):
        """Symbols that have arrived by ``time``."""
        return sum(
            min(stretch.length, (time - head) // symbol_ps + 1) for stretch, head, _ in self.stretches if head <= time
        )

    def header_at(self, symbol_ps, wanted):
        """When its header is known: with byte ``wanted``, or at its end. None as long as that is not known."""
        for stretch, head, _ in self.stretches:
            if len(stretch.data) >= wanted:
                return head + (wanted - 1 + stretch.start) * symbol_ps
            wanted -= len(stretch.data)
        return self.ended


class ModelFiber:
    """One direction of a pair.

    Parameters
    ----------
    machine : ModelMachine
    name : str
    target : board
    port : int or None
        The port at the target.

    Members
    -------
    tap : Tap or None
        Is told what is sent (docs/recording.md).
    """

    __slots__ = ("machine", "name", "target", "port", "symbol_ps", "delay_ps", "free_at", "tap", "_faults", "_arrived")

    def __init__(self, machine, name, target, port, symbol_ps, delay_ps):
        self.machine = machine
        self.name = name
        self.target = target
        self.port = port
        self.symbol_ps = symbol_ps
        self.delay_ps = delay_ps
        self.free_at = 0
        self.tap = None
        self._faults = None  # FiberFaults, once it has any
        self._arrived = 0  # then, when the last piece has arrived

    def fault(self, fault, key, begin_ps, end_ps):
        """Adds a fault on demand (``software.machine``)."""
        if self._faults is None:
            self._faults = FiberFaults(self.symbol_ps, self.delay_ps)
        rule = self._faults.add(fault, key, begin_ps, end_ps)
        if rule.what == "cut":
            lost = self.machine.forget(self.target, self.port, begin_ps)
            rule.hits += lost
            rule.symbols += lost
        return rule

    def send(self, piece, at):
        """Sends a piece as soon as the wire is free; returns the time from which on the wire takes the next."""
        start = max(at, self.free_at)
        self.free_at = start + piece.length * self.symbol_ps
        if self.tap is not None:
            self._tell(piece.symbols(), start)
        if self._faults is not None:
            self._send_faulty(piece, start)
        else:
            head = start + self.symbol_ps + self.delay_ps
            self.machine.at(
                head, self.target.arrive, (self.port, piece, head, head + (piece.length - 1) * self.symbol_ps)
            )
        return self.free_at

    def signal(self, kind, at, value=None):
        """Sends a ready signal or a reply (``value``) between two symbols."""
        length = 1 if kind == "ready" else COMMAND_LENGTH
        arrival = at + length * self.symbol_ps + self.delay_ps
        if self.tap is not None:
            self._tell(_signal(kind, value), at)
        if self._faults is not None:
            self._signal_faulty(kind, at, value, length, arrival)
        else:
            self.machine.at(arrival, self.target.signalled, (self.port, kind, value))

    def _tell(self, symbols, start):
        """Tells the tap of symbols that follow each other from ``start`` on."""
        for number, symbol in enumerate(symbols):
            self.tap.symbol(start + number * self.symbol_ps, symbol)

    def _send_faulty(self, piece, start):
        """What the faults leave of a piece."""
        command = isinstance(piece, Command)
        low = 0 if command else int(piece.start)
        high = 0 if command else low + len(piece.data)
        delay, left = self._faults.strike(
            "command" if command else None, start, piece.length, low, high, piece.start, piece.end, piece.symbols
        )
        symbol = self.symbol_ps
        first = max(start + symbol + self.delay_ps + delay, self._arrived)
        pieces = [(piece, 0, piece.length - 1)] if left is None else self._pieces(left)
        for item, head, tail in pieces:
            self._arrived = first + tail * symbol
            self.machine.at(
                first + head * symbol, self.target.arrive, (self.port, item, first + head * symbol, self._arrived)
            )

    def _pieces(self, symbols):
        """(piece or signal, number of its first symbol, of its last) of what is left, but for signals that damage
        has made: it makes none."""
        for kind, data, begins, ends, head, tail in frames(symbols):
            yield (Command(*data) if kind == "command" else Stretch(data, begins, ends)), head, tail

    def _signal_faulty(self, kind, at, value, length, arrival):
        """What the faults leave of a signal."""

        delay, left = self._faults.strike(kind, at, length, 0, 0, False, False, lambda: _signal(kind, value))
        signals = (
            [(kind, value)]
            if left is None
            else [
                (what, int.from_bytes(data, "big") if what == "reply" else None)
                for what, data, *_ in frames(left)
                if what == kind
            ]
        )
        for what, content in signals:
            self.machine.at(arrival + delay, self.target.signalled, (self.port, what, content))


def _signal(kind, value):
    """The symbols of a ready signal or a reply."""
    return [Control.READY] if kind == "ready" else [Control.REPLY, *value.to_bytes(3, "big")]
