"""The datagram protocol: messages between mailboxes, delivered if nothing goes wrong.

Source: "The Design of Nectar" (1989), section 6.2.2: low overhead, no guarantee. Messages are cut into packets and put
together again in the receiver's data memory by DMA; nothing is copied on the way. Ours: the header
(``software.packet``), and that a message that misses a fragment is dropped as a whole.
"""

from dataclasses import dataclass

from ..datalink.datalink import Switching
from ..datalink.fiberin import Answer
from ..errors import MessageTooLong, ProgramError
from ..kernel.lock import Lock
from ..kernel.mailbox import Mailbox
from ..kernel.message import areas_of
from ..kernel.plain import blocking
from ..packet import ANY_CAB, LAST_FRAGMENT, MAX_DATA, Protocol, pack, unpack
from .fetched import fetched
from .fragments import fragments

__all__ = ["Datagram", "CIRCUIT_FROM", "MAX_MESSAGE", "MAX_CIRCUIT_DATA"]

#: Bytes of the longest message.
MAX_MESSAGE = 1 << 16
#: Bytes of a message from which "auto" takes a circuit: measured, on one HUB it is faster from 3400 bytes on, on three
#: from 3900 (docs/routing.md).
CIRCUIT_FROM = 1 << 12
#: Bytes of a message in one packet under circuit switching.
MAX_CIRCUIT_DATA = 1 << 15

_DATAGRAM = int(Protocol.DATAGRAM)
# Looked up once: enumerations are slow, and these are wanted for every message.
_PACKET, _CIRCUIT, _AUTO = Switching.PACKET, Switching.CIRCUIT, Switching.AUTO
_BYTES = (bytes, bytearray, memoryview)


@dataclass(slots=True)
class DatagramCounters:
    """What the datagram protocol of one CAB has seen."""

    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    incomplete: int = 0  # messages dropped because a newer one began, a fragment was missing, or none came any more
    damaged: int = 0  # messages dropped because a fragment arrived with an error
    orphans: int = 0  # fragments of messages whose beginning never came
    misdelivered: int = 0  # packets for another CAB
    no_room: int = 0  # messages dropped at once, since one before them had waited in vain for the same room
    refused: int = 0  # messages for mailboxes that are closed, or that hold fewer bytes
    malformed: int = 0  # headers that contradict themselves


class _Stream:
    """The messages to one destination (or all multicasts), one after the other: receivers take one at a time from
    each sender."""

    __slots__ = ("destination", "number", "lock")

    def __init__(self, kernel, destination):
        self.destination = destination
        self.number = 0
        self.lock = Lock(
            kernel,
            "the end of a multicast" if destination == ANY_CAB else f"the end of another message to CAB {destination}",
            guard=True,
        )


