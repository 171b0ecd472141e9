"""What a task of an application may call.

Source: "The Design of Nectar" (1989), section 6.3: applications consist of tasks that communicate by transferring
messages between user-specified buffers; the programmer can create tasks, manage buffers, and send and receive messages.
"""

from ..errors import ProgramError, TaskEnded, TimedOut
from ..kernel.plain import blocking
from .agent import Command
from .buffer import Buffer
from .copies import Copies
from .handle import Handle, ReceiveHandle, SendHandle
from .inbox import ANY, Look, Sources

__all__ = ["Task", "TaskExit"]

_TYPES = 1 << 32


class TaskExit(BaseException):
    """Ends a task from inside; ``status`` is its exit status. Not to be caught."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Task:
    """A task of an application: what its function is given.

    Members
    -------
    name : str
    number : int
        0, 1, 2, … in the order in which the application's tasks were made.
    tasks : Directory
        All tasks of the application by name; ``task.tasks["fft.3"]`` has ``name``, ``number``, ``cab``.
    cab : Cab
        The CAB that it runs on, with all its calls.
    on : Cab or Node
        What it runs on: of a task on a node the node, which has no ``cab``.
    node : Node or None
        The node that it runs on, if it does.
    copies : Copies
        Bytes of its messages that CPU and DMA have moved.
    """

    __slots__ = ("application", "record", "cab", "agent", "inbox", "copies", "handles", "directory", "_buffers")

    def __init__(self, application, record, agent):
        self.application = application
        self.record = record
        self.agent = agent
        self.cab = agent.cab
        self.directory = application.tasks
        self.inbox = agent.inbox(record.number)
        self.copies = Copies()
        self.handles = {}  # those that are under way (a dict as an ordered set)
        self._buffers = []

    def __repr__(self):
        return repr(self.record)

    @property
    def name(self):
        """See above."""
        return self.record.name

    @property
    def number(self):
        """See above."""
        return self.record.number

    @property
    def on(self):
        """See above."""
        return self.cab

    @property
    def node(self):
        """The Node that it runs on; None on a CAB."""
        return None

    @property
    def kernel(self):
        """That of its CAB."""
        return self.cab.kernel

    @property
    def tasks(self):
        """See above."""
        return self.directory

    # -- buffers -------------------------------------------------------------------------------------
    @blocking
    async def buffer(self, length, memory=None):
        """A Buffer of ``length`` bytes in the memory of its CAB; waits until there is room. It is freed when the task
        ends, at the latest. Raises OutOfMemory if there can never be room. ``memory``, for tasks on nodes: "node" (by
        default) or "cab"; ProgramError if a task on a CAB asks for the node's."""
        if memory not in (None, "cab"):
            raise ProgramError(
                f"task {self.name} runs on {self.cab.name}: its buffers lie in CAB memory, not {memory!r}"
            )
        buffer = Buffer(self.cab.memory, await self.cab.memory.allocate(length), length)
        self._buffers = [each for each in self._buffers if not each.freed] + [buffer]
        return buffer

    # -- messages ------------------------------------------------------------------------------------
    @blocking
    async def send(self, to, data=b"", type=0, timeout_us=None):
        """Sends a message of ``type`` (0 to 2**32 - 1) to a task, by name or Record.

        ``data``: a Buffer, or a bytes-like object of Python (NumPy arrays too), which the CPU copies into data memory
        first. Returns when the data may be changed: of a message of 100 bytes or less when it has been copied, of a
        longer one when the receiver has it. Raises NoSuchTask, TaskEnded, PeerStopped, PeerStartedAnew, NoRoute;
        TimedOut after ``timeout_us`` microseconds: the message is withdrawn then.
        """
        handle = await self.isend(to, data, type)
        try:
            await handle.wait(timeout_us)
        except GeneratorExit:
            raise
        except BaseException:
            if not handle.ready:
                await handle.abandon()
            raise

    @blocking
    async def isend(self, to, data=b"", type=0):
        """Begins what ``send`` does, and returns its Handle."""
        record = self.directory[to]
        if not isinstance(data, Buffer):
            data = memoryview(data).cast("B")
        else:
            data.check()
        if not isinstance(type, int) or not 0 <= type < _TYPES:
            raise ValueError(f"the type of a message is 0 to {_TYPES - 1}, not {type!r}")
        handle = SendHandle(self, record, data, type)
        await handle.begin(data)
        return handle

    @blocking
    async def receive(self, buffer=None, source=ANY, type=ANY, timeout_us=None):
        """Receives the oldest message from ``source`` of ``type`` into ``buffer``; waits until there is one.

        ``buffer``: a Buffer or a writable bytes-like object; None: the bytes are ``data`` of the result. ``source``: a
        task by name or Record, a list of these, or ANY. ``type``: a type, ANY, another negative number (bits 0 to 30
        are a mask of the types 0 to 30), or a function of the type. Returns the Handle: ``source``, ``type``,
        ``length``, ``data``. Raises BufferTooShort (the message is kept), PeerStopped, PeerStartedAnew if it can come
        from one CAB only; TimedOut after ``timeout_us`` microseconds.
        """
        return await self.take(ReceiveHandle(self, buffer, self._sources(source), self._selector(type)), timeout_us)

    async def take(self, handle, timeout_us):
        """Waits for the message of a ReceiveHandle, and returns the handle; gives it up if that fails."""
        try:
            return await handle.wait(timeout_us)
        except GeneratorExit:
            raise
        except BaseException:
            await handle.abandon()
            raise

    @blocking
    async def ireceive(self, buffer=None, source=ANY, type=ANY):
        """Begins what ``receive`` does, and returns its Handle at once."""
        handle = ReceiveHandle(self, buffer, self._sources(source), self._selector(type))
        await handle.begin()
        return handle

    @blocking
    async def probe(self, source=ANY, type=ANY, timeout_us=0):
        """Looks for a message as ``receive`` would take, and leaves it there. Returns (source, type, length), or None
        if there is none within ``timeout_us`` microseconds (None: waits). Raises PeerStopped, PeerStartedAnew as
        ``receive``."""
        sources, selector = self._sources(source), self._selector(type)
        kernel = self.cab.kernel
        kernel.door.spend(kernel.costs.nectarine_receive)
        await kernel.pause()
        if timeout_us is None or timeout_us > 0:
            try:
                await self._until(
                    f"probe of messages from {sources.words}",
                    lambda: self.inbox.find(sources, selector) is not None,
                    kernel.cycles(timeout_us),
                    [sources],
                )
            except TimedOut:
                return None
        arrival = self.inbox.find(sources, selector)
        return None if arrival is None else (self.directory.at(arrival.source), arrival.type, arrival.length)

    @blocking
    async def select(self, items, timeout_us=None):
        """Waits until one of ``items`` is ready, and returns it: a Handle that is over, or a source (task or name) from
        which a message may be received. The first in the list, if several are. PeerStopped or PeerStartedAnew if that
        happens to the CAB of such a source; TimedOut after ``timeout_us`` microseconds."""
        kernel = self.cab.kernel
        kernel.check_pending()
        choices, looks, channels = [], [], []
        for item in items:
            if isinstance(item, Handle):
                if isinstance(item, ReceiveHandle):
                    item.hasten()
                choices.append((item, lambda item=item: item.ready))
                channels.append(item.channel)
            else:
                sources = self._sources(item)
                looks.append(sources)
                choices.append((item, lambda sources=sources: self.inbox.find(sources, ANY) is not None))
        if not choices:
            raise ValueError("select of nothing would wait for ever: give it handles or sources")
        await self._until(
            f"select of {', '.join(self._words(item) for item, _ in choices)}",
            lambda: any(ready() for _, ready in choices),
            kernel.cycles(timeout_us),
            looks,
            channels,
        )
        return next(item for item, ready in choices if ready())

    async def _until(self, what, ready, timeout, looks, channels=()):
        """Waits until ``ready()``. ``looks``: Sources for whose messages it waits, ``channels``: others that it may
        depend on; their CABs are asked whether they are there. Raises the error by which a look has ended."""
        inbox = self.inbox
        looks = [Look(sources) for sources in looks]
        cabs = [look.sources.cab for look in looks]
        channels = [*channels, *(None if cab is None else self.agent.channel(cab) for cab in cabs)]
        watches = dict.fromkeys(channel.watch for channel in channels if channel is not None)
        inbox.looks += looks
        begun = []
        try:
            for watch in watches:
                begun.append(watch)
                await watch.begin()
            await inbox.wait(what, lambda: ready() or any(look.error for look in looks), timeout)
        finally:
            inbox.looks = [look for look in inbox.looks if look not in looks]
            for watch in begun:
                watch.end()
        if not ready():
            raise next(look.error for look in looks if look.error)

    def _words(self, item):
        """What ``select`` calls an item."""
        return str(item) if isinstance(item, Handle) else self._sources(item).words

    def _sources(self, source):
        if isinstance(source, int) and source == ANY:
            return Sources(None, "any task")
        records = [self.directory[each] for each in (source if isinstance(source, (list, tuple)) else [source])]
        return Sources(frozenset(record.place for record in records), " or ".join(record.name for record in records))

    @staticmethod
    def _selector(type):
        if not callable(type) and (not isinstance(type, int) or not -(_TYPES // 2) <= type < _TYPES):
            raise ValueError(f"the type of a receive is a type, ANY, a mask or a function, not {type!r}")
        return type

    # -- tasks ---------------------------------------------------------------------------------------
    @blocking
    async def spawn(self, name, function, *args, on=None, protected=False):
        """Starts another task, ``function(task, *args)``, on the CAB or node named ``on``, by default where the
        application places it. ``protected``: in a protection domain of its own. Returns its Record: messages may be
        sent to it at once."""
        record = self.application.register(name, function, args, on, protected)
        if record.place[0] == self.cab.id:
            self.application.start(self.agent, record.number)
        else:
            await self.agent.command(record.place[0], record.number, Command.START)
        return record

    @blocking
    async def end(self, other):
        """Ends another task, by name or Record, at its wait or at its next; nothing if it has ended."""
        record = self.directory[other]
        if record is self.record:
            raise ProgramError(f"task {self.name} ends itself by exit, not by end")
        if record.place[0] == self.cab.id:
            self.application.end(self.agent, record.number)
        else:
            try:
                self.agent.check(record.place)
            except TaskEnded:
                return
            await self.agent.command(record.place[0], record.number, Command.END)

    def exit(self, status=0):
        """Ends this task with an exit status."""
        raise TaskExit(status)

    async def finish(self):
        """The task has ended: everything that it has left is given back."""
        for handle in list(self.handles):
            await handle.abandon()
        self.record.unreceived = await self.agent.finish(self.number)
        for buffer in self._buffers:
            if not buffer.freed:
                buffer.free()
