"""The file format pcapng: a section, interfaces, packets with comments.

Source: the IETF draft "PCAP Next Generation (pcapng) Capture File Format" (draft-ietf-opsawg-pcapng).
"""

import struct

__all__ = ["CRC_ERROR", "LINKTYPE_USER0", "OUTBOUND", "Pcapng"]

#: Link type whose meaning a user may define; tells Wireshark which dissector is meant.
LINKTYPE_USER0 = 147
#: Bits of a packet's flags: it leaves the interface's owner; its check code is wrong.
OUTBOUND, CRC_ERROR = 2, 1 << 24

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_COMMENT, _FLAGS = 1, 2
_APPLICATION, _NAME, _DESCRIPTION, _SPEED, _RESOLUTION = 4, 2, 3, 8, 9


def _padded(data):
    return data + bytes(-len(data) % 4)


def _options(pairs):
    """(code, bytes) of each option, and the end of them; nothing if there are none."""
    text = b"".join(struct.pack("<HH", code, len(data)) + _padded(data) for code, data in pairs)
    return text + bytes(4) if pairs else b""


def _block(kind, body):
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


class Pcapng:
    """Writes a file of packets; times are nanoseconds.

    Parameters
    ----------
    file : binary file
        Has ``write`` and ``flush``. It is not closed.
    application : str
        What has written the file.
    interfaces : list of (str, str, int)
        Name, description and bits a second of each interface.
    """

    def __init__(self, file, application, interfaces):
        self._write, self.flush = file.write, file.flush
        section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _options([(_APPLICATION, application.encode())])
        blocks = [_block(_SECTION, section)]
        for name, description, bits in interfaces:
            options = _options(
                [
                    (_NAME, name.encode()),
                    (_DESCRIPTION, description.encode()),
                    (_SPEED, struct.pack("<Q", bits)),
                    (_RESOLUTION, b"\x09"),
                ]
            )
            blocks.append(_block(_INTERFACE, struct.pack("<HHI", LINKTYPE_USER0, 0, 0) + options))
        self._write(b"".join(blocks))

    def packet(self, interface, time_ns, data, *, length=None, flags=OUTBOUND, comments=()):
        """A packet of ``interface`` (its place in the list): its bytes, of which it has had ``length`` if these are
        not all; each of ``comments`` is a text."""
        body = struct.pack(
            "<IIIII",
            interface,
            time_ns >> 32,
            time_ns & 0xFFFF_FFFF,
            len(data),
            len(data) if length is None else length,
        )
        options = [(_COMMENT, text.encode()) for text in comments] + [(_FLAGS, struct.pack("<I", flags))]
        self._write(_block(_PACKET, body + _padded(data) + _options(options)))
