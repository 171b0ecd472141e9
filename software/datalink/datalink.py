"""The datalink of one CAB: what transports call.

Source: "The Design of Nectar" (1989), section 6.2.1.
"""

from enum import Enum

from ..errors import NoRoute
from .circuits import Circuits
from .fiberin import FiberIn
from .fiberout import FiberOut
from .options import Counters, Options
from .replies import Replies
from .route import CLOSE_ALL, Route
from .watch import Watch

__all__ = ["Datalink", "Switching"]


class Switching(Enum):
    """How a packet finds its way open."""

    PACKET = "packet"      # each HUB opens the next hop when the input queue behind it has room
    CIRCUIT = "circuit"    # the whole route is opened before the data set out


class Datalink:
    """Packets from this CAB and to it, by reference: bytes stay where they are.

    Parameters
    ----------
    kernel, memory, timers, interrupts
        The CAB's.
    routes : dict of int → list of (hub ID, output port)
        For each CAB ID the hops to it.
    options : Options

    Members
    -------
    counters : Counters
    out : FiberOut
    watch : Watch
    """

    __slots__ = ("kernel", "routes", "options", "counters", "out", "watch", "_in", "_replies", "_circuits", "_compiled")

    def __init__(self, kernel, memory, timers, interrupts, routes, options=Options()):
        cycles = round(kernel.door.cpu_hz / 1_000_000)
        self.kernel = kernel
        self.routes = routes
        self.options = options
        self.counters = counters = Counters()
        self.watch = watch = Watch(timers, interrupts, options.watch_us * cycles)
        self.out = FiberOut(kernel, memory, interrupts, watch, counters, max(1, options.ready_us // options.watch_us))
        self._in = FiberIn(kernel, timers, interrupts, watch, counters, options.hold_us * cycles,
                           max(1, options.stall_us // options.watch_us))
        self._replies = Replies(kernel, timers, interrupts, self.out, counters)
        self._circuits = Circuits(kernel, self.out, self._replies, counters, options.reply_us * cycles,
                                  options.status_us * cycles, options.attempts)
        self._compiled = {}
        interrupts.on_error = self._on_error

    def register(self, protocol, receiver):
        """Names the transport for packets whose byte 0 is ``protocol``; what it must offer is told at FiberIn."""
        self._in.protocols[int(protocol)] = receiver

    def route(self, *destinations):
        """The Route to the CABs of these IDs. Raises NoRoute if the table does not have one.

        Outputs are opened in the order of the IDs, so that two multicasts on one HUB never wait for each other in a circle. Across several HUBs
        they may: only one CAB at a time should send multicasts there.
        """
        route = self._compiled.get(destinations)
        if route is None:
            ordered = sorted(set(destinations))
            for destination in ordered:
                if not self.routes.get(destination):
                    raise NoRoute(f"{self.kernel.name} has no route to CAB {destination}; it knows {sorted(self.routes)}")
            route = self._compiled[destinations] = Route([self.routes[destination] for destination in ordered])
        return route

    async def send(self, route, header, areas, last=True, done=None, argument=None):
        """Sends one packet by packet switching: the 16 bytes of ``header``, then ``areas``, each (byte address, bytes), 1004 bytes at most.

        Returns when it is in the fiber-out list. ``last``: False only if another packet follows for certain. ``done(argument)``, only with
        ``last``, is called some time after it has left.
        """
        out = self.out
        lock = out.lock
        if lock.holder is not None:
            await lock.acquire()
        else:
            lock.holder = self.kernel.current
        try:
            await out.packet(route.packet, header, areas, True, last, done, argument)
        finally:
            lock.release()

    async def send_circuit(self, route, packets, done=None, argument=None):
        """Opens a circuit, sends ``packets`` (an iterable of (header, areas), of any size) over it, and closes it.

        Returns and calls ``done`` like ``send``. Raises CircuitError if the circuit does not come to stand.
        """
        out = self.out
        await out.lock.acquire()
        try:
            await self._circuits.open(route)
            for header, areas in packets:
                await out.packet((), header, areas, False, False)
            await out.commands([CLOSE_ALL], done, argument)
        finally:
            out.lock.release()

    async def command(self, op, hub, param=0, attempts=None):
        """Has a HUB do a command with a reply, and returns the reply's value (0 to 255).

        ``op`` is an ``Op`` (``nectar.hdl.hub.commands``), ``hub`` the ID of the HUB on which the CAB hangs. What was sent before leaves first. A
        command whose reply does not come in time is sent again, ``attempts`` times in all (by default the options'): so it may be done several
        times. Raises CommandRefused (its ``error`` tells why), NoReply after the last attempt, ValueError for a command that has no reply.
        """
        options = self.options
        cycles = round(options.status_us * self.kernel.door.cpu_hz / 1_000_000)
        await self.out.lock.acquire()
        try:
            return await self._replies.command(op, hub, param, cycles, options.attempts if attempts is None else attempts)
        finally:
            self.out.lock.release()

    async def finish(self):
        """Waits until all that was sent so far has left."""
        await self.out.finish()

    def _on_error(self, word):
        """Interrupt ERROR: something that is no packet came in."""
        self.counters.fiber_errors += 1
        self._in.alert()
