"""A HUB's monitor as software sees it: reads counters and events by commands, and makes a timeline of them.

What the bytes mean is told in ``docs/monitor.md``. Source: "The Design of Nectar" (1989), section 4.1 (an
instrumentation board records events of the crossbar).
"""

from collections import namedtuple

from ..hdl.hub.commands import Op
from ..hdl.hub.monitor_map import COUNTER_BITS, EVENT_BYTES, POP, TIME_BITS, Clear, CounterId, Event, Flag, Select
from .errors import CommandRefused, NoReply
from .kernel.plain import blocking

__all__ = ["HubMonitor", "Identity", "Record", "Span", "decode_counters", "decode_events", "events_text", "spans"]

Identity = namedtuple("Identity", "version ports transfer setup_and_transfer watchdog_log")
Identity.__doc__ = """What a HUB says it is.

Latencies are in its cycles; ``watchdog_log`` is the logarithm of the watchdog's time in cycles, 0 for off.
"""

Record = namedtuple("Record", "time_ns cycle kind input output")
Record.__doc__ = """One event.

Nanoseconds and cycles of the HUB since the record was started, an Event, and ports (None where the event tells none).
"""

Span = namedtuple("Span", "what input output begin_ns end_ns")
Span.__doc__ = """A connection or a lock (``what``): ports, and when it began and ended; None for what was not seen."""

#: Which of input and output an event tells.
_TELLS = {
    Event.OPENED: (True, True),
    Event.REFUSED: (True, True),
    Event.CLOSED: (False, True),
    Event.LOCKED: (True, True),
    Event.UNLOCKED: (False, True),
    Event.TIMED_OUT: (True, False),
    Event.SUPERVISOR: (True, True),
    Event.LOST: (False, False),
}
_PORT_BITS = 7
#: Readings of a byte that changes.
_READINGS = 8
_WHOLE_TIME = 1 << TIME_BITS + 2 * _PORT_BITS


def decode_counters(data):
    """Counts by CounterId, of the bytes that MONITOR_READ gives while a port is selected. ValueError if they are not
    all there."""
    size = COUNTER_BITS // 8
    if len(data) != size * len(CounterId):
        raise ValueError(f"the counters of a port are {size * len(CounterId)} bytes, not {len(data)}")
    return {counter: int.from_bytes(data[size * counter : size * (counter + 1)], "big") for counter in CounterId}


def decode_events(entries, period_ns):
    """Records of the events whose bytes are ``entries``, the oldest first, of a HUB with a clock of ``period_ns``.

    The entries must reach back to the start of the record, or to a reading of all that there was. WRAP is worked in,
    LOST stays. ValueError if an entry is none.
    """
    records, high = [], 0
    for entry in entries:
        if len(entry) != EVENT_BYTES:
            raise ValueError(f"an event is {EVENT_BYTES} bytes, not {len(entry)}")
        head = int.from_bytes(entry[:-2], "big")
        try:
            kind = Event(head >> 8 * (EVENT_BYTES - 2) - 4)
        except ValueError as error:
            raise ValueError(f"{bytes(entry).hex()} is no event") from error
        source, output = entry[-2:]
        if kind == Event.WRAP:
            part = source << _PORT_BITS | output
            high += (part - (high >> TIME_BITS)) % (1 << 2 * _PORT_BITS) << TIME_BITS
            continue
        cycle = high + (head >> 2 & (1 << TIME_BITS) - 1)
        tells = _TELLS.get(kind, (False, False))
        records.append(
            Record(cycle * period_ns, cycle, kind, source if tells[0] else None, output if tells[1] else None)
        )
    return records


