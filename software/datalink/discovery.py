"""How a CAB finds out what the network looks like: it asks its HUB, then every HUB that it finds.

Source: *Network-Based Multicomputers*, section 5.3.2. docs/routing.md tells the questions and why they are asked that way.
"""

from ...hdl.hub.commands import HELLO_HUB, KIND_UNKNOWN, Error, Op
from ...hdl.link.symbol import ANY_HUB
from ..errors import NoReply
from ..packet import LAST_FRAGMENT, Protocol, pack
from .fiberin import Answer
from .map import Map
from .questions import Refused
from .routes import Plan

__all__ = ["Discovery"]

#: An ID of 0 counts when it was heard so many times: it also stands for "not known".
_ZEROS = 5
#: Times that a known neighbour is asked for its ID, and that a HUB is visited in vain, since others hold a channel on the way.
_ASKED, _VISITS = 40, 40


class Discovery:
    """Explores for one CAB and keeps its routes.

    Parameters
    ----------
    number : int
        The CAB's ID.
    datalink : Datalink
    timers, questions
        The CAB's.

    Members
    -------
    chart : Map
        What is known of the network.
    plan : Plan or None
        What was made of it.
    explored : int
        Times that the network was explored.
    taken_us : float
        Simulated time that the last time took, the computing of the routes included.
    """

    __slots__ = ("number", "datalink", "kernel", "timers", "chart", "plan", "explored", "taken_us", "_questions", "_busy", "_ended_us", "_waiting", "_heard", "_present")

    def __init__(self, number, datalink, timers, questions):
        self.number = number
        self.datalink = datalink
        self.kernel = datalink.kernel
        self.timers = timers
        self.chart = Map()
        self.plan = None
        self.explored = 0
        self.taken_us = None
        self._questions = questions
        self._busy = False
        self._ended_us = None
        self._waiting = []
        self._heard = None
        self._present = {}       # CABs that have told where they are while this one explored
        datalink.register(Protocol.PRESENCE, self)

    async def again(self):
        """Explores, or waits until somebody who is at it has done; nothing if that was less than ``again_us`` ago. Raises NoReply."""
        if self._busy:
            self._waiting.append(self.kernel.current)
            await self.kernel.block("the network's exploration", lambda thread=self.kernel.current: self._waiting.remove(thread))
            if not self.explored:
                raise NoReply(f"no HUB answers to {self.kernel.name}: is its fiber whole, and its HUB running?")
        elif self._ended_us is None or await self._now() - self._ended_us >= self.datalink.options.again_us:
            await self.explore()

    async def start(self):
        """Explores; that it is in vain is told to those who wait for it."""
        try:
            await self.again()
        except NoReply:
            pass

    async def ready(self):
        """Waits until the network has been explored. Raises NoReply."""
        if not self.explored:
            await self.again()

    async def explore(self):
        """Finds out what there is and sets the datalink's table by it. Raises NoReply if not even the own HUB answers."""
        self._busy = True
        begun = await self._now()
        try:
            chart = await self._walk()
            self.chart.learn(chart)
            for cab, place in self._present.items():
                # Its hello may have stood behind packets of its own.
                if cab not in chart.cabs and place[0] in chart.hubs and place not in chart.links:
                    self.chart.cab(cab, place)
            self._present.clear()
            costs = self.kernel.costs
            self.kernel.door.spend(costs.route_step * len(self.chart.hubs) * (len(self.chart.hubs) + len(self.chart.links)))
            self.plan = Plan(self.chart)
            self.datalink.use(self.plan.table(self.number))
            self.explored += 1
            await self._announce()
        finally:
            self._busy = False
            for thread in self._waiting:
                self.kernel.wake(thread)
            self._waiting.clear()
        self._ended_us = await self._now()
        self.taken_us = self._ended_us - begun

    async def _now(self):
        return await self.kernel.door.now() * 1_000_000 / self.kernel.door.cpu_hz

    # -- who has started later -----------------------------------------------------------------------
    async def _announce(self):
        """Tells all CABs that are known where this one is: they may have explored before it had its software."""
        hub, port = self.chart.cabs[self.number]
        for other in self.datalink.routes:
            header = pack(Protocol.PRESENCE, self.number, other, LAST_FRAGMENT, hub << 8 | port, 0, 0, 0)
            await self.datalink.send(self.datalink.route(other), header, ())

    def packet(self, header):
        """A CAB tells where it is: an upcall of the datalink."""
        self._heard = header[1], (header[4], header[5])
        return Answer.CHECK

    def received(self, length, good):
        """What it says is undamaged, or not."""
        cab, place = self._heard
        if good and self._busy:
            self._present[cab] = place
        if good and self.plan is not None and place[0] in self.chart.hubs and self.chart.cabs.get(cab) != place:
            self.kernel.door.spend(self.kernel.costs.route_step)
            self.chart.cab(cab, place)
            self.datalink.use(self.plan.table(self.number))
        return False

    # -- from HUB to HUB -----------------------------------------------------------------------------
    async def _walk(self):
        """The Map as it is now."""
        questions = self._questions
        async with questions.held():
            home, port = await questions.whole(Op.IDENTITY_REPLY, ANY_HUB)
            ports = (await questions.whole(Op.SIZE_REPLY, ANY_HUB))[1]
            chart = Map()
            chart.hub(home, ports)
            found = await self._ports(home, ports, port)
        chart.cab(self.number, (home, port))
        ways = {home: []}
        self._enter(chart, home, found, ways)
        for hub in (wave := list(ways)):
            if hub != home:
                await self._visit(chart, hub, ways)
            wave += [new for new in ways if new not in wave]
        for hub in [hub for hub, size in chart.hubs.items() if size is None]:
            for place in [place for place in chart.links if place[0] == hub]:
                chart.forget(place)
            del chart.hubs[hub]
        return chart

    async def _visit(self, chart, hub, ways):
        """Asks a HUB that was found."""
        questions = self._questions
        for attempt in range(_VISITS):
            if attempt:
                # Others hold a channel on the way. Who explores has no order yet in which it might wait, so it gives way.
                await self.timers.sleep(self._cycles(min(50 << min(attempt, 6), 2000) * (16 + self.number * 7 % 16) / 16))
            try:
                async with questions.held(ways[hub]):
                    arrival = await questions.ask(Op.IDENTITY_REPLY, hub)
                    if arrival != chart.links[ways[hub][-1]][1]:
                        continue
                    ports = await questions.ask(Op.SIZE_REPLY, hub)
                    found = await self._ports(hub, ports, arrival)
            except Refused as refused:
                if refused.error not in (Error.BUSY, Error.LOCKED):
                    return
            except NoReply:
                return
            else:
                chart.hub(hub, ports)
                self._enter(chart, hub, found, ways)
                return

    def _enter(self, chart, hub, found, ways):
        """Enters into the map what hangs on a HUB's ports."""
        for port, (kind, number) in found.items():
            if not kind & HELLO_HUB:
                chart.cab(number, (hub, port))
                continue
            chart.link((hub, port), (number, kind & ~HELLO_HUB))
            if number not in ways:
                chart.hub(number, None)
                ways[number] = [*ways[hub], (hub, port)]

    # -- the ports of a HUB --------------------------------------------------------------------------
    async def _ports(self, hub, ports, arrival):
        """Dict of port → (kind, ID) of the neighbours that a HUB has."""
        questions, options = self._questions, self.datalink.options
        silent = [port for port in range(ports) if port != arrival]
        for port in silent:
            await questions.ask(Op.STATUS_NEIGHBOUR, hub, port)
        found = {}
        looks = 0
        while silent and looks < options.looks:
            await self.timers.sleep(self._cycles(options.look_us + self.number % 16 * 3))
            known = [port for port in silent if await questions.ask(Op.STATUS_KIND, hub, port) != KIND_UNKNOWN]
            for port in known:
                found[port] = await self._neighbour(hub, port)
            silent = [port for port in silent if port not in known]
            looks = 0 if known else looks + 1
            if looks == 1:
                for port in silent:
                    await questions.ask(Op.STATUS_NEIGHBOUR, hub, port)      # a hello may have got lost
        return {port: neighbour for port, neighbour in sorted(found.items()) if neighbour is not None}

    async def _neighbour(self, hub, port):
        """(kind, ID) of a neighbour that has said hello; None if it has fallen silent."""
        questions = self._questions
        zeros = 0
        for attempt in range(_ASKED):
            # The two questions directly behind each other: hardly anybody can make the HUB forget in between.
            kind, number = await questions.pair(Op.STATUS_KIND, Op.STATUS_NEIGHBOUR, hub, port)
            if kind != KIND_UNKNOWN:
                zeros += not number
                if number or zeros == _ZEROS:
                    return kind, number
            await self.timers.sleep(self._cycles(10 + self.number % 16 + attempt))
        return None

    def _cycles(self, us):
        return round(us * self.kernel.door.cpu_hz / 1_000_000)
