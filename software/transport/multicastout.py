"""The sender's side of reliable multicast. Source: see ``software.transport.multicast``."""

from ..errors import CircuitError, MessageTooLong, MulticastFailed, NoRoute, TimedOut
from ..packet import ANY_CAB, ASK, LENGTH_BITS, PacketKind, Protocol, Reason
from .datagram import MAX_MESSAGE
from .fragmentation import pack_up
from .fragments import NOTHING, lacking
from .members import Members
from .retry import Retry
from .turns import Turns

__all__ = ["MulticastOut"]

#: Time-outs after which the datalink is told that the routes to those who have not acknowledged may be broken.
_UNCONFIRMED_TRIES = 2
_UNHEARD = "has not acknowledged it"
_BEHIND = "has not acknowledged an earlier one, behind which it waited"
_RESTARTED = "has started anew: whether it had it before is not known"
_REASONS = {
    Reason.FULL: "has no place in that mailbox",
    Reason.MISSING: "has closed that mailbox",
    Reason.ROOM: "has no memory for it",
}


class _Message:
    """A message, from the call to its end. Each member gets it when its turn has come."""

    __slots__ = (
        "mailbox",
        "parcel",
        "deadline",
        "waiting",
        "ready",
        "unconfirmed",
        "missing",
        "sendings",
        "stirred",
        "thread",
    )

    def __init__(self, mailbox, parcel, deadline):
        self.mailbox = mailbox
        self.parcel = parcel
        self.deadline = deadline  # CPU cycle
        self.waiting = []  # members that still have earlier messages to acknowledge
        self.ready = []  # members whose turn it is, and that have been sent nothing
        self.unconfirmed = set()  # members that have not said that they are in a group
        self.missing = {}  # members that do not have it in the end -> why
        self.sendings = []  # that are under way
        self.stirred = False  # whether anything has changed since the thread looked
        self.thread = None  # that waits for a change


class _Sending:
    """A message that is under way to some of its members, under a number."""

    __slots__ = (
        "message",
        "number",
        "group",
        "left",
        "boots",
        "again",
        "unconfirmed",
        "over",
        "first",
        "resent",
        "begun",
        "slow",
        "timer",
        "tries",
    )

    def __init__(self, message, number, group, boots, unconfirmed):
        self.message = message
        self.number = number
        self.group = group
        self.left = dict.fromkeys(boots, _UNHEARD)  # members that have not acknowledged -> why
        self.boots = boots  # member -> boot number that its copies are meant for; 0: not known, it has been sent none
        self.again = set()  # members that were sent anything twice
        self.unconfirmed = (
            unconfirmed  # whether its members may be gone: then nothing for them waits in a HUB and holds up others
        )
        self.over = False
        self.first = True  # it is being sent for the first time
        self.resent = False  # anything was sent twice
        self.begun = 0  # CPU cycle
        self.slow = 0  # CPU cycles that its fragments take on the fiber
        self.timer = None
        self.tries = 0


