"""Where the time of a message goes: from the sender's call to the reader's having it, stage by stage.

Everything comes from what was noted while the system ran: the software's events, by the clocks of their CABs, and the
control symbols on the fibers. Needs a system with a trace (``TRACE = True`` in a program) on a machine that logs
symbols."""

from typing import NamedTuple

from ..hdl.host.numbers import RESET_EDGES
from ..hdl.link.symbol import COMMAND_LENGTH, Control
from .errors import ProgramError
from .machine import Capability, require

__all__ = ["Stage", "arriving", "stages"]

_NO_TRACE = "nothing was noted of messages and symbols: write TRACE = True into the program"


class Stage(NamedTuple):
    """A stage of the way: what the time is spent in, from when to when, in picoseconds."""

    name: str
    begin_ps: int
    end_ps: int

    @property
    def duration_ps(self):
        """Its length in picoseconds."""
        return self.end_ps - self.begin_ps


class _Way:
    """Stages that follow each other without a gap."""

    def __init__(self, begin):
        self.stages = []
        self._now = begin

    def until(self, time, name):
        """The time up to ``time`` went into ``name``; nothing if it has been accounted for already."""
        if time > self._now:
            self.stages.append(Stage(name, self._now, time))
            self._now = time


def stages(system, source, destination, number=0):
    """The stages of message ``number`` from CAB ``source`` to CAB ``destination`` (names); it must have had one packet
    only.

    They follow each other without a gap, so that they sum to the whole. Fibers and HUBs are told by the packet's first
    symbol. What DMA and software do at the same time counts as software. Raises ProgramError when there is no such
    message in the trace."""
    return _follow(system, source, destination, number)[0]


def arriving(system, source, destination, number=0):
    """(begin, end) of the time in which that message's packet comes in at its receiver, in picoseconds."""
    return _follow(system, source, destination, number)[1]


def _follow(system, source, destination, number):
    """The stages, and when the packet comes in."""
    require(system.machine, Capability.SYMBOLS)
    symbols = system.symbols
    if not symbols:
        raise ProgramError(_NO_TRACE)
    sender, receiver = (
        _Events(system, name, peer, number) for name, peer in ((source, destination), (destination, source))
    )
    fibers = _fibers(system)
    way = _Way(sender.first("send"))

    # Under circuit switching the route is set up first.
    queued = sender.first("queued")
    here = source
    into = next(end for end, (other, _, _) in fibers.items() if other == source)
    reply = _symbol(symbols, into, Control.REPLY, sender.first("send"))
    if reply is not None and reply < queued:
        way.until(_symbol(symbols, here, Control.COMMAND, sender.first("send")), "software, sending")
        _, symbol_ps, delay_ps = fibers[into]
        way.until(reply + COMMAND_LENGTH * symbol_ps + delay_ps, "HUBs, setting up the circuit")
    way.until(queued, "software, sending")

    # The packet's first symbol, from fiber to fiber.
    start = _symbol(symbols, here, Control.START, queued)
    way.until(start, "DMA, sending")
    hubs = {board.id: name for name, board in system.topology.hubs.items()}
    for hub, port in [*system.cab(source).datalink.routes[system.id_of(destination)], (None, None)]:
        other, symbol_ps, delay_ps = fibers[here]
        arrival = start + symbol_ps + delay_ps
        way.until(arrival, f"fiber {here} to {other}")
        if hub is not None:
            here = f"{hubs[hub]}.P{port}"
            start = _symbol(symbols, here, Control.START, arrival)
            way.until(start, hubs[hub])
    end = _symbol(symbols, here, Control.END, start) + symbol_ps + delay_ps

    # The receiving board and its software take turns, the header first.
    way.until(receiver.noticed("packet", arrival), "DMA, receiving")
    way.until(receiver.first("answered", receiver.first("packet")), "software, receiving")
    way.until(end, "rest of the packet")
    way.until(receiver.noticed("received", end), "DMA, receiving")
    way.until(receiver.first("read"), "software, receiving")
    return way.stages, (arrival, end)


class _Events:
    """The trace of CAB ``name`` as far as message ``number`` to or from CAB ``peer`` is concerned; times in
    picoseconds."""

    def __init__(self, system, name, peer, number):
        trace = system.cab(name).kernel.trace
        if trace is None:
            raise ProgramError(_NO_TRACE)
        board, period = system.topology.cabs[name], system.profile.cab_period_ps
        peer = system.id_of(peer)
        self._what = f"message {number} between {name} and CAB {peer}"
        self._events = [
            (board.phase_ps + (cycle + RESET_EDGES) * period, event)
            for cycle, event, other, count in trace
            if other is None or (other, count) == (peer, number)
        ]

    def first(self, event, after=0):
        """When ``event`` happened first, not before ``after``."""
        for time, name in self._events:
            if name == event and time >= after:
                return time
        raise ProgramError(f"there is no event {event!r} of {self._what} in the trace")

    def noticed(self, event, since):
        """When software began to care for ``event``, whose cause came at ``since``: then, if it was at interrupt
        level anyway."""
        seen = self.first(event)
        entry = max((time for time, name in self._events if name == "interrupt" and time <= seen), default=seen)
        before = max((time for time, name in self._events if name == "returned" and time <= entry), default=0)
        return max(entry, since) if before <= since else since


def _fibers(system):
    """Sending end → (receiving end, symbol time, delay) of every fiber; times in picoseconds."""
    found = {}
    for fiber in system.topology.fibers:
        for a, b in ((fiber.a, fiber.b), (fiber.b, fiber.a)):
            found[str(a)] = (str(b), fiber.symbol_ps or system.profile.symbol_ps, fiber.delay_ps)
    return found


def _symbol(symbols, sender, symbol, after):
    """When ``symbol`` first started on the fiber from ``sender``, not before ``after``; None if it never did."""
    return next((time for time, end, _, seen in symbols if end == sender and seen == symbol and time >= after), None)