class Datagram:
    """The datagram protocol of one CAB.

    Parameters
    ----------
    number : int
        The CAB's ID.
    kernel, memory, datalink
        The CAB's.
    mailboxes : dict of int → Mailbox
        The CAB's; mailboxes that a message names are made as needed.
    patience : int
        Looks of the datalink's watch without a new fragment after which an incomplete message is dropped.
    """

    __slots__ = (
        "number",
        "kernel",
        "memory",
        "datalink",
        "mailboxes",
        "counters",
        "_patience",
        "_streams",
        "_incoming",
        "_current",
        "_last",
        "_lacking",
        "_full",
    )

    def __init__(self, number, kernel, memory, datalink, mailboxes, patience):
        self.number = number
        self.kernel = kernel
        self.memory = memory
        self.datalink = datalink
        self.mailboxes = mailboxes
        self.counters = DatagramCounters()
        self._patience = patience
        self._streams = {}  # destination -> _Stream
        self._incoming = {}  # source << 8 | destination -> Message that is being put together
        self._current = None  # Message of the packet under way
        self._last = False  # whether that packet says that it is its last
        self._lacking = None  # (Mailbox, bytes) of the message that is held
        # Number of a mailbox, or None for data memory -> bytes from which on a message has waited for it in vain.
        self._full = {}
        datalink.register(Protocol.DATAGRAM, self)
        datalink.watch.watchers.append(self._tick)

    def mailbox(self, number):
        """The CAB's mailbox ``number`` (0 to 65535); made at first use."""
        box = self.mailboxes.get(number)
        if box is None:
            if not 0 <= number <= 0xFFFF:
                raise ValueError(f"a mailbox number is 0 to 65535, not {number}")
            box = self.mailboxes[number] = Mailbox(self.kernel, number)
        return box

    # -- sending, by threads -------------------------------------------------------------------------
    @blocking
    async def send(self, destination, data, switching=Switching.PACKET):
        """Sends a message to ``destination``: (CAB, mailbox), or (list of CABs, mailbox) for multicast.

        A CAB is given by its ID or its name.

        ``data`` is bytes, a Message, or a list of areas of data memory or of the node's memory, each (address, bytes).
        Bytes are first stored into data memory, and ``send`` returns when the message is in the fiber-out list. With
        areas nothing is copied, and it returns when all has left, so that they may be used again. Areas of the node's
        memory are fetched packet by packet while the packets before leave; by a circuit the message leaves when all has
        been fetched. Such a ``send`` returns when its last packet is in the fiber-out list.

        Raises MessageTooLong beyond MAX_MESSAGE bytes, NoRoute, CircuitError (under circuit switching, and under packet
        switching to several CABs on HUBs of different branches), NodeMemoryError if the node's memory does not give the
        bytes. That the message arrives is not promised.
        """
        cabs, mailbox = self.datalink.destination(destination, "mailbox")
        kernel = self.kernel
        if kernel.current.pending is not None:
            kernel.check_pending()
        own = isinstance(data, _BYTES)
        areas = () if own else tuple(areas_of(data, self.memory, admit=self.memory.admit_remote))
        length = len(data) if own else sum(size for _, size in areas)
        if length > MAX_MESSAGE:
            raise MessageTooLong(f"a datagram carries at most {MAX_MESSAGE} bytes, not {length}: send it in parts")
        fetch = None if own else await fetched(kernel, self.memory, areas)
        if fetch is None:
            await self._send(cabs, mailbox, data if own else None, areas, length, switching, None)
            return
        try:
            await self._send(cabs, mailbox, None, fetch.areas, length, switching, fetch)
        except BaseException:
            await fetch.drained()
            self.memory.free(fetch.block)
            raise

    async def _send(self, cabs, mailbox, data, areas, length, switching, fetch):
        """Sends the bytes of ``data``, or of areas of data memory if that is None, which ``fetch`` may still fill."""
        kernel = self.kernel
        own = data is not None
        if cabs == self.number:
            kernel.door.spent += kernel.costs.datagram_send
            if fetch is not None:
                await fetch.arrived(length)
            await self._deliver(mailbox, data if own else areas, length)
            if fetch is not None:
                self.memory.free(fetch.block)
            return
        datalink, memory = self.datalink, self.memory
        stream = self._streams.get(cabs) if isinstance(cabs, int) and not datalink.discovery.explored else None
        if stream is None:
            route, stream = await self._way(cabs)
        else:
            route = datalink.route(cabs)
        if len(areas) > route.areas:
            raise MessageTooLong(
                f"a message to {cabs} may have {route.areas} areas, not {len(areas)}: send fewer, or to fewer CABs at "
                f"once"
            )
        if not isinstance(switching, Switching):
            switching = Switching(switching)
        if switching is _AUTO:
            switching = _CIRCUIT if length >= CIRCUIT_FROM else _PACKET
        if not datalink.options.circuits:
            switching = _PACKET
        noted = kernel.notes.sending(_DATAGRAM, stream.destination, length) if kernel.door.groups else 0
        kernel.door.spent += kernel.costs.datagram_send
        done = block = None
        if own and length:
            block = memory.at_once(length)
            if block is None:
                block = await memory.in_turn(length)
            done = memory.free
            memory.write(block, data)
            areas = ((block, length),)
        elif fetch is not None:
            done = self.memory.free
        freed = block if fetch is None else fetch.block
        lock = stream.lock
        try:
            if lock.holder is not None:
                await lock.acquire()
            else:
                lock.holder = kernel.current
            try:
                number = stream.number
                stream.number = number + 1 & 0xFFFF
                if noted:
                    kernel.notes.numbered(_DATAGRAM, noted, stream.destination, number)
                if fetch is not None or length > MAX_DATA or switching is _CIRCUIT:
                    words = stream.destination, mailbox, number
                    await self._send_parts(route, words, areas, length, switching, done, freed, fetch)
                else:
                    kernel.door.spent += kernel.costs.datagram_fragment
                    header = pack(_DATAGRAM, self.number, stream.destination, LAST_FRAGMENT, mailbox, number, length, 0)
                    await datalink.send(route, header, areas, True, done, freed)
            finally:
                lock.release()
        except ProgramError:
            if block is not None or fetch is not None:
                await datalink.finish()
            if block is not None:
                memory.free(block)
            raise
        counters = self.counters
        counters.messages_sent += 1
        counters.bytes_sent += length
        if not own and fetch is None:
            await datalink.finish()

    async def _send_parts(self, route, words, areas, length, switching, done, argument, fetch):
        """Sends a message of several packets, by a circuit, or fetched. ``words``: destination, mailbox and number."""
        datalink, door = self.datalink, self.kernel.door
        destination, mailbox, number = words
        cost = self.kernel.costs.datagram_fragment
        if switching is _CIRCUIT:
            if fetch is not None:
                await fetch.arrived(length)
            packets = []
            for offset, part, last in fragments(areas, length, MAX_CIRCUIT_DATA):
                header = pack(_DATAGRAM, self.number, destination, last, mailbox, number, length, offset)
                packets.append((header, part))
            door.spent += cost * len(packets)
            await datalink.send_circuit(route, packets, done, argument)
            return
        for offset, part, last in fragments(areas, length, MAX_DATA):
            if fetch is not None:
                await fetch.arrived(min(offset + MAX_DATA, length))
            door.spent += cost
            header = pack(_DATAGRAM, self.number, destination, last, mailbox, number, length, offset)
            await datalink.send(route, header, part, bool(last) or fetch is not None, done if last else None, argument)

    async def _way(self, cabs):
        """Route and stream to a CAB or to several."""
        if isinstance(cabs, int):
            route, destination = await self.datalink.find(cabs), cabs
        else:
            if self.number in cabs:
                raise ValueError("a multicast does not reach its own sender: leave its ID out")
            route, destination = await self.datalink.find(*cabs), ANY_CAB
        stream = self._streams.get(destination)
        if stream is None:
            stream = self._streams[destination] = _Stream(self.kernel, destination)
        return route, stream

    async def _deliver(self, mailbox, data, length):
        """A message to this CAB itself: copied, never on the fiber."""
        box = self.mailbox(mailbox)
        message = await box.reserve(length)
        try:
            if isinstance(data, _BYTES):
                message.write(data)
            else:
                offset = 0
                for start, size in data:
                    message.write(await self.memory.read(start, size), offset)
                    offset += size
        except BaseException:
            message.free()
            raise
        box.commit(message)
        self.counters.messages_sent += 1
        self.counters.messages_received += 1
        self.counters.bytes_sent += length
        self.counters.bytes_received += length

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it."""
        kernel = self.kernel
        kernel.door.spent += kernel.costs.datagram_match
        _, source, destination, flags, mailbox, number, length, offset = unpack(header)
        if destination != self.number and destination != ANY_CAB:
            self.counters.misdelivered += 1
            return Answer.DISCARD
        if source == self.number or source == ANY_CAB:
            self.counters.malformed += 1
            return Answer.DISCARD
        self._last = flags & LAST_FRAGMENT
        key = source << 8 | destination
        message = self._incoming.get(key)
        if offset:
            if message is None:
                self.counters.orphans += 1
            elif (
                message.number == number
                and message.filled == offset
                and message.length == length
                and message.mailbox.number == mailbox
            ):
                self._current = key, message
                return message.address + offset, length - offset
            else:
                self.counters.incomplete += 1
                self._drop(key, message)
            return Answer.DISCARD
        if message is not None:
            self.counters.incomplete += 1
            self._drop(key, message)
        if length > MAX_MESSAGE:
            self.counters.malformed += 1
            return Answer.DISCARD
        box = self.mailboxes.get(mailbox)
        if box is None:
            box = self.mailbox(mailbox)
        if box.refuses(length):
            self.counters.refused += 1
            return Answer.DISCARD
        message = box.try_reserve(length, source, number)
        if message is None:
            # A held packet holds up all CABs that send to this one: room is waited for once, until there is some.
            self._lacking = box, length
            if length >= self._full.get(self._lack(box, length), length + 1):
                self.counters.no_room += 1
                return Answer.DISCARD
            return Answer.HOLD
        if self._full:
            self._full = {
                what: least for what, least in self._full.items() if what not in (None, mailbox) or length < least
            }
        self._incoming[key] = message
        self._current = key, message
        if box.on_begin is not None:
            box.on_begin(message)
        return message.address or self.memory.base, length

    def gave_up(self):
        """The message that was held has found no room in time."""
        box, length = self._lacking
        what = self._lack(box, length)
        self._full[what] = min(self._full.get(what, length), 0 if box.full else length)

    @staticmethod
    def _lack(box, length):
        """What there is too little of: the number of a mailbox, or None for data memory."""
        return None if box.fits(length) else box.number

    def received(self, length, good):
        """The packet has ended."""
        kernel = self.kernel
        kernel.door.spent += kernel.costs.datagram_received
        key, message = self._current
        self._current = None
        if not good:
            self.counters.damaged += 1
            self._drop(key, message)
            return False
        message.filled += length
        message.idle = 0
        if message.landing is not None:
            message.landing.more(message.filled)
        if message.filled < message.length:
            if self._last or not length:
                self.counters.malformed += 1
                self._drop(key, message)
            return True
        del self._incoming[key]
        self.counters.messages_received += 1
        self.counters.bytes_received += message.length
        kernel.notes.delivered(_DATAGRAM, message)
        message.mailbox.arrive(message)
        return False

    def _drop(self, key, message):
        """Forgets an incomplete message."""
        del self._incoming[key]
        if message.landing is not None:
            message.landing.lose()
        else:
            message.free()

    def _tick(self):
        """A look of the datalink's watch: messages of which nothing has come for a time are dropped."""
        for key, message in list(self._incoming.items()):
            message.idle += 1
            if message.idle > self._patience and (self._current is None or message is not self._current[1]):
                self.counters.incomplete += 1
                self._drop(key, message)
        return bool(self._incoming)
