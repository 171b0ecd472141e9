"""What processes of a node call: datagrams, mailboxes, calls and services. Specification: docs/nodes.md.

Source: "The Design of Nectar" (1989), section 6.2.3: a node's process builds and consumes messages in place in CAB
memory, by polling."""

from .. import names
from ..datalink.datalink import Switching
from ..errors import ProgramError
from ..kernel.plain import blocking
from .layout import ARRIVAL, BOXES, CIRCUIT, COUNTS, INTO, Code, arrival_at
from .memory import Expected
from .shared import PATIENCE_US

__all__ = [
    "NodeDatagram",
    "NodeMailbox",
    "NodeMessage",
    "NodeMulticasts",
    "NodeRequest",
    "NodeRequests",
    "NodeService",
    "Reader",
    "check_timeout",
    "to_one",
]

#: Between two looks whether another process has opened a mailbox.
_LOOK_US = 20


class NodeMessage:
    """A message in CAB memory that a node's process reads.

    Members
    -------
    length : int
        Bytes.
    source : int
        ID of the CAB that it came from.
    number : int
        The sender's count.
    """

    __slots__ = ("length", "source", "number", "_shared", "_address", "_box", "_count", "_era")

    def __init__(self, shared, box, count, address, length, source, number):
        self.length = length
        self.source = source
        self.number = number
        self._shared = shared
        self._address = address
        self._box = box
        self._count = count
        self._era = box.era

    @blocking
    async def read(self, offset=0, length=None):
        """``length`` bytes from ``offset`` on; all by default. ValueError if the message does not have them."""
        length = self.length - offset if length is None else length
        if offset < 0 or length < 0 or offset + length > self.length:
            raise ValueError(f"a message of {self.length} bytes has no {length} bytes at {offset}")
        if not length:
            return b""
        if self._box is None:
            raise ValueError("the message has been freed: read it before")
        if self._box.era != self._era:
            raise ValueError(
                f"the CAB has taken the message back, since {self._box} was closed or the CAB has started anew: read "
                f"it before"
            )
        with self._shared.bus():
            data = await self._shared.load(self._address + offset, length)
        self._shared.node.copies.node_in += length
        return data

    def free(self):
        """Gives it back to the CAB. ValueError if that has been done."""
        if self._box is None:
            raise ValueError("the message has been freed before")
        box, self._box = self._box, None
        if box.era == self._era:
            box.release(self._count)


class Reader:
    """A box, as the node reads from it."""

    code = None  # that opens it

    def __init__(self, node, number):
        if not 0 <= number <= 0xFFFF:
            raise ValueError(f"the number of a mailbox or service is 0 to 65535, not {number}")
        self.node = node
        self.number = number
        self._shared = node.shared
        self._box = None
        self._boot = None
        self._opening = False  # by some process
        self._eras = 0  # how often it was opened or closed
        self._taken = 0  # messages of this box that processes have had
        self._released = 0  # of those, all up to this one have been given back
        self._back = set()  # given back beyond that

    @property
    def era(self):
        """Changes when messages that processes have are the CAB's again."""
        return self._eras, self.node.boot

    @blocking
    async def open(self):
        """Has the CAB put its messages where the node sees them. Nothing if it is open."""
        await self.node.attached()
        while self._opening:
            await self.node.sleep(_LOOK_US)
        if self._box is not None and self._boot == self.node.boot:
            return
        self._opening = True
        try:
            await self._open()
        finally:
            self._opening = False

    async def _open(self):
        shared = self._shared
        box = next((box for box in range(BOXES) if box not in shared.boxes), None)
        if box is None:
            raise ProgramError(f"{self.node.name} reads from {BOXES} mailboxes and services already: close one")
        shared.boxes[box] = self
        self._taken = self._released = shared.released[box]
        self._back.clear()
        try:
            with shared.bus():
                await shared.done(
                    await shared.place(self.code, f"opening {self}", box=box, port=self.number, cab=self._extra())
                )
        except BaseException:
            del shared.boxes[box]
            raise
        self._box, self._boot = box, self.node.boot
        self._eras += 1

    def _extra(self):
        """What else the CAB is told."""
        return 0

    @blocking
    async def close(self):
        """The CAB takes back what has not been given back; what comes later is refused. Nothing if it is closed."""
        if self._box is None:
            return
        shared, box, self._box = self._shared, self._box, None
        self._eras += 1
        if self._boot == self.node.boot:
            with shared.bus():
                await shared.done(await shared.place(Code.CLOSE, f"closing {self}", box=box))
            shared.boxes.pop(box, None)

    async def _take(self, timeout_us):
        """The entry of the next message: its count, address, length, word."""
        await self.open()
        with self._shared.bus():
            return await self._shared.poll(self._look, f"something in {self}", timeout_us)

    async def _look(self):
        if self._box is None:
            raise ProgramError(f"{self} has been closed")
        return await self._entry(self._box)

    async def _entry(self, box):
        """The entry of the next message of a box, or None."""
        count, address = self._taken, arrival_at(box, self._taken)
        after = count + 1 & 0xFFFFFFFF
        if await self.node.door.read(address + ARRIVAL.size - 4) != after or self._taken != count:
            return None
        self._taken = after
        self.node.door.spend(self.node.costs.receive)
        return (after, *ARRIVAL.unpack_from(await self.node.door.read_block(address, ARRIVAL.size - 4) + bytes(4))[:3])

    def release(self, count):
        """The CAB may have the message of that count back; posted."""
        shared, box = self._shared, self._box
        self._back.add(count)
        door = self.node.door
        door.spend(self.node.costs.release)
        before = self._released
        while (after := self._released + 1 & 0xFFFFFFFF) in self._back:
            self._back.remove(after)
            self._released = shared.released[box] = after
        if self._released != before:
            door.write(COUNTS + 4 + 4 * box, self._released)
            self.node.ring()


