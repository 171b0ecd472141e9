"""When one end of a connection sends again, asks, gives up. Specification: docs/transports.md.

Sources: V. Jacobson, "Congestion Avoidance and Control" (1988), and P. Karn, C. Partridge (1987), for the
retransmission timer; RFC 1122 (1989), section
4.2.3.6, for asking a peer that is silent.
"""

from ..packet import Flag
from .retry import Retry
from .state import State

__all__ = ["RetransmissionTimers"]

_ACK, _ASK = int(Flag.ACK), int(Flag.ASK)
#: Repetitions in vain after which the datalink is told to look whether the way to the peer is in order.
_SUSPECT = 2


class RetransmissionTimers:
    """The times of an Endpoint. There is one timer; it goes off at the first of them, or at one that has been put off
    since.

    Members
    -------
    retry : Retry
        The time-out.
    tries : int
        Repetitions of the same thing in vain.
    heard : bool
        Whether anything was heard since times were last looked at; set by the endpoint.
    progress : bool
        Whether what was sent before has come through since; set by the endpoint.
    """

    __slots__ = (
        "endpoint",
        "stream",
        "retry",
        "tries",
        "heard",
        "progress",
        "_timed",
        "_sample",
        "_probing",
        "_timer",
        "_again_at",
        "_ack_at",
        "_alive_at",
        "_asked_at",
        "_linger_at",
    )

    def __init__(self, endpoint):
        stream = endpoint.stream
        options, cycles = stream.options, stream.cycles
        self.endpoint = endpoint
        self.stream = stream
        self.retry = Retry(cycles(options.first_us), cycles(options.least_us), cycles(options.most_us))
        self.tries = 0
        self.heard = True
        self.progress = False
        self._timed = None  # [position whose acknowledgment is awaited, CPU cycle of sending]: the round trip under way
        self._sample = None  # CPU cycle of sending of one that is over
        self._probing = False  # a peer that need not say anything was asked
        self._timer = self._again_at = self._ack_at = self._alive_at = self._asked_at = self._linger_at = None

    # -- the round trip; both levels -----------------------------------------------------------------
    def measure(self, position):
        """A packet with what is before ``position`` is sent for the first time: measures its round trip, unless
        another one's is being measured."""
        if self._timed is None:
            self._timed = [position, None]

    def stamp(self, now):
        """What is measured was sent at CPU cycle ``now``, if that is not known yet."""
        if self._timed is not None and self._timed[1] is None:
            self._timed[1] = now

    def spoil(self):
        """Something is sent again. Karn: its acknowledgment would tell nothing."""
        self._timed = None

    def acknowledged(self, position):
        """Everything before ``position`` has arrived."""
        timed = self._timed
        if timed is not None and position >= timed[0]:
            self._sample, self._timed = timed[1], None

    def linger(self):
        """Both directions have ended: ``settle`` sets anew how long the connection lingers."""
        self._linger_at = None

    def stop(self):
        """Nothing is to be done for the endpoint any more; both levels."""
        if self._timer is not None:
            self.stream.timers.cancel(self._timer)

    # -- at interrupt level --------------------------------------------------------------------------
    def settle(self, now):
        """Sets the times by what has happened, at CPU cycle ``now``; at interrupt level, or with interrupts held
        off."""
        end, stream = self.endpoint, self.stream
        state = end.state
        if state is State.FAILED:
            return
        kernel = stream.kernel
        kernel.door.spend(kernel.costs.stream_settle)
        if self._sample is not None:
            self.retry.sample(now - self._sample)
            self._sample = None
        self.stamp(now)
        if self.heard:
            self.heard = self._probing = False
            self._asked_at = None
            self._alive_at = now + stream.cycles(stream.options.idle_us)
        if self.progress:
            self.progress = False
            self.tries = 0
            self._again_at = None
        if state is State.ENDED:
            self._again_at = self._asked_at = self._alive_at = None
            if self._linger_at is None:
                self._linger_at = now + stream.cycles(stream.options.linger_us)
        elif state is not State.OPEN or end.out.waiting or end.out.blocked or self._probing:
            if self._asked_at is None:
                self._asked_at = now
            if self._again_at is None:
                self._again_at = now + self.retry.timeout(self.tries)
        else:
            self._asked_at = self._again_at = None
            self.tries = 0
        if not end.unacked:
            self._ack_at = None
        elif self._ack_at is None:
            self._ack_at = now + stream.cycles(stream.options.ack_us)
        self._arm()

    def _arm(self):
        times = [time for time in (self._again_at, self._ack_at, self._alive_at, self._linger_at) if time is not None]
        if not times:
            return
        timer, first = self._timer, min(times)
        if timer is None or timer.time is None or timer.time > first:
            if timer is not None:
                self.stream.timers.cancel(timer)
            self._timer = self.stream.timers.at(first, self._look)

    def _look(self, _, now):
        """The timer has gone off, for one of the times or for one that has been put off since."""
        end, stream = self.endpoint, self.stream
        stream.kernel.door.spend(stream.kernel.costs.stream_timer)
        if self.heard:
            self.settle(now)  # in the same interrupt
            return
        if self._asked_at is not None and now - self._asked_at >= stream.cycles(stream.options.silence_us):
            end.silent()
            return
        if self._linger_at is not None and self._linger_at <= now:
            stream.forget(end)
            return
        if self._ack_at is not None and self._ack_at <= now and end.unacked:
            end.say()
        if self._again_at is not None and self._again_at <= now:
            self.tries += 1
            end.repeat(self.tries % _SUSPECT == 0)
            self._again_at = now + self.retry.timeout(self.tries)
        if self._alive_at is not None and self._alive_at <= now:
            self._alive_at = None
            if end.state is State.OPEN and self._again_at is None:
                self._probing = True
                end.say(_ACK | _ASK)
        self.settle(now)
