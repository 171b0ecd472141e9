"""Reliable multicast of one CAB: what tasks call, and what packets do.

Source: "Network-Based Multicomputers", section 5.3.3: multicast is reliable, and the sending application creates the
group; a CAB sets up a connection to several CABs and sends the same packet to all of them. How it is made reliable is
ours: docs/transports.md."""

from dataclasses import dataclass
from typing import NamedTuple

from ..kernel.plain import blocking
from ..packet import ANY_CAB, PacketKind, Protocol, Reason
from .exchange import Exchange, Fragment
from .multicastin import MulticastIn
from .multicastout import MulticastOut
from .options import MulticastOptions

__all__ = ["Multicast", "Packet"]


@dataclass(slots=True)
class MulticastCounters:
    """What reliable multicast has seen on one CAB."""

    sent: int = 0  # messages that all members have
    failed: int = 0  # messages that some have not
    received: int = 0  # messages put into mailboxes
    retries: int = 0  # packets sent because a time-out ran off
    repeated: int = 0  # fragments sent to a single member that lacked them
    duplicates: int = 0  # fragments that had come before
    incomplete: int = 0  # messages dropped because their senders gave them up
    refused: int = 0  # refusals sent
    strays: int = 0  # fragments for a group of which this CAB does not know that it is a member
    stale: int = 0  # packets of earlier messages, or of an earlier start of a CAB
    no_room: int = 0  # fragments for which there was no memory
    no_route: int = 0  # packets that could not be sent
    damaged: int = 0  # packets with an error
    misdelivered: int = 0  # packets for another CAB
    malformed: int = 0  # headers that contradict themselves


class _Fields(NamedTuple):
    source: int
    kind: PacketKind
    ask: bool
    mailbox: int
    number: int
    boot: int
    group: int
    word: int
    everyone: bool  # whether its destination is whoever gets it


class Packet(Fragment, _Fields):
    """A header, taken apart."""

    __slots__ = ()


class Multicast(Exchange):
    """Messages to several CABs, each of which acknowledges them.

    Parameters as of Exchange, and

    mailbox : callable(int) → Mailbox
        The CAB's mailboxes by number.

    Members
    -------
    options : MulticastOptions
        May be replaced before the first message.
    counters : MulticastCounters
    """

    __slots__ = ("mailbox", "_out", "_in")

    KINDS = (
        PacketKind.REQUEST,
        PacketKind.HAVE,
        PacketKind.WORKING,
        PacketKind.ACK,
        PacketKind.REFUSED,
        PacketKind.JOIN,
    )
    DATA = (PacketKind.REQUEST,)
    REASONS = (Reason.FULL, Reason.MISSING, Reason.ROOM, Reason.GROUP, Reason.BOOT)
    EVERYONE = (ANY_CAB,)

    def __init__(
        self, number, boot, kernel, memory, timers, interrupts, datalink, mailbox, waste, options=MulticastOptions()
    ):
        super().__init__(
            Protocol.MULTICAST,
            number,
            boot,
            kernel,
            memory,
            timers,
            interrupts,
            datalink,
            waste,
            options,
            MulticastCounters(),
            (kernel.costs.multicast_match, kernel.costs.multicast_received),
        )
        self.mailbox = mailbox
        self._out = MulticastOut(self)
        self._in = MulticastIn(self)

    # -- for tasks -----------------------------------------------------------------------------------
    @blocking
    async def send(self, destination, data, timeout_us=None):
        """Sends ``data`` to (list of CABs, mailbox), by ID or name; returns when each of them has it in that mailbox.

        ``data``: bytes, a Message or a list of areas, as for datagrams. Each member gets messages in the order of the
        calls, once, whichever of its starts receive them. Raises MulticastFailed when ``timeout_us`` (by default the
        options') are over since the call, the wait behind earlier messages included: it names those that have not
        acknowledged, and at once those that have started anew and may have had it; MessageTooLong, NoRoute; TimedOut if
        there has been no memory for ``data`` for as long.
        """
        cabs, mailbox = self.datalink.destination(destination, "mailbox")
        await self._out.send([cabs] if isinstance(cabs, int) else cabs, mailbox, data, timeout_us)

    # -- what has come -------------------------------------------------------------------------------
    def _parse(self, source, destination, kind, ask, *fields):
        everyone = destination == ANY_CAB
        answers = kind not in (PacketKind.REQUEST, PacketKind.JOIN)
        if everyone and kind not in self.DATA or answers and not fields[3]:
            return None
        return Packet(source, kind, ask, *fields, everyone)

    def _expect(self, packet):
        return self._in.expect(packet)

    def _take(self, packet, incoming):
        if packet.kind is PacketKind.REQUEST:
            self._in.take(packet, incoming)
            return not packet.tell
        if packet.kind is PacketKind.JOIN:
            self._in.join(packet)
            return True
        self._out.take(packet)
        return False
