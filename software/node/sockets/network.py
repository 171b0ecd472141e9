"""What the sockets of all processes of a node share: which ports are in use, and the datagrams that come.

All datagram sockets of a node read from one mailbox of its CAB; the node looks which port a message is for.
Specification: docs/sockets.md."""

import errno
from collections import deque
from struct import Struct

from .errors import wrong
from .hosts import Hosts

__all__ = ["DATAGRAM_BYTES", "MAILBOX", "Network"]

#: The mailbox of each CAB that the datagrams of sockets go to.
MAILBOX = 0xFFF0
#: Bytes of a datagram at most, as of UDP.
DATAGRAM_BYTES = 65_507
#: In front of a datagram: source port, destination port.
HEADER = Struct(">HH")
#: Datagrams that a socket keeps until they are read.
_KEPT = 64
_FIRST, _LAST = 49_152, 65_535


class Network:
    """One for each node.

    Parameters
    ----------
    node : Node

    Members
    -------
    hosts : Hosts
    dropped : int
        Datagrams for ports that no socket has, or whose socket had 64 unread ones.
    """

    def __init__(self, node):
        self.node = node
        self.hosts = Hosts(node)
        self.dropped = 0
        self._ports = {}  # (kind, port) -> description
        self._next = _FIRST
        self._box = None
        self._users = 0

    def take_port(self, description, port):
        """Gives ``description`` a port, a free one for 0; returns it. OSError EADDRINUSE if another socket has it."""
        kind = description.kind
        if not port:
            for _ in range(_FIRST, _LAST + 1):
                port, self._next = self._next, self._next + 1 if self._next < _LAST else _FIRST
                if (kind, port) not in self._ports:
                    break
            else:
                raise wrong(errno.EADDRINUSE, f"{self.node.name} has no port left")
        if (kind, port) in self._ports:
            raise wrong(errno.EADDRINUSE, f"a socket of {self.node.name} has port {port} already")
        self._ports[kind, port] = description
        return port

    def give_port(self, description, port):
        """The port is free again."""
        self._ports.pop((description.kind, port), None)

    # -- datagrams -----------------------------------------------------------------------------------
    async def attend(self):
        """A datagram socket has a port: from now on what comes for it is kept."""
        self._users += 1
        if self._box is None:
            self._box = self.node.mailbox(MAILBOX)
            self._box.rouses = True
        await self._box.open()

    async def leave(self):
        """The socket is closed."""
        self._users -= 1
        if not self._users:
            await self._box.close()

    async def pull(self):
        """Gives all datagrams that have come to the sockets that they are for."""
        await self._box.open()  # anew, if the CAB has started anew
        while (message := await self._box.look()) is not None:
            data = await message.read()
            message.free()
            if len(data) < HEADER.size:
                self.dropped += 1
                continue
            source, port = HEADER.unpack_from(data)
            description = self._ports.get(("datagram", port))
            if description is None or not description.keep(data[HEADER.size :], message.source, source):
                self.dropped += 1


class Queue:
    """Datagrams of one socket: (bytes, ID of the CAB, port), the oldest first."""

    def __init__(self):
        self._kept = deque()

    def __len__(self):
        return len(self._kept)

    def put(self, *datagram):
        """False if there is no room."""
        if len(self._kept) >= _KEPT:
            return False
        self._kept.append(datagram)
        return True

    def get(self, peek=False):
        """The oldest; it stays if ``peek``."""
        return self._kept[0] if peek else self._kept.popleft()
