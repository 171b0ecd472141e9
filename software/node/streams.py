"""What processes of a node call: byte streams. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), section 6.2.3: a node's process builds and consumes its bytes in CAB memory, and
finds out by polling what has come; the CAB carries the protocol out."""

from collections import deque

from ..door import BusError
from ..errors import (
    CabSilent,
    ConnectionAborted,
    ConnectionClosed,
    ConnectRefused,
    ConnectTimeout,
    NoRoute,
    PeerAborted,
    PeerRestarted,
    PeerSilent,
    ProgramError,
    StreamError,
)
from ..kernel.plain import blocking
from .layout import CONNECTION, OPENED, Code, Fate, State, connection_at
from .messages import Reader, check_timeout, to_one

__all__ = ["NodeConnection", "NodeListener", "NodeStreams", "PART"]

#: Bytes that are given to the CAB at a time, so that it sends them while the node stores the next.
PART = 4096
#: Bytes of a connection in the shared area before ``send`` waits.
_UNSENT = 1 << 14
#: Bytes that are read before the CAB is told of it.
_STEP = 2048
_WORD = (1 << 32) - 1
_ERRORS = {
    Fate.REFUSED: (ConnectRefused, "nobody listens at port {port} of CAB {peer}: start the server first"),
    Fate.TIMED_OUT: (ConnectTimeout, "CAB {peer} has not answered in time: is somebody accepting at its port {port}?"),
    Fate.SILENT: (PeerSilent, "nothing is heard of {this}: is CAB {peer} still running?"),
    Fate.RESTARTED: (PeerRestarted, "{this} is not known at the other end: CAB {peer} has started anew"),
    Fate.ABORTED: (PeerAborted, "{this} was aborted at the other end"),
    Fate.LEFT: (ConnectionAborted, "{this} was aborted on this side"),
    Fate.NO_ROUTE: (NoRoute, "there is no way to CAB {peer}"),
}


