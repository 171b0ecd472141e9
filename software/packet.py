"""The packet of Nectar's own protocols: the header's layout, protocol numbers, sizes.

``docs/software.md`` shows it as a table. All integers are big-endian.
"""

from enum import IntEnum
from struct import Struct

from ..hdl.cab.addresses import CRC_BYTES, HEADER_BYTES
from ..hdl.link.symbol import MAX_PACKET

__all__ = ["HEADER", "Protocol", "LAST_FRAGMENT", "ANY_CAB", "MAX_DATA", "pack", "unpack"]


class Protocol(IntEnum):
    """Byte 0 of the header: whose upcall the datalink makes."""

    DATAGRAM = 1


#: Protocol, source, destination, flags, mailbox, message number, message length, offset of the fragment.
HEADER = Struct(">BBBBHHII")
pack = HEADER.pack
unpack = HEADER.unpack
#: Flag: no fragment of this message follows.
LAST_FRAGMENT = 0x01
#: The destination in a packet for several CABs (multicast); no CAB has this ID.
ANY_CAB = 0xFF
#: Bytes of a message in one packet under packet switching.
MAX_DATA = MAX_PACKET - HEADER_BYTES - CRC_BYTES

if HEADER.size != HEADER_BYTES:
    raise AssertionError("the header must fill the registers that the fiber port keeps it in")
