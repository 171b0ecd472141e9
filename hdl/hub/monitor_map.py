"""Numbers of the HUB's monitor: its counters, its events, and the parameters of its commands.

Plain Python that imports nothing of the hardware: the monitor, the software that reads it, the tests and
``docs/monitor.md`` are made from it. Source: "The Design of Nectar" (1989), section 4.1 (an instrumentation board
records events of the crossbar and its controller). The counters, the events and the way to read them are ours."""

from enum import IntEnum, IntFlag

__all__ = [
    "CounterId",
    "ERRORS",
    "COUNTER_BITS",
    "Event",
    "EVENT_DEPTH",
    "EVENT_BYTES",
    "TIME_BITS",
    "Select",
    "Clear",
    "Flag",
    "POP",
    "VERSION",
]


class CounterId(IntEnum):
    """Counters of a port; each has 16 bits and stops at 65535."""

    OPENED = 0  # connections of this input that were entered into the status table
    PACKETS = 1  # starts of packet that left the input queue, passed on or dropped
    RESERVED = 2  # reserved control codes that arrived
    OVERRUN = 3  # symbols that found the queue full
    COMMAND_CUT = 4  # commands cut short
    REPLY_CUT = 5  # replies cut short
    NO_CONNECTION = 6  # runs of symbols with no output connected
    UNKNOWN = 7  # commands with an unknown opcode
    BAD_PORT = 8  # commands for a port that does not exist, or for the own port where it makes no sense
    NOT_MINE = 9  # close, unlock or flow control of an output that the input does not hold
    NO_ROUTE = 10  # replies with nowhere to go
    REPLY_LOST = 11  # replies that found no room
    NOT_ALLOWED = 12  # supervisor commands from a port that may not give them
    DISABLED = 13  # frames that arrived at the disabled port; commands refused because a port is disabled
    TIMED_OUT = 14  # time-outs of the watchdog at this input
    FLUSHED = 15  # times that the queue was emptied by a command


#: Counters that count errors. STATUS_ERRORS reads their sum.
ERRORS = tuple(c for c in CounterId if c not in (CounterId.OPENED, CounterId.PACKETS, CounterId.FLUSHED))
#: Bits of a counter.
COUNTER_BITS = 16


class Event(IntEnum):
    """Kinds of recorded events."""

    NOTHING = 0  # there is no event to read
    OPENED = 1  # input connected to output
    REFUSED = 2  # an open or lock of input for output refused
    CLOSED = 3  # connection to output ended; the event does not tell the input
    LOCKED = 4  # input has locked output
    UNLOCKED = 5  # the lock on output ended; the event does not tell the input
    TIMED_OUT = 6  # time-out of the watchdog at input
    SUPERVISOR = 7  # input has given a supervisor command; output is its parameter's port
    LOST = 14  # events before this one are missing: there was no room
    WRAP = 15  # high part of the time of this event and the next ones: input * 128 + output


#: Events that the recorder holds. When it is full, new events are lost and recorded events are kept.
EVENT_DEPTH = 512
#: Bits of the time stamp, in cycles of the HUB since the recorder was started; 14 more in WRAP.
TIME_BITS = 18
#: Bytes of an event as it is read, the most significant first: kind (4 bits), time, 2 bits 0, input (8), output (8).
EVENT_BYTES = 5


class Select(IntEnum):
    """Parameter of MONITOR_SELECT above the ports 0 to 127, whose counters are shown two bytes each, the high one
    first."""

    EVENTS = 128  # byte n of the oldest event; with POP it is taken out after the reading
    FLAGS = 129  # byte n: the Flags of port n
    # bytes: version of the HUB, ports, transfer in cycles, set-up and transfer in cycles, watchdog's logarithm
    IDENTITY = 130


#: Version of the HUB, the first byte of its identity.
VERSION = 1
#: Set in the parameter of MONITOR_READ to take the oldest event out.
POP = 0x80


class Clear(IntEnum):
    """Parameter of MONITOR_CLEAR above the ports 0 to 127, whose counters are cleared."""

    RECORD = 128  # empties the record of events and starts it at time 0
    STOP = 129  # stops recording; recorded events can be read


class Flag(IntFlag):
    """Bits of a port's state."""

    ENABLED = 1
    LOOPED = 2
    SUPERVISOR = 4
    READY = 8
    CONNECTED = 16
    LOCKED = 32
