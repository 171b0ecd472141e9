"""Looks after ways on which nothing arrives: asks each HUB on them, flushes what is stuck, repairs flow control, and
goes round what is broken.

Source: *Network-Based Multicomputers*, section 5.3.4: a source recovers by resetting the input buffers at each HUB
along the route, and an extra signal repairs flow control. docs/routing.md tells the steps.
"""

from ...hdl.hub.commands import Error, Op
from ..errors import NoReply
from ..packet import LAST_FRAGMENT, Protocol, pack
from .questions import TAKEN, Refused
from .route import CLOSE_ALL, command_word
from .routes import Plan

__all__ = ["Recovery"]

#: Times that a way is looked at in vain, since others hold a channel on it.
_VISITS = 8


class Recovery:
    """Looks after the routes of one CAB.

    Parameters
    ----------
    number : int
        The CAB's ID.
    datalink : Datalink
    timers, questions
        The CAB's.

    Members
    -------
    broken : set of (hub, port)
        Channels that nothing passes.
    deaf : set of int
        CABs that had not taken the packet before when the way to them was looked at last: perhaps they do not run.
    """

    __slots__ = (
        "number",
        "deaf",
        "datalink",
        "kernel",
        "timers",
        "counters",
        "questions",
        "broken",
        "_looked",
        "_suspects",
        "_thread",
    )

    def __init__(self, number, datalink, timers, questions):
        self.number = number
        self.datalink = datalink
        self.kernel = datalink.kernel
        self.timers = timers
        self.counters = datalink.counters
        self.questions = questions
        self.broken = set()
        self.deaf = set()
        self._looked = {}  # CAB ID -> CPU cycle at which its way was looked at last
        self._suspects = []  # CABs whose ways are to be looked at
        self._thread = None

    def report_unresponsive(self, cab):
        """See ``Datalink.report_unresponsive``."""
        if cab in self.datalink.routes and cab not in self._suspects:
            self._suspects.append(cab)
            self.datalink.out.link_suspect = True
            if self._thread is None:
                self._thread = self.kernel.spawn(self._work, name="looking after routes")

    async def _work(self):
        try:
            while self._suspects:
                await self.look(self._suspects[0])
                del self._suspects[0]
        finally:
            self._thread = None

    async def look(self, cab):
        """Looks at the way to a CAB and mends it if need be; nothing if that was less than ``suspect_us`` ago.
        Returns whether routes changed."""
        now = await self.kernel.door.now()
        last = self._looked.get(cab)
        hops = self.datalink.routes.get(cab)
        if not hops or last is not None and now - last < self._cycles(self.datalink.options.suspect_us):
            return False
        self._looked[cab] = now
        self.counters.looked += 1
        for attempt in range(_VISITS):
            try:
                await self._walk(hops, cab)
                return False
            except Refused as refused:
                if refused.error in (Error.DISABLED, Error.BAD_PORT):
                    return self._avoid(refused.hop)
                # Others use the way, or hold it until the watchdog ends them.
                await self.timers.sleep(self._cycles(200 << attempt))
            except _Broken as broken:
                return self._avoid(broken.channel)
        return False

    # -- HUB by HUB ----------------------------------------------------------------------------------
    async def _walk(self, hops, cab):
        """Goes along ``hops`` and repairs what it can. Raises Refused, _Broken."""
        questions, opened = self.questions, None
        async with self.datalink.out as out:
            try:
                for index, (hub, port) in enumerate(hops):
                    arrival, flushed = await self._reach(hub, hops[index - 1] if index else None)
                    if flushed:
                        await self._suspect_others(hops, index)
                    if index and not await questions.ask(Op.STATUS_READY, *hops[index - 1]):
                        # This command waits for its turn in the queue: when it is done, what was in front of it has
                        # left.
                        await out.commands([command_word(Op.REPAIR_READY, hub, arrival)])
                        self.counters.repaired += 1
                    ready = await questions.ask(Op.STATUS_READY, hub, port)
                    await questions.ask(Op.OPEN_REPLY, hub, port)
                    opened = hub, port
                (self.deaf.discard if ready else self.deaf.add)(cab)
                if not ready:
                    # Its software answers any packet with a ready signal, in its turn; so small a one has room behind
                    # the largest.
                    await out.packet(
                        (), pack(Protocol.PRESENCE, self.number, cab, LAST_FRAGMENT, 0xFFFF, 0, 0, 0), (), False, False
                    )
                    self.counters.repaired += 1
            except GeneratorExit:
                opened = None  # nobody would carry out what is awaited
                raise
            except NoReply as silent:
                raise _Broken(opened) from silent
            finally:
                if opened is not None:
                    await out.commands([CLOSE_ALL])

    async def _reach(self, hub, before):
        """The port at which this CAB's commands arrive at ``hub``, and whether its queue had to be flushed since it did
        not answer. Raises _Broken, Refused."""
        try:
            # As patient as for a circuit: what is in front of the question may only be waiting for its turn.
            return await self.questions.ask(Op.IDENTITY_REPLY, hub, 0, self.datalink.options.reply_us), False
        except NoReply:
            pass
        try:
            await self.questions.ask(Op.FLUSH_REPLY, hub)
            self.counters.flushed += 1
            await self.questions.ask(Op.CLOSE_MINE_REPLY, hub)
            return await self.questions.ask(Op.IDENTITY_REPLY, hub), True
        except NoReply as silent:
            raise _Broken(before) from silent

    async def _suspect_others(self, hops, index):
        """What was flushed out of a HUB may have waited there for a ready signal that is lost, on the way to another
        CAB. The HUB's watchdog would have restored it, but now there is nothing any more that stands still. So the
        ways over its outputs that are not ready are looked at, too, one for each output."""
        hub, own = hops[index]
        ways = {}
        for cab, way in self.datalink.routes.items():
            if len(way) > index + 1 and way[:index] == hops[:index] and way[index][0] == hub and way[index][1] != own:
                ways.setdefault(way[index][1], cab)
        for port, cab in sorted(ways.items()):
            if cab not in self._suspects and not await self.questions.ask(Op.STATUS_READY, hub, port):
                self._suspects.append(cab)

    # -- other ways ----------------------------------------------------------------------------------
    def _avoid(self, channel):
        """Takes routes that do not use ``channel``, if there are any. Returns whether routes changed."""
        if channel is None:
            return False  # the own fiber: there is no other
        if channel not in self.broken:
            self.counters.broken += 1
            if not self.broken:
                self.kernel.spawn(self._mend, name="trying broken ways again")
            links = table.plan.chart.links if (table := self.datalink.table).plan is not None else {}
            self.broken |= {channel, links.get(channel, channel)}
        return self._use_others()

    async def _mend(self):
        """Tries every ``mend_us`` what was broken."""
        while self.broken:
            await self.timers.sleep(self._cycles(self.datalink.options.mend_us))
            whole = {channel for channel in sorted(self.broken) if await self._passes(channel)}
            if whole:
                self.broken -= whole
                self._use_others()

    async def _passes(self, channel):
        """Whether the HUB at the other end of a channel answers. True if there is none, or no way to this end:
        traffic will show it."""
        plan = self.datalink.table.plan
        there = plan.chart.links.get(channel) if plan is not None else None
        if there is None:
            return True
        home = plan.chart.cabs[self.number][0]
        way = plan.without(self.broken).ways(home).get(channel[0])
        if way is None or there[0] in [hub for hub, _ in way]:
            return plan.chart.links[channel] not in self.broken
        try:
            async with self.questions.held([*way, channel]):
                await self.questions.ask(Op.IDENTITY_REPLY, there[0])
        except Refused as refused:
            return refused.error in TAKEN
        except NoReply:
            return False
        return True

    def _use_others(self):
        """The table without what is broken. Returns whether it is another one."""
        table = self.datalink.table
        if table.plan is None:
            return False
        before = dict(table.routes)
        plan = table.plan.without(self.broken)
        routes = plan.table(self.number)
        lost = [cab for cab in before if cab not in routes.routes]
        if self.broken:
            # For where there is no way round in the common order: an order of the network as it is now has one, if
            # there is any.
            routes.spare = other = Plan(plan.remaining()).table(self.number)
            routes.routes.update({cab: other.routes[cab] for cab in lost if cab in other.routes})
        for cab in lost:
            routes.routes.setdefault(cab, before[cab])  # no way at all: the old one may come back
        routes.routes = dict(sorted(routes.routes.items()))
        self.kernel.door.spend(self.kernel.costs.route_step * len(plan.chart.links))
        if routes.routes == before:
            return False
        self.counters.rerouted += 1
        self.datalink.use(routes)
        return True

    def _cycles(self, us):
        return round(us * self.kernel.door.cpu_hz / 1_000_000)


class _Broken(Exception):
    """Nothing passes ``channel``, a (hub, port); None: the CAB's own fiber."""

    def __init__(self, channel):
        super().__init__(channel)
        self.channel = channel
