"""How long a channel waits for an acknowledgment. Pure logic; times are CPU cycles."""

from ..transport.retry import Retry
from ..transport.sequence import ahead

__all__ = ["RoundTrip"]


class RoundTrip:
    """The time-out of a channel, and the message whose round trip is measured, if any.

    Parameters
    ----------
    channels : Channels
    """

    __slots__ = ("timeout", "_retry", "_measured")

    def __init__(self, channels):
        options, cycles = channels.options, channels.cycles
        self._retry = Retry(cycles(options.first_us), cycles(options.least_us), cycles(options.most_us))
        self.timeout = self._retry.timeout
        self._measured = None  # (sequence number, CPU cycle of its sending)

    def begin(self, number, now):
        """Message ``number`` was sent at CPU cycle ``now``: measures it, unless another is being measured."""
        if self._measured is None:
            self._measured = number, now

    def spoil(self):
        """Something is sent again. Karn: its acknowledgment would tell nothing."""
        self._measured = None

    def acknowledged(self, number):
        """What is before ``number`` has arrived. The action that, called with the CPU cycle, notes the round trip;
        None if it is not measured."""
        measured = self._measured
        if measured is None or ahead(number, measured[0]) <= 0:
            return None
        self._measured = None
        return lambda now: self._retry.sample(now - measured[1])