class MulticastOut:
    """Messages that a CAB sends to several. ``multicast``: its Multicast."""

    __slots__ = ("multicast", "kernel", "_number", "_turns", "_sendings", "_retry", "_unconfirmed", "_members")

    def __init__(self, multicast):
        self.multicast = multicast
        self.kernel = multicast.kernel
        self._number = 0
        self._turns = Turns(self._called)
        self._sendings = {}  # number -> _Sending
        self._retry = None  # Retry
        self._unconfirmed = (
            set()
        )  # members that did not acknowledge the last message: the HUBs' multicast is not to wait for them
        self._members = Members(multicast)

    # -- by threads ----------------------------------------------------------------------------------
    async def send(self, members, mailbox, data, timeout_us):
        """See ``Multicast.send``."""
        multicast, kernel = self.multicast, self.kernel
        kernel.check_pending()
        options = multicast.options
        members = sorted(set(members))
        timeout_us = options.timeout_us if timeout_us is None else timeout_us
        if not members:
            raise ValueError("a multicast needs at least one member")
        if multicast.number in members:
            raise ValueError("a multicast does not reach its own sender: leave its ID out")
        if not timeout_us > 0:
            raise ValueError(f"a time-out is more than 0 us, not {timeout_us}")
        if self._retry is None:
            self._retry = Retry(*map(multicast.cycles, (options.first_us, options.least_us, options.most_us)))
        kernel.door.spend(kernel.costs.multicast_send + kernel.costs.multicast_member * len(members))
        deadline = await kernel.door.now() + multicast.cycles(timeout_us)
        for member in members:
            await multicast.datalink.find(member)
        together = self._groups([member for member in members if member not in self._unconfirmed])
        routes = [*map(multicast.datalink.route, members), *(route for _, route in together)]
        areas = min(route.areas for route in routes)
        sent = Protocol.MULTICAST, ANY_CAB
        parcel = await pack_up(kernel, multicast.memory, data, MAX_MESSAGE, areas, sent, timeout_us)
        message = _Message(mailbox, parcel, deadline)
        try:
            await self._members.meet(members, self._retry.timeout())
            for member in members:
                (message.ready if self._turns.queue(member, message) else message.waiting).append(member)
            while await self._go_on(message):
                pass
            if not parcel.own:
                await parcel.drained()
        finally:
            for sending in list(message.sendings):
                self._end(sending)
            parcel.release()
            for member in members:
                self._turns.leave(member, message)
        missing = message.missing
        self._unconfirmed.update(member for member, why in missing.items() if why == _UNHEARD)
        if missing:
            multicast.counters.failed += 1
            raise MulticastFailed(mailbox, missing)
        multicast.counters.sent += 1

    async def _go_on(self, message):
        """Does what can be done for a message now, or waits for a change. False when it is at its end."""
        message.stirred = False
        if not (message.waiting or message.ready or message.sendings):
            return False
        unconfirmed = self._unconfirmed | message.unconfirmed
        sure = [member for member in message.ready if member in self._members.boots and member not in unconfirmed]
        # Those who may be gone come last, so that what waits for them in a HUB holds up nobody else.
        part = sure or (
            message.ready if all(sending.tries >= _UNCONFIRMED_TRIES for sending in message.sendings) else []
        )
        if part:
            part = sorted(part)
            message.ready = [member for member in message.ready if member not in part]
            if sure:
                part, group = await self._members.gather(part, self._retry.timeout())
                message.unconfirmed.update(member for member in sure if member not in part)
                message.ready += [member for member in sure if member not in part]
            if part:
                await self._deliver(message, part, group if sure else 0, not sure)
            return True
        timeout = None
        if message.waiting or message.ready:
            timeout = message.deadline - await self.kernel.door.now()
            if timeout <= 0:
                self._give_up(message)
                return True
        if not message.stirred:
            message.thread = self.kernel.current
            under_way = [member for sending in message.sendings for member in sending.left]
            names = sorted([*message.waiting, *message.ready, *under_way])
            what = f"acknowledgments of CABs {names}"
            try:
                # The timers of what is under way end that at the deadline at the latest.
                await self.kernel.block(what, lambda: setattr(message, "thread", None), timeout=timeout)
            except TimedOut:
                if timeout is None or await self.kernel.door.now() < message.deadline:
                    raise  # somebody has set another limit to this wait
        return True

    def _give_up(self, message):
        """The time is up for those whose turn has not come."""
        message.missing |= dict.fromkeys(message.ready, _UNHEARD) | dict.fromkeys(message.waiting, _BEHIND)
        for member in [*message.ready, *message.waiting]:
            self._turns.leave(member, message)
        message.ready, message.waiting = [], []

    def _called(self, message, member):
        """From both levels: it is a message's turn at a member."""
        message.waiting.remove(member)
        message.ready.append(member)
        self._stir(message)

    def _stir(self, message):
        """From both levels: something has changed."""
        message.stirred = True
        thread, message.thread = message.thread, None
        if thread is not None:
            self.kernel.wake(thread)

    def _groups(self, members):
        """(members, Route) of the multicasts that together reach ``members``: one, unless its commands are more than
        the fiber-out list takes."""
        if not members:
            return []
        try:
            return [(tuple(members), self.multicast.datalink.route(*members))]
        except ValueError:
            if len(members) == 1:
                raise
            middle = len(members) // 2
            return self._groups(members[:middle]) + self._groups(members[middle:])

    async def _deliver(self, message, members, group, unconfirmed):
        """Begins to send to ``members``, by the HUBs' multicast or, if they are ``unconfirmed``, to each by itself.

        The rest is done at interrupt level.
        """
        multicast, kernel, parcel = self.multicast, self.kernel, message.parcel
        boots = {member: self._members.boots.get(member, 0) for member in members}
        sending = _Sending(message, self._number, group, boots, unconfirmed)
        self._number = self._number + 1 & 0xFFFF
        self._sendings[sending.number] = sending
        message.sendings.append(sending)
        sending.slow = multicast.cycles(multicast.options.fragment_us) * len(parcel.parts)
        now = await kernel.door.now()
        wait = min(self._retry.timeout() + sending.slow, message.deadline - now)
        if wait <= 0:
            self._end(sending)
            return
        sending.timer = await multicast.timers.after(wait, self._fire, sending)
        sending.begun = now
        if unconfirmed:
            for index in range(len(parcel.parts)):
                for member in members:
                    self._post(sending, (member,), index, wait=False)
        else:
            await self._first(sending, self._groups(members))
        sending.first = False

    async def _first(self, sending, groups):
        """Sends it, by the HUBs' multicast."""
        parcel, datalink = sending.message.parcel, self.multicast.datalink
        for index in range(len(parcel.parts)):
            for members, route in groups:
                if sending.over:
                    return
                try:
                    await parcel.send(datalink, route, self._header(sending, members, index), index)
                except CircuitError:
                    # The way to several HUBs did not come to stand: as good as lost, so each member gets its own.
                    sending.resent = True

    def _header(self, sending, members, index, ask=0):
        multicast = self.multicast
        one = len(members) == 1
        message, group = sending.message, sending.boots[members[0]] if one else sending.group
        return multicast.header(
            members[0] if one else ANY_CAB,
            PacketKind.REQUEST | ask,
            message.mailbox,
            sending.number,
            multicast.boot,
            group,
            index << LENGTH_BITS | message.parcel.length,
        )

    def _ask(self, sending, members):
        """Asks each of ``members`` which start of it this is; what is told of a message comes to its sending."""
        multicast = self.multicast
        for member in members:
            self._tell(
                member, multicast.header(member, PacketKind.JOIN | ASK, 0, sending.number, multicast.boot, 0, 0), False
            )

    def _tell(self, member, header, wait=True):
        """Posts a packet without data."""
        route = self.multicast.datalink.back(member)
        if route is None:
            self.multicast.counters.no_route += 1
        else:
            self.multicast.datalink.post(route, header, wait=wait)

    def _post(self, sending, members, index, ask=0, wait=True):
        """Posts a fragment to ``members``, ``wait`` as for ``Datalink.post``.

        At once to all if one stage of commands can do that, else to one after the other.
        """
        multicast = self.multicast
        unknown = [member for member in members if not sending.boots[member]]
        if unknown:
            self._ask(sending, unknown)
            members = tuple(member for member in members if sending.boots[member])
            if not members:
                return
        try:
            route = multicast.datalink.route(*members)
            if not route.before:
                header = self._header(sending, members, index, ask)
                sending.message.parcel.post(multicast.datalink, route, header, index, wait)
                return
        except (NoRoute, MessageTooLong, ValueError):
            if len(members) == 1:
                multicast.counters.no_route += 1
                return
        for member in members:
            self._post(sending, (member,), index, ask, wait)

    # -- ends and time-outs --------------------------------------------------------------------------
    def _end(self, sending):
        """From both levels; may be called twice."""
        if not sending.over:
            message = sending.message
            sending.over = True
            del self._sendings[sending.number]
            message.sendings.remove(sending)
            if sending.timer is not None:
                self.multicast.timers.cancel(sending.timer)
            message.missing |= sending.left
            for member in sending.left:
                self._turns.leave(member, message)
            self._stir(message)

    def _fire(self, sending, now):
        """At interrupt level."""
        multicast, costs, message = self.multicast, self.kernel.costs, sending.message
        self.kernel.door.spend(costs.request_timer + costs.multicast_member * len(sending.left))
        if sending.over:
            return
        if now >= message.deadline:
            self._end(sending)
            return
        sending.tries += 1
        if sending.tries >= _UNCONFIRMED_TRIES and not sending.tries & sending.tries - 1:  # more and more rarely
            for member in sending.left:
                multicast.datalink.report_unresponsive(member)
            self._stir(message)
        waits = sending.first or bool(message.parcel.flying)  # for fiber out
        if not waits:
            sending.resent = True
            multicast.counters.retries += 1
            left = tuple(sending.left)
            if sending.tries < _UNCONFIRMED_TRIES:
                groups = [left]
            else:
                # What waits for one of them in a HUB holds up the others: so each is the first in its turn.
                turn = sending.tries % len(left)
                groups = [(member,) for member in left[turn:] + left[:turn]]
            sending.again.update(left)
            # From then on the way has been looked at.
            deaf = multicast.datalink.recovery.deaf
            waits = sending.tries > _UNCONFIRMED_TRIES and not sending.unconfirmed and not deaf & sending.left.keys()
            for members in groups:
                self._post(sending, members, len(message.parcel.parts) - 1, ASK, waits)
        # What waits for its way is repeated more and more rarely; what is dropped where that is not free, all the time.
        least = multicast.cycles(multicast.options.first_us)
        pause = self._retry.timeout(sending.tries) if waits else max(self._retry.timeout(), least)
        sending.timer = multicast.timers.at(min(now + pause, message.deadline), self._fire, sending)

    # -- packets of members, at interrupt level ------------------------------------------------------
    def take(self, packet):
        """A word of a member has arrived unharmed."""
        multicast, member, boot = self.multicast, packet.source, packet.group
        self._unconfirmed.discard(member)
        new = self._members.heard(packet) if packet.boot == multicast.boot else None
        if new is None:
            multicast.counters.stale += 1
            return
        for sending in list(self._sendings.values()) if new or packet.kind is PacketKind.WORKING else ():
            if member in sending.left and sending.unconfirmed:
                # It is there, and late: what it has been sent has perhaps been dropped on its way.
                if sending.boots[member]:
                    self._send_again(sending, member, NOTHING)
                else:
                    self._begin_anew(sending, member, boot)
        if packet.kind is PacketKind.WORKING:
            return
        sending = self._sendings.get(packet.number)
        refused = packet.kind is PacketKind.REFUSED
        if sending is None or member not in sending.left:
            multicast.counters.stale += not (refused and packet.word == Reason.BOOT)
        elif packet.kind is PacketKind.ACK:
            self._leave(sending, member)
        elif boot != sending.boots[member]:
            self._begin_anew(sending, member, boot)
        elif refused and packet.word == Reason.GROUP:
            self._tell(member, multicast.header(member, PacketKind.JOIN, 0, 0, multicast.boot, sending.group, boot))
            self._send_again(sending, member, NOTHING)
        elif refused and packet.word == Reason.BOOT:
            multicast.counters.stale += 1  # of a copy for an earlier start
        elif refused:
            sending.left[member] = _REASONS[packet.word]
        else:
            sending.left[member] = _UNHEARD
            self._send_again(sending, member, packet.word)

    def _leave(self, sending, member):
        """A member needs nothing more of it."""
        message = sending.message
        del sending.left[member]
        self._turns.leave(member, message)
        if not sending.left:
            if not sending.resent:
                self.multicast.interrupts.late.append(
                    lambda now: self._retry.sample(max(0, now - sending.begun - sending.slow))
                )
            self._end(sending)

    def _begin_anew(self, sending, member, boot):
        """A member is of another start than its copies were for, and has taken none. Did the start before take one?"""
        multicast = self.multicast
        if sending.boots[member] and member in sending.again:
            sending.message.missing[member] = _RESTARTED
            sending.resent = True
            self._leave(sending, member)
            return
        # No: there was one copy of each fragment, and it is this start that tells of it. Or there was none.
        sending.boots[member] = boot
        if sending.group:
            self._tell(member, multicast.header(member, PacketKind.JOIN, 0, 0, multicast.boot, sending.group, boot))
        self._send_again(sending, member, NOTHING)
        sending.again.discard(member)

    def _send_again(self, sending, member, word):
        """A member lacks fragments: it is sent these, and it alone."""
        if not sending.first:
            sending.again.add(member)
            missing = lacking(word, len(sending.message.parcel.parts))
            for index in missing:
                sending.resent = True
                self.multicast.counters.repeated += 1
                self._post(sending, (member,), index, ASK if index == missing[-1] else 0)
