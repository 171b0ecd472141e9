"""The byte stream: reliable connections between tasks. Specification: docs/transports.md.

Source: "The Design of Nectar" (1989), section 6.2.2: a byte-stream protocol with acknowledgments, retransmission and
flow control by a window."""

from collections import deque
from dataclasses import dataclass, field

from ..datalink.fiberin import Answer
from ..errors import ConnectionClosed, ConnectTimeout, PortInUse, TimedOut
from ..kernel.condition import Condition
from ..kernel.plain import blocking
from ..packet import ANY_CAB, STREAM, WINDOW_UNIT, Flag, Protocol, Refusal
from .connection import Connection
from .endpoint import Endpoint
from .options import StreamOptions
from .state import State

__all__ = ["Stream", "Listener"]

_OPEN, _END, _ACK, _RESET, _ASK, _DATA, _OPENER = (int(flag) for flag in Flag)
_KNOWN = _OPEN | _END | _ACK | _RESET | _ASK | _DATA | _OPENER
_WORD = (1 << 32) - 1
#: Between the first sequence numbers of two connections, and of two starts of a CAB: odd, and so all different.
_STEP, _BOOT = 0x0137_1B2D, 0x9E37_79B1


@dataclass(slots=True)
class StreamCounters:
    """What the byte stream of one CAB has seen."""

    opened: int = 0  # connections set up from here
    accepted: int = 0  # and from elsewhere
    bytes_sent: int = 0  # given to be sent
    bytes_received: int = 0  # stored whole
    duplicates: int = 0  # packets with bytes that had come before, or beyond the window
    early: int = 0  # packets beyond a gap
    damaged: int = 0  # packets with an error
    unknown: int = 0  # packets of connections that are not known; each is answered with a reset
    no_listener: int = 0  # calls of ports at which nobody listens
    no_room: int = 0  # calls that found the listener's backlog or the memory full, and were left without an answer
    malformed: dict = field(
        default_factory=dict
    )  # headers that contradict themselves or what is known, by what is wrong


class Listener:
    """Connections that come to one port. Made by ``Stream.listen``."""

    __slots__ = ("stream", "port", "backlog", "pending", "_ready", "_closed", "_arrived")

    def __init__(self, stream, port, backlog):
        self.stream = stream
        self.port = port
        self.backlog = backlog
        self.pending = 0  # connections not accepted yet, those being set up among them
        self._ready = deque()  # Endpoints
        self._closed = False
        self._arrived = Condition(stream.kernel, f"a connection to port {port} of {stream.kernel.name}")

    @property
    def closed(self):
        """Whether it takes no more connections."""
        return self._closed

    def arrive(self, endpoint):
        """At interrupt level: a connection has been set up."""
        self._ready.append(endpoint)
        self._arrived.signal()

    @blocking
    async def accept(self, timeout_us=None):
        """The next connection. Waits for as long as nobody calls: TimedOut after ``timeout_us`` microseconds.
        ConnectionClosed after ``close``."""
        while True:
            if self._closed:
                raise ConnectionClosed(f"the listener at port {self.port} has been closed")
            if self._ready:
                self.pending -= 1
                endpoint = self._ready.popleft()
                if endpoint.state is not State.FAILED:
                    return Connection(endpoint)
            else:
                await self._arrived.wait(timeout_us)

    def close(self):
        """Takes no more connections; those that nobody has accepted are aborted, accepted ones go on. May be called
        twice."""
        if not self._closed:
            self._closed = True
            del self.stream.listeners[self.port]
            while self._ready:
                self._ready.popleft().abort()
            self._arrived.broadcast()

    abort = close


