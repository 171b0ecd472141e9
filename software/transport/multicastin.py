"""The receiver's side of reliable multicast: one message at a time of each sender, in order, once. Source: see
``software.transport.multicast``."""

from collections import deque

from ..packet import PacketKind, Reason
from .fragmentation import Reassembly
from .sequence import ahead

__all__ = ["MulticastIn"]

#: Looks at the age of what is incomplete in the time that the options name.
_LOOKS = 4
#: Groups of each sender that a member remembers.
_GROUPS = 16


class _Sender:
    """What is known of a CAB that sends multicasts."""

    __slots__ = ("boot", "groups", "newest", "done", "incoming", "box", "looks")

    def __init__(self, boot):
        self.boot = boot
        self.groups = deque(maxlen=_GROUPS)  # of which this CAB is a member
        self.newest = None  # number of the newest message that has begun
        self.done = False  # whether it is in its mailbox
        self.incoming = None  # Reassembly, while it is put together
        self.box = None  # its Mailbox, where a place is kept
        self.looks = 0  # at its age, since the last fragment


class MulticastIn:
    """Messages that a CAB receives. ``multicast``: its Multicast."""

    __slots__ = ("multicast", "kernel", "_senders", "_sweeping")

    def __init__(self, multicast):
        self.multicast = multicast
        self.kernel = multicast.kernel
        self._senders = {}  # CAB ID -> _Sender
        self._sweeping = False

    def expect(self, packet):
        """A fragment has begun: the Reassembly that takes it, or None."""
        sender = self._senders.get(packet.source)
        if not packet.everyone and packet.group != self.multicast.boot:
            return None
        if packet.everyone and (sender is None or sender.boot != packet.boot or packet.group not in sender.groups):
            return None
        if sender is not None and sender.boot == packet.boot and sender.newest is not None:
            step = ahead(packet.number, sender.newest)
            if step < 0 or step == 0 and sender.done:
                return None
            if step == 0 and sender.incoming is not None:
                incoming = sender.incoming
                return (
                    incoming
                    if incoming.assembly.length == packet.length and incoming.assembly.wants(packet.index)
                    else None
                )
        box = self.multicast.mailbox(packet.mailbox)
        if box.full or box.closed:
            return None
        return Reassembly.begin(self.multicast.memory, packet.length)

    def take(self, packet, incoming):
        """A fragment has arrived unharmed; ``incoming`` has it, or None."""
        counters = self.multicast.counters
        sender = self._known(packet)
        if packet.everyone and (sender is None or packet.group not in sender.groups):
            # Another one's packet that came through a connection that was not closed; or JOIN got lost.
            counters.strays += 1
            if packet.tell:
                counters.refused += 1
                self._tell(packet, PacketKind.REFUSED, Reason.GROUP)
            return
        if sender is None or sender.newest is not None and ahead(packet.number, sender.newest) < 0:
            counters.stale += 1
        elif not packet.everyone and packet.group != self.multicast.boot:
            # Meant for an earlier start of this CAB, which may have had it.
            counters.stale += 1
            if packet.tell:
                counters.refused += 1
                self._tell(packet, PacketKind.REFUSED, Reason.BOOT)
        elif packet.number == sender.newest and sender.done:
            counters.duplicates += 1
            if packet.tell:
                self._tell(packet, PacketKind.ACK)
        elif packet.number == sender.newest and sender.incoming is not None:
            self._go_on(sender, packet, incoming)
        else:
            self._drop(sender)
            sender.newest, sender.done = packet.number, False
            self._begin(sender, packet, incoming)
        if incoming is not None and not incoming.taken and (sender is None or incoming is not sender.incoming):
            incoming.give_up()

    def join(self, packet):
        """This start of this CAB is in a group, as it is told. Who does not know which start this is hears it."""
        if packet.word != self.multicast.boot:
            if packet.ask:
                self._tell(packet, PacketKind.REFUSED, Reason.BOOT)
            return
        sender = self._known(packet)
        if sender is None:
            return
        if packet.group not in sender.groups:
            sender.groups.append(packet.group)
        if packet.ask:
            self._tell(packet, PacketKind.WORKING, packet.group)

    def _known(self, packet):
        """What is known of the packet's sender; None if the packet is of an earlier start of it."""
        sender = self._senders.get(packet.source)
        if sender is None or ahead(packet.boot, sender.boot) > 0:
            if sender is not None:
                self._drop(sender)
            sender = self._senders[packet.source] = _Sender(packet.boot)
        return sender if sender.boot == packet.boot else None

    def _begin(self, sender, packet, incoming):
        """The first fragment of a message."""
        counters = self.multicast.counters
        box = self.multicast.mailbox(packet.mailbox)
        reason = None
        if box.closed:
            reason = Reason.MISSING
        elif incoming is None and not box.full:
            counters.no_room += 1
            reason = Reason.ROOM
        elif incoming is None or not box.keep(packet.length):
            reason = Reason.FULL
        if reason is not None:
            if packet.tell:
                counters.refused += 1
                self._tell(packet, PacketKind.REFUSED, reason)
            return
        sender.incoming, sender.box = incoming, box
        if not self._sweeping:
            self._sweeping = True
            self.multicast.interrupts.late.append(self._sweep_later)
        self._go_on(sender, packet, incoming)

    def _go_on(self, sender, packet, incoming):
        """A fragment of a message that has begun."""
        counters = self.multicast.counters
        if incoming is sender.incoming:
            incoming.assembly.add(packet.index)
            sender.looks = 0
            if not incoming.assembly.missing:
                sender.incoming = None
                if sender.box.arrive(incoming.message(packet.source, packet.number, sender.box)):
                    counters.received += 1
                    sender.done = True
                    self._tell(packet, PacketKind.ACK)
                else:
                    counters.refused += 1
                    self._tell(packet, PacketKind.REFUSED, Reason.MISSING)
                return
        else:
            counters.duplicates += 1
        if packet.tell:
            self._tell(packet, PacketKind.HAVE, sender.incoming.assembly.word)

    def _drop(self, sender):
        """Its sender does not care for an incomplete message any more."""
        if sender.incoming is not None:
            self.multicast.counters.incomplete += 1
            sender.incoming.give_up()
            sender.box.unkeep(sender.incoming.assembly.length)
            sender.incoming = None

    def _tell(self, packet, kind, word=0):
        """Answers the sender."""
        multicast = self.multicast
        route = multicast.datalink.back(packet.source)
        if route is None:
            multicast.counters.no_route += 1
            return
        header = multicast.header(packet.source, kind, packet.mailbox, packet.number, packet.boot, multicast.boot, word)
        multicast.datalink.post(route, header)

    # -- age -----------------------------------------------------------------------------------------
    def _sweep_later(self, now):
        self.multicast.timers.at(now + self.multicast.cycles(self.multicast.options.stall_us) // _LOOKS, self._sweep)

    def _sweep(self, _, now):
        """Drops messages of which nothing has come in a long time."""
        spend, cost = self.kernel.door.spend, self.kernel.costs.request_sweep
        for sender in self._senders.values():
            spend(cost)
            if sender.incoming is not None:
                sender.looks += 1
                if sender.looks > _LOOKS:
                    self._drop(sender)
        if any(sender.incoming is not None for sender in self._senders.values()):
            self._sweep_later(now)
        else:
            self._sweeping = False
