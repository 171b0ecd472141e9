"""A fiber in plain Python: one symbol at a time, so much time apart, so much time under way.

``docs/engine.md`` specifies it. The engine has fibers of its own, in C++; these here were written from the
specification and not from those, so that the two check each other.
"""

from collections import deque

__all__ = ["Fiber"]


class Fiber:
    """One direction of a pair of fibers.

    Parameters
    ----------
    ends : (str, str)
        Sending end and receiving end, by name.
    symbol_ps : int
        Time that a symbol takes on the wire, in picoseconds; more than 0.
    delay_ps : int
        Time from one end to the other, in picoseconds; 0 or more.

    Members
    -------
    symbols : int
        Symbols sent so far.
    under_way : int
        Symbols sent and not yet received.
    """

    __slots__ = ("ends", "symbols", "_symbol_ps", "_delay_ps", "_latch_free", "_wire_free", "_flying")

    def __init__(self, ends, symbol_ps, delay_ps):
        if symbol_ps <= 0:
            raise ValueError(f"a symbol takes more than 0 ps on a fiber, not {symbol_ps!r}")
        if delay_ps < 0:
            raise ValueError(f"a fiber's delay is 0 ps or more, not {delay_ps!r}")
        self.ends = ends
        self.symbols = 0
        self._symbol_ps = symbol_ps
        self._delay_ps = delay_ps
        self._latch_free = 0  # when the symbol in the latch goes on the wire
        self._wire_free = 0  # when the wire has sent all symbols given to it
        self._flying = deque()  # (time of arrival, symbol), oldest first

    @property
    def under_way(self):
        return len(self._flying)

    @property
    def flight_ps(self):
        """Least time from the edge at which a symbol is taken to its arrival."""
        return self._symbol_ps + self._delay_ps

    def ready(self, time_ps):
        """Whether the latch takes a symbol at ``time_ps``."""
        return self._latch_free <= time_ps

    def send(self, time_ps, symbol):
        """Takes ``symbol`` at an edge at ``time_ps``, at which ``ready`` must hold. Returns when it starts on the
        wire."""
        if time_ps < self._latch_free:
            raise RuntimeError(
                f"{'->'.join(self.ends)}: the latch is taken until {self._latch_free} ps, nothing fits in at {time_ps} "
                f"ps"
            )
        start = max(time_ps, self._wire_free)
        self._latch_free = start
        self._wire_free = start + self._symbol_ps
        self._flying.append((start + self.flight_ps, symbol))
        self.symbols += 1
        return start

    def receive(self, time_ps):
        """Takes out and returns the oldest symbol, if it has arrived by ``time_ps``; else None."""
        if self._flying and self._flying[0][0] <= time_ps:
            return self._flying.popleft()[1]
        return None
