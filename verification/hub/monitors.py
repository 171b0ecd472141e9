"""Far ends of the fibers of a HUB under test, and a record of all that passes its pins.

``Endpoint`` stands at the other end of a port; ``Agents`` joins one endpoint to each port and records; ``pins.Pins``
drives a HUB in cocotb, ``Agents.simulate`` a HUB written in Python. A cycle is the time up to a rising edge of the
clock: what a HUB offers and what endpoints drive in cycle c meets at the edge that ends cycle c."""

from bisect import bisect_left
from collections import deque

from nectar.hdl.link.symbol import Control

from .streams import Sent, Violation, name

__all__ = ["QUIET", "Endpoint", "Recording", "Agents", "always", "seven_of_eight", "randomly"]


#: Cycles in which nothing moves, and cycles for each command that has come, after which nothing will: an input may open
#: all outputs in turn, ten cycles each in the slower profile.
QUIET, QUIET_COMMAND = 100, 10
#: What a port does not move by.
_NOTHING = (None, int(Control.IDLE))


def always(cycle):
    """The fiber takes a symbol in every cycle."""
    return True


def seven_of_eight(cycle):
    """The fiber takes a symbol in seven of eight cycles, as the prototype's does (80 ns a symbol, 70 ns a cycle)."""
    return cycle % 8 != 0


def randomly(rng, share):
    """The fiber takes a symbol in a random ``share`` of the cycles."""
    return lambda cycle: rng.random() < share


class Endpoint:
    """Far end of one port's fibers: sends what it is given, takes what comes, answers each start with ready.

    Parameters
    ----------
    take : callable
        Cycle → whether the fiber takes a symbol from the HUB in that cycle.
    answer : int or None
        Cycles from taking a start to sending ready; None never sends one.
    """

    def __init__(self, take=always, answer=1):
        self.take = take
        self.answer = answer
        #: Symbols to send, one a cycle; None leaves a cycle without.
        self.outbox = deque()
        #: Symbols taken from the HUB: [(cycle, symbol)].
        self.got = []
        self._readies = deque()

    def send(self, *streams):
        """Appends streams of symbols to what is to be sent."""
        for stream in streams:
            self.outbox.extend(stream)

    def drive(self, cycle):
        """The symbol that arrives at the HUB in this cycle, or None."""
        if self._readies and self._readies[0] <= cycle:
            self._readies.popleft()
            return int(Control.READY)
        return self.outbox.popleft() if self.outbox else None

    def accept(self, cycle, symbol):
        """Takes a symbol from the HUB."""
        self.got.append((cycle, symbol))
        if symbol == Control.START and self.answer is not None:
            self._readies.append(cycle + self.answer)

    @property
    def symbols(self):
        """Symbols taken so far, without their cycles."""
        return [symbol for _, symbol in self.got]

    @property
    def done(self):
        """Whether there is nothing left to send."""
        return not self.outbox and not self._readies


class Recording:
    """All that passed the pins of a HUB: what the reference model judges.

    ``rx[port]``: [(cycle, symbol)] arrived; ``tx[port]``: [Sent]; ``stalls[port]``: the cycles in which the fiber would
    not have taken a symbol; ``idle[cycle]``: the pin.
    """

    def __init__(self, ports):
        self.rx = [[] for _ in range(ports)]
        self.tx = [[] for _ in range(ports)]
        self.stalls = [[] for _ in range(ports)]
        self.idle = bytearray()
        #: By port what is offered and not taken yet, and since when.
        self._held = {}

    @property
    def ports(self):
        """Number of ports."""
        return len(self.rx)

    def copy(self):
        """Another with the same content."""
        other = Recording(self.ports)
        for theirs, ours in ((other.rx, self.rx), (other.tx, self.tx), (other.stalls, self.stalls)):
            theirs[:] = map(list, ours)
        other.idle[:] = self.idle
        other._held = dict(self._held)
        return other

    def slots(self, port, since, until):
        """In how many cycles from ``since`` on, before ``until``, the fiber of ``port`` would have taken a symbol."""
        stalls = self.stalls[port]
        return until - since - bisect_left(stalls, until) + bisect_left(stalls, since)

    def cycle(self, arriving, offered, ready, idle):
        """Notes one cycle: for each port the symbol that arrives or None, the symbol offered or None, and
        ``tx.ready``."""
        now = len(self.idle)
        self.idle.append(idle)
        for port, symbol in enumerate(arriving):
            if symbol is not None:
                self.rx[port].append((now, symbol))
        held, self._held = self._held, {}
        for port, (symbol, _) in held.items():
            if offered[port] != symbol:
                raise Violation(
                    f"port {port} offered {name(symbol)}, which was not taken, and then changed it in cycle {now}"
                )
        if offered.count(None) < len(offered):
            for port, symbol in enumerate(offered):
                if symbol is not None:
                    first = held[port][1] if port in held else now
                    if ready[port]:
                        self.tx[port].append(Sent(symbol, first, now))
                    else:
                        self._held[port] = symbol, first
        if not all(ready):
            for port, takes in enumerate(ready):
                if not takes:
                    self.stalls[port].append(now)


class Agents:
    """Endpoints at all ports of a HUB, with a recording of what happens.

    Parameters
    ----------
    endpoints : list of Endpoint
        One for each port.
    """

    def __init__(self, endpoints):
        self.endpoints = endpoints
        self.recording = Recording(len(endpoints))
        self._seen = -1
        self._commands = 0  # that have come since all was quiet

    @property
    def now(self):
        """The current cycle."""
        return len(self.recording.idle)

    def step(self, offered, idle):
        """One cycle, in which the HUB offers ``offered``; returns what arrives at each port, and each ``tx.ready``."""
        now = self.now
        # Commands may still wait for what an endpoint has to send.
        ended = self._still and all(endpoint.done for endpoint in self.endpoints)
        arriving = [endpoint.drive(now) for endpoint in self.endpoints]
        ready = [bool(endpoint.take(now)) for endpoint in self.endpoints]
        self.recording.cycle(arriving, offered, ready, idle)
        if arriving.count(None) < len(arriving) and any(symbol not in _NOTHING for symbol in arriving):
            if ended:
                self._commands = 0
            self._commands += arriving.count(int(Control.COMMAND))
            self._seen = now
        if offered.count(None) < len(offered):
            for endpoint, symbol, taken in zip(self.endpoints, offered, ready):
                if taken and symbol is not None:
                    self._seen = now
                    endpoint.accept(now, symbol)
        return arriving, ready

    @property
    def _still(self):
        """Whether nothing has moved at the pins for so long that nothing will of itself."""
        return self.now - self._seen > QUIET + QUIET_COMMAND * min(self._commands, len(self.endpoints))

    @property
    def quiet(self):
        """Whether no endpoint has anything left to send, and the HUB said idle or nothing has moved at its pins for a
        while: connections and locks that stand, and commands that wait, keep it from idle."""
        if not self.now or not all(endpoint.done for endpoint in self.endpoints):
            return False
        return self.recording.idle[-1] and self._seen < self.now - 1 or self._still

    def simulate(self, hub, limit):
        """Runs a HUB written in Python until all is quiet; raises Violation after ``limit`` cycles."""
        while not self.quiet:
            if self.now >= limit:
                raise Violation(f"not quiet after {limit} cycles")
            hub.clock(*self.step(hub.offered(), hub.idle()))
