"""Numbers of a processor's operations (``docs/door.md``), and of the cable's protocol, which ``docs/cable.md``
specifies: frames, requests, answers, operations as words.

Plain Python that imports nothing of the hardware. Source: ours; frames are those of HDLC with the byte stuffing of RFC
1662."""

from enum import IntEnum

__all__ = [
    "VERSION",
    "FLAG",
    "ESCAPE",
    "ESCAPED",
    "RESIDUE",
    "REQUEST",
    "ANSWER",
    "BUFFER_WORDS",
    "FRAME_WORDS",
    "RESET_EDGES",
    "QUIET_EDGES",
    "MAX_CABS",
    "SPEND_BITS",
    "COUNT_BITS",
    "BAUD",
    "Request",
    "Answer",
    "Item",
    "Level",
    "OperationKind",
    "Reason",
    "Turn",
    "header",
    "operation",
    "second",
]

#: Version of the protocol.
VERSION = 1
#: Byte between frames.
FLAG = 0x7E
#: Byte before one that would be FLAG or ESCAPE and is sent with the bits of ESCAPED turned over.
ESCAPE = 0x7D
ESCAPED = 0x20
#: What zlib.crc32 gives of a frame and its checksum.
RESIDUE = 0x2144DF1C
#: First byte of a request and of an answer.
REQUEST = 0x4E
ANSWER = 0x43
#: Words of operations, or of results, that each level of a processor has room for.
BUFFER_WORDS = 256
#: Words of a request at most, the checksum among them.
FRAME_WORDS = 512
#: Clock edges for which the boards are reset.
RESET_EDGES = 4
#: Clock edges for which nothing must happen before a run is over.
QUIET_EDGES = 16
#: CABs that a cluster has at most.
MAX_CABS = 16
#: Bits of the cycles of a SPEND, and of a block's words.
SPEND_BITS = 28
COUNT_BITS = 22
#: Bits in a second on the line if nobody says otherwise.
BAUD = 1_000_000


class Request(IntEnum):
    """Kinds of request."""

    IDENTIFY = 1  # who is there; taken whatever its number
    RESET = 2  # all boards and processors
    GO = 3  # edges at most, items: gives operations to processors and lets time go on


class Answer(IntEnum):
    """Kinds of answer."""

    BUSY = 0x80  # the request is being executed; its answer comes later
    IDENTITY = 0x81
    STATUS = 0x83


class Item(IntEnum):
    """What a GO brings, in bits 31 to 28 of a word; bits 27 to 24 are the CAB's number, from 0."""

    LOAD = 1  # bits 8 to 0: operations' words that follow; bit 20: a handler is attached; bit 21: no more will come
    WAKE = 2  # as a handler that has run
    HALT = 3  # the processor stops for good


class Reason(IntEnum):
    """Why time stands still."""

    TURN = 0  # software must run
    LIMIT = 1  # all edges that were asked for are over
    QUIET = 2  # nothing can ever happen again


class Turn(IntEnum):
    """What a processor wants of the host."""

    NONE = 0
    RESUME = 1  # the software goes on with what it awaits, or hears of an error
    INTERRUPT = 2  # the handler begins
    MORE = 3  # further operations, or the rest of a block's data
    RESULTS = 4  # what has been read so far must be taken away
    UNHANDLED = 5  # an error that no await is left to hear of


class OperationKind(IntEnum):
    """Kinds of operation that software has for a processor (docs/door.md)."""

    MODE = 0  # value: 1 supervisor mode, 0 user mode; of level 0; takes no time
    WRITE = 1  # address, size, value
    WRITE_BLOCK = 2  # address, length, data
    SPEND = 3  # value: cycles
    MASK = 4  # value: 1 holds interrupts off, 0 lets them in; takes no time
    READ = 5  # address, size; resumes with an int
    READ_BLOCK = 6  # address, length; resumes with bytes
    NOW = 7  # resumes with CPU cycles since reset
    WAIT = 8  # resumes with None when a handler has run
    RETURN = 9  # the handler has returned; nothing to resume
    NOTE = 10  # address, size, value: of an event to record (docs/recording.md); takes no time, posted


class Level(IntEnum):
    """Levels of a processor's software."""

    THREAD = 0  # of the kernel and its threads
    INTERRUPT = 1  # of the interrupt handler


def header(first, number, kind):
    """First word of a request (``first``: REQUEST) or an answer."""
    return first << 24 | VERSION << 16 | number << 8 | kind


def operation(kind, value=0, select=0):
    """First word of an operation: ``value`` is an address or cycles, ``select`` the bytes of the first word."""
    return kind << 28 | select << 24 | value


def second(select, words):
    """Second word of a block: the bytes of its last word, and how many words it has."""
    return select << 28 | words
