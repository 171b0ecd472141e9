"""A channel: short messages from this CAB to another and back, in order, each at most once. Specification:
docs/nectarine.md; what packets do first is in ``software.nectarine.channels``.
"""

from collections import deque

from ..errors import PeerStartedAnew, PeerStopped
from ..packet import ASK, CHANNEL, ENVELOPE, ChannelKind, Protocol
from ..transport.sequence import ahead
from .options import SLOTS
from .peerwatch import PeerWatch
from .roundtrip import RoundTrip
from .slots import Slots, Slotted

__all__ = ["Channel"]

_MESSAGE, _TELL, _LACKS = int(ChannelKind.MESSAGE), int(ChannelKind.TELL), int(ChannelKind.LACKS)
_NUMBERS = 1 << 16
_SESSIONS = 255
#: Askings in vain after which the datalink is told that the way may be broken.
_SUSPECT = 2
_HALF = SLOTS // 2
_SILENT = "CAB {} is silent: {} askings in vain; it is not known whether it has the message"


class Channel(Slotted):
    """What one CAB knows of another.

    Parameters
    ----------
    channels : Channels
    peer : int
        ID of the other CAB.

    Members
    -------
    pending : deque of ShortMessage
        They wait for credit, or for the first word of the other CAB.
    watch : PeerWatch
    """

    __slots__ = (
        "channels",
        "kernel",
        "peer",
        "pending",
        "watch",
        "_slots",
        "_boot",
        "_open",
        "_session",
        "_next",
        "_acked",
        "_limit",
        "_writing",
        "_flying",
        "_coming",
        "_expected",
        "_told",
        "_owed",
        "_lacked",
        "_round_trip",
        "_timer",
        "_tries",
        "_silent",
        "_heard",
        "_progress",
        "_asked",
        "_tell_timer",
    )

    def __init__(self, channels, peer):
        self.channels = channels
        self.kernel = channels.kernel
        self.peer = peer
        self.pending = deque()
        self.watch = PeerWatch(channels, self._probe)
        self._slots = Slots(channels.memory)
        self._boot = 0  # of the other CAB; 0: not known
        # What goes out
        self._open = False  # the other CAB has told that it knows this session
        self._session = 1
        self._next = 0  # sequence number of the next message
        self._acked = 0  # the first that is not acknowledged
        self._limit = 0  # the first that may not be sent
        self._writing = None  # number of the message that a thread is writing: its bytes may not be there yet
        self._flying = 0  # packets of messages whose leaving is waited for
        # What comes in
        self._coming = 0  # session of the other CAB; 0: not known
        self._expected = 0
        self._told = SLOTS  # sequence number of the first message that the other CAB may not send, as it was told
        self._owed = False  # an acknowledgment
        self._lacked = None  # sequence number whose lack was told last
        # Times
        self._round_trip = RoundTrip(channels)
        self._timer = None
        self._tries = 0
        self._silent = 0  # askings since anything was heard
        self._heard = False
        self._progress = False
        self._asked = False  # something is asked, though nothing is to be sent
        self._tell_timer = None

    # -- slots; both levels --------------------------------------------------------------------------
    def rest(self):
        """Gives the slots to the heap if no task of this CAB is left and none of them is in use."""
        resting = not (self._slots.busy or self._flying or self.pending or self._next != self._acked)
        if resting and not self.channels.users:
            self._slots.release()

    def give_late(self, slot):
        """At interrupt level: that slot is not needed; the other CAB hears of it with what is sent next."""
        self._slots.give(slot)
        self.rest()

    async def give(self, slot):
        """By a thread: the message in that slot has been copied."""
        self.give_late(slot)
        given = self._given
        if given >= _HALF:
            await self._say()
        elif given and (self._told - self._expected) % _NUMBERS < _HALF and self._tell_timer is None:
            self._tell_timer = await self.channels.timers.after(
                self.channels.cycles(self.channels.options.ack_us), self._tell_late
            )

    @property
    def _given(self):
        """Slots that have been given back and of which the other CAB has not heard."""
        return (self._expected + self._slots.credit - self._told) % _NUMBERS

    # -- sending -------------------------------------------------------------------------------------
    @property
    def _may(self):
        """Whether a message may be sent now."""
        return self._open and ahead(self._limit, self._next) > 0 and self._slots.reserve()

    async def send(self, message):
        """By a thread: sends a short message, or keeps it until there is credit. Raises NoRoute."""
        route = await self.channels.datalink.find(self.peer)
        if self.pending or not self._may:
            self.pending.append(message)
            if not self._open and not self._asked:
                self._asked = True
                await self._say(True)
        else:
            await self._transmit(route, self._store(message))
            message.over()
        if self._timer is None:
            wait = self._round_trip.timeout()
            self._timer = await self.channels.timers.after(wait, self._fire)
            if not self.pending:
                self._round_trip.begin((self._next - 1) % _NUMBERS, self._timer.time - wait)

    def send_late(self, message):
        """The same at interrupt level."""
        self.pending.append(message)
        self._pump()
        if self.pending and not self._open:
            self._asked = True
            self._tell(True)
        self.channels.interrupts.late.append(self._arm)

    def withdraw(self, message):
        """Takes a short message back that waits. False if it does not wait any more."""
        if message not in self.pending:
            return False
        self.pending.remove(message)
        return True

    def _store(self, message):
        """Gives a short message its number and its slot; returns the number."""
        number, self._next = self._next, (self._next + 1) % _NUMBERS
        self._slots.store(number, message.envelope + message.data)
        self.channels.numbered(self.peer, number, message)
        return number

    def _pump(self):
        """At interrupt level: sends what waits, as far as there is credit."""
        while self.pending and self._may:
            message = self.pending.popleft()
            self._post(self._store(message))
            message.over()

    def _post(self, number, ask=False):
        """Posts the packet of a message."""
        route = self.channels.datalink.back(self.peer)
        if route is None:
            self.channels.counters.no_route += 1
            return
        self._flying += 1
        self.channels.datalink.post(route, *self._packet(number, ask), self._left)

    def _packet(self, number, ask=False):
        """Header and areas of the packet of a message."""
        area = self._slots.area(number)
        return self._header(_MESSAGE | (ASK if ask else 0), number, area[1]), (area,)

    async def _transmit(self, route, number):
        """By a thread: sends the packet of a message, at once if fiber out is free; else it is carried by whoever
        writes."""
        datalink = self.channels.datalink
        header, areas = self._packet(number)
        self._flying += 1
        self._writing = number
        try:
            if datalink.out.immediate(len(route.packet) + 3):
                await datalink.send(route, header, areas, True, self._left, None)
            else:
                await self.kernel.door.now()  # the bytes are there when a handler carries the packet
                datalink.post(route, header, areas, self._left)
        finally:
            self._writing = None

    def _left(self, _):
        self._flying -= 1
        self.rest()

    def _header(self, kind, number=0, length=0):
        """A header, which tells how far this side is."""
        self.kernel.door.spend(self.kernel.costs.transport_post)
        self._told = (self._expected + self._slots.credit) % _NUMBERS
        self._owed = False
        if self._tell_timer is not None:
            self.channels.timers.cancel(self._tell_timer)
            self._tell_timer = None
        boots, sessions = (self.channels.boot, self._boot), (self._session, self._coming)
        how_far = self._expected, *boots, self._slots.credit, *sessions
        return CHANNEL.pack(Protocol.CHANNEL, self.channels.cab.id, self.peer, kind, number, *how_far, length)

    def _tell(self, ask=False, kind=_TELL):
        """Posts a packet without a message."""
        route = self.channels.datalink.back(self.peer)
        if route is None:
            self.channels.counters.no_route += 1
            return
        self.channels.counters.told += 1
        self.channels.datalink.post(route, self._header(kind | (ASK if ask else 0)))

    async def _say(self, ask=False):
        """The same by a thread."""
        route = (datalink := self.channels.datalink).back(self.peer)
        if route is None or not datalink.out.immediate(len(route.packet) + 2):
            self._tell(ask)
            return
        self.channels.counters.told += 1
        await datalink.send(route, self._header(_TELL | (ASK if ask else 0)), ())

    # -- times, at interrupt level -------------------------------------------------------------------
    @property
    def _waits(self):
        """Whether something is expected of the other CAB."""
        return bool(self._asked or self.pending or self._next != self._acked)

    def _arm(self, now):
        """Sees to it that the timer runs if something is expected."""
        if self._timer is None and self._waits:
            if self._next != self._acked and not self._tries:
                self._round_trip.begin((self._next - 1) % _NUMBERS, now)
            self._timer = self.channels.timers.at(now + self._round_trip.timeout(self._tries), self._fire)

    def _fire(self, _, now):
        channels = self.channels
        self.kernel.door.spend(self.kernel.costs.nectarine_timer)
        self._timer = None
        if not self._waits:
            return
        heard, self._heard = self._heard, False
        progress, self._progress = self._progress, False
        self._silent = 0 if heard else self._silent + (not self._flying)
        if progress:
            self._tries = 0
        elif self._silent > channels.options.attempts:
            self._give_up(PeerStopped(_SILENT.format(self.peer, self._silent - 1)))
            return
        else:
            self._tries += 1
            if self._silent >= _SUSPECT or self._flying and self._tries >= _SUSPECT:
                channels.datalink.report_unresponsive(self.peer)
            if not self._flying:
                self._again()
        self._arm(now)

    def _again(self):
        """Sends again what is not acknowledged, and asks."""
        self._round_trip.spoil()
        number = self._acked
        self.channels.again(self.peer, number)
        if not self._open or number == self._next:
            self._tell(True)
            return
        while number not in (self._next, self._writing):
            last = (number + 1) % _NUMBERS
            self._post(number, last == self._next)
            number = last

    def _tell_late(self, _, now):
        """An acknowledgment, or slots given back, have waited long enough for a message that would have told them."""
        self._tell_timer = None
        if self._owed or self._given:
            self._tell()

    def _arm_tell(self, now):
        if self._owed and self._tell_timer is None:
            self._tell_timer = self.channels.timers.at(
                now + self.channels.cycles(self.channels.options.ack_us), self._tell_late
            )

    def _probe(self, now):
        """A task waits for something of the other CAB's: is it there?"""
        if not self._waits:
            self._asked = True
            self._tell(True)
            self._arm(now)

    # -- the end of a session ------------------------------------------------------------------------
    def _give_up(self, error):
        """What is on its way is not followed any more; a new session begins."""
        self.channels.counters.lost += (self._next - self._acked) % _NUMBERS
        self._open = self._asked = False
        self._session = self._session % _SESSIONS + 1
        self._next = self._acked = self._limit = 0
        self._tries = self._silent = 0
        self._round_trip.spoil()
        if self._timer is not None:
            self.channels.timers.cancel(self._timer)
            self._timer = None
        messages, self.pending = self.pending, deque()
        for message in messages:
            message.over(error)
        self.channels.lost(self, error)
        self.rest()

    # -- packets, at interrupt level -----------------------------------------------------------------
    def expect(self, packet):
        """A message has begun: the slot for it, or None if it is not the next one, or there is no slot."""
        if (
            packet.boot != self._boot
            or packet.to_boot != self.channels.boot
            or packet.session != self._coming
            or packet.sequence != self._expected
        ):
            return None
        slot = self._slots.take()
        self.channels.counters.no_room += slot is None
        return slot

    def take(self, packet, slot):
        """A packet has come unharmed; ``slot`` has its message, if that is wanted."""
        channels = self.channels
        if packet.boot != self._boot:
            if self._boot and ahead(packet.boot, self._boot) < 0:
                channels.counters.stale += 1
                return
            self._meet(packet.boot)
        self._heard = True
        self._asked = False
        self._hear(packet)
        if packet.to_boot != channels.boot:
            channels.counters.stale += bool(packet.to_boot)
            if packet.ask or packet.kind == _MESSAGE:
                self._tell()
            return
        if packet.echo == self._session:
            self._acknowledged(packet)
        if packet.kind == _MESSAGE:
            self.watch.came = True
            self._accept(packet, slot)
        elif packet.ask:
            self._tell()
        self._pump()
        self._settle()

    def _meet(self, boot):
        """The boot number of the other CAB is told, for the first time or anew."""
        known, self._boot = self._boot, boot
        if known:
            self._coming = self._expected = 0
            self._told = self._slots.credit
            self._give_up(
                PeerStartedAnew(
                    f"CAB {self.peer} has started anew: it is not known whether its earlier tasks had the message"
                )
            )

    def _hear(self, packet):
        """The other CAB may have begun a new session."""
        if packet.session != self._coming:
            behind = (self._coming - packet.session) % _SESSIONS
            if not self._coming or behind > _SESSIONS // 2:
                self._coming, self._expected = packet.session, 0
                self._told = self._slots.credit
                self._lacked = None

    def _acknowledged(self, packet):
        """Acknowledgment and credit of this session."""
        step = ahead(packet.acknowledgment, self._acked)
        if step < 0 or ahead(packet.acknowledgment, self._next) > 0:
            return
        if not self._open:
            self._open = self._progress = True
        if step:
            self._acked = packet.acknowledgment
            self._progress = True
            note = self._round_trip.acknowledged(self._acked)
            if note is not None:
                self.channels.interrupts.late.append(note)
        limit = (packet.acknowledgment + packet.credit) % _NUMBERS
        if ahead(limit, self._limit) > 0:
            self._limit = limit
            self._progress = True
        if packet.kind == _LACKS and self._acked != self._next and not self._flying:
            self._again()

    def _accept(self, packet, slot):
        """A message: the next one, if it has a slot."""
        channels = self.channels
        if slot is not None and packet.sequence == self._expected and packet.session == self._coming:
            self._expected = (self._expected + 1) % _NUMBERS
            channels.accepted(packet)
            channels.interrupts.loads.append(
                (slot, ENVELOPE.size, lambda envelope: channels.deliver(self, envelope, slot))
            )
            if packet.ask:
                self._tell()
            else:
                self._owed = True
                channels.interrupts.late.append(self._arm_tell)
            return
        if slot is not None:
            self.give_late(slot)
        channels.counters.duplicates += 1
        if packet.session == self._coming and ahead(packet.sequence, self._expected) > 0:
            if self._lacked != self._expected:
                self._lacked = self._expected
                self._tell(kind=_LACKS)
                return
        if packet.ask:
            self._tell()

    def _settle(self):
        """Stops the timer if nothing is expected any more; else sees to it that it runs."""
        if self._waits:
            self.channels.interrupts.late.append(self._arm)
        elif self._timer is not None:
            self.channels.timers.cancel(self._timer)
            self._timer = None
            self._tries = self._silent = 0
            self._progress = self._heard = False
        self.rest()
