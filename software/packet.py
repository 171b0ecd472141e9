"""The packet of Nectar's own protocols: the header's layout, protocol numbers, sizes.

``docs/software.md`` shows it as a table. All integers are big-endian.
"""

from enum import IntEnum, IntFlag
from struct import Struct
from typing import NamedTuple

from ..hdl.cab.addresses import CRC_BYTES, HEADER_BYTES
from ..hdl.link.symbol import MAX_PACKET

__all__ = [
    "HEADER",
    "EXCHANGE",
    "STREAM",
    "CHANNEL",
    "ENVELOPE",
    "WINDOW_UNIT",
    "Protocol",
    "PacketKind",
    "ChannelKind",
    "Flag",
    "Refusal",
    "Reason",
    "ASK",
    "LAST_FRAGMENT",
    "ANY_CAB",
    "MAX_DATA",
    "LENGTH_BITS",
    "pack",
    "unpack",
    "note_header",
    "COMMAND",
    "AREA",
    "RESULT",
    "Code",
    "Status",
]


class Protocol(IntEnum):
    """Byte 0 of the header: whose upcall the datalink makes."""

    DATAGRAM = 1
    STREAM = 2
    PRESENCE = 5  # of the datalink's own: where a CAB hangs; bytes 4 and 5 are HUB and port
    REQUEST = 3
    MULTICAST = 4
    CHANNEL = 6
    IP = 7  # of the nodes' network drivers (docs/net.md)


class PacketKind(IntEnum):
    """What a packet of the request-response and the multicast protocol is: low bits of byte 3 (docs/transports.md)."""

    REQUEST = 1  # a fragment of a request, or of a multicast message
    ANSWER = 2  # a fragment of an answer
    HAVE = 3  # word: which fragments have arrived, when some are missing
    WORKING = 4  # the request has arrived whole; the answer is not there yet
    ACK = 5  # the answer, or the multicast message, has arrived whole
    CANCEL = 6  # the client does not want the answer any more
    REFUSED = 7  # word: a Reason
    LACKS = 8  # as HAVE, told of an answer by the client
    JOIN = 9  # makes a CAB a member of a multicast's group


class ChannelKind(IntEnum):
    """What a packet of a channel between two CABs is: low bits of byte 3 (docs/nectarine.md)."""

    MESSAGE = 1  # an envelope, and the bytes of a short message
    TELL = 2  # acknowledgment and credit only
    LACKS = 3  # as TELL; a message before one that has come is missing


class Flag(IntFlag):
    """Byte 3 of a packet of the byte stream (docs/transports.md)."""

    OPEN = 0x01  # sets the connection up; takes one sequence number
    END = 0x02  # no byte follows; takes one sequence number
    ACK = 0x04  # the acknowledgment counts
    RESET = 0x08  # there is no such connection, or not any more; the window is a Refusal
    ASK = 0x10  # to be acknowledged at once
    DATA = 0x20  # bytes follow
    OPENER = 0x80  # sent by the side that opened the connection


class Refusal(IntEnum):
    """Why a connection is reset."""

    UNKNOWN = 0  # the CAB knows no such connection: it has restarted, or has forgotten it
    ABORTED = 1  # the other side has aborted it
    NOBODY = 2  # nobody listens at this port


class Reason(IntEnum):
    """Why a packet was refused: the last word of REFUSED."""

    MISSING = 1  # there is no such service
    FULL = 2  # the mailbox has no place
    ENDED = 3  # the service, or the task that had the request, has ended
    BOOT = 4  # the packet was meant for another start of this CAB
    LOST = 5  # the request was answered, and the answer is kept no longer
    CANCELLED = 6  # the client has cancelled it
    ROOM = 7  # no data memory now: try again
    GROUP = 8  # a multicast of a group of which this CAB does not know that it is a member


