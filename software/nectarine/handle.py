"""Sends and receives that are under way. Source: see ``software.nectarine.task``."""

from ...hdl.host.events import Layer
from ..errors import MessageWithdrawn, TaskError, TooLate
from ..kernel.plain import blocking
from ..packet import ENVELOPE
from .agent import Command
from .buffer import Buffer
from .inbox import Receive
from .options import SHORT
from .shortmessage import ShortMessage

__all__ = ["Handle", "ReceiveHandle", "SendHandle"]


class Handle:
    """A send or a receive that is under way. Made by ``Task.isend`` and ``Task.ireceive``.

    Members
    -------
    type, length : int or None, int or None
        Of the message; of a receive once it has its message.
    done : bool
        Whether it is over without an error.
    ready : bool
        Whether ``wait`` would return, or raise an error, without waiting for another task.
    """

    __slots__ = ("task", "type", "length", "done", "error")

    def __init__(self, task):
        self.task = task
        self.type = self.length = None
        self.done = False
        self.error = None

    @property
    def ready(self):
        """See above."""
        return self.done or self.error is not None

    @blocking
    async def wait(self, timeout_us=None):
        """Waits until it is over, and returns it. Raises the error by which it ended; TimedOut after ``timeout_us``
        microseconds: then it goes on."""
        with self.task.kernel.current.calling(self):
            return await self._wait(timeout_us)

    @blocking
    async def test(self):
        """Whether it is over; does not wait for any other task. Raises the error by which it ended."""
        if not self.ready:
            await self.task.cab.kernel.pause()  # what would bring it about may have its turn
        if self.ready:
            await self._wait(None)
        return self.done

    @blocking
    async def cancel(self):
        """Takes the message back, or wants none any more; ``wait`` raises MessageWithdrawn then.

        Raises TooLate if it is over, if the receiver has begun to fetch the message, or if the message that is wanted
        is there: then it goes on.
        """
        await self._cancel()

    async def _wait(self, timeout_us):
        raise NotImplementedError

    async def _cancel(self):
        raise NotImplementedError

    def _finish(self):
        """Raises its error, else returns it."""
        self.task.handles.pop(self, None)
        if self.error is not None:
            raise self.error
        return self


