"""Packets as a TUN device hands them over: ten bytes of Linux's ``virtio_net_hdr`` in front of each.

The header is how Linux leaves a TCP or UDP checksum to the hardware, and hears that hardware has looked at one."""

from struct import Struct

__all__ = ["HEADER_BYTES", "frame", "taken"]

#: Flags, kind of segmentation, bytes of headers, bytes of a segment, begin and place of the checksum; little-endian.
_HEADER = Struct("<BBHHHH")
HEADER_BYTES = _HEADER.size
_NEEDS_SUM = 1
#: Where the checksum stands in the header of each protocol.
_PLACES = {6: 16, 17: 6}


def taken(data):
    """(IP packet, whether its transport checksum is still to be filled in) of what was read from a device; None if that
    is no packet of one piece."""
    if len(data) <= HEADER_BYTES:
        return None
    flags, kind, *_ = _HEADER.unpack_from(data)
    return None if kind else (data[HEADER_BYTES:], bool(flags & _NEEDS_SUM))


def frame(packet, unsummed):
    """What is written to a device for an IP packet."""
    place = _PLACES.get(packet[9]) if unsummed else None
    if place is None:
        return bytes(HEADER_BYTES) + packet
    return _HEADER.pack(_NEEDS_SUM, 0, 0, 0, (packet[0] & 15) * 4, place) + packet
