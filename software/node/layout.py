"""The area of data memory that a CAB and its node share. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), sections 5.2 (shared buffers, VME interrupts) and 6.2.3 (messages built in place,
commands in a special mailbox); the layout is ours. All words are 32 bits, big-endian. Each word is written by one side
only."""

from enum import IntEnum, IntFlag
from struct import Struct

from ...hdl.cab.addresses import REG, REGIONS

__all__ = [
    "ACKNOWLEDGE",
    "ANSWER",
    "AREA",
    "AREA_BYTES",
    "ARRIVAL",
    "BELL",
    "BOXES",
    "CALL",
    "CHUNK",
    "CIRCUIT",
    "COMMAND",
    "COMMANDS",
    "CONNECTION",
    "CONNECTIONS",
    "COUNTS",
    "Code",
    "DEPTH",
    "FILE",
    "FILES",
    "Fate",
    "FileCode",
    "FileStatus",
    "HEADER",
    "HELLO",
    "INTO",
    "LEVEL",
    "MAGIC",
    "MASK",
    "Mode",
    "OPENED",
    "OUTCOME",
    "POOL",
    "POOL_BYTES",
    "RINGS_BYTES",
    "SLEEPING",
    "State",
    "VECTOR",
    "arrival_at",
    "call_at",
    "chunk_at",
    "command_at",
    "connection_at",
    "file_at",
]

#: Where it is: the first bytes of data memory.
AREA = REGIONS["data"].base
AREA_BYTES = 1 << 18
#: What the first word holds when the CAB is ready.
MAGIC = 0x4E4F4401
#: MAGIC, the CAB's ID, which start of the CAB it is, file requests posted. Written by the CAB.
HELLO = Struct(">IIII")
HEADER = AREA
#: Commands put, then for each box messages released; counts modulo 2**32, written by the node.
COUNTS = AREA + 0x20
#: Processes that do not poll but sleep until the CAB calls; written by the node.
SLEEPING = AREA + 0x64
#: Boxes: mailboxes that a node may read from at the same time.
BOXES = 16
#: Commands, and messages in each box, at the same time.
COMMANDS = 32
DEPTH = 16
#: Connections at the same time. The node numbers those that it opens, 0 to OPENED - 1; the CAB numbers the others.
CONNECTIONS = 32
OPENED = 16
#: File requests at the same time, and the bytes that one moves at most.
FILES = 8
CHUNK = 4096

#: In the box of a DATAGRAM: by a circuit.
CIRCUIT = 1
#: In the box of a CALL: the answer is to go into an area of the node's memory, whose address and bytes are the first
#: words of its eight.
INTO = 1

#: A command: code and box and port, CAB or number, address, bytes, time-out in microseconds. Behind it the CAB's
#: OUTCOME.
COMMAND = Struct(">IIIII")
#: What a WORK command is to do: eight words, of which the layer above knows the meaning. Of a MULTICAST the CABs: the
#: bit of CAB n is bit n of the eight words taken together.
CALL = Struct(">8I")
#: Two values, the command's number shifted by 8 with its Status.
OUTCOME = Struct(">III")
#: A message in a box: address, bytes, source and number, count of the messages in that box.
ARRIVAL = Struct(">IIII")
#: A connection: bytes that have come; bytes that need not be kept any more of those given to be sent; State, with a
#: Fate shifted by 8; address and size of the ring of what has come; the number by which the other side knows it; count
#: of the times that the CAB has stored this, and the same again. The CAB stores the last word first; a load that began
#: with the word before it is whole if both agree.
CONNECTION = Struct(">8I")
#: A file request: code, handle, bytes, mode. Behind it the node's ANSWER.
FILE = Struct(">IIII")
#: A value, the request's number shifted by 8 with a FileStatus.
ANSWER = Struct(">II")
#: Of a number, what stands beside a status.
MASK = 0xFFFFFF

