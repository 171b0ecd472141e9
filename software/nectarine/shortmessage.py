"""A short message on its way out of a CAB."""

__all__ = ["ShortMessage"]


class ShortMessage:
    """Parameters
    ----------
    envelope, data : bytes, bytes
    then : callable(TaskError or None) or None
        Called once, at either level: its bytes have been copied into a slot, or the error says why they never were.
    """

    __slots__ = ("envelope", "data", "then")

    def __init__(self, envelope, data=b"", then=None):
        self.envelope = envelope
        self.data = data
        self.then = then

    def over(self, error=None):
        """See ``then``."""
        if self.then is not None:
            self.then(error)