def spans(records):
    """Connections and locks, in the order in which they began, of what ``decode_events`` gives.

    One that stood before the record began has no beginning and no input; one that still stands has no end. What OPENED
    and LOCKED find in the same place has ended by then. Where LOST stands, nothing is known of the end of what stood.
    """
    begun = {Event.OPENED: "connection", Event.LOCKED: "lock"}
    ended = {Event.CLOSED: "connection", Event.UNLOCKED: "lock"}
    found, standing = [], {}

    def end(key, time):
        index = standing.pop(key)
        found[index] = found[index]._replace(end_ns=time)

    for record in records:
        if record.kind in begun:
            key = begun[record.kind], record.output
            if key in standing:
                end(key, record.time_ns)
            standing[key] = len(found)
            found.append(Span(key[0], record.input, record.output, record.time_ns, None))
        elif record.kind in ended:
            key = ended[record.kind], record.output
            if key in standing:
                end(key, record.time_ns)
            else:
                found.append(Span(key[0], None, record.output, None, record.time_ns))
        elif record.kind == Event.LOST:
            standing.clear()
    return found


def events_text(records, names=None):
    """The records as lines, one for each; ``names`` maps ports to what is there. Of a supervisor command's parameter
    bit 7 is not recorded."""

    def port(number):
        if number is None:
            return ""
        return f"P{number}" + (f" {names[number]}" if names and number in names else "")

    lines = []
    for record in records:
        if record.kind == Event.SUPERVISOR:
            way = f"{port(record.input)}, parameter {record.output}"
        else:
            way = " -> ".join(filter(None, (port(record.input), port(record.output))))
        lines.append(f"{record.time_ns / 1000:12.3f} us  {record.kind.name.lower():10} {way}".rstrip())
    return lines


class HubMonitor:
    """Reads the monitor of a HUB from a CAB that hangs on it and may give supervisor commands. One CAB at a time.

    Parameters
    ----------
    cab : Cab
    hub : int
        ID of the HUB.
    period_ns : float
        Its clock period.
    """

    def __init__(self, cab, hub, period_ns):
        self.cab = cab
        self.hub = hub
        self.period_ns = period_ns

    def _command(self, op, param):
        return self.cab.datalink.command(op, self.hub, param)

    async def _bytes(self, count):
        """The first bytes of what is shown."""
        return bytes([await self._byte(offset) for offset in range(count)])

    async def _byte(self, offset):
        """One of them. A reply has no check code: what counts was read twice in a row, unless it never stands still."""
        before = None
        for _ in range(_READINGS):
            value = await self._command(Op.MONITOR_READ_REPLY, offset)
            if value == before:
                break
            before = value
        return value

    async def _read(self, select, count):
        await self._command(Op.MONITOR_SELECT_REPLY, select)
        return await self._bytes(count)

    @blocking
    async def identity(self):
        """The HUB's Identity."""
        return Identity(*await self._read(Select.IDENTITY, len(Identity._fields)))

    @blocking
    async def flags(self, ports):
        """State of the first ``ports`` ports: the Flags of each."""
        return [Flag(value) for value in await self._read(Select.FLAGS, ports)]

    @blocking
    async def counters(self, port):
        """What the port has counted, by CounterId."""
        return decode_counters(await self._read(port, COUNTER_BITS // 8 * len(CounterId)))

    @blocking
    async def clear(self, port):
        """Clears the counters of a port."""
        await self._command(Op.MONITOR_CLEAR_REPLY, port)

    @blocking
    async def start(self):
        """Empties the record of events and starts it at time 0."""
        await self._command(Op.MONITOR_CLEAR_REPLY, Clear.RECORD)

    @blocking
    async def stop(self):
        """Ends the record; what it holds can be read. Reading is recorded, too, so stop before."""
        await self._command(Op.MONITOR_CLEAR_REPLY, Clear.STOP)

    @blocking
    async def events(self):
        """Takes all events out of the record: Records, the oldest first."""
        entries = []
        entry = await self._read(Select.EVENTS, EVENT_BYTES)
        while entry[0] >> 4 != Event.NOTHING:
            entries.append(entry)
            entry = await self._next(entry)
        return decode_events(entries, self.period_ns)

    async def _next(self, entry):
        """Takes ``entry``, the oldest, out, and returns the one behind it."""
        try:
            # Sent once only: whether it was done shows in what is the oldest now. No two events are alike.
            await self.cab.datalink.command(Op.MONITOR_READ_REPLY, self.hub, POP, attempts=1)
        except (NoReply, CommandRefused):
            pass
        following = await self._bytes(EVENT_BYTES)
        return following if following != entry else await self._next(entry)
