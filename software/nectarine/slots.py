"""Slots of a channel: places of short messages in data memory, those that come in and those that go out."""

from ..packet import ENVELOPE
from .options import SLOT, SLOTS

__all__ = ["Slots", "Slotted"]


class Slotted:
    """A channel whose slots hold envelope and bytes. ``front``: bytes in front of those of the message. ``keeps``:
    whether messages that wait in it need no Keeper."""

    __slots__ = ()

    front, keeps = ENVELOPE.size, False


class Slots:
    """The slots that one CAB has for another.

    Parameters
    ----------
    memory : Memory

    Members
    -------
    busy : int
        Slots of messages that come in, or wait to be received.
    """

    __slots__ = ("memory", "busy", "_block", "_free", "_lengths")

    def __init__(self, memory):
        self.memory = memory
        self.busy = 0
        self._block = None  # those of what comes in first
        self._free = []  # addresses, once there is a block
        self._lengths = [0] * SLOTS

    @property
    def credit(self):
        """Messages that may come in."""
        return SLOTS - self.busy

    def reserve(self):
        """Whether there is memory for them now. From both levels."""
        if self._block is None:
            self._block = self.memory.try_allocate(2 * SLOTS * SLOT)
            if self._block is not None:
                self._free = [self._block + SLOT * index for index in range(SLOTS)]
        return self._block is not None

    def release(self):
        """Gives the memory back; none of them may be in use."""
        if self._block is not None:
            self.memory.free(self._block)
            self._block = None

    def take(self):
        """Byte address of a slot for a message that comes in; None if there is none."""
        if not self.reserve() or not self._free:
            return None
        self.busy += 1
        return self._free.pop()

    def give(self, slot):
        """That slot is free again."""
        self.busy -= 1
        self._free.append(slot)

    def store(self, number, data):
        """Stores the bytes of outgoing message ``number``, in the slot that it shares with every SLOTS-th; posted."""
        self._lengths[number % SLOTS] = len(data)
        self.memory.write(self._out(number), data)

    def area(self, number):
        """(byte address, bytes) of outgoing message ``number``."""
        return self._out(number), self._lengths[number % SLOTS]

    def _out(self, number):
        return self._block + SLOT * (SLOTS + number % SLOTS)
