"""Messages cut into packets, and what has arrived of them. Pure logic: no memory, no time.

Source: "The Design of Nectar" (1989), section 6.2.2 (messages are broken into packets and put together again). The
status word is ours, after the delivery masks of VMTP, which the paper names.
"""

from ..packet import LAST_FRAGMENT, MAX_DATA

__all__ = ["fragments", "parts", "count", "size", "Assembly", "lacking", "MASK_BITS", "NOTHING"]

#: Fragments behind the first missing one of which a status word tells.
MASK_BITS = 24
#: The status word of a message of which nothing has arrived.
NOTHING = 0


def fragments(areas, length, largest):
    """Cuts ``areas`` of ``length`` bytes in all into (offset, areas, flags), each of at most ``largest`` bytes."""
    offset = 0
    part, room = [], largest
    for address, size in areas:
        while size:
            taken = min(size, room)
            part.append((address, taken))
            address, size, room = address + taken, size - taken, room - taken
            if not room and offset + largest < length:
                yield offset, part, 0
                offset += largest
                part, room = [], largest
    yield offset, part, LAST_FRAGMENT


def parts(areas, length):
    """The areas of each fragment of a message under packet switching, in order."""
    return [part for _, part, _ in fragments(areas, length, MAX_DATA)]


def count(length):
    """Fragments of a message of ``length`` bytes under packet switching; an empty message has one."""
    return -(-length // MAX_DATA) or 1


def size(length, index):
    """Bytes of fragment ``index`` of a message of ``length`` bytes."""
    return min(MAX_DATA, length - index * MAX_DATA)


class Assembly:
    """Which fragments of a message have arrived, in any order and any number of times.

    Parameters
    ----------
    length : int
        Bytes of the message.

    Members
    -------
    count : int
        Fragments of it.
    missing : int
        Those that have not arrived.
    """

    __slots__ = ("length", "count", "missing", "_have", "_first")

    def __init__(self, length):
        self.length = length
        self.count = count(length)
        self.missing = self.count
        self._have = 0  # bit i: fragment i has arrived
        self._first = 0  # the first that has not

    def wants(self, index):
        """Whether fragment ``index`` belongs to it and has not arrived: only then may its bytes be stored."""
        return 0 <= index < self.count and not self._have >> index & 1

    def add(self, index):
        """Fragment ``index`` has arrived unharmed."""
        if not self.wants(index):
            raise ValueError(f"fragment {index} is not wanted")
        self._have |= 1 << index
        self.missing -= 1
        while self._have >> self._first & 1:
            self._first += 1

    @property
    def begun(self):
        """Whether anything has arrived."""
        return self.missing < self.count

    @property
    def word(self):
        """What has arrived, as HAVE tells it: the first missing fragment in bits 31 to 24; bit i: fragment (first +
        1 + i) is there."""
        return self._first << MASK_BITS | self._have >> self._first + 1 & (1 << MASK_BITS) - 1


def lacking(word, count):
    """Fragments of a message of ``count`` that are missing according to a status word, as far as it tells."""
    first = word >> MASK_BITS
    behind = range(first + 1, min(first + 1 + MASK_BITS, count))
    return ([first] if first < count else []) + [index for index in behind if not word >> index - first - 1 & 1]
