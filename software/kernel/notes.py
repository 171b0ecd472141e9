"""What a recording is told of a CAB's messages (docs/recording.md). It takes no simulated time."""

from contextlib import contextmanager

from ...hdl.host.events import EventGroup, EventKind

__all__ = ["Notes"]

_MESSAGES = int(EventGroup.MESSAGES)


class Notes:
    """Notes events of messages of one CAB, if they are recorded. ``layer`` is always a Layer, or a Protocol.

    Parameters
    ----------
    kernel : Kernel

    Members
    -------
    received : int
        Messages that are complete at this CAB, recorded or not; bytes of streams are in none.
    """

    __slots__ = ("_kernel", "_door", "_count", "received")

    def __init__(self, kernel):
        self._kernel = kernel
        self._door = kernel.door
        self._count = self.received = 0

    def sending(self, layer, destination, length):
        """The current thread begins to send a message of ``length`` bytes to the CAB of that ID.

        Returns its number among the messages of this CAB; 0 if they are not recorded.
        """
        door = self._door
        if not door.groups & _MESSAGES:
            return 0
        self._count += 1
        door.note(EventKind.SEND, layer, self._count, length | self._kernel.current.message << 32, destination)
        return self._count

    @contextmanager
    def behind(self, layer, destination, length):
        """The same; what the thread sends meanwhile is sent for this message."""
        thread = self._kernel.current
        before = thread.message
        message = self.sending(layer, destination, length)
        if not message:
            yield
            return
        thread.message = message
        try:
            yield
        finally:
            thread.message = before

    def numbered(self, layer, message, destination, number):
        """Packets name message ``message``, as ``sending`` returned it, by ``number`` from now on."""
        if message:
            self._door.note(EventKind.NUMBERED, layer, message, number, destination)

    def repeated(self, layer, destination, number):
        """Something of message or connection ``number`` is sent once more."""
        if self._door.groups & _MESSAGES:
            self._door.note(EventKind.REPEATED, layer, number, 0, destination)

    def delivered(self, layer, message):
        """A Message is complete at this CAB."""
        if not self._door.groups & _MESSAGES:
            self.received += 1
            return
        message.layer = int(layer)
        self.arrived(layer, message.source, message.number, message.length)

    def arrived(self, layer, source, number, length):
        """The same of a message that is no Message."""
        self.received += 1
        if self._door.groups & _MESSAGES:
            self._door.note(EventKind.DELIVERED, layer, number, length, source)

    def taken(self, message):
        """A task has a Message now. Returns it."""
        if message.layer:
            self.read(message.layer, message.source, message.number, message.length)
        return message

    def read(self, layer, source, number, length):
        """The same of bytes that are no Message."""
        if self._door.groups & _MESSAGES:
            self._door.note(EventKind.READ, layer, number, length, source)