class NodeConnection:
    """A connection of the byte stream; made by ``NodeStreams.connect`` and ``NodeListener.accept``.

    Members
    -------
    peer, port : int
        ID of the CAB at the other end; the port that was called.
    error : StreamError or NoRoute or None
        Why it has failed, as far as this process has seen.
    number : int
        Which of the node's connections it is.
    known_as : int
        The number that the opening side's CAB has given it; 0 before the first look.
    """

    def __init__(self, node, number, peer, port, state=State.OPENING, known_as=0):
        self.node = node
        self.number = number
        self.peer = peer
        self.port = port
        self.error = None
        self.known_as = known_as
        self._shared = node.shared
        self._boot = node.boot
        self._changes = 0
        self._come = self._read = self._told = 0  # counts of bytes; told: the CAB knows that they have been read
        self._state = state
        self._ring = self._size = 0
        self._areas = deque()  # (count of bytes given with the last of it, address)
        self._given = self._kept = 0  # counts of bytes; from kept on the CAB needs them
        self._ended = False
        self._left = False
        self._shared.connections[number] = self

    def __str__(self):
        return f"the connection of {self.node.name} with CAB {self.peer}, port {self.port},"

    # -- how it stands -------------------------------------------------------------------------------
    @property
    def available(self):
        """Bytes that can be read at once, as last seen."""
        return self._come - self._read & _WORD

    @property
    def opening(self):
        """Whether the other side has not answered yet, as last seen."""
        return bool(self._state & State.OPENING)

    @property
    def over(self):
        """Whether the other side sends nothing after ``available``, as last seen."""
        return bool(self._state & State.OVER)

    @property
    def is_left(self):
        """Whether the process does nothing more with it."""
        return self._left

    @property
    def room(self):
        """Bytes that ``send`` takes without waiting, as last seen."""
        return max(0, _UNSENT - (self._given - self._kept & _WORD))

    async def look(self):
        """Looks how it stands; True if something has changed since the last look, else None. Raises CabSilent."""
        if self._boot != self.node.boot:
            self.error = PeerRestarted(f"{self} is lost: the node's own CAB has started anew")
            return True
        at = connection_at(self.number)
        while True:
            changes = await self.node.door.read(at + CONNECTION.size - 8)
            if changes == self._changes:
                return None
            words = CONNECTION.unpack(await self.node.door.read_block(at, CONNECTION.size))
            if words[-1] == changes:  # the CAB has not stored meanwhile
                break
        self._come, self._kept, state, self._ring, self._size, self.known_as, self._changes, _ = words
        self._state = State(state & 0xFF)
        if self._state & State.FAILED and self.error is None:
            kind, text = _ERRORS.get(state >> 8, (StreamError, "{this} has failed"))
            self.error = kind(text.format(this=self, peer=self.peer, port=self.port))
        self._free()
        if not state and self._left:
            self.forget()
        return True

    def forget(self):
        """The CAB has done with it."""
        self._kept = self._given
        self._free()
        self._shared.connections.pop(self.number, None)

    def _free(self):
        while self._areas and (self._kept - self._areas[0][0] & _WORD) < 1 << 31:
            self.node.door.spend(self.node.costs.room)
            self._shared.pool.free(self._areas.popleft()[1])

    async def reclaim(self):
        """Gives back what the CAB needs no more of what was given to be sent; whether there was anything."""
        before = len(self._areas)
        await self.look()
        return len(self._areas) < before

    async def check(self):
        """Raises its error, if it has one."""
        if self.error is not None:
            await self.leave(abort=True)
            raise self.error

    async def change(self, what, timeout_us=None):
        """Waits until it stands otherwise. Raises TimedOut, CabSilent."""
        await self._shared.watch(self.look, what, f"{self} is lost", timeout_us)

    async def _tell(self, code, what, **words):
        await self._shared.place(code, what, box=self.number, **words)

    # -- what processes call -------------------------------------------------------------------------
    @blocking
    async def send(self, data):
        """Sends bytes: returns when all are in CAB memory, where they stay until the other side has them.

        Waits while more than 16 kbyte are not acknowledged. Raises ConnectionClosed after ``close``, the connection's
        error, CabSilent."""
        data = memoryview(data).cast("B")
        with self._shared.bus():
            while data:
                part = data[: min(PART, await self.writable())]
                await self.put(part)
                data = data[len(part) :]

    async def writable(self, timeout_us=None):
        """Waits until there is room to send; the bytes for which there is."""
        while True:
            await self.look()
            await self.check()
            if self._ended:
                raise ConnectionClosed(f"{self} has been closed on this side: send before")
            if self.room and not self.opening:
                return self.room
            await self.change(f"acknowledgments of {self}", timeout_us)

    async def put(self, part):
        """Gives so many bytes to the CAB, for which there is room."""
        length = len(part)
        address = await self._shared.build(bytes(part))
        self._given = self._given + length & _WORD
        self._areas.append((self._given, address))
        await self._tell(Code.SEND, f"a send on {self}", address=address, length=length, keep=True)

    @blocking
    async def receive(self, limit=1 << 16, timeout_us=None):
        """The next bytes, at most ``limit``: waits until there is one at least. b"" when the other side has ended its
        direction.

        TimedOut after ``timeout_us`` microseconds. Raises the connection's error, CabSilent."""
        if limit < 1:
            raise ValueError(f"receive takes at least 1 byte, not {limit}")
        with self._shared.bus():
            return await self.take(limit, timeout_us)

    async def take(self, limit, timeout_us=None, peek=False):
        """The same, inside; ``peek``: the bytes stay."""
        while True:
            await self.look()
            await self.check()
            if self.available:
                break
            if self.over:
                await self._finish()
                return b""
            await self.change(f"bytes of {self}", timeout_us)
        self.node.door.spend(self.node.costs.receive)
        length = min(limit, self.available)
        start = self._read % self._size
        first = min(length, self._size - start)
        try:
            data = await self._shared.load(self._ring + start, first)
            if length > first:
                data += await self._shared.load(self._ring, length - first)
        except BusError:
            await self.look()  # the CAB has taken the ring back
            await self.check()
            raise
        if not peek:
            self._read = self._read + length & _WORD
            if (self._read - self._told & _WORD) >= _STEP or self.over and not self.available:
                await self._tell_read()
        return data

    async def _tell_read(self):
        many, self._told = self._read - self._told & _WORD, self._read
        await self._tell(Code.TAKE, f"a receive on {self}", address=many)

    @blocking
    async def close(self):
        """Ends this direction: returns when the other side has acknowledged all. What it still sends can be received;
        the connection's memory is given back when it has ended its direction, too, and all has been read.

        Raises the connection's error, CabSilent."""
        with self._shared.bus():
            await self.end()
            while not self._state & State.FINISHED:
                await self.check()
                await self.change(f"acknowledgments of {self}")
            if self.over and not self.available:
                await self._finish()

    async def _finish(self):
        """All that came has been read, and nothing more comes."""
        if self._state & State.FINISHED:
            await self.leave()
        elif self._read != self._told:
            await self._tell_read()

    async def end(self):
        """Ends this direction; returns at once."""
        await self.look()
        await self.check()
        if not self._ended:
            self._ended = True
            await self._tell(Code.END, f"the end of {self}")

    @blocking
    async def abort(self):
        """Ends the connection at once, in both directions; the other side hears of it by an error."""
        with self._shared.bus():
            await self.leave(abort=True)

    async def leave(self, abort=False):
        """The process does nothing more with it. What was given to be sent is sent; what still comes is not wanted."""
        if self._left or self._boot != self.node.boot:
            return
        self._left = True
        if self._read != self._told and not abort:
            await self._tell_read()
        await self._tell(Code.LEAVE, f"the end of {self}", port=int(abort))