#: Bytes from AREA on that are 0 when the CAB has started: all counts and entries.
RINGS_BYTES = 0x1800
_COMMAND_RING = AREA + 0x80
_FILE_RING = AREA + 0x500
_BOX_RINGS = AREA + 0x800
_CALLS = AREA + 0x1800
_CHUNKS = AREA + 0x2000
_CONNECTIONS = AREA + 0xA000
#: Where the node builds messages; it gives the bytes out itself.
POOL_BYTES = 1 << 17
POOL = AREA + AREA_BYTES - POOL_BYTES

#: What the node writes to raise VME_BELL, and where it loads to acknowledge the CAB's interrupt.
BELL = REG["VME_BELL"].address
ACKNOWLEDGE = REGIONS["vme"].base
#: The CAB's interrupt: its level on the VMEbus, its status/ID.
LEVEL = 3
VECTOR = 0x4E


class Code(IntEnum):
    """What a node asks of its CAB."""

    DATAGRAM = 1  # send to a mailbox of a CAB
    OPEN = 2  # have the messages of a mailbox put into a box
    CLOSE = 3  # no more; what has not been released is freed
    CALL = 4  # call a service of a CAB
    FREE = 5  # give an answer's memory back
    SERVE = 6  # have the requests for a service put into a box
    REPLY = 7  # answer a request
    WORK = 8  # have a worker of that number carry out a call
    MULTICAST = 9  # send to mailboxes of several CABs
    LISTEN = 10  # have the connections to a port put into a box
    CONNECT = 11  # open a connection
    SEND = 12  # send on it
    TAKE = 13  # so many of its bytes have been read
    END = 14  # end the node's direction of it
    LEAVE = 15  # the node does nothing more with it; abort it if its number is 1
    RECEIVE = 16  # put the next message of a mailbox into the node's memory
    CANCEL = 17  # no more of these


class State(IntFlag):
    """Where a connection stands."""

    OPENING = 1
    OPEN = 2
    OVER = 4  # the other side sends nothing more
    FINISHED = 8  # the other side has all, and the end
    FAILED = 16


class Fate(IntEnum):
    """Why a connection has failed."""

    REFUSED = 1  # nobody listens at the port
    TIMED_OUT = 2  # it could not be set up in time
    SILENT = 3  # nothing is heard of the other side
    RESTARTED = 4  # the other CAB has started anew
    ABORTED = 5  # at the other end
    NO_ROUTE = 6
    LEFT = 7  # aborted here
    OTHER = 15


class FileCode(IntEnum):
    """What a CAB asks of its node."""

    OPEN = 1
    READ = 2
    WRITE = 3
    CLOSE = 4


class FileStatus(IntEnum):
    """What became of it."""

    DONE = 0
    MISSING = 1  # no such file or folder
    REFUSED = 2  # outside of the folder that the node lends, or no folder is lent
    DENIED = 3  # the node's system does not allow it
    WRONG_KIND = 4  # a folder, or no folder where one must be
    BAD_HANDLE = 5  # not open, or not for that
    NO_SPACE = 6  # on the node's disk
    TOO_MANY = 7  # files are open
    BAD_REQUEST = 8  # no request of this page
    FAILED = 15  # anything else


class Mode(IntEnum):
    """How a file is opened."""

    READ = 0
    WRITE = 1  # made anew
    APPEND = 2


def command_at(number):
    """Address of the slot of command ``number``."""
    return _COMMAND_RING + number % COMMANDS * (COMMAND.size + OUTCOME.size)


def call_at(number):
    """Address of the CALL of command ``number``, if it is WORK."""
    return _CALLS + number % COMMANDS * CALL.size


def connection_at(number):
    """Address of the state of a connection."""
    return _CONNECTIONS + number * 32


def file_at(number):
    """Address of the slot of file request ``number``."""
    return _FILE_RING + number % FILES * 32


def chunk_at(number):
    """Address of its bytes."""
    return _CHUNKS + number % FILES * CHUNK


def arrival_at(box, number):
    """Address of the slot of message ``number`` of a box."""
    return _BOX_RINGS + (box * DEPTH + number % DEPTH) * ARRIVAL.size
