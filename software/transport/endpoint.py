"""One end of a connection of the byte stream: its states, what it sends, what it answers. Specification:
docs/transports.md.

Source: RFC 793 (1981) for the states, set-up, half-open connections.
Ours: connections are named by the CAB that opened them, and bytes are stored by DMA where they belong in the ring, gaps
included."""

from enum import Enum

from ..errors import ConnectRefused, PeerAborted, PeerRestarted
from ..kernel.condition import Condition
from ..packet import MAX_DATA, STREAM, WINDOW_UNIT, Flag, Protocol, Refusal
from .retry import Retry
from .sendqueue import MOST_AREAS, SendQueue
from .window import ReceiveWindow, SendWindow, nearest

__all__ = ["Endpoint", "State"]

_OPEN, _END, _ACK, _RESET, _ASK, _DATA, _OPENER = (int(flag) for flag in Flag)
_STREAM = int(Protocol.STREAM)
_WORD = (1 << 32) - 1
_MOST_WINDOW = (1 << 16) - 1
#: Packets of one connection that interrupt level puts into the fiber-out list ahead.
_AHEAD = 8


class State(Enum):
    """Where a connection stands."""

    OPENING = "has been called for here, and has no answer yet"
    ACCEPTING = "has been called for there, and is answered, but that answer is not acknowledged yet"
    OPEN = "is set up; either direction may have ended"
    ENDED = "has ended in both directions, and lingers"
    FAILED = "is no more; its error says why"


