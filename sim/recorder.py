"""What happens in a simulation, as a file of events: the writing side. ``docs/recording.md`` specifies the file.

A back end hands in records as they happen; they go to the disk as they come. ``recording`` reads them.
"""

import io
import json
import struct

from ..hdl.host.events import (
    EVENT,
    EVENT_ALIGN,
    LEVELS,
    MAGIC,
    NO_PLACE,
    VERSION,
    EventGroup,
    EventKind,
)
from .events import Fiber
from .machines import machine_of

__all__ = ["IN_MEMORY", "PREFIX", "RECORD", "Recorder", "RecordingError", "place_names"]

#: A record, without the bytes that may follow it.
RECORD = struct.Struct(f"<{''.join(EVENT.values())}")
#: What the file begins with: MAGIC, VERSION, bytes of the header, which is JSON.
PREFIX = struct.Struct("<8sII")
#: Bytes of records that are kept before they are written.
_KEPT = 1 << 16
#: Bytes of a recording in memory at most.
IN_MEMORY = 1 << 28


class RecordingError(Exception):
    """A recording that cannot be written or read; the message is one line."""


def place_names(topology, nodes):
    """What the numbers of places stand for: boards, and as far behind each as there are boards, its node or None.

    ``nodes``: CAB's name → its node's.
    """
    return [*topology.boards, *map(nodes.get, topology.boards)]


