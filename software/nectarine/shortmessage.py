"""A short message on its way out of a CAB."""

__all__ = ["ShortMessage"]


class ShortMessage:
    """Parameters
    ----------
    envelope, data : bytes, bytes
    then : callable(TaskError or None) or None
        Called once, at either level: its bytes have been copied into a slot, or the error says why they never were.
    noted : int
        Its number in a recording; 0: it is not recorded.
    """

    __slots__ = ("envelope", "data", "then", "noted")

    def __init__(self, envelope, data=b"", then=None, noted=0):
        self.noted = noted
        self.envelope = envelope
        self.data = data
        self.then = then

    def over(self, error=None):
        """See ``then``."""
        if self.then is not None:
            self.then(error)
