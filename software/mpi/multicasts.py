"""The multicasts of one process: a thread sends them in their order, while the process goes on.

A rank need not wait until all others have what it sends to them. With 16 ranks their acknowledgments take 300 us.
"""

from collections import deque

from ...hdl.host.events import Layer
from ..packet import ANY_CAB

__all__ = ["Multicasts"]

#: Messages that wait at most; who sends more waits.
_MOST = 4
#: Simulated time, in microseconds, in which all members must have taken a message: none that a program should see.
_PATIENCE_US = 60_000_000


class Multicasts:
    """What a process sends to several others at once.

    Parameters
    ----------
    process : Process
    """

    __slots__ = ("_process", "_waiting")

    def __init__(self, process):
        self._process = process
        self._waiting = deque()

    async def send(self, what, to, data):
        """Sends bytes to (list of CABs, mailbox), after what was sent before; waits while too many wait.

        ``what`` is shown of a thread that waits for ever."""
        await self._process.task.inbox.wait(what, lambda: len(self._waiting) < _MOST)
        self._waiting.append((to, data))
        if len(self._waiting) == 1:
            self._process.spawn(self._run, f"{self._process.task.name}: {what}")

    async def over(self):
        """Returns when all others have what was sent."""
        await self._process.task.inbox.wait("multicasts", lambda: not self._waiting)

    async def _run(self):
        """The thread: sends what waits."""
        process = self._process
        while self._waiting:
            to, data = self._waiting[0]
            with process.kernel.notes.behind(Layer.MPI, ANY_CAB, len(data)):
                await process.cab.multicast.send(to, data, timeout_us=_PATIENCE_US)
            self._waiting.popleft()
            process.task.inbox.changed()
