"""Services and the requests that they hand to tasks: what a server's tasks see of the request-response protocol.

Source: see ``software.transport.request``; what the server itself does is in ``software.transport.server``.
"""

from collections import deque
from enum import Enum

from ..errors import ServiceEnded

__all__ = ["Service", "Request", "State"]


class State(Enum):
    COMING = "fragments are missing"
    WAITING = "it waits in its service"
    WORKING = "a task has it"
    ANSWERED = "its answer is kept"
    REFUSED = "it was not accepted, and why is kept"


class Request:
    """A request, as a service hands it to a task.

    Members
    -------
    source : int
        ID of the client's CAB.
    number : int
        The client's count of its calls of this CAB.
    message : Message
        Its bytes in data memory; freed by ``reply``.
    cancelled : bool
        Whether the client does not want the answer any more.
    """

    __slots__ = (
        "source",
        "number",
        "message",
        "cancelled",
        "task",
        "_server",
        "_service",
        "_boot",
        "_state",
        "_incoming",
        "_parcel",
        "_reason",
        "_looks",
        "_gone",
        "_waiter",
    )

    def __init__(self, server, source, number, boot, service, state):
        self.source = source
        self.number = number
        self.message = None
        self.cancelled = False
        self.task = None  # thread that has it
        self._server = server
        self._service = service
        self._boot = boot
        self._state = state
        self._incoming = None
        self._parcel = None  # the answer
        self._reason = None
        self._looks = 0  # at its age
        self._gone = False  # nobody waits for the answer
        self._waiter = None  # thread that waits in ``reply``

    def __repr__(self):
        return f"<Request {self.number} from CAB {self.source}: {self._state.value}>"

    @property
    def length(self):
        """Bytes."""
        return self.message.length

    async def read(self, offset=0, length=None):
        """Its bytes, as of a Message."""
        return await self.message.read(offset, length)

    async def reply(self, data=b""):
        """Answers with ``data`` (bytes, a Message, a list of areas) and frees the request's message. True if the client
        still waited.

        Bytes are kept until the client has them, or ``keep_us`` have passed; with areas ``reply`` returns only then.
        Raises MessageTooLong; then, as after any exception here, another ``reply`` may be tried.
        """
        return await self._server.reply(self, data)


class Service:
    """A service: requests that wait for tasks. Made by ``Requests.serve``.

    Members
    -------
    number, capacity
    """

    __slots__ = ("number", "capacity", "_server", "_requests", "_reserved", "_readers", "_tasks", "_closed")

    def __init__(self, server, number, capacity):
        if capacity < 1:
            raise ValueError(f"a service takes at least 1 request, not {capacity}")
        self.number = number
        self.capacity = capacity
        self._server = server
        self._requests = deque()
        self._reserved = 0  # places of requests that are still coming
        self._readers = deque()  # threads
        self._tasks = [server.kernel.current]
        self._closed = False

    def __str__(self):
        return f"a request for service {self.number} of {self._server.kernel.name}"

    def __len__(self):
        return len(self._requests)

    @property
    def over(self):
        """Whether nobody will take a request any more: it was closed, or all tasks that have had to do with it have
        ended."""
        return self._closed or all(getattr(task, "ended", False) for task in self._tasks)

    @property
    def full(self):
        """Whether it takes no more requests now."""
        return len(self._requests) + self._reserved >= self.capacity

    async def receive(self):
        """The oldest request; waits until there is one. Raises ServiceEnded when the service is closed."""
        kernel = self._server.kernel
        kernel.check_pending()
        task = kernel.current
        if task not in self._tasks:
            self._tasks = [other for other in self._tasks if not getattr(other, "ended", False)] + [task]
        kernel.door.spend(kernel.costs.mailbox_get)
        request = None
        while request is None or request._gone:
            if self._requests:
                request = self._requests.popleft()
            elif self._closed:
                raise ServiceEnded(f"service {self.number} of {kernel.name} is closed")
            else:
                # No time-out: a server waits for as long as it takes.
                self._readers.append(task)
                request = await kernel.block(self, lambda: self._readers.remove(task), self._again)
        request.task = task
        request._state = State.WORKING
        return request

    def close(self):
        """Takes no more requests; those that wait are refused, those that tasks have may still be answered. May be
        called twice."""
        if not self._closed:
            self._closed = True
            self._server.closed(self)
            while self._readers:
                self._server.kernel.wake(self._readers.popleft())

    def _again(self, request):
        """A request that its reader, which has been ended, did not take."""
        if request is not None and not request._gone:
            if self._readers:
                self._server.kernel.wake(self._readers.popleft(), request)
            else:
                self._requests.appendleft(request)

    def _arrive(self, request):
        kernel = self._server.kernel
        self._reserved -= 1
        kernel.door.spend(kernel.costs.mailbox_put)
        if self._readers:
            kernel.door.spend(kernel.costs.wake)
            kernel.wake(self._readers.popleft(), request)
        else:
            self._requests.append(request)
