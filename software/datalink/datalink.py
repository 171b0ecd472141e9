"""The datalink of one CAB: what transports call.

Source: "The Design of Nectar" (1989), section 6.2.1.
"""

from enum import Enum

from ...hdl.hub.commands import HELLO, Error
from ...hdl.link.symbol import Control
from ..errors import CircuitError, NoRoute
from ..names import destination
from .circuits import Circuits
from .discovery import Discovery
from .fiberin import FiberIn
from .fiberout import FiberOut
from .options import DatalinkCounters, Options
from .questions import Questions
from .recovery import Recovery
from .replies import Replies
from .route import CLOSE_ALL, Route
from .routes import Table
from .watchdog_timer import WatchdogTimer

__all__ = ["Datalink", "Switching"]


class Switching(Enum):
    """How a packet finds its way open."""

    PACKET = "packet"  # each HUB opens the next hop when the input queue behind it has room
    CIRCUIT = "circuit"  # the whole route is opened before the data set out
    AUTO = "auto"  # for transports: the one that is faster for the message's size


class Datalink:
    """Packets from this CAB and to it, by reference: bytes stay where they are.

    Parameters
    ----------
    kernel, memory, timers, interrupts
        The CAB's.
    table : Table, or dict of int → list of (hub ID, output port)
        For each CAB ID the hops to it.
    options : Options
    number : int
        The CAB's ID, which it tells its HUB when it is asked.
    names : dict of str → int
        IDs of all CABs by their names.

    Members
    -------
    counters : DatalinkCounters
    discovery : Discovery
        Explores the network, if asked to.
    recovery : Recovery
        Looks after ways on which nothing arrives.
    out : FiberOut
    watch : WatchdogTimer
    """

    __slots__ = (
        "kernel",
        "table",
        "options",
        "names",
        "counters",
        "out",
        "watch",
        "discovery",
        "recovery",
        "_in",
        "_replies",
        "_circuits",
        "_compiled",
    )

    def __init__(self, kernel, memory, timers, interrupts, table, options=Options(), number=0, names=None):
        cycles = round(kernel.door.cpu_hz / 1_000_000)
        self.kernel = kernel
        self.table = table if isinstance(table, Table) else Table(table)
        self.options = options
        self.names = names or {}
        self.counters = counters = DatalinkCounters()
        self.watch = watch = WatchdogTimer(timers, interrupts, options.watch_us * cycles)
        self.out = FiberOut(kernel, memory, interrupts, watch, counters, max(1, options.ready_us // options.watch_us))
        self._in = FiberIn(
            kernel,
            timers,
            interrupts,
            watch,
            counters,
            options.hold_us * cycles,
            max(1, options.stall_us // options.watch_us),
            options.spare_ready,
        )
        self._replies = Replies(kernel, timers, interrupts, self.out, counters)
        self._circuits = Circuits(
            kernel,
            self.out,
            self._replies,
            counters,
            options.reply_us * cycles,
            options.status_us * cycles,
            options.attempts,
        )
        self._compiled = {}
        self.out.hello = (Control.REPLY, HELLO, number, 0)
        questions = Questions(self, self._replies)
        self.discovery = Discovery(number, self, timers, questions)
        self.recovery = Recovery(number, self, timers, questions)
        interrupts.on_error = self._on_error

    def register(self, protocol, receiver):
        """Names the transport for packets whose byte 0 is ``protocol``; what it must offer is told at FiberIn."""
        self._in.protocols[int(protocol)] = receiver

    def destination(self, given, what):
        """(CAB ID or list of IDs, number) of the destination ``given`` by a program; see ``software.names``."""
        if type(given) is tuple and len(given) == 2:
            cab, number = given
            if type(cab) is int and type(number) is int and 0 <= number <= 0xFFFF:
                return given
        return destination(given, what, self.names)

    @property
    def routes(self):
        """For each CAB ID the hops to it, a list of (hub ID, output port)."""
        return self.table.routes

    def use(self, table):
        """From now on packets go by this Table."""
        self.table = table
        self._compiled = {}

    def route(self, *destinations):
        """The Route to the CABs of these IDs. Raises NoRoute if the table does not have one.

        The outputs of a multicast are opened in an order that all CABs have in common, so that none ever wait for each
        other in a circle (docs/routing.md).
        """
        route = self._compiled.get(destinations)
        if route is None:
            branches, order = self.table.branches(destinations, self.kernel.name)
            key = order.key if order is not None and len(branches) > 1 else None
            route = self._compiled[destinations] = Route(branches, key, destinations)
        return route

    async def find(self, *destinations):
        """The same for threads; a CAB that explores looks for what it does not know once more, since it may have
        started later. Raises NoRoute."""
        if self.discovery.explored:
            unknown = [destination for destination in destinations if destination not in self.routes]
            if unknown:
                await self.discovery.seek(*unknown)
        return self.route(*destinations)

    def back(self, cab):
        """The Route to a CAB from which something has come, for what answers it. From both levels.

        None if there is none: then the network is explored for it.
        """
        try:
            return self.route(cab)
        except NoRoute:
            self.discovery.want(cab)
            return None

    def report_unresponsive(self, cab):
        """A transport has not been answered by that CAB several times: the datalink looks at the way there, and mends
        it or takes another.

        From both levels; returns at once. A packet that was sent over a route found before keeps to it: ask for the
        route anew."""
        self.recovery.report_unresponsive(cab)

    def send(self, route, header, areas, last=True, done=None, argument=None):
        """Awaitable: sends one packet by packet switching: the 16 bytes of ``header``, then ``areas``, each (byte
        address, bytes), 1004 bytes at most.

        Returns when it is in the fiber-out list. ``last``: False only if another packet follows for certain.
        ``done(argument)``, only with ``last``, is called some time after it has left. Raises CircuitError if a
        multicast's way over several HUBs does not come to stand."""
        if route.before:
            return self._through(route, self._tree, header, areas, last, done, argument)
        return self.out.send(route.packet, header, areas, last, done, argument)

    async def _tree(self, route, header, areas, last, done, argument):
        async with self.out as out:
            await self._circuits.prepare(route)
            await out.packet(route.packet, header, areas, True, last, done, argument)

    async def _through(self, route, sending, *arguments):
        """Awaits ``sending(route, *arguments)``; if the way does not come to stand and can be mended or another is
        found, once more."""
        try:
            await sending(route, *arguments)
        except CircuitError as error:
            if error.error not in (None, Error.DISABLED) or not [
                True for cab in route.destinations if await self.recovery.look(cab)
            ]:
                raise
            await sending(self.route(*route.destinations), *arguments)

    def post(self, route, header, areas=(), done=None, argument=None, wait=True):
        """Sends one packet by packet switching like ``send``, but never waits: for acknowledgments at interrupt level,
        and from threads too.

        It is written at once if no thread is writing and the fiber-out list has room, else as soon as that is so;
        packets that were posted keep their order. What a thread posts is carried by a thread of its own if nobody else
        writes just then: one that may wait does better to call ``send``. ``header`` and ``areas`` must not change until
        ``done(argument)`` is called, at either level, some time after all has left. Not ``wait``: where the way is not
        free the HUB drops the packet, so that it holds up no others. For CABs that perhaps do not run.

        Raises MessageTooLong for more areas than the list could hold, ValueError for a multicast whose way must be
        prepared (``route.before``)."""
        if route.before:
            raise ValueError("this multicast's way over several HUBs has to be prepared, which takes time: call send")
        self.out.post(route.packet if wait else route.trial, header, areas, done, argument)

    async def send_circuit(self, route, packets, done=None, argument=None):
        """Opens a circuit, sends ``packets`` (an iterable of (header, areas), of any size) over it, and closes it.

        Returns and calls ``done`` like ``send``. Raises CircuitError if the circuit does not come to stand.
        """
        await self._through(route, self._circuit, packets, done, argument)

    async def _circuit(self, route, packets, done, argument):
        async with self.out as out:
            await self._circuits.open(route)
            for header, areas in packets:
                await out.packet((), header, areas, False, False)
            await out.commands([CLOSE_ALL], done, argument)

    async def command(self, op, hub, param=0, attempts=None):
        """Has a HUB do a command with a reply, and returns the reply's value (0 to 255).

        ``op`` is an ``Op`` (``nectar.hdl.hub.commands``), ``hub`` the ID of the HUB on which the CAB hangs (255 will do
        for group *echo*). What was sent before leaves first. A command whose reply does not come in time is sent again,
        ``attempts`` times in all (by default the options'): so it may be done several times. Raises CommandRefused (its
        ``error`` tells why), NoReply after the last attempt, ValueError for a command that has no reply."""
        options = self.options
        cycles = round(options.status_us * self.kernel.door.cpu_hz / 1_000_000)
        async with self.out:
            return await self._replies.command(
                op, hub, param, cycles, options.attempts if attempts is None else attempts
            )

    async def finish(self):
        """Waits until all that was sent so far has left."""
        await self.out.finish()

    def _on_error(self, word):
        """Interrupt ERROR: something that is no packet came in."""
        self.counters.fiber_errors += 1
        self._in.alert()
