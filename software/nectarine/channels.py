"""The channels of one CAB: reliable, ordered short messages to each other CAB; what packets do.

Ours: the paper says of Nectarine (*The Design of Nectar*, section 6.3) only what it offers. Specification:
docs/nectarine.md. Buffers that are reserved at the receiver for each sender are those of NX/2 on the iPSC/2."""

from dataclasses import dataclass
from typing import NamedTuple

from ..datalink.fiberin import Answer
from ..packet import ANY_CAB, ASK, CHANNEL, ENVELOPE, ChannelKind, Protocol
from .channel import Channel
from .options import SHORT, SLOTS, ChannelOptions

__all__ = ["Channels", "Packet"]

_KINDS = frozenset(ChannelKind)
_CHANNEL = int(Protocol.CHANNEL)


@dataclass(slots=True)
class ChannelCounters:
    """What the channels of one CAB have seen."""

    sent: int = 0  # messages
    received: int = 0  # messages accepted, each once
    retries: int = 0  # packets sent because a time-out ran off, or the other side lacks them
    told: int = 0  # packets with acknowledgment and credit only
    duplicates: int = 0  # messages that had come before, or came before one that is missing
    no_room: int = 0  # messages for which there was no slot
    no_route: int = 0  # packets that could not be sent
    lost: int = 0  # messages without acknowledgment when a CAB was given up or had started anew
    stale: int = 0  # packets of or for an earlier start of a CAB
    damaged: int = 0  # packets with an error
    misdelivered: int = 0  # packets for another CAB
    malformed: int = 0  # headers that contradict themselves


class Packet(NamedTuple):
    """A header, taken apart; ``CHANNEL`` in ``software.packet`` says what the fields are."""

    source: int
    kind: ChannelKind
    ask: bool
    sequence: int
    acknowledgment: int
    boot: int
    to_boot: int
    credit: int
    session: int
    echo: int
    length: int


class Channels:
    """The channels of one CAB, made as they are needed.

    Parameters
    ----------
    cab : Cab
    deliver : callable(Channel, bytes, int)
        Called at interrupt level with each message's channel, envelope and slot (byte address). It or a later call
        gives the slot back, by ``Channel.give`` or ``give_late``.
    lost : callable(Channel, TaskError)
        Called, at interrupt level, when a CAB is given up, or has started anew.
    options : ChannelOptions

    Members
    -------
    options : ChannelOptions
        May be replaced before the first message.
    counters : ChannelCounters
    users : int
        Tasks of this CAB. Without any, channels that rest give their slots back to the heap.
    boot : int
        Which start of the CAB this is.
    """

    __slots__ = (
        "cab",
        "kernel",
        "memory",
        "timers",
        "interrupts",
        "datalink",
        "boot",
        "options",
        "counters",
        "users",
        "deliver",
        "lost",
        "_channels",
        "_now",
    )

    def __init__(self, cab, deliver, lost, options=ChannelOptions()):
        self.cab = cab
        self.kernel = cab.kernel
        self.memory = cab.memory
        self.timers = cab.timers
        self.interrupts = cab.interrupts
        self.datalink = cab.datalink
        self.boot = cab.request.boot
        self.options = options
        self.counters = ChannelCounters()
        self.users = 0
        self.deliver = deliver
        self.lost = lost
        self._channels = {}  # CAB ID -> Channel
        self._now = None  # (packet, channel, slot or None) of the packet under way
        cab.datalink.register(Protocol.CHANNEL, self)

    def __getitem__(self, peer):
        """The Channel to the CAB of that ID."""
        channel = self._channels.get(peer)
        if channel is None:
            channel = self._channels[peer] = Channel(self, peer)
        return channel

    def cycles(self, microseconds):
        """CPU cycles."""
        return round(microseconds * self.kernel.door.cpu_hz / 1_000_000)

    def rest(self):
        """No task of this CAB is left: what rests gives its memory back."""
        for channel in self._channels.values():
            channel.rest()

    # -- what channels have done; both levels ---------------------------------------------------------
    def numbered(self, peer, number, message):
        """A ShortMessage has got its sequence number."""
        self.counters.sent += 1
        self.kernel.notes.numbered(_CHANNEL, message.noted, peer, number)

    def again(self, peer, number):
        """What is not acknowledged, from that sequence number on, is sent again."""
        self.counters.retries += 1
        self.kernel.notes.repeated(_CHANNEL, peer, number)

    def accepted(self, packet):
        """A message has come in its turn."""
        self.counters.received += 1
        self.kernel.notes.arrived(_CHANNEL, packet.source, packet.sequence, packet.length)

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it. Nothing is believed of it yet."""
        counters = self.counters
        self.kernel.door.spend(self.kernel.costs.nectarine_match)
        _, source, destination, kind, *fields = CHANNEL.unpack(header)
        if destination != self.cab.id:
            counters.misdelivered += 1
            return Answer.DISCARD
        packet = Packet(source, kind & ~ASK, bool(kind & ASK), *fields)
        if not self._sound(packet):
            counters.malformed += 1
            return Answer.DISCARD
        if packet.kind != ChannelKind.MESSAGE:
            self._now = packet, None, None
            return self.memory.base, 0
        channel = self._channels.get(source)
        slot = None if channel is None else channel.expect(packet)
        self._now = packet, channel, slot
        return Answer.CHECK if slot is None else (slot, packet.length)

    def _sound(self, packet):
        most = ENVELOPE.size + SHORT
        return (
            packet.kind in _KINDS
            and packet.source not in (self.cab.id, ANY_CAB)
            and packet.boot > 0
            and packet.session > 0
            and packet.credit <= SLOTS
            and (ENVELOPE.size <= packet.length <= most if packet.kind == ChannelKind.MESSAGE else not packet.length)
        )

    def received(self, length, good):
        """The packet has ended."""
        counters = self.counters
        self.kernel.door.spend(self.kernel.costs.nectarine_received)
        packet, channel, slot = self._now
        self._now = None
        sound = good and (slot is None or length == packet.length)
        if slot is not None and not sound:
            channel.give_late(slot)
        if not good:
            counters.damaged += 1
        elif not sound:
            counters.malformed += 1
        else:
            self[packet.source].take(packet, slot)
        return False
