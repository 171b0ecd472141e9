"""A row of a timeline, and what its slices are."""

from array import array
from enum import IntEnum

__all__ = ["Style", "Track"]


class Style(IntEnum):
    """What a slice is, for its colour."""

    THREAD = 0
    INTERRUPT = 1
    PACKET = 2
    DAMAGED = 3
    COMMAND = 4
    REPLY = 5
    REFUSED = 6
    DMA = 7
    CONNECTION = 8
    WAITING = 9
    CYCLE = 10
    BUS_ERROR = 11


class Track:
    """Slices that do not overlap, by time.

    Members
    -------
    board : str
        The HUB, CAB or node that it belongs to; of a fiber the sending one.
    name : str
        What it is called there.
    begins, ends : array of int
        Picoseconds.
    labels : array of int
        Each slice's place in ``Spans.labels``.
    styles : array of int
        A Style each.
    messages : array of int
        Each slice's message, its place in ``Spans.messages``; -1 for none.
    """

    def __init__(self, board, name):
        self.board, self.name = board, name
        self.begins, self.ends = array("q"), array("q")
        self.labels, self.styles, self.messages = array("I"), array("B"), array("i")

    def add(self, begin_ps, end_ps, label, style, message=-1):
        """A slice behind the others. Returns its place."""
        if self.ends and begin_ps < self.ends[-1]:
            begin_ps = self.ends[-1]
        self.begins.append(begin_ps)
        self.ends.append(max(begin_ps, end_ps))
        self.labels.append(label)
        self.styles.append(style)
        self.messages.append(message)
        return len(self.begins) - 1

    @property
    def busy_ps(self):
        """Picoseconds of all slices."""
        return sum(self.ends) - sum(self.begins)
