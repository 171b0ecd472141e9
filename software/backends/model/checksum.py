"""Checksums of packets in the pure-Python model's CAB."""

import zlib

from ....hdl.cab.addresses import CRC_BYTES, Check

__all__ = ["TRAILER_BYTES", "internet", "trailer"]

#: Bytes of a packet's checksum.
TRAILER_BYTES = {Check.CRC32: CRC_BYTES, Check.INTERNET: 2, Check.NONE: 0}


def internet(data):
    """The Internet checksum of bytes (RFC 1071)."""
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    return (total and (total - 1) % 0xFFFF + 1) ^ 0xFFFF


def trailer(check, data, skip=0):
    """The bytes of a packet's checksum (a Check) over ``data``; the Internet checksum leaves out the first ``skip``."""
    if check == Check.CRC32:
        return zlib.crc32(data).to_bytes(TRAILER_BYTES[check], "big")
    return internet(data[skip:]).to_bytes(TRAILER_BYTES[check], "big") if check == Check.INTERNET else b""
