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
from .recorder import PREFIX, RECORD, RecordingError

__all__ = ["Recording", "RecordingError"]


class Recording:
    """A file of events; nothing of it is kept in memory.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Members
    -------
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
        self._names = {}
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
        wanted = None if kinds is None else frozenset(kinds)
        fibers = [boards is None or not {_board(end) for end in fiber[1:3]}.isdisjoint(boards) for fiber in self.fibers]
        places = [boards is None or name in boards for name in self.places]
        skew = self._skew_ps
        kept = []  # those that an earlier one may still follow
        latest = 0
        for number, (time_ps, kind, detail, place, a, b, c, data) in enumerate(self._records()):
            if kind == EventKind.NAME:
                self._names[a] = data.decode(errors="replace")
                continue
            if kind == EventKind.END:
                break
            latest = max(latest, time_ps)
            while kept and kept[0][0] < latest - skew:
                yield heapq.heappop(kept)[2]
            if end_ps is not None and latest - skew >= end_ps:
                break
            if (
                (wanted is None or kind in wanted)
                and (fibers[place] if kind < EventKind.SEND else places[place])
                and (begin_ps is None or time_ps >= begin_ps)
                and (end_ps is None or time_ps < end_ps)
            ):
                event = self._event(time_ps, kind, detail, place, a, b, c, data)
                heapq.heappush(kept, (time_ps, number, event))
        while kept:
            yield heapq.heappop(kept)[2]

    def _event(self, time_ps, kind, detail, place, a, b, c, data):
        where = self.fibers[place] if kind < EventKind.SEND else self.places[place]
        if kind == EventKind.THREAD:
            a = self._names[a]
        return DECODERS[kind](where, time_ps, detail, a, b, c, data)

    def _records(self):
        data = self._data
        at, end = self._first, len(data)
        size = RECORD.size
        unpack = RECORD.unpack_from
        while at + size <= end:
            *record, length = unpack(data, at)
            at += size
            beyond = at + -(-length // EVENT_ALIGN) * EVENT_ALIGN
            if beyond > end:
                return
            yield *record, data[at : at + length] if length else b""
            at = beyond

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
