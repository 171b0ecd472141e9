"""The sender's side of reliable multicast. Source: see ``software.transport.multicast``."""

from ..errors import CircuitError, MessageTooLong, MulticastFailed, NoRoute
from ..kernel.lock import Lock
from ..packet import ANY_CAB, ASK, LENGTH_BITS, Kind, Reason
from .datagram import MAX_MESSAGE
from .fragments import NOTHING, lacking
from .parcel import empty, pack_up
from .retry import Retry

__all__ = ["MulticastOut"]

#: Time-outs after which the datalink is told that the routes to those who have not acknowledged may be broken.
_SUSPECT = 2
#: Groups that a sender remembers.
_SETS = 64
_UNHEARD = "has not acknowledged it"
_REASONS = {Reason.FULL: "has no place in that mailbox", Reason.MISSING: "has closed that mailbox", Reason.ROOM: "has no memory for it"}


class _Sending:
    """A message that is under way."""

    __slots__ = ("number", "group", "mailbox", "parcel", "left", "over", "first", "resent", "begun", "slow", "deadline", "timer", "tries", "thread")

    def __init__(self, number, group, mailbox, parcel, members, deadline):
        self.number = number
        self.group = group
        self.mailbox = mailbox
        self.parcel = parcel
        self.left = dict.fromkeys(members, _UNHEARD)    # members that have not acknowledged -> why
        self.over = False
        self.first = True           # it is being sent for the first time
        self.resent = False         # anything was sent twice
        self.begun = 0              # CPU cycle
        self.slow = 0               # CPU cycles that its fragments take on the fiber
        self.deadline = deadline    # CPU cycle
        self.timer = None
        self.tries = 0
        self.thread = None          # that waits for its end