class NodeMailbox(Reader):
    """A mailbox of the CAB, read by processes of its node; made by ``Node.mailbox``."""

    code = Code.OPEN
    #: Whether processes may sleep until a message comes: set before it is opened.
    rouses = False
    #: How often messages were asked for that go into buffers, since it was closed; refused ones not counted.
    expected = 0

    def __str__(self):
        return f"mailbox {self.number} of {self.node.name}"

    def _extra(self):
        return int(self.rouses)

    async def look(self):
        """The oldest NodeMessage if there is one, else None. It must be open. Raises ProgramError, CabSilent."""
        with self._shared.bus():
            entry = await self._look()
        return None if entry is None else self._message(*entry)

    def _message(self, count, address, length, word):
        return NodeMessage(self._shared, self, count, address, length, word >> 16, word & 0xFFFF)

    @blocking
    async def receive(self, timeout_us=None, into=None):
        """The oldest NodeMessage; polls until there is one. Opens the mailbox if need be. Raises TimedOut, CabSilent.

        ``into``: a Buffer, or a Part of one, that the CAB's DMA puts the bytes into as they arrive; a Received then.
        Raises MessageTooLong for a message with more bytes, which stays in the mailbox, and NodeMemoryError. A mailbox
        is read either this way or the other until it is closed.
        """
        if into is None:
            return self._message(*await self._take(timeout_us))
        return await (await self.expect(into, timeout_us)).done()

    @blocking
    async def expect(self, into, timeout_us=None):
        """As ``receive`` with ``into``, but returns an Expected when the CAB has been told: the next message arrives
        while the process does something else."""
        into.check(self.node.memory)
        if timeout_us is not None:
            check_timeout(timeout_us)
        await self.node.attached()
        with self._shared.bus():
            command = await self._shared.place(
                Code.RECEIVE,
                f"a message of {self}",
                port=self.number,
                address=into.address,
                length=into.length,
                timeout_us=int(timeout_us or 0),
            )
        self.expected += 1
        return Expected(self, command, into, timeout_us)

    @blocking
    async def close(self):
        """As ``Reader.close``; what waits for a message to be put into a buffer ends with BadCommand."""
        if self.expected:
            self.expected = 0
            shared = self._shared
            with shared.bus():
                await shared.done(await shared.place(Code.CANCEL, f"closing {self}", port=self.number))
        await super().close()


class NodeService(Reader):
    """A service that the node offers; made by ``NodeRequests.serve``."""

    code = Code.SERVE

    def __str__(self):
        return f"service {self.number} of {self.node.name}"

    @blocking
    async def receive(self, timeout_us=None):
        """The oldest NodeRequest; polls until there is one. Raises TimedOut, CabSilent."""
        count, address, length, word = await self._take(timeout_us)
        return NodeRequest(self._shared, self, count, address, length, word >> 24, word & 0xFFFFFF)


class NodeRequest(NodeMessage):
    """A request, as a node's process has it; ``number`` is the CAB's for it."""

    __slots__ = ()

    @blocking
    async def reply(self, data=b""):
        """Answers with ``data`` and gives the request back. Returns when the client has the answer; True if it still
        waited for it."""
        shared = self._shared
        with shared.bus():
            address = await shared.build(data)
            self.free()
            command = await shared.place(Code.REPLY, "an answer", cab=self.number, address=address, length=len(data))
            client_waited, _ = await shared.done(command, 10 * PATIENCE_US)
        return bool(client_waited)


