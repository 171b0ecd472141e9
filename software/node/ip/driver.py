"""The network driver of a node: IP packets between the host's network and the rings that it shares with its CAB.

Source: "The Design of Nectar" (1989), section 6.2.3: the third way into a node. Specification: docs/net.md."""

from collections import deque
from dataclasses import dataclass

from ...door import BusError
from ...packet import ANY_CAB
from .layout import (
    ARRIVED,
    LEFT_WORD,
    PUT,
    PUT_WORD,
    RING_EVERY,
    SLEEPS_WORD,
    SLOTS,
    TAKEN_WORD,
    Part,
    arrived_at,
    in_slot,
    out_slot,
    padded,
    put_at,
)
from .packets import Wrong, check

__all__ = ["Driver", "QUEUE"]

#: Packets that wait for room in the ring, at most.
QUEUE = 64
_WORD = (1 << 32) - 1
#: How long the driver waits between two looks at a full ring, and after how many of them it rings, in microseconds.
_FULL_US, _REMIND = 20, 50


@dataclass(slots=True)
class DriverCounters:
    """What a driver has carried and dropped."""

    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    ipv6: int = 0  # dropped: not IPv4
    malformed: int = 0  # dropped: no packet of IPv4
    too_long: int = 0  # dropped: longer than the MTU
    unreachable: int = 0  # dropped: for no CAB of this network
    queue_full: int = 0  # dropped: QUEUE packets wait already

    @property
    def dropped(self):
        """Packets that the driver has not sent."""
        return self.ipv6 + self.malformed + self.too_long + self.unreachable + self.queue_full


class Driver:
    """One network driver.

    Parameters
    ----------
    node : Node
        Which has its CAB's Station.
    network : Network
        Which CAB has which address (``ip.packets``).
    deliver : callable(bytes, bool)
        Takes each packet that comes; True: its transport checksum has not been filled in.

    Members
    -------
    counters : DriverCounters
    """

    def __init__(self, node, network, deliver):
        self.node = node
        self.counters = DriverCounters()
        self._network = network
        self._deliver = deliver
        self._queue = deque()  # (packet, unsummed, CAB)
        self._asleep = None  # the thread, while it sleeps
        self._put = self._taken = self._left = self._told = 0
        self._full = 0  # looks at a full ring in a row
        node.on_packet = self._rouse
        node.on_call.append(self._rouse)
        node.spawn(self._run, name="network driver", daemon=True)

    # -- from outside --------------------------------------------------------------------------------
    def send(self, packet, unsummed=False):
        """Queues an IP packet (bytes), or drops and counts it. While no software of the node has a turn. ``unsummed``:
        its transport checksum is not filled in. True: the node has to be woken (``machine.wake``)."""
        counters = self.counters
        try:
            cab = check(packet, self._network)
            if cab == self.node.network.hosts.own_id:
                raise Wrong("unreachable")
        except Wrong as wrong:
            setattr(counters, wrong.counter, getattr(counters, wrong.counter) + 1)
            return False
        if len(self._queue) >= QUEUE:
            counters.queue_full += 1
            return False
        self._queue.append((packet, unsummed, cab))
        return self._rouse()

    @property
    def waiting(self):
        """Packets that have not been put into the ring yet."""
        return len(self._queue)

    def _rouse(self):
        """There may be something to do. Returns whether the driver slept."""
        thread, self._asleep = self._asleep, None
        if thread is None:
            return False
        self.node.kernel.wake(thread)
        return True

    # -- the driver's own thread ---------------------------------------------------------------------
    async def _run(self, node):
        await node.attached()
        while True:
            boot = node.boot
            self._put = self._taken = self._left = self._told = self._full = 0
            try:
                while node.boot == boot:
                    if not await self._work():
                        await self._sleep(boot)
            except BusError:  # the CAB is being reset
                while node.boot == boot:
                    await self._block()

    async def _work(self):
        """Takes a packet and puts one, if there are any; whether there was anything."""
        taken = await self._take()
        if self._queue:
            await self._offer(taken)
            return True
        return taken

    async def _sleep(self, boot):
        """Until there is something to do."""
        door = self.node.door
        if self._told != self._taken:
            self._ring()
        door.write(SLEEPS_WORD, 1)
        if not await self._come() and not self._queue and self.node.boot == boot:
            await self._block()
        door.write(SLEEPS_WORD, 0)

    async def _block(self):
        self._asleep = self.node.kernel.current
        await self.node.kernel.block("a packet", lambda: setattr(self, "_asleep", None))

    def _ring(self):
        self._told = self._taken
        self.node.ring()

    async def _come(self):
        """Whether another packet has come: the last word of its entry is stored last."""
        count = await self.node.door.read(arrived_at(self._taken) + ARRIVED.size - 4)
        return count == self._taken + 1 & _WORD

    async def _take(self):
        """Takes the next packet that has come. False: there is none."""
        if not await self._come():
            return False
        node, counters = self.node, self.counters
        word = await node.door.read(arrived_at(self._taken))
        node.door.spend(node.costs.ip_packet)
        length = word & 0xFFFF
        packet = await node.shared.load(in_slot(self._taken), length)
        self._taken = self._taken + 1 & _WORD
        node.door.write(TAKEN_WORD, self._taken)
        if (self._taken - self._told & _WORD) >= RING_EVERY:
            self._ring()
        counters.received += 1
        counters.received_bytes += length
        self._deliver(packet, bool(word >> 16 & Part.UNSUMMED))
        return True

    async def _offer(self, busy):
        """Puts the oldest packet that waits into the ring, if there is room."""
        node = self.node
        door = node.door
        if (self._put - self._left & _WORD) >= SLOTS:
            self._left = await door.read(LEFT_WORD)
            if (self._put - self._left & _WORD) >= SLOTS:
                if not busy:
                    self._full += 1
                    door.spend(node.cycles(_FULL_US))
                    if not self._full % _REMIND:
                        node.ring()
                return
        self._full = 0
        packet, unsummed, cab = self._queue.popleft()
        length, number = len(packet), self._put
        door.spend(node.costs.ip_packet)
        node.shared.store(out_slot(number), packet + bytes(padded(length) - length))
        parts = int(Part.UNSUMMED) if unsummed else 0
        self._put = number + 1 & _WORD
        door.write_block(put_at(number), PUT.pack(parts << 16 | length, ANY_CAB if cab is None else cab))
        door.write(PUT_WORD, self._put)
        self._ring()
        await door.now()
        self.counters.sent += 1
        self.counters.sent_bytes += length
