"""The two windows of a byte stream, as pure logic: what may be sent, what has come.

Positions count the bytes of one direction from 0 and never wrap; the end takes one position behind the last byte, so
that it is acknowledged like a byte. What packets carry is 32 bits of them: see ``nearest``.

Sources: V. Cerf, R. Kahn, "A Protocol for Packet Network Intercommunication" (1974), for the window and cumulative
acknowledgments; D. Clark, RFC 813, for windows that are not offered in small pieces; V. Jacobson (1988) and RFC 6582
for losses told by repeated acknowledgments."""

__all__ = ["SendWindow", "ReceiveWindow", "nearest"]

_WORD = 1 << 32
#: Repeated acknowledgments that are taken for a loss: the network keeps order, so the second is no accident.
_REPEATED = 2
#: Stretches of bytes beyond a gap that are kept at once.
MOST_PARTS = 16


def nearest(low, position):
    """The number nearest to ``position`` that has the 32 low bits of ``low``."""
    return position + (low - position + _WORD // 2) % _WORD - _WORD // 2


class SendWindow:
    """What one side has given to be sent, has sent, knows to have arrived.

    Members
    -------
    acknowledged : int
        Everything before it has arrived.
    next : int
        First position that was never sent.
    end : int
        Position behind the last byte given so far.
    closing : bool
        Whether no more bytes will be given: position ``end`` is the end.
    edge : int
        First byte that the receiver has no room for.
    """

    __slots__ = ("acknowledged", "next", "end", "closing", "edge", "_repeated", "_recover")

    def __init__(self):
        self.acknowledged = self.next = self.end = self.edge = 0
        self.closing = False
        self._repeated = 0
        self._recover = None  # a loss is being made good: until everything before it is acknowledged

    @property
    def waiting(self):
        """Whether something that was sent is not acknowledged."""
        return self.next != self.acknowledged

    @property
    def blocked(self):
        """Whether there are bytes to send, all that was sent has arrived, and the receiver has no room."""
        return self.next == self.acknowledged and self.edge <= self.next < self.end

    @property
    def finished(self):
        """Whether the end has been acknowledged."""
        return self.closing and self.acknowledged > self.end

    def give(self, length):
        """``length`` more bytes are to be sent."""
        self.end += length

    def ready(self, most):
        """The next stretch never sent: (position, bytes, whether the end follows); None if nothing may be sent. At most
        ``most`` bytes.

        A stretch that only the edge makes short waits for more room, as long as an acknowledgment is due.
        """
        left = self.end - self.next
        length = min(left, self.edge - self.next, most)
        if length <= 0:
            return (self.next, 0, True) if self.closing and left == 0 else None
        if length < min(left, most) and self.waiting:
            return None
        return self.next, length, self.closing and length == left

    def first(self, most):
        """The first stretch that is not acknowledged, in the form of ``ready``; there must be one."""
        length = min(self.next, self.end) - self.acknowledged
        ends = self.next > self.end and length <= most
        return self.acknowledged, min(length, most), ends

    def sent(self, position, length, ends):
        """A stretch of ``ready`` has been sent."""
        self.next = max(self.next, position + length + ends)

    def arrived(self, position, edge, plain):
        """An acknowledgment of all before ``position``, with room up to ``edge``; ``plain``: it came with nothing else.

        Returns (positions that are new, whether the first stretch is to be sent again). ValueError if it speaks of what
        was never sent."""
        if position > self.next:
            raise ValueError(f"position {position} was acknowledged and never sent")
        if position < self.acknowledged:
            return 0, False
        new = position - self.acknowledged
        moved, self.edge = edge > self.edge, max(self.edge, edge)
        if new:
            self.acknowledged = position
            self._repeated = 0
            if self._recover is not None:
                if position < self._recover:
                    return new, True  # the next gap
                self._recover = None
        elif plain and not moved and self.waiting and self._recover is None:
            self._repeated += 1
            if self._repeated == _REPEATED:
                self.lost()
                return 0, True
        return new, False

    def lost(self):
        """Something has been lost: until all that was sent by now is acknowledged, each acknowledgment tells of the
        next gap."""
        self._repeated = 0
        self._recover = self.next


class ReceiveWindow:
    """What one side has received into a ring of ``size`` bytes, and has read.

    Members
    -------
    next : int
        Everything before it has come.
    taken : int
        Everything before it has been read.
    over : bool
        Whether the end has come, and everything before it.
    edge : int
        What has been offered to the sender: first byte that there is no room for.
    """

    __slots__ = ("size", "next", "taken", "over", "edge", "_step", "_end", "_parts")

    def __init__(self, size, step):
        """``step``: least number of bytes by which the edge is moved."""
        self.size = self.edge = size
        self.next = self.taken = 0
        self.over = False
        self._step = min(step, size // 2)
        self._end = None  # position of the end, once told
        self._parts = []  # [first, behind the last] of what has come beyond a gap, in order

    @property
    def available(self):
        """Bytes that can be read."""
        return self.next - self.taken

    @property
    def acknowledges(self):
        """Position to acknowledge."""
        return self.next + self.over

    @property
    def gap(self):
        """Whether something has come beyond what is missing."""
        return bool(self._parts) or self._end is not None and not self.over

    def take(self, length):
        """``length`` bytes have been read. Returns whether the edge has moved, which the sender should be told."""
        self.taken += length
        edge = self.taken + self.size
        if edge - self.edge < self._step:
            return False
        self.edge = edge
        return True

    def room(self, position):
        """Bytes that may be stored from ``position`` on; not more than 0 for what has come before, beyond the edge,
        behind the end."""
        return self.edge - position if self.next <= position and not self.over else 0

    def came(self, position, length):
        """``length`` bytes have been stored whole from ``position`` on. Returns whether something new can be read."""
        begin, end = position, position + length
        if begin > self.next:
            self._keep(begin, end)
            return False
        self.next = max(self.next, end)
        parts = self._parts
        while parts and parts[0][0] <= self.next:
            self.next = max(self.next, parts.pop(0)[1])
        self._close()
        return True

    def _keep(self, begin, end):
        """Notes what has come beyond a gap."""
        kept = []
        for part in self._parts:
            if part[1] < begin or part[0] > end:
                kept.append(part)
            else:
                begin, end = min(begin, part[0]), max(end, part[1])
        if len(kept) < MOST_PARTS:
            kept.append([begin, end])
            kept.sort()
        self._parts = kept

    def spoilt(self, position, length):
        """A packet with an error may have been stored there: what has come beyond a gap and lies there must come
        again."""
        begin, end = position, position + length
        kept = []
        for first, last in self._parts:
            if first < min(last, begin):
                kept.append([first, min(last, begin)])
            if max(first, end) < last:
                kept.append([max(first, end), last])
        self._parts = kept

    def ends(self, position):
        """The stream ends at ``position``. Returns False, and does nothing, if that contradicts what is known."""
        highest = self._parts[-1][1] if self._parts else self.next
        if self._end not in (None, position) or position < highest:
            return False
        self._end = position
        self._close()
        return True

    def fits(self, position, length):
        """Whether bytes may lie there: none beyond the end."""
        return self._end is None or position + length <= self._end

    def _close(self):
        self.over = self.over or self._end == self.next
