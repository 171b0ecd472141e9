"""What a task sees of the CPU that it runs on, whatever the machine: threads, time, locks.

Sources: "The Design of Nectar" (1989), section 6.1; docs/kernel.md. docs/machines.md tells what a machine adds.
"""

from .kernel.condition import Condition
from .kernel.lock import Lock
from .kernel.plain import blocking

__all__ = ["Processor"]


class Processor:
    """Base of the CABs of Nectar and of the nodes of other machines, which set the members.

    Members
    -------
    name : str
    id : int
        Its number on the network.
    door : Door
    kernel : Kernel
    memory : Memory
        For buffers and messages.
    timers : Timers
    can_multicast : bool
        Whether ``multicast`` and mailboxes are there.

    ``carriage(deliver, lost, query)`` gives what carries the messages of tasks (docs/machines.md, "What carries
    messages").
    """

    can_multicast = False

    def spawn(self, task, *args, name=None):
        """Starts another thread: ``task(processor, *args)``. Returns the Thread; ``await thread.join()`` gives its
        result. An exception of a thread that nobody waits for at that time ends the run."""
        return self.kernel.spawn(task, self, *args, name=name)

    @blocking
    async def sleep(self, microseconds):
        """The thread sleeps; others may run."""
        await self.timers.sleep(self.kernel.span(microseconds))

    @blocking
    async def within(self, microseconds, call):
        """What ``call`` gives; TimedOut if it waits for longer than that, whatever for.

        ``call`` is a function without arguments, or an awaitable: in an async function
        ``await cab.within(100, box.receive())``, in a plain one ``cab.within(100, box.receive)``.
        """
        return await self.kernel.within(microseconds, call)

    def lock(self, what="a lock"):
        """A new Lock; ``what`` tells what a thread waits for."""
        return Lock(self.kernel, what)

    def condition(self, lock=None, what="a condition"):
        """A new Condition; ``wait`` lets go of ``lock`` while it waits."""
        return Condition(self.kernel, what, lock)

    @blocking
    async def pause(self):
        """Lets the other threads run."""
        await self.kernel.pause()

    def compute(self, time):
        """The thread computes for that long, microseconds or a Work; no other thread runs meanwhile, interrupts do."""
        self.door.spend(self.kernel.computation(time))

    def compute_us(self, work):
        """How long that takes, in microseconds (float)."""
        return self.kernel.compute_us(work)

    @blocking
    async def now_us(self):
        """Microseconds since reset (float)."""
        return await self.door.now() * 1_000_000 / self.door.cpu_hz
