"""Messages between the tasks of nodes: short ones in one trip, long ones in three.

Source: P. Pierce, "The NX/2 Operating System" (1988), section 3. Specification: docs/nx2.md.
"""

from collections import deque
from typing import NamedTuple

from ...hdl.host.events import EventGroup, EventKind, Layer
from ..errors import PeerStopped
from ..nectarine.keeper import SHARE, Kept
from ..packet import ENVELOPE, note_header
from ..packet import HEADER as PACKET_HEADER
from .channel import Channel
from .layout import BUFFERS, HEADER_BYTES, SHORT, Header, Kind
from .watch import Watch

__all__ = ["Messages"]

#: Short messages of a node that wait in its buffers before further ones are moved into the heap.
_LYING = BUFFERS // 2
_WITH_BYTES = (Kind.SHORT, Kind.DATA)
_LAYERS = {kind: Layer[f"NX2_{kind.name}"] for kind in Kind}
_MESSAGES = int(EventGroup.MESSAGES)
#: Bytes of a header that a recording has.
_NOTED = PACKET_HEADER.size


class _Heap(Kept):
    """Where messages that wait are kept. ``messages``: the Messages."""

    __slots__ = ("_messages",)

    def __init__(self, messages):
        super().__init__(messages.cab.id, messages.memory, lambda: None)
        self._messages = messages

    async def give(self, slot):
        """See Kept."""
        await self._messages.held_off(self.give_late, slot)


class _Wish(NamedTuple):
    """A long message that is to be asked for: its Arrival, the place for it, ``over(whole)`` when it is there (True),
    is no more (False), or never will be (PeerStopped)."""

    arrival: object
    address: int
    over: object


class _Coming:
    """A thread's wait for a long message. ``whole``: None, or what ``_Wish.over`` was given."""

    __slots__ = ("peer", "thread", "whole")

    def __init__(self, peer):
        self.peer = peer
        self.thread = self.whole = None

    def __str__(self):
        return f"the bytes of a message of node {self.peer}"


