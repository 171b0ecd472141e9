"""The request-response protocol of one CAB: what tasks call, and what packets do.

Source: "The Design of Nectar" (1989), section 6.2.2 (it supports client-server interactions such as remote procedure
calls). How it does so is ours, after A. Birrell, B. Nelson, "Implementing Remote Procedure Calls" (1984) and VMTP:
docs/transports.md."""

from dataclasses import dataclass
from typing import NamedTuple

from ..kernel.plain import blocking
from ..packet import LENGTH_BITS, PacketKind, Protocol, Reason
from .client import Client
from .exchange import Exchange, Fragment
from .options import RequestOptions
from .server import Server

__all__ = ["Requests", "Packet"]

#: Kinds for the server; all others are for the client.
_TO_SERVER = (PacketKind.REQUEST, PacketKind.ACK, PacketKind.CANCEL, PacketKind.LACKS)


@dataclass(slots=True)
class RequestCounters:
    """What the request-response protocol of one CAB has seen."""

    calls: int = 0  # begun, as a client
    answers: int = 0  # of them answered
    failed: int = 0  # ended by an error; cancelled ones among them
    retries: int = 0  # packets sent because a time-out ran off
    requests: int = 0  # handed to services, as a server
    replies: int = 0  # given by services
    duplicates: int = 0  # fragments that had come before, or belong to a request that is over
    refused: int = 0  # refusals sent
    cancelled: int = 0  # requests whose clients did not want the answer any more
    forgotten: int = 0  # answers given up before they were acknowledged
    stale: int = 0  # packets of an earlier start of a CAB
    no_room: int = 0  # fragments for which there was no memory
    no_route: int = 0  # packets that could not be sent, or sent again
    damaged: int = 0  # packets with an error
    misdelivered: int = 0  # packets for another CAB
    malformed: int = 0  # headers that contradict themselves


class _Fields(NamedTuple):
    source: int
    kind: PacketKind
    ask: bool  # whether a word on how far the other side is, is wanted
    service: int
    number: int
    client_boot: int
    server_boot: int
    word: int


class Packet(Fragment, _Fields):
    """A header, taken apart."""

    __slots__ = ()


class Requests(Exchange):
    """Calls of services on other CABs, and services for them.

    Parameters as of Exchange.

    Members
    -------
    options : RequestOptions
        May be replaced before the first call.
    counters : RequestCounters
    """

    __slots__ = ("_client", "_server")

    KINDS = frozenset(PacketKind) - {PacketKind.JOIN}
    DATA = (PacketKind.REQUEST, PacketKind.ANSWER)
    REASONS = frozenset(Reason) - {Reason.GROUP}

    def __init__(self, number, boot, kernel, memory, timers, interrupts, datalink, waste, options=RequestOptions()):
        super().__init__(
            Protocol.REQUEST,
            number,
            boot,
            kernel,
            memory,
            timers,
            interrupts,
            datalink,
            waste,
            options,
            RequestCounters(),
            (kernel.costs.request_match, kernel.costs.request_received),
        )
        self._client = Client(self)
        self._server = Server(self)

    # -- for tasks -----------------------------------------------------------------------------------
    @blocking
    async def call(self, destination, data=b"", timeout_us=None):
        """Calls service (CAB, service), the CAB by ID or name: sends ``data`` and returns the bytes of the answer.

        ``data``: bytes, a Message or a list of areas, as for datagrams. Raises a CallError: which one tells what is
        known; MessageTooLong, NoRoute; TimedOut if there has been no memory for ``data`` within the time-out.
        """
        call = await self.start(destination, data, timeout_us)
        try:
            return await call.result()
        except GeneratorExit:  # the CAB has stopped: it sends nothing more
            raise
        except BaseException:
            call.cancel()
            raise

    @blocking
    async def start(self, destination, data=b"", timeout_us=None, place=None):
        """Begins a call and returns its Call. As many as wanted may be under way, 64 to one CAB: beyond that it
        waits until the oldest has ended.

        ``place``: (byte address, bytes) in data memory. An answer of exactly so many bytes is stored there, and not
        into a block of its own; ``Call.placed`` tells when. The place must stay until that has returned.
        """
        return await self._client.start(*self.datalink.destination(destination, "service"), data, timeout_us, place)

    def serve(self, service, capacity=64):
        """Offers service number ``service`` (0 to 65535): a Service, for the task that calls this and for those that
        receive from it.

        ``capacity``: requests that may wait in it. ValueError if the number is taken.
        """
        return self._server.serve(service, capacity)

    # -- what client and server send -----------------------------------------------------------------
    def post(self, parcel, index, peer, kind, *fields):
        """Posts fragment ``index`` of an OutgoingMessage; ``fields`` are those of a header up to the boot numbers."""
        route = self._way(peer)
        if route is not None:
            parcel.post(
                self.datalink, route, self.header(peer, kind, *fields, index << LENGTH_BITS | parcel.length), index
            )

    async def send(self, parcel, index, peer, kind, *fields):
        """The same from a thread; it is written at once if fiber out is free."""
        await parcel.send(
            self.datalink,
            self.datalink.route(peer),
            self.header(peer, kind, *fields, index << LENGTH_BITS | parcel.length),
            index,
        )

    def tell(self, peer, kind, *fields):
        """Posts a packet without data."""
        route = self._way(peer)
        if route is not None:
            self.datalink.post(route, self.header(peer, kind, *fields))

    def _way(self, peer):
        """The Route to a CAB; None, which is counted, if there is none any more."""
        route = self.datalink.back(peer)
        self.counters.no_route += route is None
        return route

    # -- what has come -------------------------------------------------------------------------------
    def _parse(self, source, destination, kind, ask, *fields):
        return Packet(source, kind, ask, *fields)

    def _expect(self, packet):
        return (self._server if packet.kind is PacketKind.REQUEST else self._client).expect(packet)

    def _take(self, packet, incoming):
        (self._server if packet.kind in _TO_SERVER else self._client).take(packet, incoming)
        return packet.kind in self.DATA and not packet.tell
