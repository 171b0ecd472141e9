"""Operations under way: what a request stands for."""

from ..errors import TaskError, TooLate
from .constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from .exception import ErrorClass, Exception

__all__ = ["Both", "Collective", "Nothing", "Pending", "Persistent", "Receiving", "Sending", "prepared"]


class Pending:
    """An operation under way.

    Parameters
    ----------
    process : Process
        That has begun it.

    Members
    -------
    ready : bool
        Whether it is over, or would be without a wait for another process.
    persistent : bool
        Whether its request outlives it.
    active : bool
        Whether it has begun and nobody has seen its end.
    """

    persistent = False
    active = True

    def __init__(self, process):
        self.process = process
        self.constant = None

    async def begin(self):
        """From now on it goes on by itself, though nobody waits for it."""

    async def finish(self):
        """Waits until it is over. Raises its error."""

    def fill(self, status):
        """Tells a Status of it, once it is over."""
        status.fill()

    def take(self):
        """The object of a lower-case call, once it is over."""
        return None

    async def cancel(self):
        """Cancels it, if that is possible still."""

    def end(self):
        """Its end has been seen."""

    def free(self):
        """Nobody will look for its end any more."""


class Nothing(Pending):
    """A message to or from PROC_NULL."""

    ready = True

    def fill(self, status):
        """See Pending."""
        status.fill(PROC_NULL, ANY_TAG)


class Sending(Pending):
    """A send.

    Parameters
    ----------
    handle : Outgoing
    answer : Incoming or None
        By which the receiver tells that it has taken a short synchronous message.
    buffered : bool
        Whether the data may be changed already.
    """

    def __init__(self, process, handle, answer=None, buffered=False):
        super().__init__(process)
        self._handle = handle
        self._answer = answer
        self._buffered = buffered
        self._cancelled = False

    def __str__(self):
        return str(self._handle)

    @property
    def ready(self):
        """See Pending."""
        if self._buffered or self._cancelled:
            return True
        return self._handle.ready and (self._answer is None or self._answer.ready)

    async def finish(self):
        """See Pending."""
        if not (self._buffered or self._cancelled):
            await self._handle.outcome()
            if self._answer is not None:
                await self._answer.outcome()

    def fill(self, status):
        """See Pending."""
        status.fill(ANY_SOURCE, ANY_TAG, cancelled=self._cancelled)

    async def cancel(self):
        """See Pending."""
        if self.ready:
            return
        try:
            await self._handle.cancel()
        except TooLate:
            return
        self._cancelled = True
        if self._answer is not None:
            await self._answer.cancel()

    def free(self):
        """See Pending."""
        if not (self._buffered or self._cancelled):
            self.process.leave(self._handle)


class Receiving(Pending):
    """A receive.

    Parameters
    ----------
    communicator : Communicator
    handle : Incoming
    store : callable(bytes) or None
        Given the bytes once, unless they are in a Buffer.
    load : callable(bytes) → object, or None
        Makes the object of a lower-case call out of the bytes.
    """

    def __init__(self, communicator, handle, store=None, load=None):
        super().__init__(communicator.process)
        self._communicator = communicator
        self._handle = handle
        self._store = store
        self._load = load
        self._cancelled = False
        self._brought = False  # the bytes are where the program is
        self._data = b""

    def __str__(self):
        return str(self._handle)

    @property
    def ready(self):
        """See Pending."""
        return self._cancelled or self._handle.ready

    async def begin(self):
        """See Pending."""
        await self._handle.begin()

    async def finish(self):
        """See Pending."""
        if self._cancelled:
            return
        await self._handle.outcome()
        if not self._brought and self._handle.data is not None:
            self._brought = True
            self._data = await self.process.into(self._handle.data)
            if self._store is not None:
                self._store(self._data)

    def fill(self, status):
        """See Pending."""
        if self._cancelled:
            status.fill(cancelled=True)
        elif self._handle.done:
            handle = self._handle
            status.fill(self._communicator.rank_of(handle.source.place), handle.sent_tag, handle.length)

    def take(self):
        """See Pending."""
        if self._load is None or self._cancelled:
            return None
        return self._load(self._data)

    async def cancel(self):
        """See Pending."""
        try:
            await self._handle.cancel()
        except TooLate:
            return
        self._cancelled = True


class Both(Pending):
    """A send and a receive of one call."""

    def __init__(self, sending, receiving):
        super().__init__(sending.process)
        self._sending = sending
        self._receiving = receiving

    def __str__(self):
        return str(self._receiving)

    @property
    def ready(self):
        """See Pending."""
        return self._sending.ready and self._receiving.ready

    async def finish(self):
        """See Pending."""
        await self._sending.finish()
        await self._receiving.finish()

    def fill(self, status):
        """See Pending."""
        self._receiving.fill(status)

    def take(self):
        """See Pending."""
        return self._receiving.take()


class Collective(Pending):
    """A collective call that runs in a thread of its own.

    Parameters
    ----------
    name : str
        Of the call.
    function : async callable() → object
        What the thread runs.
    """

    def __init__(self, process, name, function):
        super().__init__(process)
        self._name = name
        self._result = self._error = None
        self.ready = False
        self._function = function
        process.spawn(self._run, f"{process.task.name}: {name}")

    def __str__(self):
        return self._name

    async def _run(self):
        try:
            self._result = await self._function()
        except (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, TaskError) as error:
            self._error = error
        finally:
            self.ready = True
            self.process.task.inbox.changed()

    async def finish(self):
        """See Pending."""
        await self.process.task.inbox.wait(self, lambda: self.ready)
        if self._error is not None:
            raise self._error

    def take(self):
        """See Pending."""
        return self._result

    async def cancel(self):
        """See Pending."""
        raise Exception(ErrorClass.ERR_REQUEST, f"{self._name} cannot be cancelled")


class Persistent(Pending):
    """An operation that is begun again and again.

    Parameters
    ----------
    begin : callable() → coroutine
        Begins it and returns the Pending.
    """

    persistent = True

    def __init__(self, process, begin):
        super().__init__(process)
        self._begin = begin
        self._current = None

    def __str__(self):
        return str(self._current)

    @property
    def active(self):
        """See Pending."""
        return self._current is not None

    @property
    def ready(self):
        """See Pending."""
        return self._current is None or self._current.ready

    async def start(self):
        """Begins it. Exception (ERR_REQUEST) if it is under way."""
        if self._current is not None:
            raise Exception(ErrorClass.ERR_REQUEST, f"{self._current} is under way: wait for it before it starts again")
        self._current = await self._begin()

    async def finish(self):
        """See Pending."""
        if self._current is not None:
            await self._current.finish()

    def fill(self, status):
        """See Pending."""
        if self._current is None:
            status.fill()
        else:
            self._current.fill(status)

    async def cancel(self):
        """See Pending."""
        if self._current is not None:
            await self._current.cancel()

    def end(self):
        """See Pending."""
        self._current = None

    def free(self):
        """See Pending."""
        if self._current is not None:
            self._current.free()
            self._current = None


async def prepared(process, begin):
    """A Persistent of a process, which is charged for it."""
    process.spend()
    return Persistent(process, begin)
