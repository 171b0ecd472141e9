"""Messages on their way: out, perhaps several times, and in, fragment by fragment, at places in data memory.

Source: "The Design of Nectar" (1989), section 6.2.2: a message is a list of areas, and nothing is copied between
transport and datalink. Ours: who frees a block, and when. Fiber out may still need it when the transport does not; the
DMA of a fragment may still fill it."""

from ..errors import MessageTooLong, NodeMemoryError
from ..kernel.message import Message, areas_of
from ..kernel.thread import BLOCK
from ..packet import ANY_CAB, MAX_DATA, Protocol
from .fetched import fetched
from .fragments import Assembly, parts

__all__ = ["OutgoingMessage", "Reassembly", "empty", "pack_up"]

_REQUEST, _MULTICAST = int(Protocol.REQUEST), int(Protocol.MULTICAST)


async def pack_up(kernel, memory, data, limit, most_areas, sent, timeout_us=None):
    """An OutgoingMessage of ``data``: bytes, which are stored into a block of their own, a Message, or a list of (byte
    address, bytes), which stay where they are, but are fetched from the node's memory first. ``sent``: what
    ``Notes.sending`` wants besides the bytes.

    Waits for data memory as ``Memory.allocate`` does, ``timeout_us`` at most (TimedOut). Raises MessageTooLong for more
    than ``limit`` bytes or, in a packet, more than ``most_areas`` areas; TypeError, ValueError for what is no message.
    """
    if isinstance(data, (bytes, bytearray, memoryview)):
        length = len(data)
        _check(length, limit)
        noted = kernel.notes.sending(*sent, length)
        if not length:
            return empty(kernel, memory, noted)
        block = await memory.allocate(length, timeout_us)
        memory.write(block, data)
        await kernel.door.now()  # the bytes are there when a handler posts a packet of them
        return OutgoingMessage(kernel, memory, ((block, length),), length, noted, block)
    areas = tuple(areas_of(data, memory, admit=memory.admit_remote))
    length = sum(size for _, size in areas)
    _check(length, limit)
    fetch = await fetched(kernel, memory, areas)
    if fetch is not None:
        # A handler may post any packet again: all must be there.
        try:
            await fetch.arrived(length)
        except NodeMemoryError:
            await fetch.drained()
            memory.free(fetch.block)
            raise
        noted = kernel.notes.sending(*sent, length)
        return OutgoingMessage(kernel, memory, fetch.areas, length, noted, fetch.block)
    parcel = OutgoingMessage(kernel, memory, areas, length, kernel.notes.sending(*sent, length))
    longest = max(len(part) for part in parcel.parts)
    if longest > most_areas:
        raise MessageTooLong(
            f"a packet on this route may have {most_areas} areas, not {longest}: send fewer and larger ones"
        )
    return parcel


def empty(kernel, memory, noted=0):
    """A OutgoingMessage without a byte."""
    return OutgoingMessage(kernel, memory, (), 0, noted)


def _check(length, limit):
    if length > limit:
        raise MessageTooLong(f"a message has at most {limit} bytes, not {length}: send it in parts")


