"""The CAB's side of the byte streams of a node: connections whose bytes stay in CAB memory.

A process sends from its part of the shared area, and reads from the ring into which the DMA has stored; the CAB copies
nothing. Specification: docs/nodes.md."""

from ..errors import (
    ConnectionAborted,
    ConnectRefused,
    ConnectTimeout,
    NoRoute,
    PeerAborted,
    PeerRestarted,
    PeerSilent,
    ProgramError,
)
from ..kernel.condition import Condition
from ..packet import Status
from ..transport.sendqueue import MOST_PIECES
from ..transport.state import State as Stands
from .layout import CONNECTION, CONNECTIONS, OPENED, Code, Fate, State, connection_at
from .refused import Refused

__all__ = ["NodeConnections"]

#: The first that fits.
_FATES = (
    (ConnectRefused, Fate.REFUSED),
    (ConnectTimeout, Fate.TIMED_OUT),
    (PeerSilent, Fate.SILENT),
    (PeerRestarted, Fate.RESTARTED),
    (PeerAborted, Fate.ABORTED),
    (ConnectionAborted, Fate.LEFT),
    (NoRoute, Fate.NO_ROUTE),
)
_WORD = (1 << 32) - 1


class Carried:
    """A connection that a process of the node has, or is going to have.

    Members
    -------
    number : int
    connection : Connection or None
        None until it is set up.
    error : ProgramError or None
        Why it could not be set up.
    left : bool
        Whether the node does nothing more with it.
    """

    __slots__ = ("owner", "number", "connection", "error", "left", "_told", "_changes", "_ring")

    def __init__(self, owner, number):
        self.owner = owner
        self.number = number
        self.connection = self.error = None
        self.left = False
        self._told = None  # what the node has been told
        self._changes = 0
        self._ring = 0  # address of the ring, while it is open to the node

    async def begin(self, connection):
        """It is set up. By a thread."""
        end, door = connection.endpoint, self.owner.port.door
        door.mask()
        await door.now()
        self.connection = connection
        if end.buffer is not None:
            self._ring = end.buffer
            self.owner.port.open_pages(end.buffer, end.into.size)
        end.watcher = self
        self._tell()
        door.unmask()

    def changed(self):
        """Called at either level: tells the node how it stands, now or soon."""
        if self.owner.port.cab.interrupts.active:
            self._tell()
        else:
            self.owner.stale(self)

    async def refresh(self):
        """By a thread: the same, now. What it stores must not be older than what interrupt level stores."""
        door = self.owner.port.door
        door.mask()
        await door.now()
        self._tell()
        door.unmask()

    def _tell(self):
        end = None if self.connection is None else self.connection.endpoint
        error = self.error if end is None else end.error
        if self.left and end is not None and error is None and end.into.available:
            self.connection.abort()  # nobody is there to read it; this is called again
            return
        if end is None:
            state, come, kept, ring = State.OPENING, 0, 0, (0, 0, 0)
        else:
            state = State.OPEN
            state |= State.OVER if end.into.over else 0
            state |= State.FINISHED if end.out.finished else 0
            come, kept = end.into.next, end.queue.needed(end.out.end)
            ring = self._ring, end.into.size, end.number
        if error is not None:
            fate = next((fate for kind, fate in _FATES if isinstance(error, kind)), Fate.OTHER)
            state = state & ~State.OPENING | State.FAILED | fate << 8
        told = come & _WORD, kept & _WORD, int(state), *ring
        if told != self._told:
            self._told = told
            self._changes = self._changes + 1 & _WORD
            self.owner.tell(self.number, CONNECTION.pack(*told, self._changes, self._changes))
        if self.left and (error is not None or end is not None and end.state is Stands.ENDED):
            self.owner.free(self)

    def leave(self, ring):
        """Called at either level: the ring is given back."""
        if self._ring:
            self._ring = 0
            self.owner.port.close_pages(ring, self.connection.endpoint.into.size)


