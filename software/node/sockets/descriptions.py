"""What a descriptor of a process stands for: a stream or a datagram socket. Specification: docs/sockets.md.

What is in here runs as part of the calling process, as its system calls; ``timeout`` is in seconds, None for ever, 0
for not at all."""

import errno
from collections import deque

from ...errors import ProgramError, TimedOut
from ..layout import OPENED
from ..streams import PART, NodeListener
from .errors import os_error, wrong
from .network import DATAGRAM_BYTES, HEADER, MAILBOX, Queue

__all__ = ["Datagram", "Stream"]

_NOWHERE = ("0.0.0.0", 0)
_MOST_US = 4_000_000_000


class _Description:
    """What both kinds have.

    Members
    -------
    users : int
        Descriptors that stand for it.
    port : int
        0 if it has none.
    address : str
        That it is bound to.
    options : dict
        As ``setsockopt`` has set them: they are kept and do nothing.
    """

    kind = None

    def __init__(self, network):
        self.network = network
        self.node = network.node
        self.users = 0
        self.port = 0
        self.address = _NOWHERE[0]
        self.options = {}

    async def bind(self, host, port):
        """As ``socket.bind``."""
        self.spend()
        if self.port:
            raise wrong(errno.EINVAL, f"the socket has port {self.port} already")
        address = self.network.hosts.resolve(host)
        if address not in (_NOWHERE[0], self.network.hosts.own):
            raise wrong(errno.EADDRNOTAVAIL, f"{host} is not an address of {self.node.name}")
        self.port = self.network.take_port(self, port)
        self.address = address

    def name(self):
        """As ``socket.getsockname``."""
        return (self.address, self.port)

    def spend(self):
        """Charges for a call."""
        self.node.door.spend(self.node.costs.socket_call)

    def copy(self, length):
        """Charges for the copy of so many bytes between the process and the system's buffers."""
        self.node.door.spend((length + 3 >> 2) * self.node.costs.socket_word)

    async def wait(self, look, what, timeout):
        """What ``look`` gives as soon as that is not None. BlockingIOError for a ``timeout`` of 0, else TimedOut."""
        if timeout == 0:
            seen = await look()
            if seen is None:
                raise BlockingIOError(errno.EAGAIN, f"there is nothing yet: {what}")
            return seen
        limit = None if timeout is None else min(timeout * 1e6, _MOST_US)
        return await self.node.shared.watch(look, what, f"the socket of {self.node.name} is lost", limit)

    def cab(self, host):
        """The ID of a host that something is sent to."""
        address = self.network.hosts.resolve(host)
        number = self.network.hosts.cab(address)
        if number is None:
            raise wrong(errno.EHOSTUNREACH, f"there is no host {address} on the network")
        return number