class Messages:
    """The message system of a node; in the carriage of its tasks it is ``channels``.

    Parameters
    ----------
    node : Node
    nodes : int
        How many there are.
    buffers : list of int
        Byte addresses of free short buffers: BUFFERS for each other node.

    Members
    -------
    cab : Node
    adapter : Adapter
        Set before the kernel runs.
    watch : Watch
    channels : list of Channel
        By the number of the other node.
    transfers : LongMessages
        Of the node's tasks, once there are any; so are ``deliver`` and ``lost``, see Channels.
    users : int
        Tasks of the node.
    sent : dict of Kind → int
        Messages handed to the hardware.
    """

    __slots__ = (
        "cab",
        "kernel",
        "door",
        "memory",
        "nodes",
        "adapter",
        "watch",
        "transfers",
        "deliver",
        "lost",
        "users",
        "sent",
        "channels",
        "_free",
        "_heap",
        "_unasked",
        "_wanted",
        "_granted",
    )

    def __init__(self, node, nodes, buffers):
        self.cab = node
        self.kernel, self.door, self.memory = node.kernel, node.door, node.memory
        self.nodes = nodes
        self.adapter = self.transfers = self.deliver = self.lost = None
        self.users = 0
        self.sent = dict.fromkeys(Kind, 0)
        self.watch = Watch(self)
        self.channels = [Channel(self, peer) for peer in range(nodes)]
        self._free = buffers
        self._heap = _Heap(self)
        self._unasked = []  # Arrivals of long messages for which there was no memory
        self._wanted = deque()  # _Wish
        self._granted = None  # the _Wish that has been asked for
        self.kernel.on_room = self._keep_more

    def __getitem__(self, peer):
        """The Channel to a node."""
        return self.channels[peer]

    def rest(self):
        """No task of this node is left: short buffers stay reserved."""

    async def held_off(self, action, *arguments):
        """By a thread: ``action(*arguments)`` with interrupts held off, behind all that was posted."""
        self.door.mask()
        now = await self.door.now()
        action(*arguments)
        if self.watch.due:
            self.watch.begin(now)
        self.door.unmask()

    # -- out; either level, interrupts held off ------------------------------------------------------
    def post(self, kind, node, to=0, by=0, type=0, length=0, number=0, **bytes):
        """Hands a message to the hardware, if its node is not given up; ``bytes`` as of Adapter.post."""
        error = self[node].error
        if error is not None:
            if "on_sent" in bytes:
                bytes["on_sent"](error)
            return
        self.sent[kind] += 1
        me = self.cab.id
        self.adapter.post(Header(kind, 0, me, me ^ node, to, by, type, length, number), **bytes)

    def launched(self, header):
        """The header goes out: with the buffers that are owed to its node."""
        return header.returning(self[self.cab.id ^ header.probe].returned())

    def queued(self, header, noted):
        """DMA is told of a message next, and messages are recorded: its number is that among those to its node."""
        channel = self[self.cab.id ^ header.probe]
        channel.queued += 1
        self.kernel.notes.numbered(_LAYERS[header.kind], noted, channel.peer, channel.queued)
        note_header(self.door, EventKind.QUEUED, header.pack()[:_NOTED])

    # -- in, at interrupt level ----------------------------------------------------------------------
    async def arrived(self, head):
        """A message has arrived at ``head``. Returns the place for the next one."""
        costs = self.kernel.costs
        header = Header.unpack(await self.door.read_block(head, HEADER_BYTES))
        kind, channel = header.kind, self[header.source]
        channel.came += 1
        if self.door.groups & _MESSAGES:
            note_header(self.door, EventKind.ARRIVED, header.pack()[:_NOTED])
        self.door.spend(costs.arrive if kind in _WITH_BYTES else costs.control)
        channel.watch.heard(kind not in (Kind.RETURN, Kind.ASK) or header.returned > 0)
        channel.take_back(header.returned)
        if kind == Kind.SHORT:
            slot, head = head, self._free.pop()
            channel.lying += 1
            self._complete(channel, header)
            arrival = self._deliver(channel, header, slot)
            if channel.lying > _LYING and _waits(arrival) and arrival.slot is not None:
                await self._move(arrival)
        elif kind == Kind.PROXY:
            channel.owe()
            arrival = self._deliver(channel, header, None)
            if _waits(arrival):
                self._keep(arrival)
        elif kind == Kind.GRANT:
            self._grant(channel.peer, header.number)
        elif kind == Kind.ASK:
            self.post(Kind.RETURN, channel.peer, first=True)
        elif kind in (Kind.DATA, Kind.GONE) and self.asked == channel.peer:
            if kind == Kind.DATA:
                self._complete(channel, header)
            await self._came(head, kind == Kind.DATA)
        return head

    def _complete(self, channel, header):
        """All bytes of a message are here."""
        self.kernel.notes.arrived(_LAYERS[header.kind], channel.peer, channel.came, header.length)

    def _deliver(self, channel, header, slot):
        envelope = ENVELOPE.pack(header.to, header.by, header.type, header.length, header.number)
        return self.deliver(channel, envelope, slot)

    def freed(self, slot):
        """A short buffer is free."""
        self._free.append(slot)

    async def copy(self, source, target, length):
        """The CPU copies bytes of memory."""
        if length:
            self.door.write_block(target, await self.door.read_block(source, length))
            self.door.spend((length + 3) // 4 * self.kernel.costs.copy_word)

    # -- messages that wait --------------------------------------------------------------------------
    def _block(self, length):
        """Address of a block for a message that waits, or None."""
        memory = self.memory
        if memory.used + (1 << max(0, length - 1).bit_length()) > memory.size // SHARE:
            return None
        return memory.try_allocate(length)

    async def _move(self, arrival):
        """Moves a short message that waits from its buffer into the heap, if there is room."""
        slot = arrival.slot
        address = self._block(arrival.length)
        if address is not None:
            await self.copy(arrival.address, address, arrival.length)
            arrival.channel.give_late(slot)
            arrival.slot, arrival.channel = address, self._heap

    def _keep(self, arrival):
        """Asks for a long message that waits, if there is room for it in the heap."""
        address = self._block(arrival.length)
        if address is None:
            self._unasked.append(arrival)
            return
        arrival.moving = True
        self._want(_Wish(arrival, address, lambda whole: self._kept(arrival, address, whole)))

    def _kept(self, arrival, address, whole):
        arrival.moving = False
        if whole is True and not arrival.gone:
            arrival.transfer, arrival.slot, arrival.channel = 0, address, self._heap
        else:
            self.memory.free(address)
        arrival.inbox.changed()

    def _keep_more(self):
        """There is memory: asks for what has found none. From both levels."""
        unasked, self._unasked = self._unasked, []
        for arrival in unasked:
            if not arrival.gone and _waits(arrival):
                self._keep(arrival)
        if unasked and not self.adapter.active:
            self.kernel.spawn(self.held_off, lambda: None, name="messages that wait")

    # -- long messages -------------------------------------------------------------------------------
    async def fetch(self, arrival, address):
        """By a thread: brings the bytes of a long message to ``address``. False if it is no more. Raises
        PeerStopped."""
        self._unasked = [each for each in self._unasked if each is not arrival]
        coming = _Coming(arrival.channel.peer)

        def over(whole):
            coming.whole = whole
            if coming.thread is not None:
                self.door.spend(self.kernel.costs.wake)
                self.kernel.wake(coming.thread)

        await self.held_off(self._want, _Wish(arrival, address, over))
        if coming.whole is None:
            coming.thread = self.kernel.current
            await self.kernel.block(coming, None)
        if isinstance(coming.whole, PeerStopped):
            raise coming.whole
        return coming.whole

    @property
    def asked(self):
        """The node that has been asked for a long message and has not sent it, or None."""
        return None if self._granted is None else self._granted.arrival.source[0]

    def _want(self, wish):
        error = self[wish.arrival.source[0]].error
        if error is not None:
            wish.over(error)
            return
        self._wanted.append(wish)
        self._ask()

    def _ask(self):
        """Asks for the next long message."""
        if self._granted is None and self._wanted:
            self._granted = self._wanted.popleft()
            arrival, address, _ = self._granted
            self.adapter.body(address + SHORT, arrival.length - SHORT)
            self.post(Kind.GRANT, arrival.source[0], number=arrival.transfer)

    def _grant(self, peer, number):
        """A node asks for a long message."""
        transfer = self.transfers.granted(number)
        if transfer is None:
            self.post(Kind.GONE, peer, number=number)
            return
        place = {"address": transfer.address, "size": transfer.length}
        left = self.transfers.left
        self.post(
            Kind.DATA,
            peer,
            length=transfer.length,
            number=number,
            on_sent=lambda error: left(transfer, error),
            noted=transfer.noted,
            **place,
        )

    async def _came(self, head, whole):
        """The long message that was asked for is there, but for its first bytes; or it is no more."""
        (_, address, over), self._granted = self._granted, None
        if whole:
            await self.copy(head + HEADER_BYTES, address, SHORT)
        self._ask()
        over(whole)

    # -- nodes that are given up ---------------------------------------------------------------------
    def stuck(self, header):
        """At interrupt level: a message was aborted. Returns the error."""
        return self.give_up(self.cab.id ^ header.probe, "does not take a message that is being sent to it")

    def give_up(self, peer, what):
        """At interrupt level: a node is taken for stopped, since it does or does not do ``what``. Returns the error."""
        channel = self[peer]
        if channel.error is not None:
            return channel.error
        error = PeerStopped(f"node {peer} {what}: it is taken for stopped")
        channel.give_up(error)
        self.adapter.cancel(self.cab.id ^ peer, error)
        wishes = [*self._wanted, *([self._granted] if self._granted is not None else [])]
        if self.asked == peer:
            self._granted = None
        self._wanted = deque(wish for wish in self._wanted if wish.arrival.source[0] != peer)
        for wish in wishes:
            if wish.arrival.source[0] == peer:
                wish.over(error)
        if self.lost is not None:
            self.lost(channel, error)
        self._ask()
        return error


def _waits(arrival):
    """Whether no thread will take a message at once."""
    return arrival is not None and (arrival.receive is None or arrival.receive.waiter is None)
