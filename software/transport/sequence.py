"""Which numbers of a sender have been seen before: what at-most-once rests on. Pure logic.

Ours; the method is that of windows against replay: a bit for each of the last numbers, and everything older counts as
seen."""

__all__ = ["SequenceWindow", "ahead", "SPAN"]

#: Numbers that a window remembers; a sender has no two numbers that far apart under way.
SPAN = 64
_NUMBERS = 1 << 16


def ahead(number, other):
    """How far the 16-bit ``number`` is ahead of ``other``: -32768 to 32767."""
    return (number - other + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2


class SequenceWindow:
    """The numbers (of 16 bits, counted up, beginning anew after 65535) of one sender."""

    __slots__ = ("_newest", "_bits")

    def __init__(self):
        self._newest = None
        self._bits = 0  # bit i: the newest number less i was seen

    def seen(self, number):
        """Whether ``number`` was seen, or is so old that it must count as seen."""
        if self._newest is None:
            return False
        back = -ahead(number, self._newest)
        return back >= SPAN or (back >= 0 and bool(self._bits >> back & 1))

    def add(self, number):
        """``number``, which was not seen before, is seen now."""
        if self.seen(number):
            raise ValueError(f"number {number} was seen before")
        if self._newest is None:
            self._newest, self._bits = number, 1
            return
        back = -ahead(number, self._newest)
        if back >= 0:
            self._bits |= 1 << back
        else:
            self._newest = number
            self._bits = (self._bits << -back | 1) & (1 << SPAN) - 1
