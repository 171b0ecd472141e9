"""One end of a connection of the byte stream: its states, what it sends, what it answers. Specification:
docs/transports.md.

Source: RFC 793 (1981) for the states, set-up, half-open connections.
Ours: connections are named by the CAB that opened them, and bytes are stored by DMA where they belong in the ring, gaps
included."""

from contextlib import suppress

from ..errors import (
    ConnectionAborted,
    ConnectRefused,
    ConnectTimeout,
    NoRoute,
    PeerAborted,
    PeerRestarted,
    PeerSilent,
)
from ..kernel.condition import Condition
from ..packet import MAX_DATA, STREAM, WINDOW_UNIT, Flag, Protocol, Refusal
from .retransmission import RetransmissionTimers
from .sendqueue import MOST_AREAS, SendQueue
from .state import State
from .window import ReceiveWindow, SendWindow, nearest

__all__ = ["Endpoint"]

_OPEN, _END, _ACK, _RESET, _ASK, _DATA, _OPENER = (int(flag) for flag in Flag)
_STREAM = int(Protocol.STREAM)
_WORD = (1 << 32) - 1
_MOST_WINDOW = (1 << 16) - 1
#: Packets of one connection that interrupt level puts into the fiber-out list ahead.
_AHEAD = 8


class Endpoint:
    """What the two levels share of a connection. What is in here runs at interrupt level unless it says otherwise.

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
    times : RetransmissionTimers
    watcher : object or None
        ``changed()`` is called, at either level, whenever ``sent`` or ``came`` is signalled, and ``leave(address)``
        before the ring is given back.
    unacked : int
        Packets of data that have come since the last acknowledgment.
    sent, came : Condition, Condition
        Signalled when what was sent is needed no more or acknowledged to the end, and when bytes, the end or an answer
        have come; both when it has failed.
    packets_sent, packets_repeated, acknowledgments_sent : int
        As of Connection.
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
        "packets_sent",
        "packets_repeated",
        "acknowledgments_sent",
        "times",
        "watcher",
        "unacked",
        "sent",
        "came",
        "_pushing",
    )

    def __init__(self, stream, peer, number, opener, port, route, buffer, sequence):
        self.stream = stream
        self.kernel = stream.kernel
        self.peer, self.number, self.opener, self.port = peer, number, opener, port
        self.listener = None  # at which it has come in
        self.route = route
        self.state = State.OPENING if opener else State.ACCEPTING
        self.error = None
        self.out = SendWindow()
        self.into = ReceiveWindow(stream.options.buffer, 2 * MAX_DATA)
        self.queue = SendQueue(stream.memory)
        self.buffer = buffer
        self.first_out = sequence  # sequence number of OPEN; the byte at position 0 has the next
        self.first_in = None
        self.watcher = None
        self.storing = False  # whether the DMA fills the ring
        self.packets_sent = self.packets_repeated = self.acknowledgments_sent = 0
        self.unacked = 0
        self._pushing = False  # a thread sends; interrupt level leaves that to it
        name = f"connection {number} between {stream.kernel.name} and CAB {peer}"
        self.sent = Condition(stream.kernel, f"acknowledgments of {name}")
        self.came = Condition(stream.kernel, f"bytes of {name}")
        self.times = RetransmissionTimers(self)

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
            self.unacked = 0
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
            self.times.measure(position + size + ends)
            if out.next < out.end and out.edge - out.next < MAX_DATA:
                flags |= _ASK  # the last for which there is room
        else:
            self.packets_repeated += 1
            kernel.notes.repeated(_STREAM, self.peer, self.number)
        return self.header(flags, position), areas

    def left(self, position):
        """A packet of ``segment`` has left the fiber-out list; at either level."""
        self.queue.left(position)
        if self.state is State.FAILED:
            self.tidy()
            return
        if self.queue.drop(self.out.acknowledged):
            self._signal(self.sent)
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
        self.times.stop()
        self._signal(self.sent, self.came)
        self.tidy()

    def abort(self):
        """See ``Connection.abort``."""
        if self.state is State.FAILED or self.state is State.ENDED and not self.into.available:
            return
        if self.state not in (State.OPENING, State.ENDED):
            self.stream.datalink.post(self.route, self.stream.reset(self, Refusal.ABORTED))
        self.fail(ConnectionAborted(f"{self} was aborted on this side"))

    def tidy(self):
        """Gives back the memory that is needed no more; at either level."""
        if self.queue.clear():
            self._signal(self.sent)
        if self.buffer is not None and not self.storing and (self.state is State.FAILED or not self.into.available):
            if self.watcher is not None:
                self.watcher.leave(self.buffer)
            self.stream.memory.free(self.buffer)
            self.buffer = None

    def _signal(self, *conditions):
        """Something has changed, which threads wait for; at either level."""
        for condition in conditions:
            condition.broadcast()
        if self.watcher is not None:
            self.watcher.changed()

    # -- sending by threads ---------------------------------------------------------------------------
    def give(self, address, length, own):
        """From a thread: ``length`` more bytes are to be sent; see ``SendQueue.add``."""
        self.queue.add(self.out.end, address, length, own)
        self.out.give(length)
        self.stream.counters.bytes_sent += length

    async def push(self):
        """From a thread: sends what may be sent; while a thread does so interrupt level does not."""
        if self._pushing:
            return
        self._pushing = True
        try:
            while True:
                now = await self.kernel.door.now()
                stretch = self.out.ready(MAX_DATA) if self.state is State.OPEN else None
                if stretch is None:
                    break
                header, areas = self.segment(*stretch)
                self.times.stamp(now)
                await self.stream.datalink.send(self.route, header, areas, True, self.left, stretch[0])
        finally:
            self._pushing = False
        await self.stream.settle(self)

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
        self.times.spoil()
        if self.queue.idle:
            self._post(self.out.first(MAX_DATA))

    def repeat(self, anew):
        """Nothing was heard of what was sent: sends it again, or asks; by another way if there is one.

        ``anew``: the datalink is to look whether the way is in order."""
        datalink = self.stream.datalink
        if anew:
            datalink.report_unresponsive(self.peer)
        with suppress(NoRoute):
            self.route = datalink.route(self.peer)
        if self.state is State.OPENING:
            self.say(_OPEN)
        elif self.state is State.ACCEPTING:
            self.say(_OPEN | _ACK)
        elif self.out.waiting:
            self.out.lost()
            self._resend()
        else:
            self.say(_ACK | _ASK)

    def silent(self):
        """Nothing was heard of the other side for too long."""
        if self.state is State.OPENING:
            self.fail(
                ConnectTimeout(
                    f"CAB {self.peer} does not answer: is it there, is somebody accepting at its port {self.port}?"
                )
            )
        else:
            silence_us = self.stream.options.silence_us
            self.fail(PeerSilent(f"nothing was heard of {self} for {silence_us} us: is CAB {self.peer} still running?"))

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
        self.times.heard = True
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
        self.times.progress = True
        self.say()
        self._signal(self.came)

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
            self.times.stop()
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
            self.times.progress = True
            stream.established(self)
        edge = out.edge
        try:
            new, again = out.arrived(acked, acked + window * WINDOW_UNIT, not flags & (_DATA | _END | _ASK))
        except ValueError:
            stream.malformed("acknowledgment")
            self.say()
            return
        self.times.progress |= bool(new) or out.edge > edge
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
        out = self.out
        self.times.acknowledged(out.acknowledged)
        if self.queue.drop(out.acknowledged) or out.finished:
            self._signal(self.sent)

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
            self.unacked += 1
            stream.counters.bytes_received += length
            if into.came(position, length):
                self._signal(self.came)
            else:
                stream.counters.early += 1
        elif flags & _DATA:
            stream.counters.duplicates += 1
        if flags & _END and (stored or not flags & _DATA):
            if not into.ends(position + length):
                stream.malformed("end")
            elif into.over:
                self._signal(self.came)
        if at_once or into.gap or self.unacked >= stream.options.ack_packets:
            self.say()

    def _finish(self):
        """Both directions have ended."""
        self.state = State.ENDED
        self.times.linger()
        self._signal(self.sent, self.came)
        self.tidy()