class NodeListener(Reader):
    """Connections that come to a port, taken by processes of the node; made by ``NodeStreams.listen``."""

    code = Code.LISTEN

    def __init__(self, node, port, backlog):
        super().__init__(node, port)
        self.backlog = backlog

    def __str__(self):
        return f"port {self.number} of {self.node.name}"

    def _extra(self):
        return self.backlog

    @blocking
    async def accept(self, timeout_us=None):
        """The next NodeConnection. Raises TimedOut, CabSilent; ProgramError after ``close``."""
        with self._shared.bus():
            entry = await self._shared.watch(
                self.next, f"a connection to {self}", f"nobody listens at {self} any more", timeout_us
            )
            return self.made(entry)

    async def next(self):
        """The entry of the next connection; None if there is none."""
        if self._box is not None and self._boot != self.node.boot:
            raise CabSilent(f"the CAB of {self.node.name} has started anew: nobody listens at {self} any more")
        await reap(self._shared)
        return await self._look()

    def made(self, entry):
        """The NodeConnection of an entry, which is the CAB's again."""
        self.release(entry[0])
        return self._made(entry)

    def _made(self, entry):
        _, known_as, number, word = entry
        if number in self._shared.connections:
            self._shared.connections[number].forget()  # the CAB has done with it, and numbers another one so
        return NodeConnection(self.node, number, word >> 16, word & 0xFFFF, State.OPEN, known_as)

    @blocking
    async def close(self):
        """Takes no more connections; those that nobody has accepted are aborted. Nothing if it is closed."""
        if self._box is None:
            return
        box = self._box
        await super().close()
        with self._shared.bus():
            while (entry := await self._entry(box)) is not None:
                await self._made(entry).leave(abort=True)


class NodeStreams:
    """The byte stream of a node: ``node.stream``."""

    def __init__(self, node):
        self._node = node

    @blocking
    async def listen(self, port, backlog=8):
        """A NodeListener at ``port`` (0 to 65535) of its CAB. Raises PortInUse if there is one, CabSilent."""
        if not 0 < backlog < 1 << 32:
            raise ValueError(f"a listener has room for at least 1 connection, not {backlog}")
        listener = NodeListener(self._node, port, backlog)
        await listener.open()
        return listener

    @blocking
    async def connect(self, destination, timeout_us=None):
        """A NodeConnection to (CAB, port), the CAB by ID or name; returns when it is set up.

        Raises NoRoute, ConnectRefused, ConnectTimeout after ``timeout_us`` (by default the transport's), CabSilent,
        ProgramError if the node has opened 16 connections."""
        with self._node.shared.bus():
            connection = await self.start(destination, timeout_us)
            try:
                while connection.opening:
                    await connection.change(f"an answer to {connection}")
                await connection.check()
            except BaseException:
                await connection.leave(abort=True)
                raise
        return connection

    async def start(self, destination, timeout_us=None):
        """The same, but returns at once: ``opening`` tells whether it is set up."""
        node = self._node
        peer, port = to_one(destination, "port", node)
        if timeout_us is not None:
            check_timeout(timeout_us)
        await node.attached()
        shared = node.shared
        await reap(shared)
        number = next((number for number in range(OPENED) if number not in shared.connections), None)
        if number is None:
            raise ProgramError(f"{node.name} has opened {OPENED} connections already: close one")
        connection = NodeConnection(node, number, peer, port)
        try:
            what = f"the set-up of {connection}"
            command = await shared.place(
                Code.CONNECT, what, box=number, port=port, cab=peer, timeout_us=int(timeout_us or 0)
            )
            await shared.done(command)
        except BaseException:
            shared.connections.pop(number, None)
            raise
        return connection


async def reap(shared):
    """Looks after connections that processes have left."""
    for connection in [each for each in shared.connections.values() if each.is_left]:
        await connection.look()
