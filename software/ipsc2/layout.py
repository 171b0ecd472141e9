"""The header of NX/2's messages and the numbers of its protocols. docs/nx2.md explains them.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 3: messages of at most 100 bytes in one trip, longer ones
in three. The layout of the header and the number of buffers are ours; the paper gives none.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from ...hdl.host.events import Layer
from ..packet import Told

__all__ = ["BUFFERS", "BUFFER_BYTES", "HEADER_BYTES", "HEAD_WORDS", "SHORT", "Header", "Kind", "told", "words"]

#: Bytes of a message that takes one trip, at most (paper, section 3.1).
SHORT = 100
#: Short buffers that a node reserves for each other node.
BUFFERS = 4

_HEADER = Struct(">BBHHHIII")
HEADER_BYTES = _HEADER.size
#: Words of the place for the next message: the header and a short message.
HEAD_WORDS = (HEADER_BYTES + SHORT) // 4
#: Bytes from one short buffer to the next.
BUFFER_BYTES = 128


class Kind(IntEnum):
    """What a message on the wire is."""

    SHORT = 1  # a whole message; takes a short buffer of the receiver
    PROXY = 2  # stands for a long message; takes a short buffer of the receiver
    GRANT = 3  # asks for the long message ``number``
    DATA = 4  # a long message
    RETURN = 5  # nothing but returned buffers
    GONE = 6  # there is no long message of that number any more
    ASK = 7  # is the addressee there? RETURN answers


class Header(NamedTuple):
    """The first five words of each message."""

    kind: int
    returned: int  # short buffers of the addressee's, given back to it
    source: int  # node
    probe: int
    to: int  # task that the message is for
    by: int  # task that sends it
    type: int
    length: int  # bytes of the whole message
    number: int  # of a long message at its source

    def pack(self):
        """Its bytes."""
        return _HEADER.pack(self.kind << 4 | self.returned, *self[2:])

    def returning(self, count):
        """The same, with ``count`` short buffers given back."""
        return Header(self.kind, count, *self[2:])

    @classmethod
    def unpack(cls, data):
        """The Header that ``data`` (HEADER_BYTES) holds."""
        first, *rest = _HEADER.unpack(data)
        return cls(first >> 4, first & 15, *rest)


def told(header):
    """What the first 16 bytes of a recorded header tell."""
    first, source, probe = header[0], header[1], int.from_bytes(header[2:4], "big")
    layer = Layer[f"NX2_{Kind(first >> 4).name}"]
    return Told(layer, source, source ^ probe, f"message of {int.from_bytes(header[12:16], 'big')} bytes")


def words(length):
    """Words of 32 bits that ``length`` bytes fill."""
    return (length + 3) // 4
