"""Far ends of the fibers of a HUB under test, and a record of all that passes its pins.

``Endpoint`` stands at the other end of a port; ``Bed`` joins one endpoint to each port and records; ``Pins`` drives a
HUB in cocotb, ``Bed.simulate`` a HUB written in Python. A cycle is the time up to a rising edge of the clock: what a HUB
offers and what endpoints drive in cycle c meets at the edge that ends cycle c.
"""

from array import array
from collections import deque

from nectar.hdl.link.symbol import Control

from .streams import Sent, Violation, name

__all__ = ["QUIET", "Endpoint", "Recording", "Bed", "Pins", "always", "seven_of_eight", "randomly"]


#: Cycles in which nothing moves, and four for each port, after which nothing will.
QUIET = 100


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

    ``rx[port]``: [(cycle, symbol)] arrived; ``tx[port]``: [Sent]; ``slots[port][cycle]``: in how many cycles before
    this one the fiber would have taken a symbol; ``idle[cycle]``: the pin.
    """

    def __init__(self, ports):
        self.rx = [[] for _ in range(ports)]
        self.tx = [[] for _ in range(ports)]
        self.slots = [array("l", [0]) for _ in range(ports)]
        self.idle = bytearray()
        self._offered = [None] * ports

    @property
    def ports(self):
        """Number of ports."""
        return len(self.rx)

    def cycle(self, arriving, offered, ready, idle):
        """Notes one cycle: for each port the symbol that arrives or None, the symbol offered or None, and ``tx.ready``."""
        now = len(self.idle)
        self.idle.append(idle)
        for port, (arrives, offers, takes) in enumerate(zip(arriving, offered, ready)):
            if arrives is not None:
                self.rx[port].append((now, arrives))
            before = self._offered[port]
            if before is not None and before[0] != offers:
                raise Violation(f"port {port} offered {name(before[0])}, which was not taken, and then changed it in cycle {now}")
            self._offered[port] = None
            if offers is not None:
                first = now if before is None else before[1]
                if takes:
                    self.tx[port].append(Sent(offers, first, now))
                else:
                    self._offered[port] = (offers, first)
            self.slots[port].append(self.slots[port][-1] + bool(takes))


class Bed:
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

    @property
    def now(self):
        """The current cycle."""
        return len(self.recording.idle)

    def step(self, offered, idle):
        """One cycle, in which the HUB offers ``offered``; returns what arrives at each port, and each ``tx.ready``."""
        now = self.now
        arriving = [endpoint.drive(now) for endpoint in self.endpoints]
        ready = [bool(endpoint.take(now)) for endpoint in self.endpoints]
        self.recording.cycle(arriving, offered, ready, idle)
        if any(symbol not in (None, Control.IDLE) for symbol in arriving) or any(symbol is not None and taken for symbol, taken in zip(offered, ready)):
            self._seen = now
        for endpoint, symbol, taken in zip(self.endpoints, offered, ready):
            if taken and symbol is not None:
                endpoint.accept(now, symbol)
        return arriving, ready

    @property
    def quiet(self):
        """Whether no endpoint has anything left to send, and the HUB said idle or nothing has moved at its pins for a while: connections
        and locks that stand, and commands that wait, keep it from idle.
        """
        if not self.now or not all(endpoint.done for endpoint in self.endpoints):
            return False
        return self.recording.idle[-1] and self._seen < self.now - 1 or self.now - self._seen > QUIET + 4 * len(self.endpoints)

    def simulate(self, hub, limit):
        """Runs a HUB written in Python until all is quiet; raises Violation after ``limit`` cycles."""
        while not self.quiet:
            if self.now >= limit:
                raise Violation(f"not quiet after {limit} cycles")
            hub.clock(*self.step(hub.offered(), hub.idle()))


class Pins:
    """The pins of a HUB in cocotb.

    Parameters
    ----------
    dut : handle
        The HUB; pins as in docs/hub.md.
    hub : int
        HUB ID to give it.
    """

    def __init__(self, dut, hub):
        self.dut = dut
        self.hub = hub
        self.bed = None
        self.ports = 0
        while hasattr(dut, f"port_{self.ports}__rx__payload"):
            self.ports += 1
        pins = [[getattr(dut, f"port_{port}__{pin}") for port in range(self.ports)]
                for pin in ("rx__payload", "rx__valid", "tx__payload", "tx__valid", "tx__ready")]
        self._rx_payload, self._rx_valid, self._tx_payload, self._tx_valid, self._tx_ready = pins
        self._driven = None
        self._clock = None

    async def reset(self, endpoints):
        """Resets the HUB and puts ``endpoints`` at its ports; a new recording begins."""
        from cocotb.clock import Clock
        from cocotb.triggers import FallingEdge

        dut = self.dut
        dut.rst.value = 1
        dut.hub_id.value = self.hub
        for port in range(self.ports):
            self._rx_payload[port].value = 0
            self._rx_valid[port].value = 0
            self._tx_ready[port].value = 0
        self._driven = [(None, False)] * self.ports
        if self._clock is None:
            self._clock = Clock(dut.clk, 70, unit="ns")
            self._clock.start()
        for _ in range(4):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        self.bed = Bed(endpoints)
        return self.bed

    async def cycle(self):
        """One clock cycle."""
        from cocotb.triggers import FallingEdge

        await FallingEdge(self.dut.clk)
        offered = [int(payload.value) if int(valid.value) else None for payload, valid in zip(self._tx_payload, self._tx_valid)]
        arriving, ready = self.bed.step(offered, bool(int(self.dut.idle.value)))
        for port, state in enumerate(zip(arriving, ready)):
            old, self._driven[port] = self._driven[port], state
            if state[0] != old[0]:
                self._rx_valid[port].value = state[0] is not None
                # The payload says something only while valid is 1.
                self._rx_payload[port].value = 0x1FF ^ old[0] if state[0] is None else state[0]
            if state[1] != old[1]:
                self._tx_ready[port].value = state[1]

    async def cycles(self, count):
        """``count`` clock cycles."""
        for _ in range(count):
            await self.cycle()

    async def until(self, condition, limit, what):
        """Clock cycles until ``condition()``; raises Violation that ``what`` did not happen within ``limit`` cycles."""
        for _ in range(limit):
            if condition():
                return
            await self.cycle()
        raise Violation(f"not within {limit} cycles: {what}")

    async def drain(self, limit=5000):
        """Clock cycles until all is quiet."""
        await self.until(lambda: self.bed.quiet, limit, "all ends quiet and the HUB idle")
