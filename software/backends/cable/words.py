"""What goes over the cable: frames as bytes, operations of a door as words, and the way back.

``docs/cable.md`` specifies it, ``nectar.hdl.host.numbers`` has the numbers.
"""

import struct
import zlib
from typing import NamedTuple

from ....hdl.host.numbers import BUFFER_WORDS, ESCAPE, ESCAPED, FLAG, RESIDUE, SPEND_BITS, Turn, operation, second
from ...door import OperationKind

__all__ = ["Deframer", "Given", "TurnWords", "awaits", "encode", "frame", "turns", "value"]

_SPECIAL = bytes([FLAG, ESCAPE])
#: Bytes of a frame that is too long to be one.
_LONGEST = 1 << 17


def frame(words):
    """The bytes of a frame of ``words`` (ints of 32 bits): flags, checksum and byte stuffing included."""
    body = struct.pack(f">{len(words)}I", *words)
    body += zlib.crc32(body).to_bytes(4, "little")
    stuffed = body.replace(_SPECIAL[1:], bytes([ESCAPE, ESCAPE ^ ESCAPED])).replace(
        _SPECIAL[:1], bytes([ESCAPE, FLAG ^ ESCAPED])
    )
    return _SPECIAL[:1] + stuffed + _SPECIAL[:1]


class Deframer:
    """Finds frames in what arrives.

    Members
    -------
    bytes : int
        Bytes so far.
    damaged : int
        Frames so far that were none: damaged, or not ours.
    """

    def __init__(self):
        self.bytes = 0
        self.damaged = 0
        self._rest = b""

    def take(self, data):
        """The frames that ``data`` completes: a list of lists of words, without checksum."""
        self.bytes += len(data)
        *pieces, self._rest = (self._rest + data).split(_SPECIAL[:1])
        self._rest = self._rest[-_LONGEST:]
        found = []
        for piece in pieces:
            if not piece:
                continue
            words = _words(piece)
            if words is None:
                self.damaged += 1
            else:
                found.append(words)
        return found


def _words(piece):
    """The words of what stood between two flags; None if it is damaged."""
    first, *rest = piece.split(_SPECIAL[1:])
    if not all(rest):
        return None
    body = first + b"".join(bytes([part[0] ^ ESCAPED]) + part[1:] for part in rest)
    if len(body) < 8 or len(body) % 4 or zlib.crc32(body) != RESIDUE:
        return None
    return list(struct.unpack(f">{len(body) // 4 - 1}I", body[:-4]))


class Given(NamedTuple):
    """Operations as words. ``awaited``: the one that the software waits for, if any."""

    loads: list  # lists of at most BUFFER_WORDS words
    awaited: object


def awaits(operation):
    """Whether software waits for the result of an operation."""
    return OperationKind.READ <= operation.kind < OperationKind.RETURN


def encode(operations):
    """What a processor is given to do ``operations``: a Given."""
    words, joined = [], set()  # places of words that must be in one load with those before
    awaited = None
    for item in operations:
        kind, address, size, data = item
        if awaits(item):
            awaited = item
        if kind == OperationKind.SPEND:
            while data:
                part = min(data, (1 << SPEND_BITS) - 1)
                words.append(operation(kind, part))
                data -= part
        elif kind == OperationKind.MODE or kind == OperationKind.MASK:
            words.append(operation(kind, int(bool(data))))
        elif kind == OperationKind.WRITE:
            shift = 4 - size - (address & 3)
            words.append(operation(kind, address, (1 << size) - 1 << shift))
            words.append((data & (1 << 8 * size) - 1) << 8 * shift)
        elif kind == OperationKind.READ:
            words.append(operation(kind, address, (1 << size) - 1 << 4 - size - (address & 3)))
        elif kind == OperationKind.READ_BLOCK and not size:
            words.append(operation(OperationKind.NOW))
        elif kind == OperationKind.WRITE_BLOCK or kind == OperationKind.READ_BLOCK:
            lead = address & 3
            count = (lead + size + 3) // 4
            words.append(operation(kind, address, 0xF >> lead))
            joined.add(len(words))
            words.append(second(0xF << 4 * count - lead - size & 0xF, count))
            if kind == OperationKind.WRITE_BLOCK:
                words += struct.unpack(f">{count}I", (bytes(lead) + data).ljust(4 * count, b"\0"))
        else:
            words.append(operation(kind))
    return Given(_cut(words, joined), awaited)


def _cut(words, joined):
    """Loads of ``words``; at least one."""
    loads = []
    at = 0
    while len(words) - at > BUFFER_WORDS:
        end = at + BUFFER_WORDS
        end -= end in joined
        loads.append(words[at:end])
        at = end
    return [*loads, words[at:]]


def value(awaited, results, edges):
    """What software gets that awaits the operation ``awaited``, given the words read and the clock edges since
    reset."""
    kind, address, size, _ = awaited
    if kind == OperationKind.NOW:
        return edges - 1
    if kind == OperationKind.READ:
        return results[0] >> 8 * (4 - size - (address & 3)) & (1 << 8 * size) - 1
    if kind == OperationKind.READ_BLOCK:
        lead = address & 3
        return struct.pack(f">{len(results)}I", *results)[lead : lead + size]
    return None


class TurnWords(NamedTuple):
    """A turn as the board tells of it."""

    turn: Turn
    cab: int
    level: int
    failed: bool
    error_write: bool
    error_address: int
    results: list


def turns(words):
    """The turns in the words of an answer behind its first four. Raises ValueError if they are none."""
    found = []
    at = 0
    while at < len(words):
        if at + 2 > len(words):
            raise ValueError("half a turn")
        first, address = words[at : at + 2]
        count = first & 0x1FF
        results = words[at + 2 : at + 2 + count]
        if len(results) < count:
            raise ValueError("results are missing")
        found.append(
            TurnWords(
                Turn(first >> 28),
                first >> 20 & 0xF,
                first >> 27 & 1,
                bool(first >> 26 & 1),
                bool(first >> 25 & 1),
                address,
                results,
            )
        )
        at += 2 + count
    return found
