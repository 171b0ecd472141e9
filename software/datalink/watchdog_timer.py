"""One coarse timer for all that may get stuck: it runs only while something is under way."""

__all__ = ["WatchdogTimer"]


class WatchdogTimer:
    """Calls each of ``watchers`` every ``period`` CPU cycles at interrupt level, as long as one of them returns True.

    Members
    -------
    on : bool
        Whether it runs.
    watchers : list of callable() → bool
    """

    __slots__ = ("timers", "interrupts", "period", "on", "watchers")

    def __init__(self, timers, interrupts, period):
        self.timers = timers
        self.interrupts = interrupts
        self.period = period
        self.on = False
        self.watchers = []

    async def start(self):
        """From a thread."""
        if not self.on:
            self.on = True
            await self.timers.after(self.period, self._tick)

    def start_late(self):
        """From interrupt level."""
        if not self.on:
            self.on = True
            self.interrupts.late.append(self._begin)

    def _begin(self, now):
        self.timers.at(now + self.period, self._tick)

    def _tick(self, _, now):
        kernel = self.timers.kernel
        kernel.door.spend(kernel.costs.datalink_watch)
        busy = False
        for watcher in self.watchers:
            busy |= watcher()
        if busy:
            self._begin(now)
        else:
            self.on = False
