"""What happened in a simulation, read from a file of events. ``docs/recording.md`` specifies the file.

with Recording("run.events") as recording:
    for event in recording.events(kinds=[EventKind.PACKET], boards=["CAB1"]):
        print(event.time_ps, event.length)
"""

import heapq
import json
import mmap
import os

from ..hdl.host.events import EVENT_ALIGN, MAGIC, VERSION, EventGroup, EventKind
from .events import DECODERS, Fiber
from .machines import machine
from .recorder import PREFIX, RECORD, RecordingError

__all__ = ["Decoder", "Recording", "RecordingError", "records_in"]


def records_in(data, at=0):
    """The records in ``data`` (bytes-like) from byte ``at`` on: time, kind, detail, place, a, b, c, bytes of each. A
    part of a record at the end is left out."""
    end, size, unpack = len(data), RECORD.size, RECORD.unpack_from
    while at + size <= end:
        *record, length = unpack(data, at)
        at += size
        beyond = at + -(-length // EVENT_ALIGN) * EVENT_ALIGN
        if beyond > end:
            return
        yield *record, bytes(data[at : at + length]) if length else b""
        at = beyond


class Decoder:
    """Makes events of records, and puts them in the order of their times.

    Parameters
    ----------
    fibers : list of Fiber
    places : list of str or None
    skew_ps : int
        As in the file's header.
    kinds, boards : collections or None
        As in ``Recording.events``.

    Members
    -------
    certain_ps : int
        No event before this time is still to come.
    """

    def __init__(self, fibers, places, skew_ps, kinds=None, boards=None):
        self._wanted = None if kinds is None else frozenset(kinds)
        self._fibers = [
            (fiber, boards is None or not {_board(end) for end in fiber[1:3]}.isdisjoint(boards)) for fiber in fibers
        ]
        self._places = [(name, boards is None or name in boards) for name in places]
        self._skew_ps = skew_ps
        self._names = {}
        self._kept = []  # events that an earlier one may still follow
        self._count = 0
        self.certain_ps = 0

    def take(self, time_ps, kind, detail, place, a, b, c, data):
        """Takes a record; returns the events that no later record can come before, by time."""
        if kind == EventKind.NAME:
            self._names[a] = data.decode(errors="replace")
            return ()
        if kind == EventKind.END:
            return self.rest()
        where, chosen = self._fibers[place] if kind < EventKind.SEND else self._places[place]
        if chosen and (self._wanted is None or kind in self._wanted):
            if kind == EventKind.THREAD:
                a = self._names[a]
            self._count += 1
            event = DECODERS[kind](where, time_ps, detail, a, b, c, data)
            heapq.heappush(self._kept, (time_ps, self._count, event))
        if time_ps - self._skew_ps > self.certain_ps:
            self.certain_ps = time_ps - self._skew_ps
            if self._kept and self._kept[0][0] < self.certain_ps:
                return self._due()
        return ()

    def _due(self):
        kept, due = self._kept, []
        while kept and kept[0][0] < self.certain_ps:
            due.append(heapq.heappop(kept)[2])
        return due

    def rest(self):
        """The events that are left, by time."""
        kept, self._kept = sorted(self._kept), []
        return [event for _, _, event in kept]


class Recording:
    """A file of events; nothing of it is kept in memory.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Members
    -------
    machine : Machine
        What was simulated.
    topology : str
        Its name.
    places : list of str or None
        Boards, then their nodes.
    hubs, cabs : dict
        Name → dict: ``id``, of a HUB ``ports``.
    fibers : list of Fiber
    cab_period_ps, hub_period_ps : int
        Clock periods.
    groups : EventGroup
        What was recorded.
    complete : bool
        Whether the recording was ended in order. False, too, as long as the simulation goes on.
    end_ps : int or None
        Simulated time at which it was; None if it was not.
    dropped : int
        Events that a limit has kept out.

    Raises RecordingError for what is no such file.
    """

    def __init__(self, source):
        self._name, self._data = ("the recording", source) if isinstance(source, bytes) else (source, b"")
        if not isinstance(source, bytes):
            try:
                with open(source, "rb", buffering=0) as file:
                    size = os.fstat(file.fileno()).st_size
                    self._data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
            except OSError as error:
                raise RecordingError(f"{source} cannot be read: {error.strerror}") from error
        try:
            told = self._begin()
            self.machine = machine(told["machine"])
            self.topology, self.places = told["topology"], told["places"]
            self.hubs, self.cabs = told["hubs"], told["cabs"]
            self.cab_period_ps, self.hub_period_ps = told["cab_period_ps"], told["hub_period_ps"]
            self.fibers = [Fiber(number, *fiber) for number, fiber in enumerate(told["fibers"])]
            self.groups = EventGroup(told["groups"])
            self._skew_ps = told["skew_ps"]
        except (KeyError, TypeError, ValueError) as error:
            self.close()
            raise RecordingError(f"{self._name}: its header is damaged") from error
        except RecordingError:
            self.close()
            raise
        self.complete, self.end_ps, self.dropped = False, None, 0
        last = len(self._data) - RECORD.size
        if last >= self._first:
            time_ps, kind, _, _, _, dropped, _, size = RECORD.unpack_from(self._data, last)
            if kind == EventKind.END and not size:
                self.complete, self.end_ps, self.dropped = True, time_ps, dropped

    def _begin(self):
        data = self._data
        if len(data) < PREFIX.size or data[: len(MAGIC)] != MAGIC:
            raise RecordingError(f"{self._name} is no recording of events; 'nectar run --record FILE' makes one")
        _, version, length = PREFIX.unpack_from(data)
        if version != VERSION:
            raise RecordingError(
                f"{self._name} has version {version} of the format, and this is {VERSION}: record it again"
            )
        self._first = PREFIX.size + length
        if len(data) < self._first:
            raise RecordingError(f"{self._name} ends in its header: nothing was recorded")
        return json.loads(data[PREFIX.size : self._first])

    # -- events --------------------------------------------------------------------------------------
    def events(self, kinds=None, boards=None, begin_ps=None, end_ps=None):
        """The events, by time; those of one time in the order in which they were noted.

        ``kinds``: EventKinds; None for all. ``boards``: names of boards and nodes; an event of a fiber is of
        the boards at both its ends; None for all. ``begin_ps``, ``end_ps``: only events from the one time on and before
        the other.

        A record that the file has only a part of ends it.
        """
        decoder = Decoder(self.fibers, self.places, self._skew_ps, kinds, boards)
        for record in records_in(self._data, self._first):
            for event in decoder.take(*record):
                if (begin_ps is None or event.time_ps >= begin_ps) and (end_ps is None or event.time_ps < end_ps):
                    yield event
            if end_ps is not None and decoder.certain_ps >= end_ps:
                break
        for event in decoder.rest():
            if (begin_ps is None or event.time_ps >= begin_ps) and (end_ps is None or event.time_ps < end_ps):
                yield event

    # -- the file ------------------------------------------------------------------------------------
    def close(self):
        """Lets go of the file. May be called twice."""
        if isinstance(self._data, mmap.mmap):
            self._data.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def _board(end):
    """The board of an end of a fiber."""
    return end.partition(".")[0]
