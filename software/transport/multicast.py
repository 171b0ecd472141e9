"""Reliable multicast of one CAB: what tasks call, and what packets do.

Source: "Network-Based Multicomputers", section 5.3.3: multicast is reliable, and the sending application creates the group; a CAB sets up a connection to
several CABs and sends the same packet to all of them. How it is made reliable is ours: docs/transports.md.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ..datalink.fiberin import Answer
from ..packet import ANY_CAB, ASK, EXCHANGE, LENGTH_BITS, Kind, Protocol, Reason
from .datagram import MAX_MESSAGE
from .fragments import count, size
from .multicastin import MulticastIn
from .multicastout import MulticastOut
from .options import MulticastOptions

__all__ = ["Multicast", "Packet"]

_KINDS = (Kind.REQUEST, Kind.HAVE, Kind.ACK, Kind.REFUSED, Kind.JOIN)
_REASONS = (Reason.FULL, Reason.MISSING, Reason.ROOM, Reason.GROUP)


@dataclass(slots=True)
class Counters:
    """What reliable multicast has seen on one CAB."""

    sent: int = 0                # messages that all members have
    failed: int = 0              # messages that some have not
    received: int = 0            # messages put into mailboxes
    retries: int = 0             # packets sent because a time-out ran off
    repeated: int = 0            # fragments sent to a single member that lacked them
    duplicates: int = 0          # fragments that had come before
    incomplete: int = 0          # messages dropped because their senders gave them up
    refused: int = 0             # refusals sent
    strays: int = 0              # fragments for a group of which this CAB does not know that it is a member
    stale: int = 0               # packets of earlier messages, or of an earlier start of a CAB
    no_room: int = 0             # fragments for which there was no memory
    no_route: int = 0            # packets that could not be sent
    damaged: int = 0             # packets with an error
    misdelivered: int = 0        # packets for another CAB
    malformed: int = 0           # headers that contradict themselves


class Packet(NamedTuple):
    """A header, taken apart."""

    source: int
    kind: Kind
    ask: bool
    mailbox: int
    number: int
    boot: int
    group: int
    word: int
    everyone: bool       # whether its destination is whoever gets it

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
        """Whether to answer it at once: it is the last fragment, or asks."""
        return self.ask or self.index == count(self.length) - 1


class Multicast:
    """Messages to several CABs, each of which acknowledges them.

    Parameters
    ----------
    number : int
        The CAB's ID.
    boot : int
        As for ``Requests``.
    kernel, memory, timers, interrupts, datalink
        The CAB's.
    mailbox : callable(int) → Mailbox
        The CAB's mailboxes by number.
    waste : int
        Address of MAX_DATA bytes for what nobody wants.

    Members
    -------
    options : MulticastOptions
        May be replaced before the first message.
    counters : Counters
    """

    __slots__ = ("number", "boot", "kernel", "memory", "timers", "interrupts", "datalink", "mailbox", "options", "counters", "_waste", "_out", "_in",
                 "_now")

    def __init__(self, number, boot, kernel, memory, timers, interrupts, datalink, mailbox, waste, options=MulticastOptions()):
        self.number = number
        self.boot = boot
        self.kernel = kernel
        self.memory = memory
        self.timers = timers
        self.interrupts = interrupts
        self.datalink = datalink
        self.mailbox = mailbox
        self.options = options
        self.counters = Counters()
        self._waste = waste
        self._out = MulticastOut(self)
        self._in = MulticastIn(self)
        self._now = None         # (Packet, Incoming or None) of the packet under way
        datalink.register(Protocol.MULTICAST, self)

    def cycles(self, microseconds):
        """CPU cycles."""
        return round(microseconds * self.kernel.door.cpu_hz / 1_000_000)

    # -- for tasks -----------------------------------------------------------------------------------
    async def send(self, destination, data, timeout_us=None):
        """Sends ``data`` to (list of CAB IDs, mailbox); returns when each of the CABs has it in that mailbox.

        ``data``: bytes, a Message or a list of areas, as for datagrams. Messages that have members in common are sent one after the other, and arrive in
        that order, once. Raises MulticastFailed when ``timeout_us`` (by default the options') are over: it names those that have not acknowledged;
        MessageTooLong, NoRoute.
        """
        await self._out.send(*destination, data, timeout_us)

    # -- what both sides send ------------------------------------------------------------------------
    def header(self, destination, kind, mailbox, number, boot, group, word=0):
        """The bytes of a header."""
        self.kernel.door.spend(self.kernel.costs.transport_post)
        return EXCHANGE.pack(Protocol.MULTICAST, self.number, destination, kind, mailbox, number, boot, group, word)

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it. Nothing is believed of it yet."""
        kernel, counters = self.kernel, self.counters
        kernel.door.spend(kernel.costs.multicast_match)
        _, source, destination, kind, mailbox, number, boot, group, word = EXCHANGE.unpack(header)
        if destination not in (self.number, ANY_CAB):
            counters.misdelivered += 1
            return Answer.DISCARD
        if kind & ~ASK not in _KINDS or source in (self.number, ANY_CAB):
            counters.malformed += 1
            return Answer.DISCARD
        packet = Packet(source, Kind(kind & ~ASK), bool(kind & ASK), mailbox, number, boot, group, word, destination == ANY_CAB)
        if packet.kind is not Kind.REQUEST:
            if packet.everyone:
                counters.malformed += 1
                return Answer.DISCARD
            self._now = packet, None
            return self._waste, 0
        if packet.length > MAX_MESSAGE or packet.index >= count(packet.length):
            counters.malformed += 1
            return Answer.DISCARD
        incoming = self._in.expect(packet)
        self._now = packet, incoming
        return self._waste if incoming is None else incoming.place(packet.index), size(packet.length, packet.index)

    def received(self, length, good):
        """The packet has ended."""
        kernel, counters = self.kernel, self.counters
        kernel.door.spend(kernel.costs.multicast_received)
        packet, incoming = self._now
        self._now = None
        data = packet.kind is Kind.REQUEST
        wanted = incoming is not None and incoming.placed()
        if not good:
            counters.damaged += 1
        elif length != (size(packet.length, packet.index) if data else 0) or (packet.kind is Kind.REFUSED and packet.word not in _REASONS):
            counters.malformed += 1
        elif data:
            self._in.take(packet, incoming if wanted else None)
            return not packet.tell
        elif packet.kind is Kind.JOIN:
            self._in.join(packet)
            return True
        else:
            self._out.take(packet)
            return False
        if wanted and not incoming.assembly.begun:
            incoming.give_up()
        return False