class OutgoingMessage:
    """A message to send. Its owner gives it up by ``release``; a block of its own is freed when no packet needs it
    either.

    Members
    -------
    length : int
        Bytes.
    parts : list of list of (byte address, bytes)
        The areas of each fragment.
    """

    __slots__ = ("kernel", "memory", "length", "parts", "_noted", "_sent", "_block", "_flying", "_released", "_waiting")

    def __init__(self, kernel, memory, areas, length, noted, block=None):
        self.kernel = kernel
        self.memory = memory
        self.length = length
        self.parts = parts(areas, length)
        self._noted = noted  # its number in a recording; 0: it is not recorded
        self._sent = set()  # then the (number), and (number, fragment, destination) of packets
        self._block = block
        self._flying = 0  # packets posted whose leaving is waited for
        self._released = False
        self._waiting = None  # thread in ``drained``

    @property
    def own(self):
        """Whether the bytes lie in a block of its own, rather than in areas of the caller's."""
        return self._block is not None or not self.length

    @property
    def flying(self):
        """Whether a packet of it is still on its way out: who misses something may have it before it asks again."""
        return self._flying > 0

    def post(self, datalink, route, header, index, wait=True):
        """Posts fragment ``index`` behind ``header``; ``wait`` as for ``Datalink.post``. From both levels."""
        if self._noted:
            self._note(header, index)
        self._flying += 1
        datalink.post(route, header, self.parts[index], self._left, None, wait)

    async def send(self, datalink, route, header, index):
        """The same from a thread, at once if fiber out is free. It never waits, so that time-outs hold, unless the
        route has several stages."""
        part = self.parts[index]
        if not route.before and not datalink.out.immediate(len(route.packet) + len(part) + 2):
            self.post(datalink, route, header, index)
            return
        if self._noted:
            self._note(header, index)
        self._flying += 1
        try:
            await datalink.send(route, header, part, True, self._left, None)
        except BaseException:
            self._left(None)
            raise

    def _note(self, header, index):
        """Notes the number of which it is the first packet, or that it is sent once more."""
        layer, destination, number = header[0], header[2], header[6] << 8 | header[7]
        sent, notes = self._sent, self.kernel.notes
        if number not in sent:
            sent.add(number)
            notes.numbered(layer, self._noted, destination, number)
        elif (number, index, destination) in sent or (number, index, ANY_CAB) in sent:
            notes.repeated(layer, destination, number)
        sent.add((number, index, destination))

    def _left(self, _):
        self._flying -= 1
        if not self._flying:
            if self._released:
                self._free()
            if self._waiting is not None:
                self.kernel.wake(self._waiting)
                self._waiting = None

    def release(self):
        """Nothing more of it will be posted."""
        self._released = True
        if not self._flying:
            self._free()

    def _free(self):
        if self._block is not None:
            self.memory.free(self._block)
            self._block = None

    async def drained(self):
        """Waits until nothing of it is on its way out. No time-out: the areas are fiber out's until then, which
        gives everything back in the end."""
        while self._flying:
            self._waiting = self.kernel.current
            self._waiting.waits_for = "areas of a message that fiber out still needs"
            await BLOCK


class Reassembly:
    """A message that is being put together in data memory.

    Members
    -------
    assembly : Assembly
        What has arrived.
    address : int or None
        Where it lies.
    taken : bool
        Whether it has become a Message.
    busy : bool
        Whether the DMA of a fragment runs.

    ``free``: called with the address when the block is not needed any more and no Message has it; by default
    ``memory.free``.
    """

    __slots__ = ("memory", "assembly", "address", "taken", "busy", "_free_block", "_given_up")

    def __init__(self, memory, length, address, free=None):
        self.memory = memory
        self._free_block = free or memory.free
        self.assembly = Assembly(length)
        self.address = address
        self.taken = False
        self.busy = False
        self._given_up = False

    @classmethod
    def begin(cls, memory, length):
        """One with a block of its own; None if there is no memory now."""
        address = None
        if length:
            address = memory.try_allocate(length)
            if address is None:
                return None
        return cls(memory, length, address)

    def place(self, index):
        """Byte address for fragment ``index``, whose DMA begins: until ``placed``, the block stays."""
        self.busy = True
        return self.memory.base if self.address is None else self.address + index * MAX_DATA

    def placed(self):
        """The DMA has ended. False if the message has been given up meanwhile."""
        self.busy = False
        if self._given_up:
            self._free()
        return not self._given_up

    def give_up(self):
        """It is not wanted any more: frees the block, at once or behind the DMA."""
        self._given_up = True
        if not self.busy:
            self._free()

    def _free(self):
        if self.address is not None:
            address, self.address = self.address, None
            self._free_block(address)

    def message(self, source, number, mailbox=None):
        """The Message, once all has arrived; the block is its own from now on."""
        message = Message(self.memory, self.address, self.assembly.length, source, number, mailbox)
        self.address = None
        self.taken = True
        self.memory.kernel.notes.delivered(_REQUEST if mailbox is None else _MULTICAST, message)
        return message