class SendHandle(Handle):
    """A message on its way out.

    Parameters
    ----------
    task : Task
    to : Record
        The receiving task.
    data : bytes-like or Buffer
    type : int

    Members
    -------
    channel : Channel or LocalChannel
        By which it goes.
    """

    __slots__ = ("to", "channel", "_short", "_transfer", "_buffer", "_block")

    def __init__(self, task, to, data, type):
        super().__init__(task)
        self.to = to
        self.type = type
        self._buffer = data if isinstance(data, Buffer) else None
        self.length = len(data)
        self.channel = task.agent.channel(to.place[0])
        self._short = self._transfer = self._block = None

    def __str__(self):
        return f"send to {self.to.name}, type {self.type}"

    async def begin(self, data):
        """Sends it, or its envelope."""
        task, to = self.task, self.to.place
        agent = task.agent
        agent.kernel.door.spend(agent.kernel.costs.nectarine_send)
        agent.check(to)
        noted = agent.kernel.notes.sending(Layer.NECTARINE, to[0], self.length)
        task.handles[self] = None
        try:
            if self.length <= SHORT:
                if self._buffer is not None:
                    data = await self._buffer.read()
                self._short = ShortMessage(self._envelope(0), bytes(data), self._gone, noted)
            else:
                address = await self._place(data)
                self._transfer = agent.transfers.begin(to, address, self.length, self._over, noted)
                self._short = ShortMessage(self._envelope(self._transfer.number), b"", self._announced, noted)
            await self.channel.send(self._short)
        except BaseException:
            task.handles.pop(self, None)
            if self._short is not None:
                self.channel.withdraw(self._short)
            if self._transfer is not None:
                agent.transfers.end(self._transfer.number, MessageWithdrawn("the message could not be sent"))
            raise

    def _envelope(self, transfer):
        return ENVELOPE.pack(self.to.number, self.task.number, self.type, self.length, transfer)

    async def _place(self, data):
        """Address of the bytes of a long message; what is not in data memory is stored there first."""
        if self._buffer is not None and not self._buffer.address % self.task.agent.transfers.aligned:
            self._buffer.hold()
            return self._buffer.address
        memory = self.task.cab.memory
        if self._buffer is not None:
            data = await self._buffer.read()
        self._block = await memory.allocate(self.length)
        memory.write(self._block, bytes(data))
        self.task.copies.cpu_out += self.length
        await memory.door.now()  # the bytes are there when a handler sends them
        return self._block

    def _gone(self, error):
        """A short message is in its slot, or never will be."""
        if error is None:
            self.task.copies.cpu_out += self.length
            if self.channel.peer != self.task.cab.id:
                self.task.copies.dma_out += self.length
        self._end(error)

    def _announced(self, error):
        """The envelope of a long message has left, or never will."""
        if error is not None:
            self.task.agent.transfers.end(self._transfer.number, error)

    def _over(self, error):
        """The receiver has the bytes of a long message, or never will."""
        if error is None and self.channel.peer != self.task.cab.id:
            self.task.copies.dma_out += self.length
        if self._block is not None:
            self.task.cab.memory.free(self._block)
        else:
            self._buffer.release()
        self._end(error)

    def _end(self, error):
        self.error = error
        self.done = error is None
        self.task.inbox.changed()

    async def _wait(self, timeout_us):
        kernel = self.task.cab.kernel
        kernel.check_pending()
        if not self.ready:
            await self.channel.watch.begin()
            try:
                await self.task.inbox.wait(self, lambda: self.ready, kernel.cycles(timeout_us))
            finally:
                self.channel.watch.end()
        return self._finish()

    async def _cancel(self):
        agent = self.task.agent
        if self.ready or not self.channel.withdraw(self._short):
            transfer = self._transfer
            if transfer is None or not agent.transfers.withdraw(transfer.number):
                raise TooLate(f"{self}: it is too late to cancel it; wait for it")
            if self.channel.peer == self.task.cab.id:
                agent.withdraw(transfer.number)
            else:
                await agent.command(self.channel.peer, self.task.number, Command.WITHDRAWN, transfer.number)
        else:
            error = MessageWithdrawn(f"{self}: it was withdrawn")
            if self._transfer is not None:
                agent.transfers.end(self._transfer.number, error)
            else:
                self._end(error)
        self.task.handles.pop(self, None)

    async def abandon(self):
        """The task ends: takes the message back; if it is being fetched, waits until that is over."""
        try:
            await self.cancel()
        except TooLate:
            await self.task.inbox.wait(self, lambda: self.ready)


