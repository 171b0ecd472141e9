"""Mailboxes: where messages wait for threads.

Source: "The Design of Nectar" (1989), section 6.1: a FIFO in the usual case of one reader and one writer; several
readers, several writers and out-of-order reads besides.
"""

from collections import deque

from .thread import BLOCK

__all__ = ["Mailbox", "CAPACITY"]

#: Messages that a mailbox holds unless it is told otherwise.
CAPACITY = 256


class Mailbox:
    """A bounded FIFO of messages.

    Parameters
    ----------
    kernel : Kernel
    number : int
        By which other CABs name it.
    capacity : int
        Messages that it holds, those that are on their way into it among them.
    """

    __slots__ = ("kernel", "number", "capacity", "_messages", "_readers", "_writers", "_reserved")

    def __init__(self, kernel, number, capacity=CAPACITY):
        if capacity < 1:
            raise ValueError(f"a mailbox holds at least 1 message, not {capacity}")
        self.kernel = kernel
        self.number = number
        self.capacity = capacity
        self._messages = deque()
        self._readers = deque()     # (thread, match)
        self._writers = deque()     # (thread, message)
        self._reserved = 0

    def __str__(self):
        return f"mailbox {self.number} of {self.kernel.name}"

    def __len__(self):
        return len(self._messages)

    @property
    def full(self):
        """Whether it can take no more."""
        return len(self._messages) + self._reserved >= self.capacity

    # -- from both levels ----------------------------------------------------------------------------
    def reserve(self):
        """Keeps a place for a message that is on its way; False if there is none."""
        if len(self._messages) + self._reserved >= self.capacity:
            return False
        self._reserved += 1
        return True

    def unreserve(self):
        """Gives a place that was kept back: its message will not come."""
        self._reserved -= 1
        self._room()

    def arrive(self, message):
        """Puts a message into the place that was kept for it."""
        self._reserved -= 1
        if self._put(message):
            self._room()

    def try_put(self, message):
        """Puts a message; False if the mailbox is full."""
        if len(self._messages) + self._reserved >= self.capacity:
            return False
        self._put(message)
        return True

    def _put(self, message):
        """Hands a message to the first reader that takes it (and returns True), or keeps it."""
        kernel = self.kernel
        costs = kernel.costs
        readers = self._readers
        if readers:
            for index, (thread, match) in enumerate(readers):
                if match is None or match(message):
                    del readers[index]
                    kernel.door.spend(costs.mailbox_put + costs.wake)
                    kernel.wake(thread, message)
                    return True
        kernel.door.spend(costs.mailbox_put)
        self._messages.append(message)
        return False

    def _room(self):
        """A place has become free."""
        while self._writers and not self.full:
            thread, message = self._writers.popleft()
            self._put(message)
            self.kernel.wake(thread)
        if self.kernel.on_room is not None:
            self.kernel.on_room()

    # -- from threads --------------------------------------------------------------------------------
    async def put(self, message):
        """Puts a message; waits while the mailbox is full."""
        if self._writers or not self.try_put(message):
            thread = self.kernel.current
            self._writers.append((thread, message))
            thread.waits_for = f"room in {self}"
            await BLOCK

    def try_receive(self, match=None):
        """Takes out the oldest message (for which ``match(message)`` is true); None if there is none."""
        kernel, messages = self.kernel, self._messages
        costs = kernel.costs
        cost = costs.mailbox_get
        if match is None:
            found = messages.popleft() if messages else None
        else:
            found = None
            for index, message in enumerate(messages):
                cost += costs.mailbox_look
                if match(message):
                    found = message
                    del messages[index]
                    break
        kernel.door.spend(cost)
        if found is not None:
            self._room()
        return found

    async def receive(self, match=None):
        """Takes out the oldest message (for which ``match(message)`` is true); waits until there is one.

        Threads that wait are served in their order.
        """
        kernel = self.kernel
        message = None
        if self._messages:
            message = self.try_receive(match)
        if message is None:
            thread = kernel.current
            self._readers.append((thread, match))
            thread.waits_for = self
            message = await BLOCK
            kernel.door.spend(kernel.costs.mailbox_get)
        if kernel.trace is not None:
            await kernel.note("read", message.source, message.number)
        return message
