"""Whether a CAB is still there, from which tasks wait for something: it is asked from time to time."""

__all__ = ["PeerWatch"]


class PeerWatch:
    """Of one channel.

    Parameters
    ----------
    channels : Channels
    ask : callable(int)
        Asks the other CAB, at interrupt level; given the CPU cycle.

    Members
    -------
    came : bool
        Whether a message has come since the last look; set by the channel.
    """

    __slots__ = ("channels", "ask", "came", "_watchers", "_timer", "_probes")

    def __init__(self, channels, ask):
        self.channels = channels
        self.ask = ask
        self.came = False
        self._watchers = 0
        self._timer = None
        self._probes = 0  # that are left

    @property
    def _period(self):
        return self.channels.cycles(self.channels.options.idle_us)

    async def begin(self):
        """By a thread, before it waits for something that only the other CAB can bring about."""
        self._watchers += 1
        if self._timer is None:
            self.came, self._probes = False, self.channels.options.probes
            self._timer = await self.channels.timers.after(self._period, self._look)

    def end(self):
        """It does not wait any more."""
        self._watchers -= 1
        if not self._watchers and self._timer is not None:
            self.channels.timers.cancel(self._timer)
            self._timer = None

    def _look(self, _, now):
        kernel = self.channels.kernel
        kernel.door.spend(kernel.costs.nectarine_timer)
        came, self.came = self.came, False
        self._probes = self.channels.options.probes if came else self._probes - 1
        if not came:
            self.ask(now)
        self._timer = self.channels.timers.at(now + self._period, self._look) if self._probes else None
