"""Where the time of a message goes: from the sender's call to the reader's having it, stage by stage.

Everything comes from a recording of what happened (docs/recording.md): of messages, packets, controls and CPUs."""

from typing import NamedTuple

from ..hdl.host.events import EventGroup, EventKind
from .errors import ProgramError
from .packet import Protocol, unpack

__all__ = ["NEEDED", "Stage", "arriving", "stages"]

#: Groups of events that the stages are made of.
NEEDED = EventGroup.MESSAGES | EventGroup.PACKETS | EventGroup.CONTROLS | EventGroup.CPU


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


def stages(recording, source, destination, number=0):
    """The stages of datagram ``number`` from CAB ``source`` to CAB ``destination`` (names); it must have had one packet
    only.

    ``recording``: a Recording with the groups NEEDED. The stages follow each other without a gap, so that they sum to
    the whole. Fibers and HUBs are told by the packet's first symbol. What DMA and software do at the same time counts
    as software. Raises ProgramError when there is no such message in the recording."""
    return _follow(recording, source, destination, number)[0]


def arriving(recording, source, destination, number=0):
    """(begin, end) of the time in which that message's packet comes in at its receiver, in picoseconds."""
    return _follow(recording, source, destination, number)[1]


def _follow(recording, source, destination, number):
    """The stages, and when the packet comes in."""
    if recording.groups & NEEDED != NEEDED:
        raise ProgramError(
            "the recording lacks events that the stages of a message are made of: write TRACE = True into the program, "
            "or record with --record-level all"
        )
    for name in (source, destination):
        if name not in recording.cabs:
            raise ProgramError(f"there is no CAB {name!r} in the recording; there are {', '.join(recording.cabs)}")
    ids = recording.cabs[source]["id"], recording.cabs[destination]["id"]
    sender = _Sender(recording, source, ids, number)
    receiver = _Receiver(recording, destination, ids, number)
    hops = _hops(recording, source, sender.header, sender.queued)
    way = _Way(sender.called)

    # Under circuit switching the route is set up first.
    reply = _first(recording, EventKind.REPLY, sender.called, lambda event: event.fiber.receiver == source)
    if reply is not None and reply.begin_ps < sender.queued:
        command = _first(recording, EventKind.COMMAND, sender.called, lambda event: event.fiber.sender == source)
        way.until(command.begin_ps, "software, sending")
        way.until(reply.time_ps + reply.fiber.symbol_ps + reply.fiber.delay_ps, "HUBs, setting up the circuit")
    way.until(sender.queued, "software, sending")

    # The packet's first symbol, from fiber to fiber.
    way.until(hops[0].begin_ps, "DMA, sending")
    for packet in hops:
        fiber = packet.fiber
        way.until(packet.begin_ps, _board(fiber.sender))
        arrival = packet.begin_ps + fiber.symbol_ps + fiber.delay_ps
        way.until(arrival, f"fiber {fiber.sender} to {fiber.receiver}")
    end = packet.time_ps + fiber.symbol_ps + fiber.delay_ps

    # The receiving board and its software take turns, the header first.
    way.until(receiver.noticed(receiver.arrived, arrival), "DMA, receiving")
    way.until(receiver.answered, "software, receiving")
    way.until(end, "rest of the packet")
    way.until(receiver.noticed(receiver.delivered, end), "DMA, receiving")
    way.until(receiver.read, "software, receiving")
    return way.stages, (arrival, end)


class _Sender:
    """When the message was sent (``called``), when its packet was ``queued``, and its ``header``."""

    def __init__(self, recording, name, ids, number):
        wanted = _Wanted(name, ids, number)
        calls = {}
        self.called = self.queued = None
        for event in recording.events([EventKind.SEND, EventKind.NUMBERED, EventKind.QUEUED], [name]):
            if event.kind is EventKind.SEND:
                calls[event.message] = event.time_ps
            elif event.kind is EventKind.NUMBERED:
                if self.called is None and wanted.names(event, event.destination, ids[1]):
                    self.called = calls[event.message]
            elif self.called is not None and wanted.has(event.header):
                self.queued, self.header = event.time_ps, event.header
                return
        raise wanted.missing("was not sent")


class _Receiver:
    """When the packet was noticed (``arrived``) and ``answered``, the message ``delivered`` and ``read``."""

    def __init__(self, recording, name, ids, number):
        wanted = _Wanted(name, ids, number)
        self._entries, self._returns = [], [0]
        causes = self.arrived = self.answered = self.delivered = None
        kinds = [EventKind.INTERRUPT, EventKind.CAUSES, EventKind.ANSWERED, EventKind.RETURNED]
        for event in recording.events([*kinds, EventKind.ARRIVED, EventKind.DELIVERED, EventKind.READ], [name]):
            time, kind = event.time_ps, event.kind
            if kind is EventKind.INTERRUPT:
                self._entries.append(time)
            elif kind is EventKind.RETURNED:
                self._returns.append(time)
            elif kind is EventKind.CAUSES:
                causes = time
            elif kind is EventKind.ARRIVED:
                if self.arrived is None and wanted.has(event.header):
                    self.arrived = causes
            elif kind is EventKind.ANSWERED:
                if self.arrived is not None and self.answered is None:
                    self.answered = time
            elif wanted.names(event, event.source, ids[0]):
                if kind is EventKind.DELIVERED:
                    self.delivered = causes
                elif self.delivered is not None:
                    self.read = time
                    return
        raise wanted.missing("was not received")

    def noticed(self, seen, since):
        """When software began to care for what it had ``seen``, whose cause came at ``since``: then, if it was at
        interrupt level anyway."""
        entry = max((time for time in self._entries if time <= seen), default=seen)
        before = max(time for time in self._returns if time <= entry)
        return max(entry, since) if before <= since else since


class _Wanted:
    """A datagram, looked for at CAB ``name``."""

    def __init__(self, name, ids, number):
        self._name, self._ids, self._number = name, ids, number

    def has(self, header):
        """Whether a packet with that header belongs to it."""
        protocol, source, destination, _, _, number, _, _ = unpack(header)
        return protocol == Protocol.DATAGRAM and (source, destination, number) == (*self._ids, self._number)

    def names(self, event, peer, wanted):
        """Whether an event of a message, from or to ``peer``, is of it."""
        return (event.layer, peer, event.number) == (Protocol.DATAGRAM, wanted, self._number)

    def missing(self, what):
        """The error that it is not in the recording."""
        source, destination = self._ids
        return ProgramError(
            f"datagram {self._number} from CAB {source} to CAB {destination} {what} at {self._name} in this recording"
        )


def _hops(recording, source, header, after):
    """The Packets with ``header``, from fiber to fiber, the first of which leaves ``source`` at ``after`` or later."""
    hops, board = [], source
    found = [
        packet
        for packet in recording.events([EventKind.PACKET], begin_ps=after)
        if packet.data.startswith(header) and packet.begin_ps >= after
    ]
    while packet := next((packet for packet in found if _board(packet.fiber.sender) == board), None):
        hops.append(packet)
        found.remove(packet)
        board = _board(packet.fiber.receiver)
    if not hops:
        raise ProgramError(f"the packet of the message did not leave {source} in this recording")
    return hops


def _board(end):
    """The board of an end of a fiber."""
    return end.partition(".")[0]


def _first(recording, kind, after, wanted):
    """The first command or reply for which ``wanted`` holds, not begun before ``after``; None if there is none."""
    return next((e for e in recording.events([kind], begin_ps=after) if wanted(e) and e.begin_ps >= after), None)