class Recorder:
    """Takes what happens, and writes it to a file.

    Parameters
    ----------
    path : path or None
        The file; what is there is overwritten. None: memory, for as long as the recorder is open.
    groups : EventGroup
        What is recorded.
    limit : int or None
        Bytes of the file after which events are only counted; None for no limit, in memory for IN_MEMORY.
    listeners : sequence
        Take everything as it happens: ``begin(fibers, places, skew_ps)`` before the first event, ``records(bytes)``
        with whole records, ``end()``. The limit is not for them.
    store : bool
        Whether anything is kept; if not, there is nothing but the listeners.

    Members
    -------
    groups : EventGroup
    places : list of str or None
        Once it has begun: what numbers of places stand for.
    source : object or None
        A back end that keeps records of its own: ``take()`` returns them as bytes and forgets them, ``shut()`` has it
        count them only, ``dropped`` is that count.
    full_ps : int or None
        Simulated time in picoseconds of the first event that was dropped; None if none was.
    dropped : int
        Events that the limit has kept out.

    Raises RecordingError when the file cannot be written, now or in any call; nothing is recorded from then on.
    """

    def __init__(self, path=None, *, groups=LEVELS["messages"], limit=None, listeners=(), store=True):
        self.path = path
        self.groups = EventGroup(groups)
        self.places = []
        self.source = None
        self.full_ps = None
        self._limit = IN_MEMORY if path is None and limit is None else limit
        self._listeners = list(listeners)
        self._store = store
        self._dropped = 0
        self._size = 0
        self._names = {}
        self._kept = bytearray()
        self._ended = False
        self._file = None

    def begin(self, topology, profile, *, nodes=None, skew_ps):
        """Opens the file and writes what a reader must know beforehand.

        ``nodes``: CAB's name → its node's. ``skew_ps``: how much earlier than those before it an event may be, in
        picoseconds.
        """
        fibers = [
            [*ends, link.symbol_ps, link.delay_ps]
            for link in machine_of(topology).links(topology, profile)
            for ends in (link.names, link.names[::-1])
        ]
        self.places = place_names(topology, nodes or {})
        for listener in self._listeners:
            listener.begin([Fiber(number, *fiber) for number, fiber in enumerate(fibers)], self.places, skew_ps)
        if not self._store:
            return
        told = {
            "machine": topology.machine,
            "topology": topology.name,
            "places": self.places,
            "hubs": {hub.name: {"id": hub.id, "ports": hub.ports} for hub in topology.switches.values()},
            "cabs": {cab.name: {"id": cab.id} for cab in topology.computers.values()},
            "cab_period_ps": profile.cpu_period_ps,
            "hub_period_ps": profile.switch_period_ps,
            "fibers": fibers,
            "groups": int(self.groups),
            "skew_ps": skew_ps,
        }
        text = json.dumps(told, separators=(",", ":")).encode()
        text = text.ljust(_aligned(len(text)))
        header = PREFIX.pack(MAGIC, VERSION, len(text)) + text
        if self._limit is not None:
            self._limit -= RECORD.size  # the end's
            if len(header) > self._limit:
                where = "" if self.path is None else f"{self.path}: "
                raise RecordingError(
                    f"{where}{self._limit + RECORD.size} bytes are too few for a recording: what "
                    f"comes before its first event has {len(header)} already"
                )
        path = self.path
        try:
            self._file = io.BytesIO() if path is None else open(path, "wb", buffering=0)
        except OSError as error:
            raise self._refused(error) from error
        self._put(header)
        self.flush()

    # -- events --------------------------------------------------------------------------------------
    def name(self, text):
        """The number that stands for ``text`` in events."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            if self.full_ps is None or self._listeners:
                self.add(0, EventKind.NAME, a=number, data=text.encode())
        return number

    def add(self, time_ps, kind, detail=0, place=NO_PLACE, a=0, b=0, c=0, data=b""):
        """An event; docs/recording.md has what its members are for each kind."""
        record = RECORD.pack(time_ps, kind, detail, place, a, b, c, len(data)) + data
        self.write(record + bytes(_aligned(len(data)) - len(data)))

    def note(self, time_ps, place, operation):
        """An event of the software of CPU ``place``: its operation NOTE."""
        what, size = operation.address, operation.size
        self.add(time_ps, what & 0xFF, what >> 8, place, size & 0xFFFF_FFFF, operation.value, size >> 32)

    def write(self, records):
        """Takes whole records, as bytes."""
        for listener in self._listeners:
            listener.records(records)
        if self._file is None:
            return
        if self.full_ps is not None:
            self._dropped += _count(records)
        elif self._limit is None or self._size + len(records) <= self._limit:
            self._put(records)
        else:
            records = memoryview(records)
            end = 0
            for at, time_ps, size in _walk(records):
                if self._size + at + size > self._limit:
                    self.full_ps = time_ps
                    break
                end = at + size
            self._put(records[:end])
            self._dropped += _count(records[end:])
            if self.source is not None and not self._listeners:
                self.source.shut()

    @property
    def dropped(self):
        """See the class."""
        return self._dropped + (0 if self.source is None else self.source.dropped)

    def _put(self, data):
        self._kept += data
        self._size += len(data)
        if len(self._kept) >= _KEPT:
            self._save()

    # -- the file ------------------------------------------------------------------------------------
    def flush(self):
        """Everything up to now is in the file."""
        if self.source is not None and (self._file is not None or self._listeners):
            self.write(self.source.take())
        self._save()

    def _save(self):
        if self._file is None:
            return
        kept = memoryview(self._kept)
        self._kept = bytearray()
        try:
            while kept:
                kept = kept[self._file.write(kept) :]
        except OSError as error:
            file, self._file = self._file, None
            file.close()
            raise self._refused(error) from error

    def _refused(self, error):
        return RecordingError(f"{self.path or 'the recording'} cannot be written: {error.strerror or error}")

    def recording(self):
        """A Recording of what has happened up to now; RecordingError if the recorder was in memory and is closed."""
        from .recording import Recording

        self.flush()
        if self.path is None and self._file is None:
            raise RecordingError("nothing is left of a recording in memory that is closed: read it before")
        return Recording(self._file.getvalue() if self.path is None else self.path)

    def end(self, time_ps):
        """The simulation is over: notes that at its time, and writes all. May be called twice."""
        if self._ended:
            return
        self.flush()
        self._ended = True
        for listener in self._listeners:
            listener.end()
        if self._file is None:
            return
        if self.source is not None:
            self._dropped, self.source = self.dropped, None
        self._kept += RECORD.pack(time_ps, EventKind.END, 0, NO_PLACE, 0, self._dropped, 0, 0)
        self._save()

    def close(self):
        """Closes the file. May be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def _aligned(size):
    return -(-size // EVENT_ALIGN) * EVENT_ALIGN


def _walk(records):
    """(where it begins, its time, its bytes) of each record."""
    at = 0
    while at < len(records):
        time_ps, *_, size = RECORD.unpack_from(records, at)
        size = RECORD.size + _aligned(size)
        yield at, time_ps, size
        at += size


def _count(records):
    return sum(1 for _ in _walk(records))
