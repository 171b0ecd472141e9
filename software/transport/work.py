"""What a server of the request-response protocol keeps: requests, and those of a service that wait for its tasks.

Source: see ``software.transport.request``; what the server does with them is in ``software.transport.server``.
"""

from collections import deque
from enum import Enum

from ..errors import ServiceEnded

__all__ = ["Inbox", "State", "Work"]


class State(Enum):
    COMING = "fragments are missing"
    WAITING = "it waits in its service"
    WORKING = "a task has it"
    ANSWERED = "its answer is kept"
    REFUSED = "it was not accepted, and why is kept"


class Work:
    """A request as its server sees it.

    Members
    -------
    source, number : int, int
        ID of the client's CAB; its count of its calls of this CAB.
    boot : int
        Which start of the client's CAB it is from.
    inbox : Inbox or None
        Of its service; None if there is no such service.
    state : State
    message : Message or None
        Its bytes in data memory, once they are all there and until they are freed.
    cancelled : bool
        Whether the client does not want the answer any more.
    task : Thread or None
        The one that has it.
    incoming : Reassembly or None
        While it is COMING.
    parcel : OutgoingMessage or None
        The answer.
    reason : Reason or None
        Why it was REFUSED.
    looks : int
        How often its age was looked at since it changed last.
    gone : bool
        Whether nobody waits for the answer.
    waiter : Thread or None
        The one that waits in ``Request.reply``.
    acknowledged : bool
        Whether the client has the answer.
    """

    __slots__ = (
        "source",
        "number",
        "boot",
        "inbox",
        "state",
        "message",
        "cancelled",
        "task",
        "incoming",
        "parcel",
        "reason",
        "looks",
        "gone",
        "waiter",
        "acknowledged",
    )

    def __init__(self, source, number, boot, inbox):
        self.source = source
        self.number = number
        self.boot = boot
        self.inbox = inbox
        self.state = State.COMING
        self.message = None
        self.cancelled = False
        self.task = None
        self.incoming = None
        self.parcel = None
        self.reason = None
        self.looks = 0
        self.gone = False
        self.waiter = None
        self.acknowledged = False

    def __repr__(self):
        return f"<Request {self.number} from CAB {self.source}: {self.state.value}>"

    @property
    def kept(self):
        """Bytes of the answer that is kept for the client."""
        return self.parcel.length if self.parcel is not None else 0

    def free(self):
        """Frees its message, if there is one."""
        if self.message is not None:
            self.message.free()
            self.message = None

    def refuse(self, reason):
        """It will not be answered."""
        self.state, self.reason = State.REFUSED, reason


class Inbox:
    """Requests of one service that wait for its tasks.

    Members
    -------
    number, capacity : int, int
        Of the service; how many requests may wait.
    works : deque of Work
        Those that wait, the oldest first.
    reserved : int
        Places of requests that are still coming.
    closed : bool
        Whether it takes no more.
    """

    __slots__ = ("kernel", "number", "capacity", "works", "reserved", "closed", "_readers", "_tasks")

    def __init__(self, kernel, number, capacity):
        if capacity < 1:
            raise ValueError(f"a service takes at least 1 request, not {capacity}")
        self.kernel = kernel
        self.number = number
        self.capacity = capacity
        self.works = deque()
        self.reserved = 0
        self.closed = False
        self._readers = deque()  # threads
        self._tasks = [kernel.current]

    def __str__(self):
        return f"a request for service {self.number} of {self.kernel.name}"

    @property
    def over(self):
        """See ``Service.over``."""
        return self.closed or all(getattr(task, "ended", False) for task in self._tasks)

    @property
    def full(self):
        """See ``Service.full``."""
        return len(self.works) + self.reserved >= self.capacity

    async def receive(self):
        """Takes out the oldest; see ``Service.receive``."""
        kernel = self.kernel
        kernel.check_pending()
        task = kernel.current
        if task not in self._tasks:
            self._tasks = [other for other in self._tasks if not getattr(other, "ended", False)] + [task]
        kernel.door.spend(kernel.costs.mailbox_get)
        work = None
        while work is None or work.gone:
            if self.works:
                work = self.works.popleft()
            elif self.closed:
                raise ServiceEnded(f"service {self.number} of {kernel.name} is closed")
            else:
                # No time-out: a server waits for as long as it takes.
                self._readers.append(task)
                work = await kernel.block(self, lambda: self._readers.remove(task), self._again)
        work.task = task
        work.state = State.WORKING
        kernel.notes.taken(work.message)
        return work

    def wake_all(self):
        """Lets the tasks that wait look again."""
        while self._readers:
            self.kernel.wake(self._readers.popleft())

    def _again(self, work):
        """A request that its reader, which has been ended, did not take."""
        if work is not None and not work.gone:
            if self._readers:
                self.kernel.wake(self._readers.popleft(), work)
            else:
                self.works.appendleft(work)

    def arrive(self, work):
        """A request for which a place was reserved has come; at interrupt level."""
        kernel = self.kernel
        self.reserved -= 1
        kernel.door.spend(kernel.costs.mailbox_put)
        if self._readers:
            kernel.door.spend(kernel.costs.wake)
            kernel.wake(self._readers.popleft(), work)
        else:
            self.works.append(work)

    def withdraw(self, work):
        """Takes a request out that nobody wants any more. Returns False, and does nothing, if a task has been woken
        with it."""
        if work not in self.works:
            return False
        self.works.remove(work)
        return True
