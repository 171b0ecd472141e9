"""The CAB's side of boxes: messages of mailboxes, and requests for services, put where the node sees them.

A message lies in pages of its own; while the node has it they are open to VME's domain. Specification: docs/nodes.md.
"""

from collections import deque

from .layout import ARRIVAL, DEPTH, arrival_at

__all__ = ["Box"]


class Box:
    """One box, open.

    Parameters
    ----------
    port : NodePort
        Lends pages to the node.
    number : int
        0 to BOXES - 1.
    released : int
        What the node has counted of it so far: it goes on from there.

    Members
    -------
    mailbox : Mailbox or None
        Whose messages it has.
    service : Service or None
        Whose requests it has.
    listener : Listener or None
        Whose connections it has.
    server : Thread or None
        That hands over requests or connections.
    rouses : bool
        Whether processes of the node may sleep until a message comes.
    """

    __slots__ = (
        "port",
        "number",
        "mailbox",
        "service",
        "listener",
        "server",
        "rouses",
        "_put",
        "_released",
        "_lent",
        "_pumps",
    )

    def __init__(self, port, number, released):
        self.port = port
        self.number = number
        self.mailbox = self.service = self.listener = self.server = None
        self.rouses = False
        self._pumps = False  # the thread hands over what the mailbox has kept: nobody may overtake it
        self._put = self._released = released
        self._lent = deque()  # messages that the node has, oldest first; None for one that is given back otherwise

    @property
    def full(self):
        """Whether the node must release a message before it gets another."""
        return len(self._lent) >= DEPTH

    @property
    def empty(self):
        """Whether the node has released all messages."""
        return not self._lent

    # -- in ------------------------------------------------------------------------------------------
    def arrive(self, message):
        """The mailbox's ``on_arrival``, at either level: hands the message to the node if that can be done at once."""
        if self._pumps or self.full or len(self.mailbox) or not self.port.lonely(message):
            self.port.pump(self)
            return False
        self.put(message, _origin(message))
        return True

    def put(self, message, word, lent=True):
        """Shows the node a message. From both levels; not while it is full."""
        self.port.lend(message)
        self._show(message if lent else None, message.address or 0, message.length, word)
        if self.rouses:
            self.port.rouse_node()

    def show(self, first, second, word):
        """Shows the node two words that are no message. By a thread; not while it is full."""
        self._show(None, first, second, word)
        self.port.rouse_node()

    def _show(self, lent, first, second, word):
        port = self.port
        self._lent.append(lent)
        count, self._put = self._put, self._put + 1 & 0xFFFFFFFF
        port.door.spend(port.kernel.costs.node_arrival)
        port.door.write_block(arrival_at(self.number, count), ARRIVAL.pack(first, second, word, self._put))

    async def pump(self):
        """By the port's thread: hands over what the mailbox has kept."""
        self._pumps = True
        try:
            while self.mailbox is not None and not self.full:
                message = self.mailbox.try_take()
                if message is None:
                    return
                await self.port.isolate(message)
                self.put(message, _origin(message))
        finally:
            self._pumps = False

    # -- out -----------------------------------------------------------------------------------------
    def taken(self, count):
        """The node has released messages up to the one with that count. At interrupt level. False if it had no such
        many."""
        many = count - self._released & 0xFFFFFFFF
        if many > len(self._lent):
            return False
        self._released = count
        for _ in range(many):
            message = self._lent.popleft()
            if message is not None:
                self.port.take_back(message)
        if many:
            self.port.pump(self)
        return True

    def close(self):
        """Takes everything back; the mailbox takes no more messages. By the port's thread."""
        for message in self._lent:
            if message is not None:
                self.port.take_back(message)
        self._lent.clear()
        if self.mailbox is not None:
            self.mailbox.on_arrival = None
            self.mailbox.paged = False
            self.mailbox.close()
            self.mailbox = None
        if self.service is not None:
            self.service.close()
            self.service = None
        if self.server is not None and not self.server.ended:
            self.server.end()
        if self.listener is not None:
            self.listener.close()
            self.listener = None


def _origin(message):
    """Source and number of a message, as a word."""
    return (message.source or 0) << 16 | message.number
