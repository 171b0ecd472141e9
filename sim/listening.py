"""Events of a simulation as they happen, for who does not want them in a file first."""

from .recording import Decoder, records_in

__all__ = ["Listener"]


class Listener:
    """Hands each event on, by time.

    Parameters
    ----------
    made : callable(list of Fiber) → object
        Called when the fibers are known; its result has ``event(event)``, ``flush()``, called now and then, and
        ``end()``.
    kinds : collection of EventKind
        What is handed on.
    """

    def __init__(self, made, kinds):
        self._made, self._kinds = made, kinds
        self._taker = self._decoder = None

    def begin(self, fibers, places, skew_ps):
        """Before the first event."""
        self._decoder = Decoder(fibers, places, skew_ps, self._kinds)
        self._taker = self._made(fibers)

    def records(self, records):
        """Takes whole records, as bytes."""
        take, hand_on = self._decoder.take, self._taker.event
        for record in records_in(records):
            for event in take(*record):
                hand_on(event)
        self._taker.flush()

    def end(self):
        """The simulation is over."""
        for event in self._decoder.rest():
            self._taker.event(event)
        self._taker.end()