class NodeConnections:
    """The connections that the processes of a node have.

    Parameters
    ----------
    port : NodePort
    """

    __slots__ = ("port", "kernel", "_carried", "_free", "_held", "_stale")

    CODES = (Code.CONNECT, Code.SEND, Code.TAKE, Code.END, Code.LEAVE)

    def __init__(self, port):
        self.port = port
        self.kernel = port.kernel
        self._carried = {}  # number -> Carried
        self._held = 0  # threads of listeners that wait for something of the node
        self._stale = {}  # Carried of which the thread has to tell the node (a dict as an ordered set)
        self._free = Condition(port.kernel, "a connection of the node to come to its end")

    # -- either level --------------------------------------------------------------------------------
    def tell(self, number, words):
        """Stores how a connection stands, and has processes that sleep look at it."""
        port = self.port
        port.door.spend(port.kernel.costs.node_arrival)
        at = connection_at(number)
        port.door.write_block(at + CONNECTION.size - 4, words[-4:])
        port.door.write_block(at, words[:-4])
        port.rouse_node()

    def stale(self, carried):
        """The port's thread is to tell the node how a connection stands."""
        self._stale[carried] = None
        self.port.rouse()

    @property
    def is_stale(self):
        """Whether the port's thread has to call ``refresh``."""
        return bool(self._stale)

    def free(self, carried):
        """The node has done with it, and so has the protocol."""
        if self._carried.get(carried.number) is carried:
            del self._carried[carried.number]
            self.port.door.write_block(connection_at(carried.number), bytes(CONNECTION.size))
            self.room()

    # -- by threads ----------------------------------------------------------------------------------
    async def refresh(self):
        """Tells the node how connections stand that have changed."""
        while self._stale:
            carried = next(iter(self._stale))
            del self._stale[carried]
            await carried.refresh()

    async def hand_over(self, box):
        """The thread of a listener: puts the connections that come to its port where the node sees them, one at a
        time; the others are the listener's."""
        while True:
            while not box.empty:
                await self._room()
            connection = await box.listener.accept()
            try:
                while (number := self._number()) is None:
                    await self._room()
            except BaseException:
                connection.abort()
                raise
            carried = self._carried[number] = Carried(self, number)
            await carried.begin(connection)
            box.show(connection.endpoint.number, number, connection.peer << 16 | connection.port)

    async def _room(self):
        """By the thread of a listener: waits until the node has given something back."""
        self._held += 1
        try:
            await self._free.wait()
        finally:
            self._held -= 1

    def room(self):
        """The node has given something back. From both levels."""
        if self._held:
            self._free.broadcast()

    def _number(self):
        return next((number for number in range(OPENED, CONNECTIONS) if number not in self._carried), None)

    async def command(self, code, number, port, cab, address, length, timeout_us):
        """Does a command of the node about connection ``number``; its outcome is known when this returns. Raises
        Refused."""
        if code == Code.CONNECT:
            if number >= OPENED or number in self._carried:
                raise Refused(Status.BAD_CONNECTION)
            carried = self._carried[number] = Carried(self, number)
            await carried.refresh()
            self.kernel.spawn(self._connect, carried, (cab, port), timeout_us or None, name=f"connection {number}")
            return
        carried = self._carried.get(number)
        if carried is None or carried.left:
            raise Refused(Status.BAD_CONNECTION)
        if code == Code.LEAVE:
            carried.left = True
            self._leave(carried, bool(port))
            return
        connection = carried.connection
        if connection is None:
            raise Refused(Status.BAD_CONNECTION)
        end = connection.endpoint
        if code == Code.TAKE:
            if address > end.into.available:
                raise Refused(Status.BAD_AREA)
            await connection.taken(address)
        elif connection.error is not None:
            raise Refused(Status.CONNECTION)
        elif code == Code.END:
            await connection.end()
        else:
            if end.out.closing or not length or len(end.queue) >= MOST_PIECES:
                raise Refused(Status.BAD_CONNECTION)
            await connection.give(address, length)

    async def _connect(self, carried, destination, timeout_us):
        try:
            connection = await self.port.cab.stream.connect(destination, timeout_us)
        except (ProgramError, ValueError) as error:
            carried.error = error
            carried.changed()
            return
        await carried.begin(connection)
        if carried.left:
            connection.abort()

    def _leave(self, carried, abort):
        """The node does nothing more with a connection: what was given to be sent is, and what still comes is not
        wanted."""
        if abort and carried.connection is not None:
            carried.connection.abort()
        carried.changed()