class Endpoint:
    """What the two levels share of a connection, but for its times (``patience``). What is in here runs at interrupt
    level
    unless it says otherwise.

    Members
    -------
    peer, number, opener : int, int, bool
        ID of the CAB at the other end; the number that the opening side gave the connection; whether that is this side.
    state : State
    error : StreamError or None
        Why it has failed.
    out, into : SendWindow, ReceiveWindow
    queue : SendQueue
    buffer : int or None
        Address of the ring; None once it has been given back.
    came : Condition
        Signalled when bytes, the end, an answer or an error have come.
    """

    __slots__ = (
        "stream",
        "kernel",
        "peer",
        "number",
        "opener",
        "port",
        "listener",
        "route",
        "state",
        "error",
        "out",
        "into",
        "queue",
        "buffer",
        "first_out",
        "first_in",
        "storing",
        "came",
        "packets_sent",
        "packets_repeated",
        "acknowledgments_sent",
        "_retry",
        "_tries",
        "_timed",
        "_sample",
        "_heard",
        "_progress",
        "_probing",
        "_unacked",
        "_pushing",
        "_sent",
        "_timer",
        "_again_at",
        "_ack_at",
        "_alive_at",
        "_asked_at",
        "_linger_at",
    )

    def __init__(self, stream, peer, number, opener, port, route, buffer, sequence):
        options, cycles = stream.options, stream.cycles
        self.stream = stream
        self.kernel = stream.kernel
        self.peer, self.number, self.opener, self.port = peer, number, opener, port
        self.listener = None  # at which it has come in
        self.route = route
        self.state = State.OPENING if opener else State.ACCEPTING
        self.error = None
        self.out = SendWindow()
        self.into = ReceiveWindow(options.buffer, 2 * MAX_DATA)
        self.queue = SendQueue(stream.memory)
        self.buffer = buffer
        self.first_out = sequence  # sequence number of OPEN; the byte at position 0 has the next
        self.first_in = None
        self.storing = False  # whether the DMA fills the ring
        self.packets_sent = self.packets_repeated = self.acknowledgments_sent = 0
        self._retry = Retry(cycles(options.first_us), cycles(options.least_us), cycles(options.most_us))
        self._tries = 0  # at the same thing in vain
        self._timed = None  # [position whose acknowledgment is awaited, CPU cycle of sending]: the round trip under way
        self._sample = None  # CPU cycle of sending of one that is over
        self._heard = True  # anything, since times were last looked at
        self._progress = False  # what was sent before has come through
        self._probing = False  # a peer that need not say anything was asked
        self._unacked = 0  # packets of data since the last acknowledgment
        self._pushing = False  # a thread sends; interrupt level leaves that to it
        name = f"connection {number} between {stream.kernel.name} and CAB {peer}"
        self._sent = Condition(stream.kernel, f"acknowledgments of {name}")
        self.came = Condition(stream.kernel, f"bytes of {name}")
        self._timer = self._again_at = self._ack_at = self._alive_at = self._asked_at = self._linger_at = None

    def __str__(self):
        return f"the connection of {self.kernel.name} with CAB {self.peer}, port {self.port},"

    @property
    def key(self):
        """By which packets find it: peer, number, whether the peer has opened it."""
        return self.peer, self.number, not self.opener

    # -- sending; from both levels --------------------------------------------------------------------
    def header(self, flags, position):
        """The header of a packet; with ACK it acknowledges all that has come."""
        into = self.into
        if self.opener:
            flags |= _OPENER
        if flags & _ACK:
            done = into.acknowledges
            acknowledgment = self.first_in + 1 + done & _WORD
            window = min(max(into.edge - done, 0) // WINDOW_UNIT, _MOST_WINDOW)
            self._unacked = 0
        else:
            acknowledgment, window = self.port, into.edge // WINDOW_UNIT
        return STREAM.pack(
            _STREAM,
            self.stream.number,
            self.peer,
            flags,
            self.number,
            window,
            self.first_out + 1 + position & _WORD,
            acknowledgment,
        )

    def control(self, flags=_ACK):
        """The header of a packet without data; OPEN in ``flags`` if that is due."""
        self.kernel.door.spend(self.kernel.costs.stream_control)
        self.acknowledgments_sent += 1
        return self.header(flags, -1 if flags & _OPEN else self.out.next)

    def segment(self, position, length, ends):
        """(header, areas) of a packet with the bytes of a stretch, or its beginning; notes that it has been sent."""
        kernel, out, queue = self.kernel, self.out, self.queue
        kernel.door.spend(kernel.costs.stream_segment)
        areas = queue.gather(position, length, min(MOST_AREAS, self.route.areas))
        size = sum(area[1] for area in areas)
        ends &= size == length
        fresh = position >= out.next
        out.sent(position, size, ends)
        queue.leaves(position)
        self.packets_sent += 1
        flags = _ACK
        if size:
            flags |= _DATA
        if ends:
            flags |= _END
        if fresh:
            if self._timed is None:
                self._timed = [position + size + ends, None]
            if out.next < out.end and out.edge - out.next < MAX_DATA:
                flags |= _ASK  # the last for which there is room
        else:
            self.packets_repeated += 1
        return self.header(flags, position), areas

    def left(self, position):
        """A packet of ``segment`` has left the fiber-out list; at either level."""
        self.queue.left(position)
        if self.state is State.FAILED:
            self.tidy()
            return
        if self.queue.drop(self.out.acknowledged):
            self._sent.broadcast()
        if self.stream.interrupts.active:
            self.pump()

    def fail(self, error):
        """It is no more, because of ``error``; at either level."""
        if self.state is State.FAILED:
            return
        if self.state is State.ACCEPTING:
            self.listener.pending -= 1
        self.state = State.FAILED
        self.error = error
        self.stream.forget(self)
        self._stop()
        self._sent.broadcast()
        self.came.broadcast()
        self.tidy()

    def tidy(self):
        """Gives back the memory that is needed no more; at either level."""
        if self.queue.clear():
            self._sent.broadcast()
        if self.buffer is not None and not self.storing and (self.state is State.FAILED or not self.into.available):
            self.stream.memory.free(self.buffer)
            self.buffer = None

    # -- sending at interrupt level -------------------------------------------------------------------
    def say(self, flags=_ACK):
        """Sends a packet without data."""
        self.stream.datalink.post(self.route, self.control(flags))

    def pump(self):
        """Sends what may be sent, some packets ahead."""
        if self._pushing or self.state is not State.OPEN:
            return
        while self.queue.packets < _AHEAD:
            stretch = self.out.ready(MAX_DATA)
            if stretch is None:
                return
            self._post(stretch)
            self.stream.concerns(self)

    def _post(self, stretch):
        header, areas = self.segment(*stretch)
        self.stream.datalink.post(self.route, header, areas, self.left, stretch[0])

    def _resend(self):
        """Sends the first stretch that is not acknowledged again, unless a copy has not even left."""
        self._timed = None  # Karn: its acknowledgment would tell nothing
        if self.queue.idle:
            self._post(self.out.first(MAX_DATA))

    # -- what has come -------------------------------------------------------------------------------
    def place(self, seq):
        """Where bytes with sequence number ``seq`` on go: (position, areas of the ring); areas are [] if they are
        not wanted."""
        if self.first_in is None or self.buffer is None:
            return 0, []
        into = self.into
        position = nearest(seq - self.first_in - 1, into.next)
        return position, self.ring(position, min(into.room(position), MAX_DATA))

    def ring(self, position, length):
        """The areas of the ring that hold ``length`` bytes from ``position`` on."""
        if length <= 0:
            return []
        size = self.into.size
        start = position % size
        first = min(length, size - start)
        areas = [(self.buffer + start, first)]
        if length > first:
            areas.append((self.buffer, length - first))
        return areas

    def arrive(self, flags, window, seq, ack, length, stored):
        """A packet without error. ``length`` bytes were stored, if they were ``stored`` at all."""
        self._heard = True
        self.stream.concerns(self)
        if flags & _RESET:
            self._reset(flags, window, seq, ack)
        elif self.state is State.OPENING:
            self._answered(flags, window, seq, ack)
        elif flags & _OPEN:
            # A copy, unless the other CAB has restarted: then it says, on hearing this, that it knows nothing of it.
            self.say(_OPEN | _ACK if self.state is State.ACCEPTING and seq == self.first_in else _ACK)
        else:
            self._proceed(flags, window, seq, ack, length, stored)

    def _answered(self, flags, window, seq, ack):
        if ack != self.first_out + 1 & _WORD or not flags & _OPEN:
            self.stream.refuse(self.peer, self.number, self.opener, flags, seq, ack, Refusal.UNKNOWN)
            return
        self.first_in = seq
        self.out.edge = window * WINDOW_UNIT
        self.state = State.OPEN
        self._progress = True
        self.say()
        self.came.broadcast()

    def _reset(self, flags, reason, seq, ack):
        if self.state is State.OPENING:
            valid = flags & _ACK and ack == self.first_out + 1 & _WORD
        else:
            position = nearest(seq - self.first_in - 1, self.into.next)
            valid = self.into.next <= position <= self.into.edge + 1
        if not valid:
            self.stream.malformed("reset")
        elif self.state is State.ENDED or self.out.closing and self.out.acknowledged == self.out.end and self.into.over:
            self._finish()  # the other side has forgotten it after its end
            self.stream.forget(self)
            self._stop()
        elif reason == Refusal.NOBODY:
            self.fail(ConnectRefused(f"nobody listens at port {self.port} of CAB {self.peer}: start the server first"))
        elif reason == Refusal.ABORTED:
            self.fail(PeerAborted(f"{self} was aborted at the other end"))
        else:
            self.fail(PeerRestarted(f"{self} is not known at the other end: CAB {self.peer} has started anew"))

    def _proceed(self, flags, window, seq, ack, length, stored):
        stream, out, into = self.stream, self.out, self.into
        position = nearest(seq - self.first_in - 1, into.next)
        acked = nearest(ack - self.first_out - 1, out.acknowledged)
        if position > into.edge + 1:
            stream.malformed("sequence")
            self.say()
            return
        if self.state is State.ACCEPTING:
            if acked < 0:
                stream.malformed("acknowledgment")
                return
            self.state = State.OPEN
            self._progress = True
            stream.established(self)
        edge = out.edge
        try:
            new, again = out.arrived(acked, acked + window * WINDOW_UNIT, not flags & (_DATA | _END | _ASK))
        except ValueError:
            stream.malformed("acknowledgment")
            self.say()
            return
        self._progress |= bool(new) or out.edge > edge
        if new:
            self._acknowledged()
        if again and out.waiting:
            self._resend()
        if flags & (_DATA | _END):
            self._keep(flags, position, length, stored)
        elif flags & _ASK:
            self.say()
        self.pump()
        if self.state is State.OPEN and out.finished and into.over:
            self._finish()

    def _acknowledged(self):
        """Something new was acknowledged."""
        out, timed = self.out, self._timed
        if timed is not None and out.acknowledged >= timed[0]:
            self._sample, self._timed = timed[1], None
        if self.queue.drop(out.acknowledged) or out.finished:
            self._sent.broadcast()

    def _keep(self, flags, position, length, stored):
        """Takes the bytes of a packet, and its end; acknowledges them, now or later."""
        stream, into = self.stream, self.into
        at_once = flags & (_ASK | _END) or not stored and flags & _DATA
        if stored and not length:
            stream.malformed("empty")
        elif stored and not into.fits(position, length):
            stream.malformed("end")
            into.spoilt(position, length)
        elif stored:
            self._unacked += 1
            stream.counters.bytes_received += length
            if into.came(position, length):
                self.came.broadcast()
            else:
                stream.counters.early += 1
        elif flags & _DATA:
            stream.counters.duplicates += 1
        if flags & _END and (stored or not flags & _DATA):
            if not into.ends(position + length):
                stream.malformed("end")
            elif into.over:
                self.came.broadcast()
        if at_once or into.gap or self._unacked >= stream.options.ack_packets:
            self.say()

    def _finish(self):
        """Both directions have ended."""
        self.state = State.ENDED
        self._linger_at = None
        self._sent.broadcast()
        self.came.broadcast()
        self.tidy()
