"""How a CAB finds out what the network looks like: it asks its HUB, then every HUB that it finds.

Source: *Network-Based Multicomputers*, section 5.3.2. docs/routing.md tells the questions and why they are asked that
way."""

from contextlib import suppress

from ...hdl.hub.commands import HELLO_HUB, KIND_UNKNOWN, Op
from ...hdl.link.symbol import ANY_HUB
from ..errors import NoReply
from ..packet import ANY_CAB, LAST_FRAGMENT, Protocol, pack
from .fiberin import Answer
from .map import Map
from .questions import TAKEN, Refused
from .routes import Plan

__all__ = ["Discovery"]

#: An ID of 0 counts when it was heard so many times: it also stands for "not known".
_ZEROS = 5
#: Times that a known neighbour is asked for its ID, and that a HUB is visited in vain, since others hold a channel on
#: the way.
_ASKED, _VISITS = 40, 40
#: Hellos of a neighbour that says something else each time.
_HELLOS = 8
#: Looks at the ports of a HUB, while there is somebody who has not told enough.
_ROUNDS = 40
#: Times that an announcement waits for the one before it, and microseconds between two looks.
_HELD_UP, _LOOK_US = 200, 20


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

    __slots__ = (
        "number",
        "datalink",
        "kernel",
        "timers",
        "chart",
        "plan",
        "explored",
        "taken_us",
        "_questions",
        "_busy",
        "_missed",
        "_wanted",
        "_seeker",
        "_waiting",
        "_heard",
        "_present",
    )

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
        self._missed = {}  # CAB that was looked for in vain -> when, in microseconds
        self._wanted = []  # CABs that are to be looked for
        self._seeker = None  # thread that does so
        self._waiting = []
        self._heard = None
        self._present = {}  # CABs that have told where they are while this one explored
        datalink.register(Protocol.PRESENCE, self)

    async def again(self):
        """Explores, or waits until somebody who is at it has done. Raises NoReply."""
        if self._busy:
            self._waiting.append(self.kernel.current)
            await self.kernel.block(
                "the network's exploration", lambda thread=self.kernel.current: self._waiting.remove(thread)
            )
            if not self.explored:
                raise NoReply(f"no HUB answers to {self.kernel.name}: is its fiber whole, and its HUB running?")
        else:
            await self.explore()

    async def seek(self, *cabs):
        """Explores once more for unknown CABs; nothing if each was looked for in vain less than ``again_us`` ago."""
        now, again_us = await self._now(), self.datalink.options.again_us
        if all(now - self._missed.get(cab, -again_us) < again_us for cab in cabs):
            return
        joins = self._busy
        with suppress(NoReply):
            await self.again()
            if joins and not self._knows(cabs):
                await self.again()  # the one that was under way had perhaps passed them by
        now = await self._now()
        for cab in cabs:
            self._missed.pop(cab, None)
            if not self._knows([cab]):
                self._missed[cab] = now

    def _knows(self, cabs):
        return all(cab in self.datalink.routes for cab in cabs)

    def want(self, cab):
        """Has a thread ``seek`` a CAB that has shown itself; from both levels, returns at once."""
        if self.explored and cab not in self._wanted:
            self._wanted.append(cab)
            if self._seeker is None:
                self._seeker = self.kernel.spawn(self._work, name="looking for a CAB")

    async def _work(self):
        try:
            while self._wanted:
                await self.seek(self._wanted[0])
                del self._wanted[0]
        finally:
            self._seeker = None

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
        """Finds out what there is and sets the datalink's table by it. Raises NoReply if not even the own HUB
        answers."""
        self._busy = True
        begun = await self._now()
        try:
            chart = await self._patiently()
            self.chart.learn(chart)
            for cab, place in self._present.items():
                # Its hello may have stood behind packets of its own.
                if cab not in chart.cabs and place[1] < chart.hubs.get(place[0], 0) and place not in chart.links:
                    self.chart.cab(cab, place)
            self._present.clear()
            costs = self.kernel.costs
            self.kernel.door.spend(
                costs.route_step * len(self.chart.hubs) * (len(self.chart.hubs) + len(self.chart.links))
            )
            self.plan = Plan(self.chart)
            self.datalink.use(self.plan.table(self.number))
            await self._announce()
            self.explored += 1
        finally:
            self._busy = False
            for thread in self._waiting:
                self.kernel.wake(thread)
            self._waiting.clear()
        self.taken_us = await self._now() - begun

    async def _now(self):
        return await self.kernel.door.now() * 1_000_000 / self.kernel.door.cpu_hz

    # -- who has started later -----------------------------------------------------------------------
    async def _announce(self):
        """Tells all CABs that are known where this one is: they may have explored before it had its software."""
        hub, port = self.chart.cabs[self.number]
        for other in self.datalink.routes:
            header = pack(Protocol.PRESENCE, self.number, other, LAST_FRAGMENT, hub << 8 | port, 0, 0, 0)
            # One after the other, so that a hello that somebody waits for stands behind none of them.
            for _ in range(_HELD_UP):
                if await self.datalink.out.ready():
                    break
                await self.timers.sleep(self._cycles(_LOOK_US))
            await self.datalink.send(self.datalink.route(other), header, ())
            await self.datalink.finish()

    def packet(self, header):
        """A CAB tells where it is: an upcall of the datalink."""
        self._heard = header[1], (header[4], header[5])
        return Answer.CHECK

    def received(self, length, good):
        """What it says is undamaged, or not."""
        cab, place = self._heard
        if not good or cab in (self.number, ANY_CAB) or place[0] == ANY_HUB:
            return False
        if self._busy:
            self._present[cab] = place
        if self.plan is None or self.chart.cabs.get(cab) == place:
            return False
        if place[1] < self.chart.hubs.get(place[0], 0):
            self.kernel.door.spend(self.kernel.costs.route_step)
            self.chart.cab(cab, place)
            self.datalink.use(self.plan.table(self.number))
        elif place[0] not in self.chart.hubs:
            self.want(cab)
        return False

    # -- from HUB to HUB -----------------------------------------------------------------------------
    async def _patiently(self):
        """The Map as it is now. Raises NoReply if the own HUB does not answer, though it was asked in several ways."""
        for attempt in range(1, self.datalink.options.attempts + 1):
            try:
                return await self._walk()
            except (NoReply, Refused) as error:
                if attempt == self.datalink.options.attempts:
                    raise NoReply(f"the HUB of {self.kernel.name} does not say what it is") from error

    async def _walk(self):
        """The Map as it is now. Raises NoReply, Refused of the own HUB."""
        questions = self._questions
        chart = Map()
        async with questions.held():
            home, port = await questions.sure(Op.IDENTITY_REPLY, ANY_HUB)
            ports = (await questions.sure(Op.SIZE_REPLY, home))[1]
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
        silent = 0
        for attempt in range(_VISITS):
            if attempt:
                # Others hold a channel on the way. Who explores has no order yet in which it might wait, so it gives
                # way.
                await self.timers.sleep(
                    self._cycles(min(50 << min(attempt, 6), 2000) * (16 + self.number * 7 % 16) / 16)
                )
            try:
                async with questions.held(ways[hub]):
                    arrival = await questions.ask(Op.IDENTITY_REPLY, hub)
                    if arrival != chart.links[ways[hub][-1]][1]:
                        continue
                    ports = (await questions.sure(Op.SIZE_REPLY, hub))[1]
                    found = await self._ports(hub, ports, arrival)
            except Refused as refused:
                if refused.error not in TAKEN:
                    return
            except NoReply:
                silent += 1
                if silent == self.datalink.options.attempts:
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
        # Ports not settled yet -> what their neighbours have said; those of them at which somebody is, for certain.
        heard = {port: [] for port in range(ports) if port != arrival}
        there = set()
        found = {}
        looks = rounds = 0
        await self._greet(hub, heard, there)
        while heard and (looks < options.looks or there and rounds < _ROUNDS):
            rounds += 1
            await self._nap(options.look_us + self.number % 16 * 3)
            kinds = zip(list(heard), await questions.each(Op.STATUS_KIND, hub, heard), strict=True)
            known = [port for port, kind in kinds if kind != KIND_UNKNOWN]
            looks = 0 if known else looks + 1
            for port in known:
                there.add(port)
                # A hello has no check code, nor has the HUB's answer: what counts was said twice in a row.
                heard[port].append(await self._neighbour(hub, port))
                said = heard[port][-2:]
                if said[1:] == said[:1]:
                    found[port] = said[0]
                if port in found or len(heard[port]) == _HELLOS:
                    there.discard(port)
                    del heard[port]
            if not known and looks < options.looks:
                await self._greet(hub, heard, there)
        return {port: said for port, said in sorted(found.items()) if said is not None}

    async def _greet(self, hub, ports, there):
        """Has a HUB ask its neighbours who they are; adds to ``there`` those of ``ports`` that had told somebody else
        before."""
        heard = zip(list(ports), await self._questions.each(Op.STATUS_NEIGHBOUR, hub, ports), strict=True)
        there.update(port for port, number in heard if number)

    async def _neighbour(self, hub, port):
        """(kind, ID) of a neighbour that has said hello; None if it has fallen silent."""
        questions = self._questions
        zeros = 0
        for attempt in range(_ASKED):
            # The two questions directly behind each other: hardly anybody can make the HUB forget in between.
            kind, number = await questions.pair(Op.STATUS_KIND, Op.STATUS_NEIGHBOUR, hub, port)
            if (kind == 0 or kind & HELLO_HUB) and number not in ((ANY_HUB,) if kind else (ANY_CAB, self.number)):
                zeros += not number
                if number or zeros == _ZEROS:
                    return kind, number
            await self._nap(10 + self.number % 16 + attempt)
        return None

    async def _nap(self, us):
        """Sleeps while it holds the fiber out; who asks is told who is here."""
        await self.datalink.out.wait_still(self.timers.sleep(self._cycles(us)))

    def _cycles(self, us):
        return round(us * self.kernel.door.cpu_hz / 1_000_000)
