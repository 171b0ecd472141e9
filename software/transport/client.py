"""The client's side of the request-response protocol: which calls are under way, and which packet is whose.

Source: see ``software.transport.request``.
"""

from ..packet import PacketKind, Protocol
from .call import Call, Calling
from .datagram import MAX_MESSAGE
from .fragmentation import pack_up
from .retry import Retry
from .sequence import SPAN, ahead

__all__ = ["Client", "Peer"]


class Peer:
    """What a client knows of the CAB of a server.

    Members
    -------
    boot : int
        The server's boot number; 0 as long as it is not known.
    number : int
        Of the next call.
    calls : dict of int → Calling
        By number, those that are under way, or whose cancellation is; oldest first.
    retry : Retry
    waiting : list of Thread
        They wait until another call may begin.
    """

    __slots__ = ("kernel", "boot", "number", "calls", "retry", "waiting")

    def __init__(self, kernel, retry):
        self.kernel = kernel
        self.boot = 0
        self.number = 0
        self.calls = {}
        self.retry = retry
        self.waiting = []

    @property
    def full(self):
        """Whether the oldest call's number would leave the server's window if one more began."""
        return bool(self.calls) and ahead(self.number, next(iter(self.calls))) >= SPAN

    def add(self, calling):
        """A call begins; returns its number."""
        number = self.number
        self.number = number + 1 & 0xFFFF
        self.calls[number] = calling
        return number

    def forget(self, number):
        """Nothing more is to be done for that call; from both levels."""
        del self.calls[number]
        self.admit()

    def admit(self):
        """Another call may begin, perhaps; from both levels."""
        if self.waiting and not self.full:
            self.kernel.wake(self.waiting.pop(0))


class Client:
    """Calls of one CAB. ``requests``: its Requests."""

    __slots__ = ("requests", "kernel", "memory", "_peers")

    def __init__(self, requests):
        self.requests = requests
        self.kernel = requests.kernel
        self.memory = requests.memory
        self._peers = {}  # CAB ID -> Peer

    async def start(self, server, service, data, timeout_us, place):
        """See ``Requests.start``."""
        requests, kernel = self.requests, self.kernel
        kernel.check_pending()
        options = requests.options
        timeout_us = options.timeout_us if timeout_us is None else timeout_us
        if not timeout_us > 0:
            raise ValueError(f"a time-out is more than 0 us, not {timeout_us}")
        if server == requests.number:
            raise ValueError(f"{kernel.name} calls itself: call the service's function instead")
        if place is not None:
            self.memory.admit(*place)
        route = await requests.datalink.find(server)
        kernel.door.spend(kernel.costs.request_call)
        peer = self._peers.get(server)
        if peer is None:
            peer = self._peers[server] = Peer(
                kernel, Retry(*map(requests.cycles, (options.first_us, options.least_us, options.most_us)))
            )
        sent = Protocol.REQUEST, server
        parcel = await pack_up(kernel, self.memory, data, MAX_MESSAGE, route.areas, sent, timeout_us)
        try:
            while peer.full:
                # Until the oldest call has ended, which its deadline sees to.
                thread = kernel.current
                peer.waiting.append(thread)
                await kernel.block(
                    f"the end of the oldest of {SPAN} calls to CAB {server}",
                    lambda: peer.waiting.remove(thread),
                    lambda _: peer.admit(),
                )
        except BaseException:
            parcel.release()
            raise
        requests.counters.calls += 1
        calling = Calling(requests, peer, server, service, parcel, place)
        await calling.begin(timeout_us)
        return Call(calling)

    # -- packets, at interrupt level -----------------------------------------------------------------
    def _call(self, packet):
        """The Calling that a packet belongs to; None if there is none."""
        if packet.client_boot != self.requests.boot:
            self.requests.counters.stale += 1
            return None
        peer = self._peers.get(packet.source)
        return None if peer is None else peer.calls.get(packet.number)

    def expect(self, packet):
        """A fragment of an answer has begun: the Reassembly that takes it, or None."""
        calling = self._call(packet)
        return None if calling is None else calling.expect(packet)

    def take(self, packet, incoming):
        """A packet from a server has arrived unharmed; ``incoming`` has its fragment."""
        calling = self._call(packet)
        if calling is not None:
            calling.take(packet, incoming)
            return
        if incoming is not None:
            incoming.give_up()
        self._uncalled(packet)

    def _uncalled(self, packet):
        """What comes late: a server that still keeps an answer is told that it need not."""
        counters = self.requests.counters
        if packet.kind is PacketKind.ANSWER and packet.client_boot == self.requests.boot:
            counters.duplicates += 1
            if packet.tell:
                self.requests.tell(
                    packet.source, PacketKind.ACK, packet.service, packet.number, packet.client_boot, packet.server_boot
                )
