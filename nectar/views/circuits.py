"""Circuits of a recording, of machines that hold channels for a message: which they are, and whose message they carry.

A circuit begins as its source asks for a channel. It is followed from router to router: the input of the next router is
the other end of the link whose output it was granted. The n-th circuit from one computer to another carries the n-th
message that the software has queued there for it.
"""

from collections import defaultdict, deque
from dataclasses import dataclass

from ..hdl.host.events import EventKind, ReceivedMark
from ..software.stacks import header_of
from .layers import layer_name
from .message import Message, Trip
from .track import Style

__all__ = ["Circuits"]

_DAMAGED = ReceivedMark.BAD | ReceivedMark.CUT | ReceivedMark.TOO_LONG


@dataclass
class _Circuit:
    """A circuit, or what was seen of it. ``board``: where its source is; None if that was not seen."""

    board: str | None
    text: str
    trip: Trip
    message: Message | None = None
    place: int = -1  # of its message
    idle_ps: int | None = None  # its destination has not been ready since then


class Circuits:
    """Makes tracks, ways and stages of the events of routers.

    Parameters
    ----------
    spans : Spans
        What is being made.
    """

    def __init__(self, spans):
        self._spans = spans
        recording = spans.recording
        self._told = header_of(recording.machine.name)
        self._machine = recording.machine.recorded
        self._names = {computer["id"]: name for name, computer in recording.cabs.items()}
        self._links = {link.sender: link for link in recording.fibers}
        self._queued = defaultdict(deque)  # (computer, destination) -> (text, place of its message or -1, time queued)
        self._numbered = {}  # computer -> place of the message that was numbered last, until its header is queued
        self._into = {}  # end of a link -> circuit that comes in there
        self._asking = {}  # (board, input) -> (circuit, when it has asked)
        self._standing = {}  # (board, output) -> (circuit, when it was granted)
        self._freed = {}  # (board, output) -> when it was released last
        #: EventKind → what takes an event of that kind.
        self.handlers = {
            EventKind.NUMBERED: self._number,
            EventKind.QUEUED: self._queue,
            EventKind.ASKED: self._asked,
            EventKind.CONNECTED: self._connected,
            EventKind.DISCONNECTED: self._disconnected,
            EventKind.READY_BIT: self._ready,
            EventKind.RECEIVED: self._received,
        }

    # -- software ------------------------------------------------------------------------------------
    def _number(self, event):
        self._numbered[event.board] = self._spans.number(event)

    def _queue(self, event):
        told = self._told(event.header)
        destination = self._names.get(told.destination, f"{self._machine.computer} {told.destination}")
        text = f"{layer_name(told.layer)} {event.board} to {destination}, {told.more}"
        place = self._numbered.pop(event.board, -1)
        self._queued[event.board, destination].append((text, place, event.time_ps))

    # -- hardware ------------------------------------------------------------------------------------
    def _end(self, board, port, outward):
        return f"{board}.{self._machine.port(port, outward)}"

    def _asked(self, event):
        key = event.board, event.input
        if not event.level:
            circuit, asked_ps = self._asking.pop(key, (None, 0))
            if circuit is not None:
                self._wait(event, circuit, asked_ps, "taken back")
            return
        circuit = self._into.pop(self._end(*key, False), None) or self._new(event)
        self._asking[key] = circuit, event.time_ps

    def _new(self, event):
        """A circuit that begins here, or of which nothing was seen before."""
        number = self._spans.recording.cabs[event.board]["id"]
        source, destination = self._machine.circuit(number, event.input, event.probe)
        begins = source == event.board
        waiting = self._queued[event.board, destination] if begins else None
        text, place, queued_ps = waiting.popleft() if waiting else (f"{source} to {destination}", -1, event.time_ps)
        circuit = _Circuit(event.board if begins else None, text, Trip(queued_ps, event.time_ps), place=place)
        self._spans.circuits += 1
        if place >= 0:
            circuit.message = self._spans.messages[place]
            circuit.message.trips.append(circuit.trip)
        return circuit

    def _wait(self, event, circuit, asked_ps, how):
        """An input has waited for a channel that others had."""
        spans, name = self._spans, self._machine.port(event.input, False)
        text = f"{circuit.text}: waits for {self._machine.port(event.output, True)}, {how}"
        track = spans.part(event.board, (2, event.input), f"{name}, waits for a channel")
        track.add(asked_ps, event.time_ps, spans.label(text), Style.WAITING, circuit.place)
        if circuit.message is not None:
            end, waited_ps = self._end(event.board, event.output, True), event.time_ps - asked_ps
            total_ps, *longest = spans.waits.get(end, (0, -1, None))
            spans.waits[end] = (
                total_ps + waited_ps,
                *max(longest, [waited_ps, circuit.message], key=lambda pair: pair[0]),
            )

    def _connected(self, event):
        key = event.board, event.output
        circuit, asked_ps = self._asking.pop((event.board, event.input), (None, event.time_ps))
        known = circuit is not None
        if not known:
            text = f"from {self._machine.port(event.input, False)}"
            circuit = _Circuit(None, text, Trip(event.time_ps, event.time_ps))
        elif self._freed.get(key, -1) > asked_ps:
            self._wait(event, circuit, asked_ps, "granted")
        self._standing[key] = circuit, event.time_ps
        link = self._links.get(self._end(*key, True))
        if link is not None and known:
            self._into[link.receiver] = circuit
        if circuit.board == event.board:
            circuit.idle_ps = event.time_ps

    def _disconnected(self, event):
        key = event.board, event.output
        self._freed[key] = event.time_ps
        if key in self._standing:
            circuit, begin_ps = self._standing.pop(key)
            self._stood(*key, circuit, begin_ps, event.time_ps)
            circuit.trip.ended_ps = event.time_ps

    def _stood(self, board, output, circuit, begin_ps, end_ps):
        """A circuit has had an output."""
        spans, end = self._spans, self._end(board, output, True)
        if circuit.board == board and circuit.trip.ready_ps is None:  # later, RDY ends ahead of the circuit
            self._idled(board, output, circuit, end_ps)
        track = (
            spans.fibers[self._links[end].number]
            if end in self._links
            else spans.part(board, (4, output), f"{self._machine.port(output, True)}, circuit")
        )
        number = track.add(begin_ps, end_ps, spans.label(circuit.text), Style.CONNECTION, circuit.place)
        if circuit.message is not None:
            circuit.message.path.append((track, number))

    def _idled(self, board, output, circuit, end_ps):
        """The destination of a circuit was not ready up to now."""
        if circuit.idle_ps is not None:
            spans, name = self._spans, self._machine.port(output, True)
            track = spans.part(board, (3, output), f"{name}, destination not ready")
            text = f"{circuit.text}: destination not ready"
            track.add(circuit.idle_ps, end_ps, spans.label(text), Style.WAITING, circuit.place)
            circuit.idle_ps = None

    def _ready(self, event):
        circuit, _ = self._standing.get((event.board, event.output), (None, 0))
        if circuit is None or circuit.board != event.board:
            return
        if not event.level:
            circuit.idle_ps = event.time_ps
            return
        self._idled(event.board, event.output, circuit, event.time_ps)
        if circuit.trip.ready_ps is None:
            circuit.trip.ready_ps = event.time_ps

    def _received(self, event):
        self._spans.damaged += bool(event.mark & _DAMAGED)

    def end(self, end_ps):
        """The recording is over: whatever stands stands to its end."""
        for (board, output), (circuit, begin_ps) in self._standing.items():
            self._stood(board, output, circuit, begin_ps, end_ps)