class Stream(_Description):
    """A stream socket: nothing yet, a listener, or a connection."""

    kind = "stream"

    def __init__(self, network, connection=None):
        super().__init__(network)
        self._connection = connection
        self._listener = None
        self._accepted = deque()  # connections that have come and that no ``accept`` has given yet
        self._ended = self._deaf = False  # what shutdown has ended: sending, receiving
        self._broken = False  # an error has been told
        if connection is not None:
            self.port, self.address = connection.port, network.hosts.own

    @property
    def listening(self):
        """Whether it is a listener."""
        return self._listener is not None

    # -- listeners -----------------------------------------------------------------------------------
    async def listen(self, backlog):
        """As ``socket.listen``."""
        self.spend()
        if self._connection is not None:
            raise wrong(errno.EINVAL, "a socket that is connected cannot listen")
        if self._listener is None:
            if not self.port:
                await self.bind("", 0)
            self._listener = NodeListener(self.node, self.port, max(1, backlog))
            try:
                await self._listener.open()
            except BaseException:
                self._listener = None
                raise

    async def accept(self, timeout):
        """As ``socket.accept``: a Stream and where it comes from."""
        self.spend()
        if self._listener is None:
            raise wrong(errno.EINVAL, "the socket does not listen: call listen first")
        await self.wait(self._come, f"a connection to {self._listener}", timeout)
        made = Stream(self.network, self._accepted.popleft())
        return made, made.peer()

    async def _come(self):
        """True if a connection has come, else None."""
        if not self._accepted and (entry := await self._listener.next()) is not None:
            self._accepted.append(self._listener.made(entry))
        return True if self._accepted else None

    # -- connections ---------------------------------------------------------------------------------
    async def connect(self, host, port, timeout):
        """As ``socket.connect``."""
        self.spend()
        if self._listener is not None:
            raise wrong(errno.EOPNOTSUPP, "a socket that listens cannot connect")
        if self._connection is not None:
            if self._connection.opening:
                raise wrong(errno.EALREADY, "the socket is being connected")
            raise wrong(errno.EISCONN, "the socket is connected")
        cab = self.cab(host)
        if cab == self.network.hosts.own_id:
            raise wrong(errno.EHOSTUNREACH, f"{self.node.name} cannot connect to itself: a CAB has no connection to it")
        connection = await self.node.stream.start((cab, port))
        self._connection = connection
        self.address = self.network.hosts.own
        if timeout == 0:
            raise BlockingIOError(errno.EINPROGRESS, f"{connection} is being set up")
        try:
            await self.wait(self._set_up, f"an answer to {connection}", timeout)
        except TimedOut:
            await connection.leave(abort=True)
            self._connection = None
            raise
        error = await self.error()
        if error is not None:
            self._connection = None
            raise error

    async def _set_up(self):
        await self._connection.look()
        return None if self._connection.opening and self._connection.error is None else True

    async def error(self):
        """The error that the socket has and that has not been told, as OSError; None."""
        if self._connection is None or self._broken:
            return None
        await self._connection.look()
        if self._connection.error is None:
            return None
        self._broken = True
        try:
            await self._connection.check()
        except ProgramError as error:
            return os_error(error)

    def peer(self):
        """As ``socket.getpeername``. The port of a host that has called is the number of its connection."""
        connection = self._joined()
        port = connection.known_as if self._came_in else connection.port
        return (self.network.hosts.address(connection.peer), port)

    @property
    def _came_in(self):
        return self._connection.number >= OPENED

    def name(self):
        """As ``socket.getsockname``."""
        connection = self._connection
        if connection is not None and not connection.opening and not self._came_in:
            return (self.address, connection.known_as)
        return super().name()

    def _joined(self):
        if self._connection is None or self._connection.opening and self._connection.error is None:
            raise wrong(errno.ENOTCONN, "the socket is not connected: call connect first")
        return self._connection

    async def receive(self, limit, timeout, peek=False):
        """As ``socket.recv``."""
        self.spend()
        if self._connection is not None and self._connection.opening:
            await self.error()
        connection = self._joined()
        if not limit or self._deaf or self._broken:
            return b""
        await self.wait(self._readable, f"bytes of {connection}", timeout)
        await self._check()
        with self.node.shared.bus():
            data = await connection.take(limit, peek=peek)
        self.copy(len(data))
        return data

    async def _readable(self):
        connection = self._connection
        await connection.look()
        return True if connection.available or connection.over or connection.error is not None else None

    async def _check(self):
        error = await self.error()
        if error is not None:
            raise error

    async def send(self, data, timeout):
        """As ``socket.send``: how many bytes have been taken."""
        self.spend()
        connection = self._joined()
        if self._ended or self._broken:
            raise wrong(errno.EPIPE, f"{connection} has ended in this direction")
        await self._check()
        if not data:
            return 0
        room = await self.wait(self._room, f"acknowledgments of {connection}", timeout)
        await self._check()
        part = data[: min(room, PART)]
        self.copy(len(part))
        with self.node.shared.bus():
            await connection.put(part)
        return len(part)

    async def _room(self):
        connection = self._connection
        await connection.look()
        return connection.room or (1 if connection.error is not None else None)

    async def shut(self, reading, writing):
        """As ``socket.shutdown``."""
        self.spend()
        connection = self._joined()
        self._deaf |= reading
        if writing and not self._ended and not self._broken:
            self._ended = True
            with self.node.shared.bus():
                await connection.end()

    # -- select, and the end -------------------------------------------------------------------------
    async def readable(self):
        """Whether ``recv`` or ``accept`` would not wait."""
        if self._listener is not None:
            return bool(await self._come())
        if self._connection is None or self._deaf:
            return True
        return bool(await self._readable())

    async def writable(self):
        """Whether ``send`` would not wait, or the set-up is over."""
        if self._listener is not None:
            return False
        if self._connection is None:
            return True
        await self._connection.look()
        connection = self._connection
        return connection.error is not None or not connection.opening and bool(connection.room)

    async def close(self):
        """As ``socket.close``: bytes that have not been sent are sent."""
        if self._listener is not None:
            while self._accepted:
                await self._accepted.popleft().leave(abort=True)
            await self._listener.close()
        if self._connection is not None:
            with self.node.shared.bus():
                connection = self._connection
                await connection.look()
                if connection.error is None and not connection.opening and not self._ended:
                    await connection.end()
                await connection.leave(abort=connection.opening)
        if self.port and (self._connection is None or not self._came_in):
            self.network.give_port(self, self.port)


