"""Streams at a HUB's pins, taken apart as docs/wire.md says: what a port gets, what it sends, what its queue's head has
to do.

Plain Python. Nothing here knows of the other ports; reference.py puts the streams of all ports together.
"""

from typing import NamedTuple

from nectar.hdl.hub.commands import BY_OPCODE, Op
from nectar.hdl.hub.monitor_map import CounterId
from nectar.hdl.link.symbol import ANY_HUB, COMMAND_LENGTH, CONTROL_BIT, Control

__all__ = [
    "Violation",
    "Sent",
    "Arrivals",
    "Departures",
    "Pass",
    "Order",
    "Fault",
    "CODES",
    "name",
    "owns",
    "arrivals",
    "Departing",
    "departures",
    "actions",
]


#: All control codes that are not reserved.
CODES = frozenset(int(code) for code in Control)


class Violation(AssertionError):
    """The HUB did something that its specification does not allow; the message says what, where and when."""


class Sent(NamedTuple):
    """A symbol that a port sent: first cycle in which it was offered, and the cycle in which the fiber took it."""

    symbol: int
    offered: int
    taken: int


class Arrivals(NamedTuple):
    """What arrived at a port: ``queue`` [(symbol, cycle)], ``readies`` [cycle], ``replies`` [(three bytes, cycle)],
    ``errors`` [(cycle, CounterId)]."""

    queue: list
    readies: list
    replies: list
    errors: list


class Departures(NamedTuple):
    """What a port sent: ``data`` [Sent] as it came from the crossbar, ``readies`` [Sent], ``replies`` [(three bytes,
    Sent of its control code)]."""

    data: list
    readies: list
    replies: list


class Pass(NamedTuple):
    """The head passes on a symbol. ``closing``: it belongs to a close all; ``closes``: it is the last of one;
    ``returns``:
    it is the last of a close all reply for another HUB."""

    symbol: int
    at: int
    closing: bool = False
    closes: bool = False
    returns: bool = False


class Order(NamedTuple):
    """The head takes out a command for this HUB; ``at`` is the cycle in which its last symbol arrived."""

    op: int
    param: int
    at: int


class Fault(NamedTuple):
    """The head finds a command cut short by what arrived in cycle ``at``."""

    at: int


def name(symbol):
    """A symbol in words."""
    try:
        return Control(symbol).name.lower()
    except ValueError:
        return f"{symbol:#05x}"


def owns(hub, op, bears):
    """Whether the HUB with ID ``hub`` takes out a command with opcode ``op`` that bears the ID ``bears``."""
    row = BY_OPCODE.get(op)
    return op != Op.CLOSE_ALL and (bears == hub or bears == ANY_HUB and row is not None and row.any_hub)


def arrivals(symbols):
    """Takes apart what arrived, [(cycle, symbol)], as the input side of a port does before its queue."""
    found = Arrivals([], [], [], [])
    fragment = None
    for at, symbol in symbols:
        if symbol == Control.IDLE:
            continue
        if symbol == Control.READY:
            found.readies.append(at)
            continue
        if fragment is not None and symbol & CONTROL_BIT:
            found.errors.append((at, CounterId.REPLY_CUT))
            fragment = None
        if symbol == Control.REPLY:
            fragment = []
        elif fragment is not None:
            fragment.append(symbol)
            if len(fragment) == 3:
                found.replies.append((tuple(fragment), at))
                fragment = None
        elif symbol & CONTROL_BIT and symbol not in CODES:
            found.errors.append((at, CounterId.RESERVED))
        else:
            found.queue.append((symbol, at))
    return found


class Departing:
    """Takes apart what ``port`` sends, piece by piece; raises Violation for idle or reserved codes and for replies that
    are torn.

    ``found``: Departures so far; ``whole``: no reply is under way; ``begun``: the cycle in which the one that is was
    offered."""

    def __init__(self, port):
        self.port = port
        self.found = Departures([], [], [])
        self._start = self._fragment = None

    @property
    def whole(self):
        """Whether no reply is under way."""
        return self._fragment is None

    @property
    def begun(self):
        """Cycle in which the reply that is under way was offered first; None if there is none."""
        return None if self.whole else self._start.offered

    def feed(self, sent):
        """Takes what was sent next, [Sent]."""
        found = self.found
        for item in sent:
            symbol = item.symbol
            if symbol & CONTROL_BIT and (symbol == Control.IDLE or symbol not in CODES):
                raise Violation(f"port {self.port} sent {name(symbol)} in cycle {item.offered}")
            if symbol == Control.READY:
                found.readies.append(item)
            elif self._fragment is not None:
                if symbol & CONTROL_BIT:
                    raise Violation(
                        f"port {self.port}: a reply was cut short by {name(symbol)} in cycle {item.offered}"
                    )
                self._fragment.append(symbol)
                if len(self._fragment) == 3:
                    found.replies.append((tuple(self._fragment), self._start))
                    self._fragment = None
            elif symbol == Control.REPLY:
                self._start, self._fragment = item, []
            else:
                found.data.append(item)


def departures(sent, port):
    """Takes apart all that ``port`` sent, [Sent], in Departures; raises Violation as Departing does, and if the last
    reply is not complete."""
    departing = Departing(port)
    departing.feed(sent)
    if not departing.whole:
        raise Violation(f"port {port}: the last reply is not complete")
    return departing.found


def actions(queue, hub):
    """What the head of an input queue does with ``queue``, [(symbol, cycle)], at HUB ``hub``: a list of Pass, Order and
    Fault.

    A command at the end whose remaining bytes have not arrived yet gives nothing.
    """
    found = []
    place = 0
    while place < len(queue):
        frame = queue[place : place + COMMAND_LENGTH]
        if frame[0][0] != Control.COMMAND:
            found.append(Pass(*frame[0]))
            place += 1
            continue
        cut = next((length for length in range(1, len(frame)) if frame[length][0] & CONTROL_BIT), None)
        if cut:
            found.append(Fault(frame[cut][1]))
            place += cut
            continue
        if len(frame) < COMMAND_LENGTH:
            break
        _, op, owner, param = (symbol for symbol, _ in frame)
        if not owns(hub, op, owner):
            closing = op == Op.CLOSE_ALL
            found += [Pass(symbol, at, closing) for symbol, at in frame[:-1]]
            found.append(Pass(*frame[-1], closing, closing, op == Op.CLOSE_ALL_REPLY))
        else:
            found.append(Order(op, param, frame[-1][1]))
        place += COMMAND_LENGTH
    return found