class NodeMulticasts:
    """Reliable multicasts of a node: ``node.multicast``."""

    def __init__(self, node):
        self._node = node

    @blocking
    async def send(self, destination, data, timeout_us=2 * PATIENCE_US):
        """Sends bytes to (list of CABs, mailbox), CABs by ID or name; returns when each has them in that mailbox.

        Raises MulticastFailed after ``timeout_us``, MessageTooLong, NoRoute, CabSilent, BadCommand.
        """
        node = self._node
        cabs, mailbox = names.destination(destination, "mailbox", node.names)
        check_timeout(timeout_us)
        bits = 0
        for cab in [cabs] if isinstance(cabs, int) else cabs:
            bits |= 1 << cab
        await node.attached()
        shared = node.shared
        with shared.bus():
            command = await shared.place(
                Code.MULTICAST,
                f"a multicast to mailbox {mailbox}",
                port=mailbox,
                address=await shared.build(data),
                length=len(data),
                timeout_us=int(timeout_us),
                call=[bits >> 32 * word & 0xFFFFFFFF for word in range(8)],
            )
            await shared.done(command, timeout_us + PATIENCE_US)


class NodeDatagram:
    """Datagrams of a node: ``node.datagram``."""

    def __init__(self, node):
        self._node = node

    @blocking
    async def send(self, destination, data, switching=Switching.PACKET):
        """Sends bytes to (CAB, mailbox), the CAB by ID or name; returns when all has left the CAB. ``switching``: a
        Switching (``software.datalink.datalink``), by packets or by a circuit.

        Raises MessageTooLong, NoRoute, CircuitError, CabSilent.
        """
        await (await self.start(destination, data, switching)).done()

    @blocking
    async def start(self, destination, data, switching=Switching.PACKET):
        """The same, but returns a Started when the CAB has been told: the next message can be built while this one
        leaves."""
        node = self._node
        cab, mailbox = to_one(destination, "mailbox", node)
        box = CIRCUIT if switching is Switching.CIRCUIT else 0
        await node.attached()
        shared = node.shared
        with shared.bus():
            command = await shared.place(
                Code.DATAGRAM,
                f"a datagram to CAB {cab}",
                box=box,
                port=mailbox,
                cab=cab,
                address=await shared.build(data),
                length=len(data),
            )
        return Started(shared, command)


class Started:
    """A datagram that the CAB sends."""

    __slots__ = ("_shared", "_command")

    def __init__(self, shared, command):
        self._shared = shared
        self._command = command

    @blocking
    async def done(self):
        """Waits until it has left; raises as ``NodeDatagram.send``."""
        await self._shared.done(self._command)


class NodeRequests:
    """Calls and services of a node: ``node.request``."""

    def __init__(self, node):
        self._node = node

    @blocking
    async def call(self, destination, data=b"", timeout_us=PATIENCE_US, into=None):
        """Calls service (CAB, service), the CAB by ID or name, and returns the bytes of the answer; with ``into``, a
        Buffer or a Part of one that the CAB's DMA puts them into, that Part of it.

        Raises a CallError, MessageTooLong, NoRoute, CabSilent; NodeMemoryError of a Buffer.
        """
        node = self._node
        cab, service = to_one(destination, "service", node)
        check_timeout(timeout_us)
        await node.attached()
        shared = node.shared
        with shared.bus():
            address = await shared.build(data)
            what = f"the call of service {service} on CAB {cab}"
            place = None
            if into is not None:
                into.check(node.memory)
                place = [into.address, into.length, 0, 0, 0, 0, 0, 0]
            command = await shared.place(
                Code.CALL,
                what,
                box=INTO if place else 0,
                port=service,
                cab=cab,
                address=address,
                length=len(data),
                timeout_us=int(timeout_us),
                call=place,
            )
            address, length = await shared.done(command, timeout_us + PATIENCE_US)
            if into is not None:
                node.copies.dma_in += length
                return into.part(0, length)
            if not length:
                return b""
            answer = await shared.load(address, length)
            node.copies.node_in += length
            await shared.place(Code.FREE, "giving back an answer", address=address)
        return answer

    @blocking
    async def serve(self, service):
        """Offers a service: a NodeService, open."""
        offered = NodeService(self._node, service)
        await offered.open()
        return offered


def check_timeout(timeout_us):
    """ValueError for what is no time-out of a command."""
    if not 0 < timeout_us < 1 << 32:
        raise ValueError(f"a time-out is more than 0 us and less than 2**32, not {timeout_us}")


def to_one(given, what, node):
    """(CAB ID, number) of a destination that a process has given."""
    cab, number = names.destination(given, what, node.names)
    if not isinstance(cab, int):
        raise TypeError(f"a node sends to one CAB at a time, not to {cab!r}")
    return cab, number
