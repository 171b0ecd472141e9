"""When one end of a connection sends again, asks, gives up. Specification: docs/transports.md.

Sources: V. Jacobson, "Congestion Avoidance and Control" (1988), and P. Karn, C. Partridge (1987), for the
retransmission timer; RFC 1122 (1989), section
4.2.3.6, for asking a peer that is silent.
"""

from contextlib import suppress

from ..errors import ConnectTimeout, NoRoute, PeerSilent
from ..packet import Flag
from .endpoint import Endpoint, State

__all__ = ["RetransmissionTimers"]

_OPEN, _ACK, _ASK = int(Flag.OPEN), int(Flag.ACK), int(Flag.ASK)
#: Repetitions in vain after which the datalink is told to look whether the way to the peer is in order.
_SUSPECT = 2


class RetransmissionTimers(Endpoint):
    """An end with its times. There is one timer; it goes off at the first of them, or at one that has been put off
    since."""

    __slots__ = ()

    def settle(self, now):
        """Sets the times by what has happened, at CPU cycle ``now``; at interrupt level, or with interrupts held
        off."""
        if self.state is State.FAILED:
            return
        kernel, stream = self.kernel, self.stream
        kernel.door.spend(kernel.costs.stream_settle)
        if self._sample is not None:
            self._retry.sample(now - self._sample)
            self._sample = None
        if self._timed is not None and self._timed[1] is None:
            self._timed[1] = now
        if self._heard:
            self._heard = self._probing = False
            self._asked_at = None
            self._alive_at = now + stream.cycles(stream.options.idle_us)
        if self._progress:
            self._progress = False
            self._tries = 0
            self._again_at = None
        if self.state is State.ENDED:
            self._again_at = self._asked_at = self._alive_at = None
            if self._linger_at is None:
                self._linger_at = now + stream.cycles(stream.options.linger_us)
        elif self.state is not State.OPEN or self.out.waiting or self.out.blocked or self._probing:
            if self._asked_at is None:
                self._asked_at = now
            if self._again_at is None:
                self._again_at = now + self._retry.timeout(self._tries)
        else:
            self._asked_at = self._again_at = None
            self._tries = 0
        if not self._unacked:
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

    def _stop(self):
        if self._timer is not None:
            self.stream.timers.cancel(self._timer)

    def _look(self, _, now):
        """The timer has gone off, for one of the times or for one that has been put off since."""
        stream = self.stream
        self.kernel.door.spend(self.kernel.costs.stream_timer)
        if self._heard:
            self.settle(now)  # in the same interrupt
            return
        if self._asked_at is not None and now - self._asked_at >= stream.cycles(stream.options.silence_us):
            self._silent()
            return
        if self._linger_at is not None and self._linger_at <= now:
            stream.forget(self)
            return
        if self._ack_at is not None and self._ack_at <= now and self._unacked:
            self.say()
        if self._again_at is not None and self._again_at <= now:
            self._tries += 1
            self._repeat()
            self._again_at = now + self._retry.timeout(self._tries)
        if self._alive_at is not None and self._alive_at <= now:
            self._alive_at = None
            if self.state is State.OPEN and self._again_at is None:
                self._probing = True
                self.say(_ACK | _ASK)
        self.settle(now)

    def _silent(self):
        if self.state is State.OPENING:
            self.fail(
                ConnectTimeout(
                    f"CAB {self.peer} does not answer: is it there, is somebody accepting at its port {self.port}?"
                )
            )
        else:
            self.fail(
                PeerSilent(
                    f"nothing was heard of {self} for {self.stream.options.silence_us} us: is CAB {self.peer} still "
                    f"running?"
                )
            )

    def _repeat(self):
        """Nothing was heard of what was sent: sends it again, or asks; by another way if there is one."""
        datalink = self.stream.datalink
        if self._tries % _SUSPECT == 0:
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
