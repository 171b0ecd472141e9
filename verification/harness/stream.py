"""Sources, sinks and monitors for ports of ``amaranth.lib.stream``: payload, valid, ready.

All are agents of a clock: ``clock.attach(StreamSource(clock, "input"))`` has them work in each cycle, and a bench that
moves its clock itself calls ``drive`` and ``sample``.
"""

import random
from collections import deque

__all__ = ["StreamMonitor", "StreamSink", "StreamSource"]


def _pauses(pause):
    """A callable that tells of each cycle whether it is a pause."""
    if callable(pause):
        return pause
    return (lambda: random.random() < pause) if pause else lambda: False


class StreamSource:
    """Gives items to an input.

    Parameters
    ----------
    clock : StepClock or RunningClock
    name : str
        Name of the port: ``input`` has the pins ``input__payload``, ``input__valid`` and perhaps ``input__ready``;
        without that pin an item is taken in the cycle in which it is offered.
    pause : float or callable
        The chance, or a function without arguments that tells, that a new item is not offered in a cycle.
    fill : callable, optional
        What stands at the payload while nothing is offered; if not given, the last item does.

    Members
    -------
    queue : deque of int or None
        Items to be given; None is a cycle without.
    offered : int or None
        The item that is offered in this cycle.

    Timing
    ------
    An item is offered until it is taken, as ``lib.stream`` has it: ``valid`` waits for no ``ready``. Without pauses
    there is an item in each cycle.
    """

    def __init__(self, clock, name, *, pause=0.0, fill=None):
        self.clock = clock
        self.queue = deque()
        self.offered = None
        self._pauses = _pauses(pause)
        self._fill = fill
        self._valid, self._payload = f"{name}__valid", f"{name}__payload"
        self._ready = f"{name}__ready" if clock.has(f"{name}__ready") else None

    def send(self, items):
        """Appends items to the queue."""
        self.queue.extend(items)

    @property
    def idle(self):
        """Whether all has been given and taken."""
        return not self.queue and self.offered is None

    def drive(self):
        """The pins of a cycle."""
        if self.offered is None and self.queue and not self._pauses():
            self.offered = self.queue.popleft()
        if self.offered is not None:
            self.clock.drive(**{self._valid: 1, self._payload: int(self.offered)})
        elif self._fill is not None:
            self.clock.drive(**{self._valid: 0, self._payload: self._fill()})
        else:
            self.clock.drive(**{self._valid: 0})

    def sample(self):
        """Whether the item has been taken in this cycle."""
        if self._ready is None or self.clock.pin(self._ready):
            self.offered = None

    async def finish(self, limit=10_000):
        """Waits until all has been taken; AssertionError after ``limit`` cycles."""
        await self.clock.until(lambda: self.idle, limit)


class StreamMonitor:
    """Looks at a port, drives nothing, and asserts that an item that is offered stays until it is taken.

    Parameters
    ----------
    clock : StepClock or RunningClock
    name : str
        Name of the port, an input or an output; without a pin ``ready`` each item offered is taken.
    counts : callable, optional
        What of an item counts, if it has parts that may change while it is offered.

    Members
    -------
    items : list of int
        Items that were taken.
    times : list of int
        The cycle of each.
    offers : int
        Cycles in which an item was offered.

    Timing
    ------
    An item counts as taken in the cycle in which ``valid`` and ``ready`` are both 1, before its edge.

    Raises
    ------
    AssertionError
        An item that was offered and not taken is another one in the next cycle, or none: ``lib.stream`` wants it to
        stay. If the component is reset meanwhile, call ``forget``.
    """

    def __init__(self, clock, name, *, counts=lambda item: item):
        self.clock = clock
        self.name = name
        self._counts = counts
        self.items = []
        self.times = []
        self.offers = 0
        self._held = None
        self._valid, self._payload = f"{name}__valid", f"{name}__payload"
        self._ready = f"{name}__ready" if clock.has(f"{name}__ready") else None

    def sample(self):
        """Looks at a cycle; returns the item that was offered in it, or None."""
        clock = self.clock
        item = clock.pin(self._payload) if clock.pin(self._valid) else None
        if self._held is not None:
            same = item is not None and self._counts(item) == self._counts(self._held)
            assert same, f"cycle {clock.cycles}: {self.name} offered {self._held:#x}, then {item}"
        self._held = None
        if item is not None:
            self.offers += 1
            if self._ready is None or clock.pin(self._ready):
                self.items.append(item)
                self.times.append(clock.cycles)
                self.took(item)
            else:
                self._held = item
        return item

    def drive(self):
        """A monitor drives nothing."""

    def took(self, item):
        """Called with each item that was taken."""

    def forget(self):
        """The component is reset: what was offered need not stay."""
        self._held = None

    async def take(self, count=1, limit=10_000):
        """Waits for items; removes and returns the first ``count``. AssertionError after ``limit`` cycles."""
        await self.clock.until(lambda: len(self.items) >= count, limit)
        taken, self.items[:count], self.times[:count] = self.items[:count], [], []
        return taken


class StreamSink(StreamMonitor):
    """Takes items from an output.

    Parameters
    ----------
    clock, name, counts
        As in ``StreamMonitor``, as are the members and what is raised.
    pause : float or callable
        The chance, or a function without arguments that tells, that nothing is taken in a cycle (back-pressure).

    Timing
    ------
    ``ready`` is set at the beginning of each cycle and depends on nothing that the component does in it.
    """

    def __init__(self, clock, name, *, pause=0.0, **options):
        super().__init__(clock, name, **options)
        self._pauses = _pauses(pause)

    def drive(self):
        """``ready`` of a cycle."""
        if self._ready is not None:
            self.clock.drive(**{self._ready: not self._pauses()})
