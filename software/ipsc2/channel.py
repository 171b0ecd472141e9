"""What a node knows of another: short buffers, and messages that wait for them. Specification: docs/nx2.md."""

from collections import deque

from ..packet import ENVELOPE
from .layout import BUFFERS, HEADER_BYTES, SHORT, Kind
from .watch import Expectation

__all__ = ["Channel"]


class Channel:
    """Messages between the tasks of this node and those of another. A slot is a short buffer.

    Parameters
    ----------
    messages : Messages
    peer : int
        The other node.

    Members
    -------
    watch : Expectation
    lying : int
        Short messages of the other node that are in buffers.
    error : PeerStopped or None
        Why the other node is given up.
    queued, came : int
        Messages to it that DMA has got while messages were recorded; messages that have come from it.
    """

    __slots__ = ("messages", "peer", "watch", "lying", "error", "queued", "came", "_credits", "_owed", "_waiting")

    #: As of Slotted.
    front, keeps = HEADER_BYTES, True

    def __init__(self, messages, peer):
        self.messages = messages
        self.peer = peer
        self.watch = Expectation(messages.watch, self)
        self.lying = 0
        self.error = None
        self.queued = self.came = 0
        self._credits = BUFFERS  # of the other node that messages may take
        self._owed = 0  # buffers that the other node does not know to be free
        self._waiting = deque()  # (ShortMessage, address of its bytes or None)

    @property
    def expects(self):
        """Whether something is expected of the other node, whatever the threads do."""
        return bool(self._waiting) or self.messages.asked == self.peer

    # -- out -----------------------------------------------------------------------------------------
    async def send(self, message):
        """By a thread: sends a short message, or what stands for a long one, as soon as the other node has a buffer.
        Raises PeerStopped."""
        door, costs, memory = self.messages.door, self.messages.kernel.costs, self.messages.memory
        length = ENVELOPE.unpack(message.envelope)[3]
        door.spend(costs.send + (costs.check if length else 0))
        address = None
        if message.data:
            address = await memory.allocate(len(message.data))
            memory.write(address, message.data)
        if self.error is not None:
            self._free(address)
            raise self.error
        await self.messages.held_off(self._queue, message, address)

    def send_late(self, message):
        """The same of a message without bytes, at interrupt level."""
        self._queue(message, None)

    def _queue(self, message, address):
        if self.error is not None:
            self._left(message, address, self.error)
            return
        self._waiting.append((message, address))
        self._release()

    def _free(self, address):
        if address is not None:
            self.messages.memory.free(address)

    def withdraw(self, message):
        """Takes a message back that waits. False if it does not wait any more."""
        for entry in self._waiting:
            if entry[0] is message:
                self._waiting.remove(entry)
                self._free(entry[1])
                return True
        return False

    def _release(self):
        """Lets messages go while there are buffers for them."""
        while self._waiting and self._credits:
            self._credits -= 1
            message, address = self._waiting.popleft()
            to, by, type, length, transfer = ENVELOPE.unpack(message.envelope)
            fields = (self.peer, to, by, type, length, transfer)
            if length > SHORT:
                self.messages.post(Kind.PROXY, *fields, on_sent=message.over, noted=message.noted)
            else:
                self.messages.post(
                    Kind.SHORT,
                    *fields,
                    address=address or 0,
                    size=length,
                    noted=message.noted,
                    on_sent=lambda error, message=message, address=address: self._left(message, address, error),
                )

    def _left(self, message, address, error):
        """A short message is in the network, or never will be."""
        self._free(address)
        message.over(error)

    def give_up(self, error):
        """At interrupt level: the other node takes nothing any more."""
        self.error = error
        while self._waiting:
            self._left(*self._waiting.popleft(), error)

    def take_back(self, count):
        """At interrupt level: the other node has returned so many buffers."""
        self._credits += count
        self._release()

    # -- in ------------------------------------------------------------------------------------------
    async def give(self, slot):
        """By a thread: the message in that buffer has been copied."""
        await self.messages.held_off(self.give_late, slot)

    def give_late(self, slot):
        """As ``give``, at interrupt level. None: the message was in no buffer."""
        if slot is not None:
            self.lying -= 1
            self.messages.freed(slot)
            self.owe()

    def owe(self):
        """A buffer of the other node's is free: it hears of it with what is sent next, or by a message of its own."""
        self._owed += 1
        if self._owed == BUFFERS // 2:
            self.messages.post(Kind.RETURN, self.peer)

    def returned(self):
        """Buffers that a message to the other node gives back."""
        owed, self._owed = self._owed, 0
        return owed