#: Protocol, source, destination, flags, mailbox, message number, message length, offset of the fragment.
HEADER = Struct(">BBBBHHII")
pack = HEADER.pack
unpack = HEADER.unpack
#: Of the request-response and the multicast protocol: protocol, source, destination, kind, service or mailbox, number,
#: boot number of the client or sender, boot number of the server (0: not known) or group of the multicast, and a word:
#: fragment (high byte) and length of the message; or what the kind says.
#: length of the message; or what the kind says.
EXCHANGE = Struct(">BBBBHHHHI")
#: Of the byte stream: protocol, source, destination, flags, connection, window in units of WINDOW_UNIT bytes, sequence
#: number, acknowledgment (of an OPEN without ACK: the port).
STREAM = Struct(">BBBBHHII")
WINDOW_UNIT = 32
#: Of a channel: protocol, source, destination, kind, sequence number, acknowledgment (the sequence number that is
#: expected), boot numbers of sender and receiver (0: not known), credit (messages that the other side may send from the
#: acknowledgment on), session of the sender, session that the acknowledgment is of (0: none), bytes behind the header.
CHANNEL = Struct(">BBBBHHHHBBBB")
#: First bytes of a message of a channel: receiving task, sending task, type, length, transfer (0: the bytes follow).
ENVELOPE = Struct(">HHIII")
#: Bits of the message's length in that word.
LENGTH_BITS = 24
#: Flag in byte 3: the receiver shall say how far it is, even if it has this fragment.
ASK = 0x80
#: Flag: no fragment of this message follows.
LAST_FRAGMENT = 0x01
#: The destination in a packet for several CABs (multicast); no CAB has this ID.
ANY_CAB = 0xFF
#: Bytes of a message in one packet under packet switching.
MAX_DATA = MAX_PACKET - HEADER_BYTES - CRC_BYTES

if {HEADER.size, EXCHANGE.size, STREAM.size, CHANNEL.size} != {HEADER_BYTES}:
    raise AssertionError("a header must fill the registers that the fiber port keeps it in")


_NOTED = Struct(">BxxxIq")


def note_header(door, kind, header):
    """Notes an event of ``kind`` of a packet with that header (docs/recording.md)."""
    protocol, middle, end = _NOTED.unpack(header)
    door.note(kind, protocol, middle, end, header[1] << 16 | header[2] << 8 | header[3])


class Told(NamedTuple):
    """What a recorded header tells: the Layer, or the Protocol; IDs of both computers; more, as text."""

    layer: int
    source: int
    destination: int
    more: str


def told(header):
    """What the first HEADER.size bytes of a packet tell, or at least 8 of them."""
    return Told(*header[:3], f"number {int.from_bytes(header[6:8], 'big')}")


# -- the command mailbox -----------------------------------------------------------------------------
class Code(IntEnum):
    """Byte 0 of a command in the command mailbox: which transport is to do something (docs/transports.md)."""

    DATAGRAM = 1  # send a datagram
    STREAM = 2  # send on a connection
    REQUEST = 3  # call a service; the result carries the answer
    MULTICAST = 4  # send to several CABs


class Status(IntEnum):
    """What became of a command."""

    DONE = 0
    # The command was not understood, and nothing was done.
    BAD_LENGTH = 1  # its message does not have the bytes that its counts say
    BAD_CODE = 2  # no Code
    BAD_SWITCHING = 3  # neither 0 nor 1, or 1 for another protocol than datagram
    BAD_MEMBERS = 4  # not as many CABs as the transport wants, or one named that cannot be
    BAD_AREA = 5  # an area does not lie in data memory
    BAD_CONNECTION = 6  # no connection has that number
    # It failed; the result carries what was said about it, as ASCII.
    TOO_LONG = 16
    NO_ROUTE = 17
    CIRCUIT = 18
    TIMED_OUT = 19
    SILENT = 20
    NO_SERVICE = 21
    SERVICE_FULL = 22
    SERVICE_ENDED = 23
    RESTARTED = 24
    ANSWER_LOST = 25
    NOT_ALL = 26  # of a multicast
    CONNECTION = 27  # of a stream
    NODE_MEMORY = 28  # a bus error there, or no answer
    FAILED = 31  # any other error


#: A command: code, switching (1: circuit), mailbox for the result, tag, port (mailbox, service or connection), CABs
#: named, areas, time-out in microseconds (0: the transport's own). Behind it the CABs' IDs, a byte each, filled up with
#: zeros to a multiple of four; then the areas.
#: areas.
COMMAND = Struct(">BBHHHHHI")
#: An area of a command: byte address in data memory, bytes.
AREA = Struct(">II")
#: A result: the command's tag, Status, bytes that follow.
RESULT = Struct(">HHI")
