"""Short messages between tasks of one CAB: as a channel, with slots, but without packets.

Source: see ``software.nectarine.channel``.
"""

from collections import deque

from ..packet import ENVELOPE
from .options import SLOT, SLOTS
from .slots import Slotted

__all__ = ["LocalChannel", "NoWatch"]


class LocalChannel(Slotted):
    """Parameters
    ----------
    channels : Channels
        Of the CAB.

    Members
    -------
    peer : int
        The CAB's own ID.
    """

    __slots__ = ("channels", "kernel", "peer", "watch", "_pending", "_block", "_free", "_busy")

    def __init__(self, channels):
        self.channels = channels
        self.kernel = channels.kernel
        self.peer = channels.cab.id
        self.watch = NoWatch()
        self._pending = deque()  # of ShortMessage
        self._block = None
        self._free = []
        self._busy = 0

    async def send(self, message):
        """By a thread: puts a short message into a slot and delivers it, or keeps it until there is a slot."""
        if self._block is None:
            block = await self.channels.memory.allocate(SLOTS * SLOT)
            if self._block is None:
                self._block = block
                self._free = [block + SLOT * index for index in range(SLOTS)]
            else:  # another thread has been given one meanwhile
                self.channels.memory.free(block)
        self.send_late(message)

    def send_late(self, message):
        """As ``send``, from both levels."""
        self._pending.append(message)
        self._pump()

    def _pump(self):
        while self._pending and self._free:
            message = self._pending.popleft()
            slot = self._free.pop()
            self._busy += 1
            data = message.envelope + message.data
            self.channels.memory.write(slot, data)
            message.over()
            self.channels.deliver(self, data[: ENVELOPE.size], slot)

    def withdraw(self, message):
        """Takes a short message back that waits. False if it does not wait any more."""
        if message not in self._pending:
            return False
        self._pending.remove(message)
        return True

    async def give(self, slot):
        """The message in that slot has been copied."""
        self.give_late(slot)

    def give_late(self, slot):
        """As ``give``, from both levels."""
        self._busy -= 1
        self._free.append(slot)
        self._pump()
        self.rest()

    def rest(self):
        """Gives the slots to the heap if no task of this CAB is left and none of them is in use."""
        if self._block is not None and not (self._busy or self._pending or self.channels.users):
            self.channels.memory.free(self._block)
            self._block = None
            self._free = []


class NoWatch:
    """Nothing has to be watched: the other task is on this CAB, or is told of by the network."""

    __slots__ = ()

    async def begin(self):
        """See PeerWatch."""

    def end(self):
        """See PeerWatch."""