class ReceiveHandle(Handle):
    """A message that a task wants.

    Parameters
    ----------
    task : Task
    buffer : Buffer, writable bytes-like or None
    sources : Sources
    selector : int or callable
    room : int or None
        Bytes that there is room for, if there is no buffer yet; None: as many as there are.

    Members
    -------
    source : Record or None
        The sending task, once there is a message.
    data : bytes or None
        The message, if no buffer was given.
    """

    __slots__ = ("source", "data", "_receive", "_buffer", "_fetching")

    def __init__(self, task, buffer, sources, selector, room=None):
        super().__init__(task)
        self.source = self.data = None
        if buffer is not None and not isinstance(buffer, Buffer):
            buffer = memoryview(buffer).cast("B")
            if buffer.readonly:
                raise TypeError("a message is received into a Buffer or a writable object such as bytearray")
        self._buffer = buffer
        self._fetching = None  # Thread that does it
        self._receive = Receive(sources, selector, room if buffer is None else len(buffer))
        kernel = task.cab.kernel
        kernel.door.spend(kernel.costs.nectarine_receive)
        if isinstance(buffer, Buffer):
            buffer.hold()
        task.handles[self] = None
        task.inbox.post(self._receive)

    def __str__(self):
        return self._receive.words()

    @property
    def ready(self):
        """See Handle."""
        receive = self._receive
        return self.done or self.error is not None or receive.error is not None

    async def begin(self):
        """From now on the message is fetched as soon as it has come, though nobody waits for it: at once if it is short
        and there, else by a thread."""
        arrival = self._receive.arrival
        if arrival is not None and not arrival.transfer:
            await self._fetch()
        self._receive.on_match = self._early
        if not self.done:
            self.hasten()

    def _early(self, receive):
        """A message has come, and nobody waits for it: a thread fetches it."""
        if self._fetching is None:
            self._fetching = self.task.cab.kernel.spawn(self._fetch_early, name=f"{self.task.name}: {self}")

    async def _fetch_early(self):
        try:
            await self._fetch()
        finally:
            self._fetching = None
            self.task.inbox.changed()

    def hasten(self):
        """Has what has come fetched by a thread: for whoever does something else, or waits for one of several."""
        if self._receive.arrival is not None and not self.done:
            self._early(self._receive)

    async def _wait(self, timeout_us):
        kernel, receive = self.task.cab.kernel, self._receive
        kernel.check_pending()
        timeout = kernel.cycles(timeout_us)
        while not (self.done or self.error):
            if self._fetching is not None or not receive.matched:
                await self._until(timeout)
            else:
                await self._fetch()
        return self._finish()

    async def _until(self, timeout):
        """Waits until there is something to fetch, or it was fetched."""
        task, receive = self.task, self._receive
        channel = self.channel
        receive.waiter = task.cab.kernel.current
        if channel is not None:
            await channel.watch.begin()
        try:
            await task.inbox.wait(self, lambda: self._fetching is None and receive.matched or self.ready, timeout)
        finally:
            receive.waiter = None
            if channel is not None:
                channel.watch.end()

    @property
    def channel(self):
        """The Channel by which alone the message can come, or None."""
        cab = self._receive.sources.cab
        return None if cab is None else self.task.agent.channel(cab)

    async def _fetch(self):
        """Brings the bytes of the message, which has come, to their place."""
        receive = self._receive
        arrival = receive.arrival
        try:
            if receive.error is not None:
                raise receive.error
            await self.task.inbox.wait(self, lambda: not arrival.moving)
            await self._prepare(arrival)
            if arrival.transfer:
                await self._give(arrival)
                await self._pull(arrival)
            else:
                await self._copy(arrival)
        except TaskError as error:
            self._end(error)

    async def _prepare(self, arrival):
        """For a subclass: the message is there, and is to be fetched."""

    async def _give(self, arrival):
        """The slot of the message is not needed any more."""
        if arrival.slot is not None:
            slot, arrival.slot = arrival.slot, None
            await arrival.channel.give(slot)

    async def _copy(self, arrival):
        """A short message: out of its slot."""
        task, memory = self.task, self.task.cab.memory
        data = b""
        if arrival.length:
            data = await memory.load(arrival.address, arrival.length)
        task.copies.cpu_in += arrival.length
        if arrival.channel.peer != task.cab.id:
            task.copies.dma_in += arrival.length
        self._put(0, data)
        self._accept(arrival)
        await self._give(arrival)

    def _put(self, offset, data):
        """Bytes of the message, to where they belong."""
        if isinstance(self._buffer, Buffer):
            if data:
                self._buffer.write(data, offset)
        elif self._buffer is not None:
            self._buffer[offset : offset + len(data)] = data
        else:
            self.data = data if self.data is None else self.data + data

    async def _pull(self, arrival):
        """A long message: out of the sender's buffer."""
        task, buffer = self.task, self._buffer if isinstance(self._buffer, Buffer) else None
        if await task.agent.transfers.bring(arrival, buffer, self._put, task.copies):
            self._accept(arrival)
        else:
            self._missed()

    def _missed(self):
        """The sender has withdrawn its message: waits for another."""
        self.data = None
        self.task.inbox.post_again(self._receive)

    def _accept(self, arrival):
        """The message is there."""
        self.task.agent.transfers.accepted()
        self.task.agent.received(arrival)
        self.source = self.task.directory.at(arrival.source)
        self.type, self.length = arrival.type, arrival.length
        self._receive.done = True
        self._end(None)

    def _end(self, error):
        if isinstance(self._buffer, Buffer):
            self._buffer.release()
        self.error = error
        self.done = error is None

    async def _cancel(self):
        inbox, receive = self.task.inbox, self._receive
        if receive not in inbox.receives:
            raise TooLate(f"{self}: it is too late to cancel it, the message is there; wait for it")
        inbox.receives.remove(receive)
        self._end(MessageWithdrawn(f"{self}: it was cancelled"))
        self.task.handles.pop(self, None)

    async def abandon(self):
        """The task does not wait for the message any more: if it has come, it is kept for another receive."""
        if self._fetching is not None:
            thread = self._fetching
            thread.end()
            while not thread.ended:
                await self.task.cab.kernel.pause()
        receive, inbox = self._receive, self.task.inbox
        self.task.handles.pop(self, None)
        if self.done or self.error is not None:
            return
        if receive in inbox.receives:
            inbox.receives.remove(receive)
        elif receive.arrival is not None:
            inbox.put_back(receive.arrival)
        self._end(MessageWithdrawn(f"{self}: it was given up"))
