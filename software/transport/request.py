"""The request-response protocol of one CAB: what tasks call, and what packets do.

Source: "The Design of Nectar" (1989), section 6.2.2 (it supports client-server interactions such as remote procedure calls). How it does so is ours,
after A. Birrell, B. Nelson, "Implementing Remote Procedure Calls" (1984) and VMTP: docs/transports.md.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ..datalink.fiberin import Answer
from ..errors import NoRoute
from ..packet import ANY_CAB, ASK, EXCHANGE, LENGTH_BITS, Kind, Protocol, Reason
from .client import Client
from .datagram import MAX_MESSAGE
from .fragments import count, size
from .options import RequestOptions
from .server import Server

__all__ = ["Requests", "Packet"]

#: Kinds that carry a fragment; kinds for the server; all there are.
_DATA = (Kind.REQUEST, Kind.ANSWER)
_TO_SERVER = (Kind.REQUEST, Kind.ACK, Kind.CANCEL, Kind.LACKS)
_KINDS = frozenset(Kind) - {Kind.JOIN}
_REASONS = frozenset(Reason) - {Reason.GROUP}


@dataclass(slots=True)
class Counters:
    """What the request-response protocol of one CAB has seen."""

    calls: int = 0               # begun, as a client
    answers: int = 0             # of them answered
    failed: int = 0              # ended by an error; cancelled ones among them
    retries: int = 0             # packets sent because a time-out ran off
    requests: int = 0            # handed to services, as a server
    replies: int = 0             # given by services
    duplicates: int = 0          # fragments that had come before, or belong to a request that is over
    refused: int = 0             # refusals sent
    cancelled: int = 0           # requests whose clients did not want the answer any more
    forgotten: int = 0           # answers given up before they were acknowledged
    stale: int = 0               # packets of an earlier start of a CAB
    no_room: int = 0             # fragments for which there was no memory
    no_route: int = 0            # packets that could not be sent, or sent again
    damaged: int = 0             # packets with an error
    misdelivered: int = 0        # packets for another CAB
    malformed: int = 0           # headers that contradict themselves


class Packet(NamedTuple):
    """A header, taken apart."""

    source: int
    kind: Kind
    ask: bool            # whether a word on how far the other side is, is wanted
    service: int
    number: int
    client_boot: int
    server_boot: int
    word: int

    @property
    def index(self):
        """Of the fragment."""
        return self.word >> LENGTH_BITS

    @property
    def length(self):
        """Bytes of the message."""
        return self.word & (1 << LENGTH_BITS) - 1

    @property
    def tell(self):
        """Whether to answer it at once, if it is a fragment: it is the last, or asks."""
        return self.ask or self.index == count(self.length) - 1


class Requests:
    """Calls of services on other CABs, and services for them.

    Parameters
    ----------
    number : int
        The CAB's ID.
    boot : int
        Which start of the CAB this is, 1 to 65535; every start needs a number above that of the one before.
    kernel, memory, timers, interrupts, datalink
        The CAB's.
    waste : int
        Address of MAX_DATA bytes for what nobody wants.

    Members
    -------
    options : RequestOptions
        May be replaced before the first call.
    counters : Counters
    """

    __slots__ = ("number", "boot", "kernel", "memory", "timers", "interrupts", "datalink", "options", "counters", "_waste", "_client", "_server", "_now")

    def __init__(self, number, boot, kernel, memory, timers, interrupts, datalink, waste, options=RequestOptions()):
        if not 1 <= boot <= 0xFFFF:
            raise ValueError(f"a boot number is 1 to 65535, not {boot}")
        self.number = number
        self.boot = boot
        self.kernel = kernel
        self.memory = memory
        self.timers = timers
        self.interrupts = interrupts
        self.datalink = datalink
        self.options = options
        self.counters = Counters()
        self._waste = waste
        self._client = Client(self)
        self._server = Server(self)
        self._now = None          # (Packet, Incoming or None) of the packet under way
        datalink.register(Protocol.REQUEST, self)

    def cycles(self, microseconds):
        """CPU cycles."""
        return round(microseconds * self.kernel.door.cpu_hz / 1_000_000)

    # -- for tasks -----------------------------------------------------------------------------------
    async def call(self, destination, data=b"", timeout_us=None):
        """Calls service (CAB ID, service): sends ``data`` and returns the bytes of the answer.

        ``data``: bytes, a Message or a list of areas, as for datagrams. Raises a CallError: which one tells what is known; MessageTooLong, NoRoute.
        """
        call = await self.start(destination, data, timeout_us)
        try:
            return await call.result()
        except GeneratorExit:     # the CAB has stopped: it sends nothing more
            raise
        except BaseException:
            call.cancel()
            raise

    async def start(self, destination, data=b"", timeout_us=None):
        """Begins a call and returns its Call. As many as wanted may be under way, 64 to one CAB: beyond that it waits until the oldest has ended."""
        return await self._client.start(*destination, data, timeout_us)

    def serve(self, service, capacity=64):
        """Offers service number ``service`` (0 to 65535): a Service, for the task that calls this and for those that receive from it.

        ``capacity``: requests that may wait in it. ValueError if the number is taken.
        """
        return self._server.serve(service, capacity)

    # -- what client and server send -----------------------------------------------------------------
    def header(self, peer, kind, service, number, client_boot, server_boot, word=0):
        """The bytes of a header."""
        self.kernel.door.spend(self.kernel.costs.transport_post)
        return EXCHANGE.pack(Protocol.REQUEST, self.number, peer, kind, service, number, client_boot, server_boot, word)

    def post(self, parcel, index, peer, kind, *fields):
        """Posts fragment ``index`` of a Parcel; ``fields`` are those of a header up to the boot numbers."""
        route = self._way(peer)
        if route is not None:
            parcel.post(self.datalink, route, self.header(peer, kind, *fields, index << LENGTH_BITS | parcel.length), index)

    async def send(self, parcel, index, peer, kind, *fields):
        """The same from a thread; it is written at once if fiber out is free."""
        await parcel.send(self.datalink, self.datalink.route(peer), self.header(peer, kind, *fields, index << LENGTH_BITS | parcel.length), index)

    def tell(self, peer, kind, *fields):
        """Posts a packet without data."""
        route = self._way(peer)
        if route is not None:
            self.datalink.post(route, self.header(peer, kind, *fields))

    def _way(self, peer):
        """The Route to a CAB; None, which is counted, if there is none any more."""
        try:
            return self.datalink.route(peer)
        except NoRoute:
            self.counters.no_route += 1
            return None

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it. Nothing is believed of it yet."""
        kernel, counters = self.kernel, self.counters
        kernel.door.spend(kernel.costs.request_match)
        _, source, destination, kind, *fields = EXCHANGE.unpack(header)
        if destination != self.number:
            counters.misdelivered += 1
            return Answer.DISCARD
        if kind & ~ASK not in _KINDS or source in (self.number, ANY_CAB):
            counters.malformed += 1
            return Answer.DISCARD
        packet = Packet(source, Kind(kind & ~ASK), bool(kind & ASK), *fields)
        if packet.kind not in _DATA:
            self._now = packet, None
            return self._waste, 0
        if packet.length > MAX_MESSAGE or packet.index >= count(packet.length):
            counters.malformed += 1
            return Answer.DISCARD
        side = self._server if packet.kind is Kind.REQUEST else self._client
        incoming = side.expect(packet)
        self._now = packet, incoming
        return self._waste if incoming is None else incoming.place(packet.index), size(packet.length, packet.index)

    def received(self, length, good):
        """The packet has ended."""
        kernel, counters = self.kernel, self.counters
        kernel.door.spend(kernel.costs.request_received)
        packet, incoming = self._now
        self._now = None
        data = packet.kind in _DATA
        side = self._server if packet.kind in _TO_SERVER else self._client
        wanted = incoming is not None and incoming.placed()
        if not good:
            counters.damaged += 1
        elif length != (size(packet.length, packet.index) if data else 0) or (packet.kind is Kind.REFUSED and packet.word not in _REASONS):
            counters.malformed += 1
        else:
            side.take(packet, incoming if wanted else None)
            return data and not packet.tell
        if wanted and not incoming.assembly.begun:
            incoming.give_up()
        return False
