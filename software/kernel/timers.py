"""Any number of timers on one of a board's hardware timers.

Source: "The Design of Nectar" (1989), sections 5.1 and 6.1.
"""

from heapq import heappop, heappush

from ...hdl.cab.addresses import REG

__all__ = ["Timers", "Timer"]

_OURS = 1  # timer 0: the one of TIMER_COMPARE
#: Cycles that the hardware timer may be set ahead.
_REACH = (1 << 31) - 1


class Timer:
    """One timer: ``time`` in CPU cycles since reset; None once it has gone off or been cancelled."""

    __slots__ = ("time", "action", "argument")

    def __init__(self, time, action, argument):
        self.time = time
        self.action = action
        self.argument = argument

    def __str__(self):
        return "a timer"


class Timers:
    """Timers of one CPU; their actions run at interrupt level as ``action(argument, now)`` and may not wait.

    Both levels set the hardware timer. A thread does so with interrupts held off and after all that it posted is
    done, so that what it writes is never older than what a handler has written.

    Parameters
    ----------
    kernel : Kernel
    registers : dict of str → register
        Those of the board: it has TIMER_COMPARE and TIMER_STOP.

    Members
    -------
    armed : int or None
        Time that the hardware timer is set to.
    """

    __slots__ = ("kernel", "door", "armed", "_heap", "_order", "_compare", "_stop")

    #: CPU cycles that a timer may be set ahead.
    reach = _REACH

    def __init__(self, kernel, registers=REG):
        self.kernel = kernel
        kernel.timers = self
        self.door = kernel.door
        self.armed = None
        self._heap = []
        self._order = 0
        self._compare, self._stop = (registers[name].address for name in ("TIMER_COMPARE", "TIMER_STOP"))

    @property
    def running(self):
        """How many timers have still to go off."""
        return sum(timer.time is not None for _, _, timer in self._heap)

    async def after(self, cycles, action, argument=None):
        """From a thread: ``action(argument, now)`` in ``cycles`` CPU cycles (at most 2**31 - 1). Returns the Timer."""
        if cycles > _REACH:
            raise ValueError(f"a timer reaches {_REACH} cycles ahead, not {cycles}: wait in several steps")
        door = self.door
        door.spend(self.kernel.costs.timer_set)
        door.mask()
        try:
            return self.at(await door.now() + cycles, action, argument)
        finally:
            door.unmask()

    def at(self, time, action, argument=None):
        """From interrupt level, or with interrupts held off: ``action(argument, now)`` at CPU cycle ``time``."""
        timer = Timer(time, action, argument)
        self._order += 1
        heappush(self._heap, (time, self._order, timer))
        self._arm()
        return timer

    def cancel(self, timer):
        """Makes sure that ``timer`` does not go off any more; nothing happens if it has. From either level."""
        timer.time = None

    async def sleep(self, cycles):
        """The current thread sleeps for ``cycles`` CPU cycles (or a little more, as the CPU is busy)."""
        if cycles <= 0:
            await self.kernel.pause()
            return
        kernel = self.kernel
        thread = kernel.current
        timer = await self.after(cycles, self._wake, thread)
        await kernel.block(timer, lambda: self.cancel(timer))

    def _wake(self, thread, now):
        self.kernel.wake(thread)

    def fired(self, now):
        """At interrupt level, when the hardware timer has gone off: runs what is due at CPU cycle ``now``."""
        heap, spend, cost = self._heap, self.door.spend, self.kernel.costs.timer_fire
        self.armed = None
        while heap and heap[0][0] <= now:
            timer = heappop(heap)[2]
            if timer.time is not None:
                timer.time = None
                spend(cost)
                timer.action(timer.argument, now)
        self._arm()

    def _arm(self):
        """Sets the hardware timer to the first time in the heap, if it is not set to it."""
        heap = self._heap
        while heap and heap[0][2].time is None:
            heappop(heap)
        first = heap[0][0] if heap else None
        if first != self.armed:
            self.armed = first
            if first is None:
                self.door.write(self._stop, _OURS)
            else:
                self.door.write(self._compare, first & 0xFFFFFFFF)