class MulticastOut:
    """Messages that a CAB sends to several. ``multicast``: its Multicast."""

    __slots__ = ("multicast", "kernel", "_number", "_locks", "_sendings", "_retry", "_doubtful", "_sets", "_last")

    def __init__(self, multicast):
        self.multicast = multicast
        self.kernel = multicast.kernel
        self._number = 0
        self._sets = {}          # members (tuple of CAB IDs) -> group that they have been told of; the one used last at the end
        self._last = 0           # group number given last
        self._locks = {}         # CAB ID -> Lock: messages with a member in common go one after the other
        self._sendings = {}      # number -> _Sending
        self._retry = None       # Retry
        self._doubtful = set()   # members that did not acknowledge the last message: the HUBs' multicast is not to wait for them

    # -- by threads ----------------------------------------------------------------------------------
    async def send(self, members, mailbox, data, timeout_us):
        """See ``Multicast.send``."""
        multicast, kernel = self.multicast, self.kernel
        kernel.heed()
        options = multicast.options
        members = sorted(set(members))
        timeout_us = options.timeout_us if timeout_us is None else timeout_us
        if not members:
            raise ValueError("a multicast needs at least one member")
        if multicast.number in members:
            raise ValueError("a multicast does not reach its own sender: leave its ID out")
        if not 0 <= mailbox <= 0xFFFF:
            raise ValueError(f"a mailbox number is 0 to 65535, not {mailbox}")
        if not timeout_us > 0:
            raise ValueError(f"a time-out is more than 0 us, not {timeout_us}")
        if self._retry is None:
            self._retry = Retry(*map(multicast.cycles, (options.first_us, options.least_us, options.most_us)))
        kernel.door.spend(kernel.costs.multicast_send + kernel.costs.multicast_member * len(members))
        for member in members:
            await multicast.datalink.find(member)
        groups = self._groups([member for member in members if member not in self._doubtful])
        others = [((member,), multicast.datalink.route(member)) for member in members if member in self._doubtful]
        parcel = await pack_up(kernel, multicast.memory, data, MAX_MESSAGE, min(route.areas for _, route in groups + others))
        held, missing = [], {}
        try:
            for member in members:
                lock = self._locks.get(member)
                if lock is None:
                    lock = self._locks[member] = Lock(kernel, f"the end of another multicast to CAB {member}")
                await lock.acquire()
                held.append(lock)
            deadline = await kernel.door.now() + multicast.cycles(timeout_us)
            # Those who may be gone come last, so that what waits for them in a HUB holds up nobody else.
            for part in filter(None, (groups, others)):
                missing |= await self._deliver(parcel, part, mailbox, deadline)
            if not parcel.own:
                await parcel.drained()
        finally:
            parcel.release()
            for lock in held:
                lock.release()
        self._doubtful.difference_update(members)
        self._doubtful.update(member for member, why in missing.items() if why == _UNHEARD)
        if missing:
            multicast.counters.failed += 1
            raise MulticastFailed(mailbox, missing)
        multicast.counters.sent += 1

    def _groups(self, members):
        """(members, Route) of the multicasts that together reach ``members``: one, unless its commands are more than the fiber-out list takes."""
        if not members:
            return []
        try:
            return [(tuple(members), self.multicast.datalink.route(*members))]
        except ValueError:
            if len(members) == 1:
                raise
            middle = len(members) // 2
            return self._groups(members[:middle]) + self._groups(members[middle:])

    async def _deliver(self, parcel, groups, mailbox, deadline):
        """Sends to all members of ``groups``; returns those that have not acknowledged at CPU cycle ``deadline``, and why."""
        multicast, kernel = self.multicast, self.kernel
        everyone = tuple(member for members, _ in groups for member in members)
        group, new = self._group(everyone)
        sending = _Sending(self._number, group, mailbox, parcel, everyone, deadline)
        self._number = self._number + 1 & 0xFFFF
        self._sendings[sending.number] = sending
        sending.slow = multicast.cycles(multicast.options.fragment_us) * len(parcel.parts)
        now = await kernel.door.now()
        wait = min(self._retry.timeout() + sending.slow, deadline - now)
        try:
            if wait > 0:
                sending.timer = await multicast.timers.after(wait, self._fire, sending)
                sending.begun = now
                if new and len(everyone) > 1:
                    await self._join(group, everyone)
                await self._first(sending, groups)
                if not sending.over:
                    sending.thread = kernel.current
                    # Its timer ends it at the deadline at the latest.
                    await kernel.block(f"acknowledgments of CABs {sorted(sending.left)}", lambda: setattr(sending, "thread", None))
        finally:
            self._end(sending)
        return sending.left

    def _group(self, members):
        """The group's number, and whether its members have not been told of it."""
        number = self._sets.pop(members, None)
        new = number is None
        if new:
            self._last = number = self._last % 0xFFFF + 1
            if len(self._sets) >= _SETS:
                del self._sets[next(iter(self._sets))]
        self._sets[members] = number       # the last now
        return number, new

    async def _join(self, group, members):
        """Tells each member that it is one: a packet of its own, ahead of the first fragment."""
        multicast = self.multicast
        for member in members:
            header = multicast.header(member, Kind.JOIN, 0, 0, multicast.boot, group)
            await empty(multicast.kernel, multicast.memory).send(multicast.datalink, multicast.datalink.route(member), header, 0)

    async def _first(self, sending, groups):
        """Sends it, by the HUBs' multicast."""
        parcel, datalink = sending.parcel, self.multicast.datalink
        for index in range(len(parcel.parts)):
            for members, route in groups:
                if sending.over:
                    return
                try:
                    await parcel.send(datalink, route, self._header(sending, members, index), index)
                except CircuitError:
                    # The way to several HUBs did not come to stand: as good as lost, so each member gets its own.
                    sending.resent = True
        sending.first = False

    def _header(self, sending, members, index, ask=0):
        multicast = self.multicast
        destination = members[0] if len(members) == 1 else ANY_CAB
        return multicast.header(destination, Kind.REQUEST | ask, sending.mailbox, sending.number, multicast.boot, sending.group,
                                index << LENGTH_BITS | sending.parcel.length)

    def _post(self, sending, members, index, ask=0):
        """Posts a fragment to ``members``: at once to all if one stage of commands can do that, else to one after the other."""
        multicast = self.multicast
        try:
            route = multicast.datalink.route(*members)
            if not route.before:
                sending.parcel.post(multicast.datalink, route, self._header(sending, members, index, ask), index)
                return
        except (NoRoute, MessageTooLong, ValueError):
            if len(members) == 1:
                multicast.counters.no_route += 1
                return
        for member in members:
            self._post(sending, (member,), index, ask)

    # -- ends and time-outs --------------------------------------------------------------------------
    def _end(self, sending):
        """From both levels; may be called twice."""
        if not sending.over:
            sending.over = True
            del self._sendings[sending.number]
            if sending.timer is not None:
                self.multicast.timers.cancel(sending.timer)
            if sending.thread is not None:
                self.kernel.wake(sending.thread)

    def _fire(self, sending, now):
        """At interrupt level."""
        multicast, costs = self.multicast, self.kernel.costs
        self.kernel.door.spend(costs.request_timer + costs.multicast_member * len(sending.left))
        if sending.over:
            return
        if now >= sending.deadline:
            self._end(sending)
            return
        sending.tries += 1
        if sending.tries >= _SUSPECT:
            for member in sending.left:
                multicast.datalink.suspect(member)
        if not sending.first and not sending.parcel.flying:
            sending.resent = True
            multicast.counters.retries += 1
            left = tuple(sending.left)
            if sending.tries < _SUSPECT:
                groups = [left]
            else:
                # What waits for one of them in a HUB holds up the others: so each is the first in its turn.
                turn = sending.tries % len(left)
                groups = [(member,) for member in left[turn:] + left[:turn]]
            for members in groups:
                self._post(sending, members, len(sending.parcel.parts) - 1, ASK)
        sending.timer = multicast.timers.at(min(now + self._retry.timeout(sending.tries), sending.deadline), self._fire, sending)

    # -- packets of members, at interrupt level ------------------------------------------------------
    def take(self, packet):
        """A word of a member has arrived unharmed."""
        multicast = self.multicast
        self._doubtful.discard(packet.source)
        sending = self._sendings.get(packet.number) if packet.boot == multicast.boot else None
        if sending is None or packet.source not in sending.left:
            multicast.counters.stale += 1
        elif packet.kind is Kind.ACK:
            del sending.left[packet.source]
            if not sending.left:
                if not sending.resent:
                    multicast.interrupts.late.append(lambda now: self._retry.sample(max(0, now - sending.begun - sending.slow)))
                self._end(sending)
        elif packet.kind is Kind.REFUSED and packet.word == Reason.GROUP:
            self._send_again(sending, packet.source, NOTHING)
        elif packet.kind is Kind.REFUSED:
            sending.left[packet.source] = _REASONS[packet.word]
        else:
            sending.left[packet.source] = _UNHEARD
            self._send_again(sending, packet.source, packet.word)

    def _send_again(self, sending, member, word):
        """A member lacks fragments: it is sent these, and it alone."""
        if not sending.first:
            missing = lacking(word, len(sending.parcel.parts))
            for index in missing:
                sending.resent = True
                self.multicast.counters.repeated += 1
                self._post(sending, (member,), index, ASK if index == missing[-1] else 0)
