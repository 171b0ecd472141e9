"""A process of an NX/2 program on a workstation behind a CAB: the calls of a Process, made by a task on a node.

Specification: docs/nx.md, "Processes on workstations"."""

from ..errors import BufferTooShort, ProgramError
from ..kernel.plain import blocking
from ..nectarine.keeper import Keeper
from .messages import Receipt, Sending, buffer_of, selector_of, too_long, words_of
from .process import Process

__all__ = ["NodeProcess", "keeper_on"]

#: How long ``cprobe`` looks before handlers have their turn, in microseconds.
_LOOK_US = 500


class _NodeReceiving:
    """A receive that is under way, as ``Receiving`` of a process on a CAB.

    Parameters
    ----------
    process : NodeProcess
    call : str
        Its name, for messages.
    selector : int or callable
    room : int
        Bytes that there is room for.
    handle : NodeHandle
    """

    __slots__ = ("process", "call", "selector", "room", "handle")

    def __init__(self, process, call, selector, room, handle):
        self.process = process
        self.call = call
        self.selector = selector
        self.room = room
        self.handle = handle

    def __str__(self):
        return f"{self.call} of {words_of(self.selector)}"

    @property
    def ready(self):
        """Whether the node knows that it is over."""
        return self.handle.ready

    @property
    def handles(self):
        """What ``select`` takes."""
        return [self.handle]

    async def outcome(self):
        """Waits for the message, and returns its Receipt. ProgramError if it is longer than the buffer."""
        try:
            with self.process.thread.calling(self):
                await self.handle.wait()
        except BufferTooShort as error:
            raise self.process.too_long(self, error) from None
        return self.process.receipt(self.handle)


async def keeper_on(task, keepers):
    """The Keeper of a process whose NodeTask is ``task``: it works on the CAB."""

    async def made(cab_task):
        return Keeper(cab_task, keepers)

    keeper, _ = await task.do("the start of a process", made)
    return keeper


class NodeProcess(Process):
    """A process on a workstation; ``cab`` is its Node."""

    __slots__ = ()

    # -- inside --------------------------------------------------------------------------------------
    def receipt(self, handle):
        """The Receipt of the message that a NodeHandle has received."""
        return Receipt(handle.type, handle.length, self.nx.address(handle.source.place))

    def too_long(self, receiving, error):
        """The ProgramError of a message that is longer than the buffer."""
        arrivals = self.task.proxy.task.inbox.arrivals
        return ProgramError(
            too_long(self.nx, receiving.call, receiving.room, arrivals, receiving.selector)
            or f"{receiving.call}: {error}"
        )

    async def stop(self):
        """The process has ended."""
        await self.task.do("the end of a process", lambda _: self.keeper.stop())

    async def _handle(self):
        """Runs the handlers that are due, one after the other."""
        if not self._masked and not self._handling:
            for hook in self.hooks:
                if not hook.receiving.ready:
                    try:
                        await hook.receiving.handle.test()
                    except ProgramError:  # its outcome tells
                        pass
        await super()._handle()

    async def finish_operation(self, operation):
        """Waits for the end of a send or a receive, and returns its outcome; handlers run meanwhile."""
        while self.hooks and not self._masked and not self._handling and not operation.ready:
            wanted = [handle for handle in operation.handles if not handle.ready]
            with self.thread.calling(operation):
                chosen = await self.task.select(wanted + [hook.receiving.handle for hook in self.hooks])
            if chosen in wanted:
                try:
                    await chosen.wait()
                except ProgramError:  # the outcome tells
                    pass
            await self._handle()
        return await operation.outcome()

    async def send_to(self, call, type, data, records):
        """Begins to send the same bytes to several tasks. Returns the Sending."""
        return Sending(call, [await self.task.isend(record, data, type) for record in records])

    async def receiving(self, call, typesel, buf, length):
        """Begins to receive, whether anything waits for the message or not."""
        selector = selector_of(call, typesel)
        buffer = buffer_of(call, buf, length, True)
        handle = await self.task.ireceive(buffer, type=selector)
        return _NodeReceiving(self, call, selector, len(buffer), handle)

    async def receive_from(self, kind, record, source, type):
        """The bytes of the next message of ``type`` from a task."""
        with self.thread.calling(f"{kind} of a message of {source}"):
            return (await self.task.receive(source=record, type=type)).data

    # -- calls ---------------------------------------------------------------------------------------
    @blocking
    async def crecv(self, typesel, buf, length):
        """See Process."""
        await self.enter()
        if self.hooks:
            self._receipt = await self.finish_operation(await self.receiving("crecv", typesel, buf, length))
            return
        selector = selector_of("crecv", typesel)
        buffer = buffer_of("crecv", buf, length, True)
        try:
            with self.thread.calling(f"crecv of {words_of(selector)}"):
                self._receipt = self.receipt(await self.task.receive(buffer, type=selector))
        except BufferTooShort as error:
            raise self.too_long(_NodeReceiving(self, "crecv", selector, len(buffer), None), error) from None

    @blocking
    async def cprobe(self, typesel):
        """See Process."""
        selector = selector_of("cprobe", typesel)
        await self.enter()
        while not await self._look(selector, None if not self.hooks else _LOOK_US):
            await self._handle()

    async def _look(self, selector, timeout_us=0):
        """Whether there is such a message; if so, the info calls tell of it."""
        with self.thread.calling(f"cprobe of {words_of(selector)}"):
            found = await self.task.probe(type=selector, timeout_us=timeout_us)
        if found is None:
            return False
        source, type, length = found
        self._receipt = Receipt(type, length, self.nx.address(source.place))
        return True

    @blocking
    async def iprobe(self, typesel):
        """See Process."""
        selector = selector_of("iprobe", typesel)
        await self.enter()
        return await self._look(selector)

    @blocking
    async def msgdone(self, mid):
        """See Process."""
        await self.enter()
        operation = self._operation("msgdone", mid)
        for handle in operation.handles:
            if not handle.ready:
                try:
                    await handle.test()
                except ProgramError:  # its outcome tells
                    pass
        if operation.ready:
            await self._end(mid)
            return True
        return False
