"""Services and the requests that they hand to tasks: what a server's tasks see of the request-response protocol.

Source: see ``software.transport.request``; what the server itself keeps of them is in ``software.transport.work``.
"""

from ..kernel.plain import blocking

__all__ = ["Service", "Request"]


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
    acknowledged : bool
        Whether the client has told that it has the answer.
    """

    __slots__ = ("source", "number", "_server", "_work")

    def __init__(self, server, work):
        self.source = work.source
        self.number = work.number
        self._server = server
        self._work = work

    def __repr__(self):
        return repr(self._work)

    @property
    def message(self):
        """See above."""
        return self._work.message

    @property
    def cancelled(self):
        """See above."""
        return self._work.cancelled

    @property
    def acknowledged(self):
        """See above."""
        return self._work.acknowledged

    @property
    def length(self):
        """Bytes."""
        return self._work.message.length

    @blocking
    async def read(self, offset=0, length=None):
        """Its bytes, as of a Message."""
        return await self._work.message.read(offset, length)

    @blocking
    async def reply(self, data=b""):
        """Answers with ``data`` (bytes, a Message, a list of areas) and frees the request's message. True if the client
        still waited.

        Bytes are kept until the client has them, or ``keep_us`` have passed; with areas ``reply`` returns only then.
        Raises MessageTooLong; then, as after any exception here, another ``reply`` may be tried.
        """
        return await self._server.reply(self._work, data)


class Service:
    """A service: requests that wait for tasks. Made by ``Requests.serve``.

    Members
    -------
    number, capacity
    """

    __slots__ = ("number", "capacity", "_server", "_inbox")

    def __init__(self, server, inbox):
        self.number = inbox.number
        self.capacity = inbox.capacity
        self._server = server
        self._inbox = inbox

    def __str__(self):
        return str(self._inbox)

    def __len__(self):
        return len(self._inbox.works)

    @property
    def over(self):
        """Whether nobody will take a request any more: it was closed, or all tasks that have had to do with it have
        ended."""
        return self._inbox.over

    @property
    def full(self):
        """Whether it takes no more requests now."""
        return self._inbox.full

    @blocking
    async def receive(self):
        """The oldest request; waits until there is one. Raises ServiceEnded when the service is closed."""
        return Request(self._server, await self._inbox.receive())

    def close(self):
        """Takes no more requests; those that wait are refused, those that tasks have may still be answered. May be
        called twice."""
        self._server.close(self._inbox)