class Stream:
    """The byte-stream protocol of one CAB.

    Parameters
    ----------
    number, boot : int
        The CAB's ID; which start of it this is.
    kernel, memory, timers, interrupts, datalink
        The CAB's.

    Members
    -------
    options : StreamOptions
        May be changed as long as there is no connection.
    sequence : int
        First sequence number of the next connection.
    last : int
        Number of the connection that was opened from here last.
    listeners : dict of int → Listener
    connections : dict of tuple → Endpoint
        By (peer, number, whether the peer has opened it).
    counters : StreamCounters
    """

    __slots__ = (
        "number",
        "kernel",
        "memory",
        "timers",
        "interrupts",
        "datalink",
        "options",
        "sequence",
        "last",
        "listeners",
        "connections",
        "counters",
        "_header",
        "_target",
        "_concerned",
    )

    def __init__(self, number, boot, kernel, memory, timers, interrupts, datalink, options=StreamOptions()):
        self.number = number
        self.kernel = kernel
        self.memory = memory
        self.timers = timers
        self.interrupts = interrupts
        self.datalink = datalink
        self.options = options
        self.sequence = boot * _BOOT & _WORD
        self.listeners = {}
        self.connections = {}
        self.counters = StreamCounters()
        self.last = 0
        self._header = None  # of the packet under way: (what is wrong with it or None, its fields)
        self._target = None  # (Endpoint, position, bytes at most) that it is stored to
        self._concerned = {}  # Endpoints whose times are to be set at the end of the interrupt
        datalink.register(Protocol.STREAM, self)

    def cycles(self, microseconds):
        """In CPU cycles."""
        return round(microseconds * self.kernel.door.cpu_hz / 1_000_000)

    # -- what tasks call -----------------------------------------------------------------------------
    def listen(self, port, backlog=None):
        """A Listener at ``port`` (0 to 65535). Raises PortInUse if there is one."""
        if not 0 <= port <= 0xFFFF:
            raise ValueError(f"a port is 0 to 65535, not {port}")
        if port in self.listeners:
            raise PortInUse(
                f"somebody on {self.kernel.name} listens at port {port} already: take another one, or close that "
                f"listener"
            )
        backlog = self.options.backlog if backlog is None else backlog
        if backlog < 1:
            raise ValueError(f"a listener has room for at least 1 connection, not {backlog}")
        listener = self.listeners[port] = Listener(self, port, backlog)
        return listener

    @blocking
    async def connect(self, destination, timeout_us=None):
        """A connection to ``destination``, (CAB, port), the CAB by ID or name. Returns when it is set up.

        Raises NoRoute, ConnectRefused (nobody listens there), ConnectTimeout after ``timeout_us`` microseconds (by
        default the options'), TimedOut if there has been no memory for the connection's buffer for as long."""
        peer, port = self.datalink.destination(destination, "port")
        if timeout_us is None:
            timeout_us = self.options.connect_us
        route = await self.datalink.find(peer)
        self.kernel.door.spend(self.kernel.costs.stream_open)
        buffer = await self.memory.allocate(self.options.buffer, timeout_us)
        self.last = self.last % 0xFFFF + 1
        while (peer, self.last, False) in self.connections:
            self.last = self.last % 0xFFFF + 1
        endpoint = self._make(peer, self.last, True, port, route, buffer)
        try:
            await self.datalink.send(route, endpoint.control(_OPEN), ())
            await self.settle(endpoint)
            while endpoint.state is State.OPENING:
                await endpoint.came.wait(timeout_us)
        except TimedOut:
            endpoint.fail(
                ConnectTimeout(
                    f"CAB {peer} has not answered within {timeout_us} us: is it there, is somebody accepting at its "
                    f"port {port}?"
                )
            )
        except BaseException:
            endpoint.abort()
            raise
        if endpoint.error is not None:
            raise endpoint.error
        self.counters.opened += 1
        return Connection(endpoint)

    def _make(self, *details):
        endpoint = Endpoint(self, *details, self.sequence)
        self.sequence = self.sequence + _STEP & _WORD
        self.connections[endpoint.key] = endpoint
        return endpoint

    # -- for connections -----------------------------------------------------------------------------
    def established(self, endpoint):
        """At interrupt level: one that was called for from elsewhere is set up."""
        self.counters.accepted += 1
        if endpoint.listener.closed:
            endpoint.abort()
        else:
            endpoint.listener.arrive(endpoint)

    def forget(self, endpoint):
        """It is known no more; from both levels."""
        if self.connections.get(endpoint.key) is endpoint:
            del self.connections[endpoint.key]

    def concerns(self, endpoint):
        """At interrupt level: the times of ``endpoint`` are to be set at the end of the interrupt."""
        if not self._concerned:
            self.interrupts.late.append(self._settle)
        self._concerned[endpoint] = None

    def _settle(self, now):
        concerned, self._concerned = self._concerned, {}
        for endpoint in concerned:
            endpoint.times.settle(now)

    async def settle(self, endpoint):
        """From a thread: sets the times of ``endpoint``."""
        door = self.kernel.door
        door.mask()
        endpoint.times.settle(await door.now())
        door.unmask()

    def malformed(self, what):
        """Counts a header."""
        counts = self.counters.malformed
        counts[what] = counts.get(what, 0) + 1

    def reset(self, endpoint, reason):
        """The header of a packet that resets ``endpoint``."""
        flags = _RESET | (_OPENER if endpoint.opener else 0)
        return STREAM.pack(
            Protocol.STREAM,
            self.number,
            endpoint.peer,
            flags,
            endpoint.number,
            reason,
            endpoint.first_out + 1 + endpoint.out.next & _WORD,
            0,
        )

    def refuse(self, peer, number, opener, flags, seq, ack, reason):
        """At interrupt level: answers a packet of which nothing is known here. ``opener``: whether this side would
        have opened the connection."""
        route = self.datalink.back(peer)
        if route is None:
            return
        kernel = self.kernel
        kernel.door.spend(kernel.costs.stream_control)
        answer = _RESET | _ACK | (_OPENER if opener else 0)
        back = ack if flags & _ACK else 0
        self.datalink.post(
            route,
            STREAM.pack(
                Protocol.STREAM, self.number, peer, answer, number, reason, back, seq + bool(flags & _OPEN) & _WORD
            ),
        )

    # -- upcalls of the datalink, at interrupt level -------------------------------------------------
    def packet(self, header):
        """A packet has begun: names the place for it."""
        kernel = self.kernel
        kernel.door.spend(kernel.costs.stream_match)
        fields = STREAM.unpack(header)
        wrong = self._wrong(*fields)
        self._header, self._target = (wrong, fields), None
        if wrong is not None:
            return Answer.CHECK
        _, source, _, flags, number, _, seq, _ = fields
        if not flags & _DATA:
            return self.memory.base, 0
        endpoint = self.connections.get((source, number, bool(flags & _OPENER)))
        if endpoint is None:
            return Answer.CHECK
        position, areas = endpoint.place(seq)
        if not areas:
            return Answer.CHECK
        endpoint.storing = True
        self._target = endpoint, position, sum(length for _, length in areas)
        return areas

    def _wrong(self, _, source, destination, flags, number, window, seq, ack):
        """What is wrong with a header by itself; None for nothing."""
        if destination != self.number:
            return "destination"
        if source in (self.number, ANY_CAB):
            return "source"
        kind = flags & (_OPEN | _RESET)
        if flags & ~_KNOWN or kind == _OPEN | _RESET or kind and flags & (_DATA | _END | _ASK):
            return "flags"
        if flags & _OPEN and bool(flags & _ACK) == bool(flags & _OPENER) or not kind and not flags & _ACK:
            return "flags"
        if flags & (_OPEN | _ACK) == _OPEN and ack > 0xFFFF:
            return "port"
        if flags & _RESET and window > max(Refusal):
            return "refusal"
        return None

    def received(self, length, good):
        """The packet has ended."""
        kernel = self.kernel
        kernel.door.spend(kernel.costs.stream_received)
        (wrong, fields), target = self._header, self._target
        self._header = self._target = None
        if target is not None:
            endpoint, position, limit = target
            endpoint.storing = False
            if endpoint.state is State.FAILED:
                endpoint.tidy()
            if not good:
                endpoint.into.spoilt(position, limit)
        if not good:
            self.counters.damaged += 1
            return False
        if wrong is not None:
            self.malformed(wrong)
            return False
        _, source, _, flags, number, window, seq, ack = fields
        endpoint = self.connections.get((source, number, bool(flags & _OPENER)))
        calls = flags & (_OPEN | _ACK) == _OPEN
        if endpoint is not None and endpoint.state is State.ENDED and calls and seq != endpoint.first_in:
            self.forget(endpoint)  # what lingers makes room for a new one of the same name
            endpoint = None
        if endpoint is not None:
            endpoint.arrive(flags, window, seq, ack, length, target is not None and target[0] is endpoint)
        elif calls:
            self._called(source, number, window, seq, ack)
        elif not flags & _RESET:
            self.counters.unknown += 1
            self.refuse(source, number, not flags & _OPENER, flags, seq, ack, Refusal.UNKNOWN)
        return bool(length)

    def _called(self, source, number, window, seq, port):
        """Somebody opens a connection."""
        listener = self.listeners.get(port)
        if listener is None:
            self.counters.no_listener += 1
            self.refuse(source, number, False, _OPEN, seq, 0, Refusal.NOBODY)
            return
        route = self.datalink.back(source)
        if route is None:
            self.counters.no_room += 1
            return
        buffer = self.memory.try_allocate(self.options.buffer) if listener.pending < listener.backlog else None
        if buffer is None:
            self.counters.no_room += 1
            return
        self.kernel.door.spend(self.kernel.costs.stream_open)
        listener.pending += 1
        endpoint = self._make(source, number, False, port, route, buffer)
        endpoint.listener = listener
        endpoint.first_in = seq
        endpoint.out.edge = window * WINDOW_UNIT
        endpoint.say(_OPEN | _ACK)
        self.concerns(endpoint)
