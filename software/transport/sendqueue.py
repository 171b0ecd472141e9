"""The bytes that a connection has to send, where they lie in data memory, until they have arrived and no packet in
the fiber-out list names them."""

from collections import deque

__all__ = ["SendQueue", "MOST_AREAS", "MOST_PIECES"]

#: Areas that one packet gathers.
MOST_AREAS = 8
#: Pieces that are held at once before send waits.
MOST_PIECES = 64


class _Piece:
    """Bytes that lie together: positions ``start`` to ``stop``; ``own``: in a block that the queue frees."""

    __slots__ = ("start", "stop", "address", "own")

    def __init__(self, start, stop, address, own):
        self.start, self.stop, self.address, self.own = start, stop, address, own


class SendQueue:
    """Pieces in the order of their positions.

    Members
    -------
    copied : int
        Bytes in blocks that the queue is going to free.
    """

    __slots__ = ("memory", "copied", "_pieces", "_leaving")

    def __init__(self, memory):
        self.memory = memory
        self.copied = 0
        self._pieces = deque()
        self._leaving = []  # first positions of the packets in the fiber-out list

    def __len__(self):
        return len(self._pieces)

    @property
    def idle(self):
        """Whether no packet that names these bytes is in the fiber-out list."""
        return not self._leaving

    @property
    def packets(self):
        """Packets in the fiber-out list, those included that wait for their place in it."""
        return len(self._leaving)

    def holds(self, position):
        """Whether a piece before ``position`` is still needed."""
        return bool(self._pieces) and self._pieces[0].start < position

    def needed(self, end):
        """The first position that is still needed; ``end`` if none is."""
        return self._pieces[0].start if self._pieces else end

    def add(self, position, address, length, own):
        """``length`` bytes at ``address`` are those from ``position`` on."""
        self._pieces.append(_Piece(position, position + length, address, own))
        if own:
            self.copied += length

    def gather(self, position, length, most):
        """The areas of ``length`` bytes from ``position`` on, or of as many of them as ``most`` areas have."""
        areas = []
        end = position + length
        for piece in self._pieces:
            if piece.stop > position:
                size = min(piece.stop, end) - position
                areas.append((piece.address + position - piece.start, size))
                position += size
                if position == end or len(areas) == most:
                    break
        return areas

    def leaves(self, position):
        """A packet with the bytes from ``position`` on goes into the fiber-out list."""
        self._leaving.append(position)

    def left(self, position):
        """It has left."""
        self._leaving.remove(position)

    def drop(self, position):
        """Gives up pieces before ``position`` that no packet names any more. Returns whether there were any."""
        bound = min(self._leaving, default=position)
        bound = min(bound, position)
        some = False
        while self._pieces and self._pieces[0].stop <= bound:
            piece = self._pieces.popleft()
            some = True
            if piece.own:
                self.copied -= piece.stop - piece.start
                self.memory.free(piece.address)
        return some

    def clear(self):
        """Gives up everything, once no packet is in the list. Returns whether that is so."""
        return self.idle and (not self._pieces or self.drop(self._pieces[-1].stop))