class Datagram(_Description):
    """A datagram socket."""

    kind = "datagram"

    def __init__(self, network):
        super().__init__(network)
        self._queue = Queue()
        self._attends = False
        self._peer = None  # (CAB, port) that it is connected to

    listening = False

    def keep(self, *datagram):
        """A datagram has come: (bytes, CAB, port). False if it is not wanted."""
        if self._peer is not None and datagram[1:] != self._peer:
            return False
        return self._queue.put(*datagram)

    async def bind(self, host, port):
        """See _Description. What comes for the port is kept from now on."""
        await super().bind(host, port)
        self._attends = True
        await self.network.attend()

    async def attend(self):
        """Gets it a port, if it has none."""
        if not self.port:
            await self.bind("", 0)

    async def connect(self, host, port, timeout):
        """As ``socket.connect``: others cannot send to it from now on."""
        self.spend()
        self._peer = self.cab(host), port
        self.address = self.network.hosts.own
        await self.attend()

    def peer(self):
        """As ``socket.getpeername``."""
        if self._peer is None:
            raise wrong(errno.ENOTCONN, "the socket is not connected: call connect first")
        return (self.network.hosts.address(self._peer[0]), self._peer[1])

    async def send(self, data, timeout, host=None, port=None):
        """As ``socket.sendto``; to where it is connected without a host."""
        self.spend()
        self.copy(len(data))
        if host is None and self._peer is None:
            raise wrong(errno.EDESTADDRREQ, "say where to: by sendto, or by connect before")
        cab, port = self._peer if host is None else (self.cab(host), port)
        if len(data) > DATAGRAM_BYTES:
            raise wrong(errno.EMSGSIZE, f"a datagram has at most {DATAGRAM_BYTES} bytes, not {len(data)}")
        await self.attend()
        await self.node.datagram.start((cab, MAILBOX), HEADER.pack(self.port, port) + bytes(data))
        return len(data)

    async def receive_from(self, limit, timeout, peek=False):
        """As ``socket.recvfrom``: bytes, those beyond ``limit`` are lost, and where they come from."""
        self.spend()
        await self.attend()
        await self.wait(self._come, f"a datagram for port {self.port} of {self.node.name}", timeout)
        data, cab, port = self._queue.get(peek)
        self.copy(min(limit, len(data)))
        return data[:limit], (self.network.hosts.address(cab), port)

    async def receive(self, limit, timeout, peek=False):
        """As ``socket.recv``."""
        return (await self.receive_from(limit, timeout, peek))[0]

    async def _come(self):
        if not self._queue:
            await self.network.pull()
        return True if self._queue else None

    async def error(self):
        """None: nothing is heard of datagrams that were lost."""

    async def shut(self, reading, writing):
        """As ``socket.shutdown``: nothing, if it is connected."""
        self.peer()

    async def readable(self):
        """Whether ``recv`` would not wait."""
        return self._attends and bool(await self._come())

    async def writable(self):
        """Always."""
        return True

    async def close(self):
        """As ``socket.close``."""
        if self.port:
            self.network.give_port(self, self.port)
        if self._attends:
            await self.network.leave()
